"""The batch that each other rule derives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from datasets.lineage import lineage_of, units_behind
from datasets.models import Batch
from tests.annotation.derivation.cast import PEOPLE, batch, campaign, derive, label, queries
from tests.cast import run, write_lines

pytestmark = pytest.mark.django_db

PASSES = {"valid": "yes", "false_premise": "no", "information_seeking": "yes"}
TYPED = {
    **PASSES,
    "sensitivity": "static",
    "complexity": "simple",
    "popularity": "head",
    "category": "law",
}


class TestTypedQueries:
    def test_queries_that_pass_the_gate_get_their_types_as_slices(self, tmp_path: Path) -> None:
        batch(tmp_path)
        campaign("question-typing", "--option", "categories=law,sport")
        wrong = {"valid": "yes", "false_premise": "yes", "information_seeking": "yes"}
        other = TYPED | {"category": "sport"}
        label(tmp_path, {"q1": [TYPED, other, TYPED], "q2": [wrong, TYPED, wrong]})
        derived = derive("typed", "typed-queries", campaign="verify")
        assert "q2 (queries): false_premise is not no" in derived
        (query,) = queries("typed").values()
        assert query.meta == {
            **(queries("b")["q1"].meta or {}),
            "sensitivity": "static",
            "complexity": "simple",
            "popularity": "head",
            "category": "law",
        }

    def test_another_gate_can_be_given(self, tmp_path: Path) -> None:
        batch(tmp_path)
        campaign("question-typing", people=1)
        wrong = {"valid": "yes", "false_premise": "yes", "information_seeking": "yes"}
        label(tmp_path, {"q1": [wrong], "q2": [wrong]})
        gate = "keep=valid=yes,false_premise=yes"
        derive("typed", "typed-queries", "--set", gate, campaign="verify")
        assert list(queries("typed")) == ["q1", "q2"]
        with pytest.raises(CommandError, match="typed-queries leaves no query of 'b'"):
            derive("none", "typed-queries", campaign="verify")
        with pytest.raises(CommandError, match="nobody was asked 'vaild'"):
            derive("none", "typed-queries", "--set", "keep=vaild=yes", campaign="verify")


class TestJudgedPassages:
    def test_passages_get_their_relevance_and_use(self, tmp_path: Path) -> None:
        batch(tmp_path)
        campaign("grounding-relevance")
        good = {"relevant": "yes", "use": "answer-the-question"}
        rest = {"relevant": "yes", "use": "related-information"}
        no = {"relevant": "no"}
        units = {f"q{q}/q{q}p{p}": [no, no, good] for q in (1, 2) for p in range(3)}
        units["q1/q1p1"] = [good, good, rest]
        label(tmp_path, units, items={unit: unit[:2] for unit in units})
        derived = derive("judged", "judged-passages", campaign="verify")
        made = queries("judged")
        facts = [(p.relevant, p.use) for p in made["q1"].passages]
        assert facts == [(False, None), (True, "answer-the-question"), (False, None)]
        assert not any(passage.relevant for passage in made["q2"].passages)
        assert "1 queries without a relevant passage" in derived


def rate(folder: Path, query: str, ratings: dict[tuple[int, int], list[str]]) -> None:
    """Ratings by passage and question number of a query; each of them by several people."""
    lines = [
        {
            "item": f"{query}/{query}p{p}",
            "unit": f"{query}:{q}",
            "variable": "rating",
            "value": value,
            "rater": rater,
        }
        for (p, q), values in ratings.items()
        for rater, value in zip(PEOPLE, values, strict=False)
    ]
    run("import_labels", write_lines(folder / f"{query}.jsonl", lines), "--campaign", "verify")


class TestPassagesAndQuestions:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Passage 0 answers questions 0 and 1, passage 1 question 1, passage 2 question 0 weakly.

        Of the second query, one passage answers question 2.
        """
        batch(tmp_path)
        campaign("rubric-passage", "--option", "sampling=all", people=3)
        nothing = {(p, q): ["0", "0", "1"] for p in range(3) for q in range(3)}
        yes = {(0, 0): ["5", "3", "0"], (0, 1): ["4", "4", "4"], (1, 1): ["3", "3", "2"]}
        weak = {(2, 0): ["2", "2", "5"]}
        rate(tmp_path, "q1", nothing | yes | weak)
        rate(tmp_path, "q2", nothing | {(1, 2): ["5", "5", "5"]})
        return tmp_path

    def test_questions_that_no_passage_answers_are_left_out(self, folder: Path) -> None:
        derived = derive("answerable", "answerable-questions", campaign="verify")
        made = queries("answerable")
        assert [q.id for q in made["q1"].questions] == ["q1:0", "q1:1"]
        assert [q.id for q in made["q2"].questions] == ["q2:2"]
        assert "q1:2 (questions): unanswerable" in derived

    def test_ratings_are_thresholded_before_the_majority_is_taken(self, folder: Path) -> None:
        """5, 3 and 0 have no majority; two of three are at least 3, and one is at least 5."""
        derive("strict", "answerable-questions", "--set", "eta=5", campaign="verify")
        made = queries("strict")
        assert [q.id for q in made["q1"].questions] == []
        assert [q.id for q in made["q2"].questions] == ["q2:2"]

    def test_the_required_passages_answer_all_answerable_questions(self, folder: Path) -> None:
        derived = derive("required", "required-passages", campaign="verify")
        made = queries("required")
        found = {key: query.rankings[-1] for key, query in made.items()}
        assert {key: each.passages for key, each in found.items()} == {
            "q1": ("q1p0",),
            "q2": ("q2p1",),
        }
        assert {each.system for each in found.values()} == {"required"}
        assert made["q1"].rankings[0] == queries("b")["q1"].rankings[0]
        contexts = {report.id: report.context for report in made["q1"].reports}
        assert contexts == {"q1r": ("q1p1",), "q1o": ("q1p0",)}
        assert "Required: 1.0 passages and 7.0 tokens per query, 1 and 7 at most" in derived

    def test_a_question_that_only_unrated_cells_could_answer_is_undecided(
        self, tmp_path: Path
    ) -> None:
        batch(tmp_path)
        campaign("rubric-passage", "--option", "sampling=shared", people=1)
        asked = run("export", "--campaign", "verify", "--what", "units")
        for line in map(json.loads, asked.splitlines()):
            number, question = line["item"][-1], line["unit"][-1]
            rate(tmp_path, line["query"], {(int(number), int(question)): ["0"]})
        with pytest.raises(CommandError, match=r"nobody labelled \d questions.*--ties drop"):
            derive("x", "answerable-questions", campaign="verify")
        derive("kept", "answerable-questions", "--ties", "keep", campaign="verify")
        assert sum(len(q.questions) for q in queries("kept").values()) >= 3

    def test_oracle_reports_make_questions_answerable_too(self, tmp_path: Path) -> None:
        batch(tmp_path)
        campaign("report-coverage", people=1)
        lines: dict[str, Any] = {}
        for report in ("q1r", "q1o", "q2r", "q2o"):
            for n in range(3):
                yes = report[2] == "r" or n == 0
                lines[f"{report}|{report[:2]}:{n}"] = "yes" if yes else "no"
        rows = [
            {
                "item": key.split("|")[0],
                "unit": key.split("|")[1],
                "variable": "answerable",
                "value": value,
                "rater": "ada",
            }
            for key, value in lines.items()
        ]
        run("import_labels", write_lines(tmp_path / "l.jsonl", rows), "--campaign", "verify")
        with pytest.raises(CommandError, match="name it with --set oracle=SYSTEM"):
            derive("x", "answerable-questions", campaign="verify")
        with pytest.raises(CommandError, match="no query has a report of 'orakel'"):
            derive("x", "answerable-questions", "--set", "oracle=orakel", campaign="verify")
        derive("x", "answerable-questions", "--set", "oracle=oracle", campaign="verify")
        assert [q.id for q in queries("x")["q1"].questions] == ["q1:0"]


