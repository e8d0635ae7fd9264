"""The result of each step for a query, given the accepted answers; without a database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from annotation.preparation.base import own_words
from annotation.preparation.steps.merging import problems
from annotation.preparation.steps.missed_points import make_items as missed_items
from annotation.preparation.steps.passages import make_items, pieces
from annotation.preparation.steps.questions import CRITERIA, DOMAINS, KINDS
from annotation.protocols import PROTOCOLS
from annotation.registry import DECLARED, STEPS
from judging.prompts.template import read_prompt
from tandem.files import rows
from tests.annotation.preparation.cast import FERRY, PROVENANCE, point, result, topic

POINTS = (
    rows.KeyPoint("t1:k1", "The bow door was open.", "d1", ("A door in the bow",)),
    rows.KeyPoint("t1:k2", "The Aurora carried 61 people.", "d1", ("61 people",)),
    rows.KeyPoint("t1:k3", "Its bow door stood open.", "d2", ("the bow door stood open",)),
)
ASKED = [pytest.param(step, id=name) for name, step in STEPS.items() if step.protocol]
PROMPTED = [pytest.param(step, id=name) for name, step in STEPS.items() if step.task]


def apply(step: str, query: rows.Query, *results: Any, **numbers: float) -> rows.Query | None:
    made = STEPS[step]
    found = made.apply(query, results, {**made.numbers, **numbers})
    assert found is None or isinstance(found, rows.Query)
    return found


def applied(step: str, query: rows.Query, *results: Any, **numbers: float) -> rows.Query:
    found = apply(step, query, *results, **numbers)
    assert found is not None
    return found


class TestStep:
    @pytest.mark.every_case
    @pytest.mark.parametrize("step", ASKED)
    def test_the_task_of_a_step_is_declared(self, step: Any) -> None:
        assert DECLARED[step.protocol].name == step.protocol

    @pytest.mark.every_case
    @pytest.mark.parametrize("step", PROMPTED)
    def test_the_task_of_a_step_is_not_offered_to_people(self, step: Any) -> None:
        assert step.protocol not in PROTOCOLS

    @pytest.mark.every_case
    @pytest.mark.parametrize("step", PROMPTED)
    def test_the_prompt_of_a_step_is_a_versioned_file_that_fences_its_texts(
        self, step: Any
    ) -> None:
        task = step.task
        assert (task.prompt_name, task.prompt_version) == (task.name, "1")
        system = read_prompt(task.prompt).system
        assert "never an instruction" in system
        assert "{" not in system
        assert task.guideline.strip() == system

    @pytest.mark.every_case
    @pytest.mark.parametrize("step", PROMPTED)
    def test_the_prompt_of_a_step_names_every_code(self, step: Any) -> None:
        system = read_prompt(step.task.prompt).system
        codes = {c for v in step.task.variables if v.name != "category" for c in v.codes}
        assert {code for code in codes if code not in system} <= {"no", "yes"}


class TestRequest:
    ANSWER = {
        "usable": "yes",
        "request": {"text": "Why was the Aurora lost? ", "citations": []},
        "questions": [
            point("When did the Aurora sink?", "sank in 1954"),
            point("How many people did it carry?", "sixty-one PEOPLE", "nowhere at all, ever"),
        ],
    }

    def test_the_request_replaces_the_query_text_and_adds_its_questions(self) -> None:
        made = applied("request", topic(), result("t1", {"reference:t1": self.ANSWER}))
        assert made.text == "Why was the Aurora lost?"
        assert [(q.id, q.text) for q in made.questions] == [
            ("t1:q1", "When did the Aurora sink?"),
            ("t1:q2", "How many people did it carry?"),
        ]

    def test_the_request_keeps_the_old_text_and_its_provenance(self) -> None:
        made = applied("request", topic(), result("t1", {"reference:t1": self.ANSWER}))
        assert made.meta == {
            "desk": "ships",
            "text_before": "ferry",
            "prepared": {"request": PROVENANCE},
        }
        assert made.references == topic().references

    def test_each_question_records_the_words_of_the_reference_that_answer_it(self) -> None:
        made = applied("request", topic(), result("t1", {"reference:t1": self.ANSWER}))
        answered = [(q.meta or {})["answered_by"] for q in made.questions]
        assert answered == [["sank in 1954"], ["Sixty-one people"]]

    def test_a_query_without_a_usable_request_is_left_out(self) -> None:
        none = {"usable": "no", "request": None, "questions": None}
        assert apply("request", topic(), result("t1", {"reference:t1": none})) is None
        assert apply("request", topic()) is None


class TestPassages:
    def test_passages_replace_their_documents_in_order(self) -> None:
        first = {"holds_passages": "yes", "passages": [point("A.", "sank"), point("B.", "61")]}
        second = {"holds_passages": "yes", "passages": [point("C.", "nine weeks")]}
        made = applied(
            "passages",
            topic(),
            result("t1/d2", {"document:t1/d2": second}, "d2"),
            result("t1/d1", {"document:t1/d1": first}, "d1"),
        )
        passages = [(p.id, p.text, p.title) for p in made.passages]
        assert passages == [
            ("t1/d1#1", "A.", "The loss of the Aurora"),
            ("t1/d1#2", "B.", "The loss of the Aurora"),
            ("t1/d2#1", "C.", None),
        ]
        assert made.passages[0].source == "web"
        assert made.passages[2].meta == {
            "document": "d2",
            "document_quotes": ["nine weeks"],
            "prepared": {"passages": PROVENANCE},
        }

    def test_references_to_a_document_become_references_to_its_passages(self) -> None:
        texts = ("On 3 May the Aurora sank with A door in the bow open.", "It carried 61 people.")
        passages = [point(texts[0], "sank"), point(texts[1], "61")]
        answer = {"holds_passages": "yes", "passages": passages}
        report = rows.Report(
            "r",
            "A.",
            context=("d2", "d1", "far"),
            citations=("d1",),
            sentences=("A.",),
            sentence_citations=(("d1", "far"),),
        )
        query = replace(
            topic(),
            reports=(report, replace(report, id="s", context=None, citations=())),
            references=(rows.Reference("A.", citations=("d1",)), rows.Reference("B.")),
            rankings=(rows.Ranking("bm25", ("d2", "far", "d1")),),
            key_points=POINTS,
            nuggets=(rows.Nugget("n", "It sank.", sources=("d1",)),),
        )
        made = applied("passages", query, result("t1/d1", {"document:t1/d1": answer}, "d1"))
        own = ("t1/d1#1", "t1/d1#2")
        assert [(r.context, r.citations) for r in made.reports] == [
            ((*own, "far"), own),
            (None, ()),
        ]
        assert [r.sentence_citations for r in made.reports] == [((*own, "far"),)] * 2
        assert made.nuggets == (rows.Nugget("n", "It sank.", sources=own),)
        assert [reference.citations for reference in made.references] == [own, None]
        assert made.rankings == (rows.Ranking("bm25", ("far", *own)),)
        # The passage with a point's quotes is its source; d2 has no passage, so it keeps no point.
        assert [(p.id, p.passage) for p in made.key_points] == [
            ("t1:k1", own[0]),
            ("t1:k2", own[1]),
        ]

    def test_a_query_whose_documents_give_no_passage_is_left_out(self) -> None:
        none = {"holds_passages": "no", "passages": None}
        assert apply("passages", topic(), result("t1/d1", {"document:t1/d1": none}, "d1")) is None

    def test_pieces_are_whole_sentences_up_to_the_limit(self) -> None:
        text = "One two three. Four five.\nSix seven eight nine ten eleven. Twelve."
        assert pieces(text, 5) == [
            "One two three. Four five.",
            "Six seven eight nine ten eleven.",
            "Twelve.",
        ]
        assert pieces(text, 100) == [text]
        assert pieces("  \n ", 5) == []

    def test_a_long_document_is_asked_about_piece_by_piece(self) -> None:
        long = rows.Passage("d", "Word after word goes by here. " * 300)
        items = list(make_items(topic(passages=(long,)), ()))
        assert [item.key for item in items] == ["t1/d#1", "t1/d#2"]
        assert {item.passage for item in items} == {"d"}
        assert all(item.texts[0].text in long.text for item in items)


class TestRatings:
    QUESTIONS = tuple(rows.Question(f"t1:q{n}", f"Question {n}?") for n in (1, 2, 3))

    def rated(self, passage: str, *ratings: str | None) -> Any:
        given = {
            f"question:t1:q{n}": {"rating": rating, "evidence": []}
            for n, rating in enumerate(ratings, start=1)
            if rating is not None
        }
        return result(f"t1/{passage}", given, passage)

    def test_a_question_that_no_passage_answers_is_dropped(self) -> None:
        results = self.rated("d1", "5", "2", "0"), self.rated("d2", "0", "3", "2")
        made = applied("ratings", topic(questions=self.QUESTIONS), *results)
        assert [q.id for q in made.questions] == ["t1:q1", "t1:q2"]
        assert (made.meta or {})["unanswered_questions"] == ["t1:q3"]
        assert [p.relevant for p in made.passages] == [True, True]

    def test_the_threshold_of_ratings_can_be_chosen(self) -> None:
        results = self.rated("d1", "5", "2", "0"), self.rated("d2", "0", "3", "2")
        made = applied("ratings", topic(questions=self.QUESTIONS), *results, eta=5)
        assert [q.id for q in made.questions] == ["t1:q1"]
        assert [p.relevant for p in made.passages] == [True, False]

    def test_a_missing_rating_does_not_count_as_zero(self) -> None:
        results = self.rated("d1", "5", "1", None), self.rated("d2", "0", "1", "2")
        made = applied("ratings", topic(questions=self.QUESTIONS), *results)
        assert [(q.id, q.meta) for q in made.questions] == [
            ("t1:q1", None),
            ("t1:q3", {"answered": "unknown: ratings are missing"}),
        ]
        assert [p.relevant for p in made.passages] == [True, False]
        assert (made.passages[0].meta or {})["ratings"] == {"t1:q1": 5, "t1:q2": 1}

    def test_an_unrated_passage_has_no_relevance(self) -> None:
        made = applied("ratings", topic(questions=self.QUESTIONS), self.rated("d1", "5", "1", "1"))
        assert [p.relevant for p in made.passages] == [True, None]

    def test_a_query_without_an_answerable_question_is_left_out(self) -> None:
        results = self.rated("d1", "0", "2", "0"), self.rated("d2", "0", "1", "2")
        assert apply("ratings", topic(questions=self.QUESTIONS), *results) is None


class TestKeyPoints:
    def test_key_points_quote_their_passage_verbatim(self) -> None:
        answer = {
            "holds_points": "yes",
            "points": [point("The bow door was open.", "a door in the BOW", "had been left open")],
        }
        made = applied("key-points", topic(), result("t1/d1", {"passage:t1/d1": answer}, "d1"))
        (found,) = made.key_points
        assert (found.id, found.passage) == ("t1:k1", "d1")
        assert found.spans == ("A door in the bow", "had been left open")
        assert all(span in FERRY for span in found.spans)
        assert found.meta == {"prepared": {"key-points": PROVENANCE}}

    def test_a_quote_is_taken_from_the_place_that_is_meant(self) -> None:
        def taken(quote: str, start: int | None) -> tuple[str, ...]:
            return own_words("FOr it. OR that, Or this.", [{"quote": quote, "start": start}])

        assert taken("or", None) == ("OR",), "not the end of a word"
        assert taken("or", 17) == ("Or",)

    def test_key_points_are_numbered_across_the_passages_of_a_query(self) -> None:
        def of(passage: str, *texts: str) -> Any:
            answer = {"holds_points": "yes", "points": [point(text) for text in texts]}
            return result(f"t1/{passage}", {f"passage:t1/{passage}": answer}, passage)

        none = result("t1/d2", {"passage:t1/d2": {"holds_points": "no", "points": None}}, "d2")
        made = applied("key-points", topic(), of("d1", "A", "B"), of("d2", "C"))
        assert [(k.id, k.passage) for k in made.key_points] == [
            ("t1:k1", "d1"),
            ("t1:k2", "d1"),
            ("t1:k3", "d2"),
        ]
        assert applied("key-points", topic(), none).key_points == ()


class TestAnswerPoints:
    def taken_apart(self, *points: Any) -> Any:
        answer = {"holds_points": "yes" if points else "no", "points": list(points) or None}
        return result("r1", {"report:r1": answer})

    def test_answer_points_stay_with_their_answer_and_quote_it_verbatim(self) -> None:
        found = self.taken_apart(point("The Aurora sank. ", "it SANK"), point("Lee said so."))
        made = applied("answer-points", topic(key_points=POINTS), found)
        (report,) = made.reports
        assert report.key_points == (
            rows.AnswerPoint("r1:p1", "The Aurora sank.", ("It sank",)),
            rows.AnswerPoint("r1:p2", "Lee said so.", ()),
        )
        assert report.meta == {"prepared": {"answer-points": PROVENANCE}}

    def test_answer_points_never_join_the_key_points_of_the_query(self) -> None:
        made = applied("answer-points", topic(key_points=POINTS), self.taken_apart(point("A")))
        assert made.key_points == POINTS

    def test_an_answer_without_points_differs_from_an_unaccepted_one(self) -> None:
        (none,) = applied("answer-points", topic(), self.taken_apart()).reports
        (left,) = applied("answer-points", topic()).reports
        assert (none.key_points, left.key_points) == ((), None)

    def test_points_that_came_with_the_batch_are_kept_and_not_asked_for(self) -> None:
        own = replace(topic().reports[0], key_points=(rows.AnswerPoint("x", "It sank."),))
        query = topic(reports=(own,))
        assert applied("answer-points", query, self.taken_apart(point("A"))).reports == (own,)
        assert not list(STEPS["answer-points"].task.make_items(query, ()))  # type: ignore[union-attr]


class TestMissedPoints:
    def test_a_passage_is_shown_with_the_points_found_so_far(self) -> None:
        first, second = missed_items(topic(key_points=POINTS[:2]), ())
        assert [text.field for text in first.texts] == ["passage", "found"]
        assert first.texts[1].text == "- The bow door was open.\n- The Aurora carried 61 people."
        assert second.texts[1].text == "(None so far.)"

    def missed(self, *texts: str) -> Any:
        points = [point(text, "nine weeks") for text in texts]
        answer = {"holds_points": "yes" if texts else "no", "points": points or None}
        return result("t1/d2", {"passage:t1/d2": answer}, "d2")

    def test_missed_points_follow_the_earlier_ones_with_their_round(self) -> None:
        made = applied("missed-points", topic(key_points=POINTS), self.missed("It sat long."))
        assert made.key_points[:3] == POINTS
        (new,) = made.key_points[3:]
        assert (new.id, new.passage, new.spans) == ("t1:k4", "d2", ("nine weeks",))
        assert new.meta == {"round": 2, "prepared": {"missed-points": PROVENANCE}}

    def test_a_round_without_new_points_is_counted_too(self) -> None:
        second = applied("missed-points", topic(key_points=POINTS), self.missed())
        assert (second.key_points, (second.meta or {})["rounds"]) == (POINTS, 2)
        third = applied("missed-points", second, self.missed("It sat long."))
        assert (third.key_points[3].meta or {})["round"] == 3

    def test_the_number_of_a_removed_point_is_not_reused(self) -> None:
        left = topic(key_points=POINTS[1:])
        made = applied("missed-points", left, self.missed("A", "B"))
        assert [k.id for k in made.key_points] == ["t1:k2", "t1:k3", "t1:k4", "t1:k5"]


class TestMerging:
    def merged(self, *went: list[int], texts: tuple[str, ...] = ("Door open.", "61")) -> Any:
        given: dict[str, Any] = {
            f"key-point:t1:k{n}": {"placed": "yes" if to else "no", "matches": to}
            for n, to in enumerate(went, start=1)
        }
        given["query:t1"] = {"repeats": "yes", "merged": [point(text) for text in texts]}
        return result("t1", given)

    def test_each_point_must_be_in_exactly_one_merged_point(self) -> None:
        assert list(problems(self.merged([1], [2], [1]))) == []
        assert list(problems(self.merged([1], [2], []))) == [
            "key point t1:k3 is in no merged point"
        ]
        assert list(problems(self.merged([1], [2], [1, 2]))) == [
            "key point t1:k3 is in several merged points: [1, 2]"
        ]
        assert list(problems(self.merged([1], [1], [1]))) == [
            "merged point 2 comes from no key point"
        ]

    def test_a_merged_point_keeps_its_sources_and_the_spans_of_its_first_passage(self) -> None:
        made = applied("merging", topic(key_points=POINTS), self.merged([1], [2], [1]))
        points = [(k.id, k.text, k.passage, k.spans) for k in made.key_points]
        assert points == [
            ("t1:m1", "Door open.", "d1", ("A door in the bow",)),
            ("t1:m2", "61", "d1", ("61 people",)),
        ]
        meta = made.key_points[0].meta or {}
        assert [source["id"] for source in meta["sources"]] == ["t1:k1", "t1:k3"]

    def test_sources_of_earlier_merges_are_kept_nested(self) -> None:
        before = {"sources": [{"id": "t1:k0", "text": "A door.", "passage": "d3"}]}
        points = (replace(POINTS[0], meta=before), *POINTS[1:])
        made = applied("merging", topic(key_points=points), self.merged([1], [2], [1]))
        first, second = (made.key_points[0].meta or {})["sources"]
        assert first["sources"] == before["sources"]
        assert "sources" not in second

    def test_a_single_point_has_nothing_to_merge_with(self) -> None:
        alone = topic(key_points=POINTS[:1])
        assert apply("merging", alone) == alone
        assert apply("merging", topic(key_points=POINTS)) is None


class TestScoring:
    def scored(self, name: str, code: str, share: float | None) -> Any:
        given = {f"key-point:{name}": {"is_key": code}}
        scores = {} if share is None else {name.replace(":", "__"): share}
        return result(name, given, "d1", **scores)

    def test_points_scored_below_the_cut_are_dropped(self) -> None:
        results = [self.scored("t1:k1", "yes", 0.93), self.scored("t1:k2", "yes", 0.69)]
        made = applied("scoring", topic(key_points=POINTS[:2]), *results)
        assert [(k.id, k.score) for k in made.key_points] == [("t1:k1", 0.93)]
        assert (made.meta or {})["cut"] == 0.7
        lower = applied("scoring", topic(key_points=POINTS[:2]), *results, cut=0.5)
        assert len(lower.key_points) == 2

    def test_a_point_without_a_probability_is_kept_without_a_score(self) -> None:
        made = applied("scoring", topic(key_points=POINTS[:2]), self.scored("t1:k1", "no", None))
        assert [(k.id, k.score) for k in made.key_points] == [("t1:k1", None), ("t1:k2", None)]
        assert (made.key_points[0].meta or {})["is_key"] == "no"


class TestQuestions:
    def judged(self, *failed: str) -> Any:
        codes = {name: "no" if name in failed else "yes" for name in CRITERIA}
        return result("t1", {"query:t1": {**codes, "kind": "causal", "category": "history"}})

    def test_one_of_five_criteria_may_fail(self) -> None:
        made = applied("questions", topic(), self.judged("sound"))
        meta = made.meta or {}
        assert (meta["kind"], meta["domain"]) == ("causal", "history")
        assert meta["criteria"] == ["clear", "open_ended", "sourced", "harmless"]
        assert apply("questions", topic(), self.judged("sound", "clear")) is None
        assert apply("questions", topic(), self.judged("sound", "clear"), keep=3) is not None

    def test_there_are_five_criteria_eight_kinds_and_ten_domains(self) -> None:
        assert (len(CRITERIA), len(set(KINDS)), len(set(DOMAINS))) == (5, 8, 10)


class TestSentences:
    def test_answers_are_split_by_rule_and_verbatim(self) -> None:
        (report,) = applied("sentences", topic()).reports
        assert report.sentences is not None
        assert [s.strip() for s in report.sentences] == ["It sank.", "Dr. Lee said so.", "🌊"]
        assert all(sentence in report.text for sentence in report.sentences)
        assert report.meta == {
            "prepared": {"sentences": {"author": "rule", "rule": "datasets.text"}}
        }

    def test_sentences_that_came_with_the_batch_are_kept(self) -> None:
        query = topic()
        own = replace(query.reports[0], sentences=("It sank.",))
        assert applied("sentences", replace(query, reports=(own,))).reports == (own,)
