"""Readers accept the last value within a limit, and refuse the next one with a message."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import pytest

from datasets.readers import crux, garage, label_studio, native
from datasets.readers.crux import rankings
from datasets.readers.label_studio import task_id
from datasets.readers.native import stray_sentence
from tandem.files.fields import IN_FULL, MAX_ID, Fields, Tally, first_repeated, part_id
from tandem.files.rows import InputError, Place, Query, ReadNotes
from tests.datasets.helpers import jsonl, refusal

pytestmark = pytest.mark.every_case

HERE = Place("batch.jsonl", 4)


def fields(**members: Any) -> Fields:
    return Fields(members, HERE, "report 2")


def refused(take: Any) -> str:
    with pytest.raises(InputError) as caught:
        take()
    assert caught.value.place == HERE
    return f"{caught.value.wrong}; {caught.value.remedy}"


class TestFields:
    def test_a_number_may_equal_either_limit_and_must_not_be_a_boolean(self) -> None:
        of = fields(low=0, high=1.0, true=True, below=-0.01, above=1.01, words="1", none=None)
        assert (of.number("low", 0, 1), of.number("high", 0, 1)) == (0.0, 1.0)
        assert type(of.number("low", 0, 1)) is float
        assert of.number("none", 0, 1) is None
        assert of.number("absent", 0, 1) is None
        said = '"below" of report 2 is -0.01; write a number from 0 to 1'
        assert refused(lambda: of.number("below", 0, 1)) == said
        assert refused(lambda: of.number("below", 0, inf)).endswith("write a number at least 0")
        assert "is 1.01" in refused(lambda: of.number("above", 0, 1))
        assert "not a number; write a number" in refused(lambda: of.number("true", 0, 1))
        assert "is a string, not a number" in refused(lambda: of.number("words", 0, 1))

    def test_an_identifier_has_at_most_255_characters(self) -> None:
        longest, longer = "x" * MAX_ID, "x" * (MAX_ID + 1)
        of = fields(id=longest, longer=longer, blank=" ", several=["a", "a", longest], none=None)
        assert of.id() == longest
        assert of.ids("several") == ("a", "a", longest)
        assert (of.optional_id("none"), of.ids("none")) == (None, None)
        assert refused(lambda: of.id("longer")).startswith('"longer" of report 2 has 256 charact')
        said = '"blank" of report 2 is empty; give it an identifier'
        assert refused(lambda: of.id("blank")) == said
        assert refused(lambda: of.optional_id("blank")) == said
        second = fields(several=["a", " "])
        assert refused(lambda: second.ids("several")).startswith('entry 2 of "several" of report 2')
        assert "entry 1" in refused(lambda: fields(several=[longer]).ids("several"))

    def test_messages_distinguish_missing_keys_and_null_values(self) -> None:
        of = fields(null=None, blank=" \n", empty="")
        assert refused(lambda: of.string("absent")) == '"absent" of report 2 is missing; add it'
        assert refused(lambda: of.string("null")) == '"null" of report 2 is null; add it'
        assert refused(lambda: of.strings_or_nulls("absent")).endswith("is missing; add it")
        assert of.string("empty") == ""
        assert refused(lambda: of.filled("blank")) == '"blank" of report 2 is empty; write its text'

    def test_a_wrong_type_is_refused_with_what_to_write_instead(self) -> None:
        of = fields(number=1, list=["a"], yes="yes")
        assert refused(lambda: of.string("number")).endswith("put it in double quotes")
        assert refused(lambda: of.string("list")).endswith("write a string")
        assert refused(lambda: of.boolean("yes")).endswith("not true or false; write true or false")
        assert refused(lambda: of.object("list")).endswith("not an object; write an object")
        assert refused(lambda: of.strings("number")).endswith("not a list; write a list")

    def test_entries_in_messages_are_numbered_from_one(self) -> None:
        of = fields(mixed=["a", 1], nulls=["a", None, 1], objects=[{"a": 1}, {"b": 2}], empty=[])
        assert refused(lambda: of.strings("mixed")).startswith('entry 2 of "mixed" of report 2')
        assert refused(lambda: of.strings_or_nulls("nulls")).startswith('entry 3 of "nulls"')
        assert fields(nulls=["a", None]).strings_or_nulls("nulls") == ("a", None)
        assert [each.of for each in of.objects("objects", "span")] == [
            "span 1 of report 2", "span 2 of report 2",
        ]  # fmt: skip
        alone = Fields({"objects": [{}]}, HERE).objects("objects", "span")
        assert [each.of for each in alone] == ["span 1"]
        assert (of.objects("empty", "span"), of.objects("absent", "span")) == ((), ())
        unknown = refused(lambda: of.objects("objects", "span", ("a",)))
        assert unknown == ('unknown key "b" in span 2 of report 2; remove it; the keys here are a')

    def test_an_unknown_key_is_refused_with_the_similar_key_or_all_keys(self) -> None:
        known = ("id", "sentences", "meta")
        near = refused(lambda: Fields({"Sentence": 1}, HERE, known=known))
        assert near == 'unknown key "Sentence"; did you mean "sentences"?'
        far = refused(lambda: Fields({"zzz": 1}, HERE, known=known))
        assert far.endswith("remove it or put it under meta; the keys here are id, sentences, meta")

    def test_a_value_that_is_not_an_object_is_refused_with_its_type(self) -> None:
        assert refused(lambda: Fields([], HERE)) == (
            "the line is a list, not an object; write an object"
        )
        assert refused(lambda: Fields(3, HERE, "span 1")).startswith("span 1 is a number")

    def test_several_optional_strings_are_read_at_once(self) -> None:
        of = fields(a="x", b=None, c=1)
        assert of.optional_strings(("a", "b", "absent")) == ["x", None, None]
        assert '"c" of report 2' in refused(lambda: of.optional_strings(("a", "c")))

    @pytest.mark.parametrize("date", ["2024-05-31", "2024-05-31T12:30:00Z", "2024-05-31 12:30"])
    def test_a_date_is_kept_as_it_was_given(self, date: str) -> None:
        assert fields(date=date).date("date") == date

    @pytest.mark.parametrize("date", ["20240531", "2024-W22-5", "2024-02-30", "2024-05-31x", ""])
    def test_a_date_that_is_not_iso_is_refused(self, date: str) -> None:
        assert "not an ISO date; write it as 2024-05-31" in refused(
            lambda: fields(date=date).date("date")
        )

    def test_a_generated_identifier_must_keep_to_the_limit(self) -> None:
        assert part_id("q" * (MAX_ID - 3), "p1", HERE) == "q" * (MAX_ID - 3) + ":p1"
        assert "has 256 characters" in refused(lambda: part_id("q" * (MAX_ID - 2), "p1", HERE))

    def test_the_first_repeated_value_is_found(self) -> None:
        assert first_repeated("abcba") == "b"
        assert first_repeated("abc") is None
        assert first_repeated("") is None


class TestWarnings:
    def test_fifty_warnings_are_given_in_full_and_further_ones_counted(self) -> None:
        for extra, last in ((0, f"warning {IN_FULL}"), (1, "1 more"), (7, "7 more")):
            notes = ReadNotes()
            tally = Tally(notes, "more")
            for n in range(1, IN_FULL + extra + 1):
                tally.add(f"warning {n}")
            tally.finish()
            assert notes.warnings[0] == "warning 1"
            assert notes.warnings[-1] == last
            assert len(notes.warnings) == IN_FULL + (extra > 0)
            assert tally.count == IN_FULL + extra


class TestRuns:
    def test_documents_are_ranked_by_line_for_each_topic_and_run(self, tmp_path: Path) -> None:
        path = tmp_path / "a.run"
        path.write_text("t1 Q0 b 9 0.1 x\nt1 Q0 a 1 0.9 x\nt1 Q0 b 1 1 y\nt2 Q0 b 1 1 x\n")
        other = tmp_path / "b.run"
        other.write_text("t1 Q0 c 1 1 x\n")
        assert rankings([path, other]) == {
            "t1": {"x": ["b", "a", "c"], "y": ["b"]},
            "t2": {"x": ["b"]},
        }

    @pytest.mark.parametrize("columns", ["t Q0 d 1 1", "t Q0 d 1 1 x y"])
    def test_a_line_without_six_columns_is_refused(self, tmp_path: Path, columns: str) -> None:
        path = tmp_path / "a.run"
        path.write_text(f"t Q0 a 1 1 x\n{columns}\n")
        error = refusal(lambda: rankings([path]), path, 2)
        assert error.wrong == f"{len(columns.split())} columns where a TREC run has 6"

    def test_a_repeated_document_is_refused_with_its_first_place_in_any_file(
        self, tmp_path: Path
    ) -> None:
        path, other = tmp_path / "a.run", tmp_path / "b.run"
        path.write_text("t Q0 a 1 1 x\n")
        other.write_text("t Q0 b 1 1 x\nt Q0 a 1 1 x\n")
        error = refusal(lambda: rankings([path, other]), other, 2)
        assert error.wrong == f"the document a is already ranked at {path}, line 1 for this topic"


def read(reader: Any, path: Path, *rows: Any) -> tuple[list[Query], ReadNotes]:
    notes = ReadNotes()
    return [each.query for each in reader.read([jsonl(path, *rows)], notes)], notes


class TestNative:
    @pytest.mark.parametrize(
        ("keys", "known"),
        [("id text", True), ("id x", True), ("id x y", False), ("text", True), ("meta", False)],
    )
    def test_half_of_the_keys_are_enough_to_recognise_the_format(
        self, keys: str, known: bool
    ) -> None:
        assert native.recognises(Path("b.jsonl"), dict.fromkeys(keys.split(), "1")) is known
        assert not native.recognises(Path("folder"), None)

    def test_scores_of_0_and_1_and_a_weight_of_0_are_accepted(self, tmp_path: Path) -> None:
        points = [
            {"id": f"k{n}", "text": "t", "passage": "p", "score": score}
            for n, score in enumerate((0, 1))
        ]
        row = {
            "id": "q", "text": "t", "questions": [{"id": "a", "text": "t", "weight": 0}],
            "passages": [{"id": "p", "text": "x"}], "key_points": points,
        }  # fmt: skip
        (query,), notes = read(native, tmp_path / "b.jsonl", row)
        assert [point.score for point in query.key_points] == [0.0, 1.0]
        assert query.questions[0].weight == 0.0
        assert notes.warnings == []

    @pytest.mark.parametrize(
        ("sentences", "found"),
        [
            (["ab", "cd"], None),
            (["ab", "ab"], (2, "is out of order")),
            (["cd", "ab"], (2, "is out of order")),
            (["ab", "x"], (2, "is not in its text")),
            (["ab", " ", "cd"], (2, "is empty")),
            (["ab", "bc"], (2, "is out of order")),
            ([], None),
        ],
    )
    def test_sentences_must_follow_each_other_in_the_text(
        self, sentences: list[str], found: tuple[int, str] | None
    ) -> None:
        assert stray_sentence("ab bc cd".replace(" bc", "c"), sentences) == found

    def test_spans_of_key_points_are_searched_in_their_own_passages(self, tmp_path: Path) -> None:
        def point(n: int, passage: str, *spans: str) -> dict[str, Any]:
            return {"id": f"k{n}", "text": "t", "passage": passage, "spans": list(spans)}

        row = {
            "id": "q", "text": "t",
            "passages": [{"id": "p", "text": "one two"}, {"id": "r", "text": "three"}],
            "key_points": [
                point(1, "p", "one", "two"), point(2, "p", "three"), point(3, "r", "three"),
                point(4, "elsewhere", "x"), point(5, "elsewhere"),
            ],
        }  # fmt: skip
        _, notes = read(native, tmp_path / "b.jsonl", row)
        wrong, unseen = notes.warnings
        assert 'key point "k2" has a span that is not in its passage: "three"' in wrong
        assert unseen.startswith("the spans of 1 key points were not checked")


class TestLabelStudio:
    @pytest.mark.parametrize(
        ("task", "name"),
        [
            ({"id": 0}, "0"),
            ({"id": "a"}, "a"),
            ({"id": " ", "data": {"id": 7}}, "7"),
            ({"id": True, "data": {"id": "x"}}, "x"),
            ({"id": 1.5}, None),
            ({"data": {"id": ""}}, None),
            ({"data": []}, None),
        ],
    )
    def test_a_task_has_its_own_id_or_that_of_its_data(
        self, task: dict[str, Any], name: str | None
    ) -> None:
        assert task_id(task) == name

    def test_the_first_known_key_is_the_question_and_all_answers_become_reports(
        self, tmp_path: Path
    ) -> None:
        data = {"prompt": "p?", "question": "q?", "text": "T", "answer": "A", "of": 3, "no": None}
        (query,), _ = read(label_studio, tmp_path / "b.jsonl", {"id": 1, "data": data})
        assert query.text == "q?"
        assert [(r.id, r.text) for r in query.reports] == [("1:answer", "A"), ("1:text", "T")]
        assert query.meta == {"prompt": "p?", "of": 3}

    def test_passages_can_be_texts_lists_or_objects(self, tmp_path: Path) -> None:
        data = {"query": "q?", "passages": ["one", {"text": "two", "title": "T"}], "context": "c"}
        (query,), _ = read(label_studio, tmp_path / "b.jsonl", {"id": 1, "data": data})
        assert [(p.id, p.text, p.title) for p in query.passages] == [
            ("1:passages:1", "one", None),
            ("1:passages:2", "two", "T"),
            ("1:context:1", "c", None),
        ]
        assert query.reports == ()
        assert query.meta is None

    @pytest.mark.parametrize("address", ["http://x", "https://x", "/data/x", "s3://x"])
    def test_a_url_is_not_taken_as_the_text_of_a_task(self, tmp_path: Path, address: str) -> None:
        path = jsonl(tmp_path / "b.jsonl", {"id": 1, "data": {"image": address}})
        error = refusal(lambda: label_studio.read([path], ReadNotes()), path, 1)
        assert error.wrong == (
            '"image" of data is the address of an image, a recording or a file, not a text: '
            f'"{address}"'
        )

    def test_a_task_without_a_text_is_refused(self, tmp_path: Path) -> None:
        path = jsonl(tmp_path / "b.jsonl", {"id": 1, "data": {"context": "c", "n": 1}})
        error = refusal(lambda: label_studio.read([path], ReadNotes()), path, 1)
        assert error.wrong == "the task has no text of its own"

    def test_tasks_are_numbered_over_all_files_and_their_annotations_counted(
        self, tmp_path: Path
    ) -> None:
        one = jsonl(tmp_path / "1.jsonl", {"data": {"text": "a"}, "annotations": [{}, {}]})
        two = jsonl(tmp_path / "2.jsonl", {"data": {"text": "b"}, "predictions": [{}]})
        notes = ReadNotes()
        found = [each.query.id for each in label_studio.read([one, two], notes)]
        assert found == ["1", "2"]
        assert notes.skipped == {
            "annotations, which tandem labels import reads": 2,
            "predictions, which tandem labels import reads": 1,
        }


class TestGarage:
    def sample(self, **changes: Any) -> dict[str, Any]:
        return {
            "sample_id": "s", "question": "Why?", "grounding": [{"text": "a"}, {"text": "b"}],
            "answer_generate": "So.", "evidence_relevant": ["YES", " no "],
            "evidence_cited": ["cited", "0"], "evidence_correct": ["", "ANSWER-THE-QUESTION"],
            **changes,
        }  # fmt: skip

    def test_tags_belong_to_their_passages(self, tmp_path: Path) -> None:
        (query,), notes = read(garage, tmp_path / "b.jsonl", self.sample())
        assert [(p.id, p.relevant, p.meta) for p in query.passages] == [
            ("s:p1", True, None),
            ("s:p2", False, {"use": "answer-the-question"}),
        ]
        (reference,) = query.references
        assert (reference.citations, reference.deflected) == (("s:p1",), False)
        assert notes.warnings == []

    def test_there_must_be_as_many_tags_as_passages_or_none(self, tmp_path: Path) -> None:
        (query,), _ = read(garage, tmp_path / "a.jsonl", self.sample(evidence_relevant=[]))
        assert [p.relevant for p in query.passages] == [None, None]
        path = jsonl(tmp_path / "b.jsonl", self.sample(evidence_cited=["yes"]))
        error = refusal(lambda: garage.read([path], ReadNotes()), path, 1)
        assert error.wrong == '"evidence_cited" has 1 tags for 2 passages'

    def test_unknown_tags_and_dates_are_counted_over_all_samples(self, tmp_path: Path) -> None:
        rows = [
            self.sample(sample_id=1, evidence_relevant=["maybe", "yes"], question_date="soon"),
            self.sample(sample_id="2", evidence_cited=["x", "y"], question_date="2024-05-31"),
        ]
        (first, second), notes = read(garage, tmp_path / "b.jsonl", *rows)
        assert (first.id, first.asked_at, first.meta) == ("1", None, {"question_date": "soon"})
        assert (second.asked_at, second.meta) == ("2024-05-31", None)
        assert first.passages[0].relevant is None
        assert notes.warnings == [
            "the dates of 1 questions are not ISO dates; they are kept in meta",
            "3 tags are neither YES nor NO; they were left out",
        ]

    def test_a_question_that_is_not_time_sensitive_is_static(self, tmp_path: Path) -> None:
        (query,), _ = read(garage, tmp_path / "b.jsonl", self.sample(question_sensitive="No"))
        assert query.meta == {"time_sensitive": "no", "sensitivity": "static"}
        other_sample = self.sample(
            question_sensitive="no", question_type="Fast-Changing", other="x"
        )
        (query,), _ = read(garage, tmp_path / "c.jsonl", other_sample)
        assert query.meta == {
            "time_sensitive": "no", "sensitivity": "fast-changing", "other": "x",
        }  # fmt: skip

    def test_the_provider_ent_is_read_as_private(self, tmp_path: Path) -> None:
        grounding = [{"text": "a", "provider": "ENT"}, {"text": "b", "provider": "web", "age": " "}]
        (query,), _ = read(garage, tmp_path / "b.jsonl", self.sample(grounding=grounding))
        assert [(p.source, p.age) for p in query.passages] == [("private", None), ("web", None)]


class TestCrux:
    def record(self, qid: str, response: str = "A.", **more: Any) -> dict[str, Any]:
        return {"qid": qid, "topic": "Write.", "questions": ["Who?"], "response": response, **more}

    def folder(self, tmp_path: Path, **files: list[dict[str, Any]]) -> tuple[list[str], ReadNotes]:
        for name, rows in files.items():
            jsonl(tmp_path / f"{name}.jsonl", *rows)
        notes = ReadNotes()
        found = [each.query for each in crux.read([tmp_path], notes)]
        return [report.id for query in found for report in query.reports], notes

    def test_the_file_of_a_folder_with_the_most_reports_is_preferred(self, tmp_path: Path) -> None:
        small = [self.record("t-1", "Another.")]
        large = [self.record("t-1"), self.record("bm25_t-1")]
        found, notes = self.folder(tmp_path, a=small, b=large)
        assert found == ["t-1", "bm25_t-1"]
        assert notes.skipped == {"reports of files that repeat other reports' ids": 1}
        assert "all 1 reports of the file were left out" in notes.warnings[0]

    def test_equal_reports_in_several_files_are_counted_once(self, tmp_path: Path) -> None:
        found, notes = self.folder(
            tmp_path,
            a=[self.record("t-1"), self.record("t-2")],
            b=[self.record("t-1"), self.record("t-3")],
        )
        assert sorted(found) == ["t-1", "t-2", "t-3"]
        assert notes.skipped == {"repeated reports": 1}

    def test_a_run_is_compared_with_the_contexts_of_its_settings_reports(
        self, tmp_path: Path
    ) -> None:
        run = tmp_path / "x.run"
        run.write_text("t-1 Q0 t-1:a 1 1 human_eval_bm25\nt-1 Q0 t-1:b 2 1 human_eval_\n")
        rows = [
            self.record("t-1", docids=["t-1:c"]),
            self.record("bm25_t-1", "B.", docids=["t-1:b"]),
        ]
        path, notes = jsonl(tmp_path / "r.jsonl", *rows), ReadNotes()
        (query,) = [each.query for each in crux.read([path, run], notes)]
        assert [ranking.system for ranking in query.rankings] == ["bm25", "human_eval_"]
        said = 'the run of "bm25" names other passages than the context of 1 of its reports'
        assert [each for each in notes.warnings if "names other passages" in each] == [said]