class TestRulesWithoutACampaign:
    def test_contexts_are_sampled_from_the_top_of_each_ranking(self, tmp_path: Path) -> None:
        batch(tmp_path)
        first = ("--set", "n=3,size=2,depth=2", "--output", tmp_path / "one.jsonl")
        derived = derive("contexts", "sampled-contexts", *first)
        assert "Kept 6 contexts" in derived
        made = queries("contexts")["q1"].rankings
        assert [r.system for r in made] == ["bm25", *(f"bm25, sample {n}" for n in (1, 2, 3))]
        assert all(set(r.passages) == {"q1p2", "q1p0"} for r in made[1:])
        again = ("--set", "n=3", "--set", "size=2", "--set", "depth=2", "--output")
        derive("again", "sampled-contexts", *again, tmp_path / "two.jsonl")
        assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
        derive("other", "sampled-contexts", "--set", "n=3,size=2,depth=2,seed=1")
        assert Batch.objects.get(name="other").digest != Batch.objects.get(name="again").digest
        with pytest.raises(CommandError, match="option size must be a whole number from 1"):
            derive("x", "sampled-contexts", "--set", "size=0")

    def test_references_and_gold_passages_become_systems(self, tmp_path: Path) -> None:
        batch(tmp_path)
        derive("with references", "references-as-system")
        report = queries("with references")["q1"].reports[-1]
        assert (report.id, report.text, report.system) == ("q1/reference", "By hand.", "reference")
        assert report.citations == ("q1p0",)
        derived = derive("no gold", "passages-as-system")
        assert "q1 (reports): no gold passage" in derived
        lines = [{"id": "q", "text": "?", "passages": [{"id": "p", "text": "Gold."}]}]
        batch(tmp_path, lines, "single")
        derive("gold", "passages-as-system", source="single")
        (query,) = queries("gold").values()
        assert (query.reports[0].text, query.reports[0].context) == ("Gold.", ("p",))
        assert query.reports[0].system == "passage"


def respond(folder: Path, name: str, answers: dict[str, dict[str, dict[str, Any]]]) -> None:
    """People's answers as a file of responses: the unit of each query, by query and person."""
    lines = [
        {"item": query, "rater": rater, "units": {query: answer}}
        for query, by in answers.items()
        for rater, answer in by.items()
    ]
    run("import_labels", write_lines(folder / f"{name}-r.jsonl", lines), "--campaign", name)


def wrote(text: str, *citations: str, descriptor: str = "complete") -> dict[str, Any]:
    return {
        "descriptor": descriptor,
        "deflected": "no",
        "written": {"text": text, "citations": list(citations)},
    }


DEFLECTED = {"descriptor": "no-answer", "deflected": "yes"}
SKIPPED = {"descriptor": "ill-formed", "deflected": "no"}


class TestWrittenAnswers:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        batch(tmp_path)
        campaign("grounded-answer", "--option", "variables=descriptor,deflected", people=2)
        texts = {
            "q1": {"ada": wrote("In 1901.", "q1p0"), "ben": wrote("By Anna.")},
            "q2": {"ada": DEFLECTED, "ben": SKIPPED},
        }
        respond(tmp_path, "verify", texts)
        return tmp_path

    def test_written_answers_become_references_including_deflections(self, folder: Path) -> None:
        derive("written", "references", campaign="verify")
        made = queries("written")
        assert [(r.text, r.citations, r.deflected) for r in made["q1"].references] == [
            ("By hand.", ("q1p0",), None),
            ("In 1901.", ("q1p0",), False),
            ("By Anna.", None, False),
        ]
        assert [(r.text, r.deflected) for r in made["q2"].references[1:]] == [("", True)]

    def test_queries_answered_by_fewer_than_the_required_people_are_left_out(
        self, folder: Path
    ) -> None:
        derived = derive("two", "references", "--set", "people=2", campaign="verify")
        assert "q2 (queries with references): answered by fewer than 2 people" in derived
        assert [len(q.references) for q in queries("two").values()] == [3, 1]

    def test_written_answers_become_reports_of_the_system_people(self, folder: Path) -> None:
        derive("people", "reports", campaign="verify")
        reports = queries("people")["q1"].reports[2:]
        assert [(r.id, r.text, r.system) for r in reports] == [
            ("q1/people/1", "In 1901.", "people"),
            ("q1/people/2", "By Anna.", "people"),
        ]
        assert reports[0].context == ("q1p0", "q1p1", "q1p2")
        deflection = queries("people")["q2"].reports[-1]
        assert (deflection.text, deflection.deflected) == ("", True)

    def test_a_changed_text_leaves_the_batch_behind(self, folder: Path) -> None:
        derive("written", "references", campaign="verify")
        lineage = lineage_of(Batch.objects.get(name="written"))
        assert lineage is not None
        assert units_behind(lineage) == 0
        respond(folder, "verify", {"q1": {"ben": wrote("By Ben.")}})
        assert units_behind(lineage) == 1

    def test_missing_answers_are_refused(self, tmp_path: Path) -> None:
        batch(tmp_path)
        campaign("grounded-answer", "--option", "variables=descriptor,deflected", people=2)
        respond(tmp_path, "verify", {"q1": {"ada": wrote("One."), "ben": wrote("Two.")}})
        with pytest.raises(CommandError, match=r"not finished: 1 item has fewer .*\(q2\)"):
            derive("x", "references", campaign="verify")

    def test_of_many_missing_answers_the_first_five_are_named(self, tmp_path: Path) -> None:
        batch(tmp_path, [{"id": f"q{n}", "text": "When?"} for n in range(1, 8)])
        campaign("grounded-answer", "--option", "variables=descriptor,deflected", people=1)
        unfinished = r"7 items have fewer answers .*\(q1, q2, q3, q4, q5 and 2 more\)"
        with pytest.raises(CommandError, match=unfinished):
            derive("x", "references", campaign="verify")
