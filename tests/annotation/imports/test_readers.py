"""Files of labels and answers as rows: every key, its limits, and errors with their line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import REASONS
from annotation.imports.clapnq import ReleasedAnswer, read_clapnq
from annotation.imports.crux import looks_like_crux, rater_of, read_crux
from annotation.imports.label_studio import Choice, Highlight, StudioAnswer, read_label_studio
from annotation.imports.responses import looks_like_responses, quote_rows, read_responses
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.spreadsheet import write_rows
from tandem.labels.file.reader import StandIn, read_labels, strict_json
from tandem.labels.file.rows import LabelRow, SpanRow, as_line
from tests.annotation.imports.test_label_studio import COVERAGE

pytestmark = pytest.mark.every_case

Line = Mapping[str, Any]


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def written(given: bytes | Iterable[Line], name: str = "f.jsonl") -> Path:
        text = (
            given if isinstance(given, bytes) else b"\n".join(json.dumps(x).encode() for x in given)
        )
        (tmp_path / name).write_bytes(text)
        return tmp_path / name

    return written


File = Callable[..., Path]


class TestLabels:
    LEAST: Line = {"item": "i", "unit": "u", "variable": "v", "rater": "ada", "value": "yes"}
    FULL: Line = {
        **LEAST, "campaign": "c", "protocol": "p", "kind": "question", "rater_kind": "judge",
        "replicate": 3, "created_at": "2024-05-31T12:30:00Z", "revision": 2, "seconds": 1.5,
        "score": -0.5, "spans": [{"field": "report", "start": 0, "end": 2, "text": "So"}],
        "assisted_by": "bo", "batch": "b", "query": "q", "system": "s", "setting": "t",
        "meta": {"a": 1},
    }  # fmt: skip

    def row(self, file: File, **changes: Any) -> LabelRow:
        (row,) = read_labels(file([{**self.LEAST, **changes}]))
        return row

    def refused(self, file: File, **changes: Any) -> str:
        with pytest.raises(InputError) as caught:
            self.row(file, **changes)
        assert caught.value.place.line == 1
        return caught.value.wrong

    def test_every_key_is_read_and_written_back_unchanged(self, file: File) -> None:
        (row,) = read_labels(file([self.FULL]))
        assert as_line(row) == self.FULL
        assert row.place == Place(str(file([self.FULL])), 1)

    def test_omitted_keys_get_their_defaults(self, file: File) -> None:
        row = self.row(file)
        assert as_line(row) == {**self.LEAST, "rater_kind": "human", "replicate": 0}
        assert (row.spans, row.seconds, row.assisted_by) == (None, None, None)

    def test_csv_cells_give_the_same_values_as_json_lines(self, file: File) -> None:
        cells = {
            name: json.dumps(value) if isinstance(value, list | dict) else str(value)
            for name, value in self.FULL.items()
        }
        text = "".join(write_rows(list(cells), iter([cells]))).encode()
        for name in ("f.csv", "F.CSV"):
            (row,) = read_labels(file(text, name))
            assert as_line(row) == self.FULL
            assert row.place.line == 2

    @pytest.mark.parametrize("name", ["replicate", "revision", "seconds", "score", "spans", "meta"])
    @pytest.mark.parametrize("cell", ["{", "NaN", "[" * 20_000])
    def test_a_cell_with_malformed_json_is_refused(self, file: File, name: str, cell: str) -> None:
        cells = {**self.LEAST, name: cell}
        text = "".join(write_rows(list(cells), iter([cells]))).encode()
        with pytest.raises(InputError, match=f"{name} is .*; write it as JSON"):
            list(read_labels(file(text, "f.csv")))

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"missing": "declined"}, "a label has a value or a missing reason"),
            ({"value": None}, "a label has a value or a missing reason"),
            ({"value": None, "missing": "tired"}, 'missing is "tired"'),
            ({"value": ""}, "value is not a code"),
            ({"value": True}, "value is not a code"),
            ({"value": [1.5]}, "value is not a list of codes"),
            ({"rater_kind": "people"}, 'rater_kind is "people"'),
            ({"item": ""}, '"item" is empty'),
            ({"item": None}, '"item" is null'),
            ({"unit": True}, '"unit" is true or false, not a string'),
            ({"variable": " "}, '"variable" is empty'),
            ({"rater": " "}, "the rater is blank or longer than 150 characters"),
            ({"rater": "a" * 151}, "rater has 151 characters"),
            ({"assisted_by": "a" * 151}, "assisted_by has 151 characters"),
            ({"replicate": -1}, '"replicate" is -1'),
            ({"replicate": 30_001}, '"replicate" is 30001'),
            ({"replicate": 1.5}, "replicate is 1.5"),
            ({"revision": 0}, '"revision" is 0'),
            ({"revision": 30_001}, '"revision" is 30001'),
            ({"seconds": -0.1}, '"seconds" is -0.1'),
            ({"created_at": "May"}, 'created_at is "May"'),
            ({"created_at": "0001-01-01T00:00:00+14:00"}, "created_at is "),
            ({"spans": [{"field": "f", "text": " "}]}, "span 1 has no text"),
            ({"spans": [{"start": 3, "end": 3}]}, "span 1 has no text"),
            ({"spans": [{"start": 3}]}, "span 1 has no text"),
            ({"spans": [{"end": 3}]}, "span 1 has no text"),
            ({"spans": [{"text": "a", "start": 2**31}]}, '"start" of span 1 is 2147483648'),
            ({"spans": [{"text": "a", "end": 2**31}]}, '"end" of span 1 is 2147483648'),
            ({"spans": [{"text": "a", "field": "f" * 301}]}, "field has 301 characters"),
            ({"spans": [{"text": "a", "quote": "b"}]}, 'unknown key "quote" in span 1'),
            ({"seen": 1}, 'unknown key "seen"'),
        ],
    )  # fmt: skip
    def test_an_invalid_line_is_refused_with_the_reason(
        self, file: File, given: dict[str, Any], said: str
    ) -> None:
        assert self.refused(file, **given).startswith(said)

    @pytest.mark.parametrize(
        ("name", "given"),
        [
            ("replicate", 0), ("replicate", 30_000), ("revision", 1), ("revision", 30_000),
            ("seconds", 0.0), ("score", -1e9), ("score", 1e9), ("assisted_by", "a" * 150),
            ("rater", "a" * 150), ("rater_kind", "human"), ("rater_kind", "reference"),
        ],
    )  # fmt: skip
    def test_the_largest_value_of_each_key_is_accepted(
        self, file: File, name: str, given: Any
    ) -> None:
        assert getattr(self.row(file, **{name: given}), name) == given

    def test_a_grade_is_text_or_a_whole_number_and_exposure_true_or_false(self, file: File) -> None:
        for given, grade in ((3, "3"), ("good", "good"), ("", None), (None, None)):
            assert self.row(file, grade=given).grade == grade
        longest = "g" * 300
        assert self.row(file, grade=longest).grade == longest
        wrong: list[tuple[Any, str]] = [
            (True, 'grade is "True"'),
            ([1], "grade is "),
            (longest + "g", "grade has 301"),
        ]
        for given, message in wrong:
            assert self.refused(file, grade=given).startswith(message)
        truths: list[tuple[Any, bool | None]] = [
            ("true", True), ("false", False), (1, True), (0, False), (True, True), (None, None),
        ]  # fmt: skip
        for given, exposed in truths:
            assert self.row(file, exposed=given).exposed is exposed
        for other in (2, "yes", "", [True]):
            assert self.refused(file, exposed=other).startswith("exposed is ")

    @pytest.mark.parametrize("reason", REASONS)
    def test_each_reason_for_a_missing_label_is_known(self, file: File, reason: str) -> None:
        row = self.row(file, value=None, missing=reason)
        assert (row.value, row.missing) == (None, reason)

    @pytest.mark.parametrize(
        ("given", "read"),
        [
            ({"start": 0, "end": 1}, SpanRow("", 0, 1, "")),
            ({"start": 2**31 - 2, "end": 2**31 - 1}, SpanRow("", 2**31 - 2, 2**31 - 1, "")),
            ({"text": "a", "start": 5, "end": 5}, SpanRow("", 5, 5, "a")),
            ({"text": "a", "field": "f" * 300}, SpanRow("f" * 300, None, None, "a")),
        ],
    )
    def test_a_span_is_a_range_or_words(
        self, file: File, given: dict[str, Any], read: SpanRow
    ) -> None:
        assert self.row(file, spans=[given]).spans == (read,)
        assert self.row(file, spans=[]).spans == ()

    def test_an_empty_assistant_is_none_and_a_number_is_a_key(self, file: File) -> None:
        assert self.row(file, assisted_by="").assisted_by is None
        row = self.row(file, item=7, unit=8.0)
        assert (row.item, row.unit) == ("7", "8")

    @pytest.mark.parametrize(
        ("own", "other", "name", "used"),
        [
            ("ada", "bo", "ada", False),
            ("ada", None, "ada", False),
            (None, "bo", "bo", True),
            ("", "bo", "bo", True),
        ],
    )
    def test_the_default_rater_is_used_for_a_line_without_one(
        self, file: File, own: str | None, other: str | None, name: str, used: bool
    ) -> None:
        rater = StandIn(other)
        (row,) = read_labels(file([{**self.LEAST, "rater": own}]), rater)
        assert (row.rater, rater.used) == (name, used)

    def test_use_of_the_default_rater_is_remembered(self, file: File) -> None:
        rater = StandIn("bo")
        rows = read_labels(file([{**self.LEAST, "rater": None}, self.LEAST]), rater)
        assert [row.rater for row in rows] == ["bo", "ada"]
        assert rater.used

    def test_the_default_rater_has_the_same_limits(self, file: File) -> None:
        for name in (" ", "a" * 151):
            with pytest.raises(InputError, match="the rater is blank or longer"):
                list(read_labels(file([{**self.LEAST, "rater": None}]), StandIn(name)))
        with pytest.raises(InputError, match='"rater" is null'):
            list(read_labels(file([{**self.LEAST, "rater": None}])))


class TestCells:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}),
            ("9" * 30, int("9" * 30)),
            ("-" + "9" * 30, -int("9" * 30)),
            ("1e308", 1e308),
        ],
    )
    def test_json_is_read(self, text: str, value: Any) -> None:
        assert strict_json(text) == value

    @pytest.mark.parametrize(
        "text",
        ['{"a": 1, "a": 1}', "NaN", "-Infinity", "1e309", "-1e309", "9" * 31, "-" + "9" * 31,
         '"\\u0000"', '{"\\u0000": 1}', '{"a": {"b": ["\\ud800"]}}', "[1", ""],
    )  # fmt: skip
    def test_unstorable_json_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError):  # noqa: PT011 - each is told by its place alone
            strict_json(text)


class TestSpreadsheet:
    def test_lines_are_written_with_the_header_first(self) -> None:
        rows: list[Line] = [
            {"a": None, "b": True},
            {"a": 1.5, "b": False},
            {"b": ["x\ry", {"é": 1}]},
        ]
        assert list(write_rows(["a", "b"], iter(rows))) == [
            "a,b\n", ",true\n", "1.5,false\n", ',"[""x\\ry"", {""é"": 1}]"\n',
        ]  # fmt: skip
        assert list(write_rows(["a"], iter([{"a": "x\ry"}, {"a": "=1+1"}]))) == [
            "a\n", '"x\ry"\n', "'=1+1\n",
        ]  # fmt: skip


class TestResponses:
    LEAST: Line = {"item": "i", "rater": "ada", "units": {"u": {"v": "yes"}}}

    def read(self, file: File, **changes: Any) -> Any:
        (row,) = read_responses(file([{**self.LEAST, **changes}]))
        return row

    def test_every_key_is_read(self, file: File) -> None:
        fields = {
            "protocol": "p", "rater_kind": "judge", "replicate": 2, "revision": 3,
            "created_at": "2024-05-31", "seconds": 1.5, "assisted_by": "bo", "comment": "so",
        }  # fmt: skip
        row = self.read(file, campaign="c", **fields)
        assert {name: getattr(row, name) for name in fields} == fields
        assert (row.item, row.rater, row.units, row.place.line) == (
            "i", "ada", self.LEAST["units"], 1,
        )  # fmt: skip

    def test_omitted_keys_get_their_defaults(self, file: File) -> None:
        row = self.read(file, assisted_by="", units=None)
        assert (row.rater_kind, row.replicate, row.revision, row.units) == ("human", 0, None, {})
        assert (row.assisted_by, row.comment, row.protocol, row.seconds) == (None,) * 4

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"rater_kind": "dog"}, 'rater_kind is "dog"'),
            ({"item": " "}, '"item" is empty'),
            ({"revision": 0}, '"revision" is 0'),
            ({"seconds": -1}, '"seconds" is -1'),
            ({"assisted_by": "a" * 151}, "assisted_by has 151"),
            ({"units": {"u": {}, "w": []}}, 'unit "w" is not an object'),
            ({"value": 1}, 'unknown key "value"'),
        ],
    )
    def test_an_invalid_line_is_refused_with_the_reason(
        self, file: File, given: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            self.read(file, **given)
        assert caught.value.wrong.startswith(said)

    def test_responses_are_recognised_by_their_units_key(self) -> None:
        assert looks_like_responses({"units": {}})
        assert not looks_like_responses({"unit": "u"})

    def test_the_default_rater_is_used_as_for_labels(self, file: File) -> None:
        rater = StandIn("bo")
        (row,) = read_responses(file([{**self.LEAST, "rater": None}]), rater)
        assert (row.rater, rater.used) == ("bo", True)

    def test_quotes_are_spans_of_their_variable_and_field(self) -> None:
        given = [
            {"quote": "a", "start": 4},
            {"quote": "b", "variable": "w", "field": "f", "start": None},
            {"quote": "c"},
        ]
        assert quote_rows(given, "v", "report", Place("f")) == {
            "v": (SpanRow("report", 4, None, "a"), SpanRow("report", None, None, "c")),
            "w": (SpanRow("f", None, None, "b"),),
        }
        assert quote_rows(None, "v", "report", Place("f")) == {}

    @pytest.mark.parametrize(
        ("given", "variable", "said"),
        [
            ({}, "v", "evidence is not a list of quotes"),
            ("", "v", "evidence is not a list of quotes"),
            ([{"quote": "a"}], "", '"variable" of a quote is missing'),
            ([{"quote": " "}], "v", '"quote" of a quote is empty'),
            ([{"quote": "a", "end": 1}], "v", 'unknown key "end" in a quote'),
            ([{"quote": "a", "field": "f" * 301}], "v", "field has 301"),
            ([{"quote": "a", "start": 2**31}], "v", '"start" of a quote is 2147483648'),
            ([7], "v", "a quote is a number"),
        ],
    )
    def test_an_invalid_quote_is_refused_with_the_reason(
        self, given: object, variable: str, said: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            quote_rows(given, variable, "report", Place("f"))
        assert caught.value.wrong.startswith(said)


class TestCrux:
    TEXTS: Line = {"d1:q0": "When?", "d1:q1": "Who?", "d1:q2": "Why?"}

    def rows(self, file: File, *lines: Line, notes: ReadNotes | None = None) -> list[LabelRow]:
        texts = {"run_d1": self.TEXTS, "d1/p": self.TEXTS}
        path = file(lines, "qlabels.jsonl")
        notes = notes or ReadNotes()
        return list(read_crux(path, "ada", lambda item: texts.get(item, {}), notes))

    def test_a_reports_labels_belong_to_its_questions_with_their_quotes(self, file: File) -> None:
        quotes = {"When?": "in 1901", "Why?": " ", "Where?": "not asked"}
        labels = [1, 0, 1, -1, -2]
        line = {"id": "run_d1", "answerability": labels, "question_based_nugget": quotes}
        rows = self.rows(file, line)
        assert [(r.item, r.unit, r.variable, r.rater, r.value, r.kind) for r in rows] == [
            ("run_d1", f"d1:q{n}", "answerable", "ada", value, "question")
            for n, value in enumerate(("yes", "no", "yes"))
        ]  # fmt: skip
        assert [row.spans for row in rows] == [(SpanRow("report", None, None, "in 1901"),), (), ()]
        assert {row.place.line for row in rows} == {1}

    @pytest.mark.parametrize("label", [2, -3, True, False, "1", None])
    def test_an_unknown_label_is_refused_with_its_position(self, file: File, label: Any) -> None:
        with pytest.raises(InputError, match=r"label 1 is .*; give 1, 0, -1 or -2"):
            self.rows(file, {"id": "d1", "answerability": [1, label]})

    def test_labels_that_are_no_list_are_refused(self, file: File) -> None:
        with pytest.raises(InputError, match='"answerability" is not a list'):
            self.rows(file, {"id": "d1", "answerability": {"0": 1}})

    def test_a_passages_ratings_belong_to_its_topics_questions(self, file: File) -> None:
        line = {
            "id": "d1", "document": "p", "relevances": {"0": -1, "1": 4, "2": -2, "9": 3},
            "rationales": {"1": "Anna Lee"},
        }  # fmt: skip
        notes = ReadNotes()
        further = {**line, "relevances": {"9": 3, "2": 0}, "rationales": {"2": " "}}
        rows = self.rows(file, line, further, notes=notes)
        assert [(r.item, r.unit, r.variable, r.rater, r.value, r.kind, r.spans, r.place.line)
                for r in rows] == [
            ("d1/p", "d1:q1", "rating", "ada", "4", "question",
             (SpanRow("passage", None, None, "Anna Lee"),), 1),
            ("d1/p", "d1:q2", "rating", "ada", "0", "question", (), 2),
        ]  # fmt: skip
        assert notes.skipped == {"ratings of null questions": 2}

    def test_every_rating_of_an_unknown_passage_is_kept(self, file: File) -> None:
        rows = self.rows(file, {"id": "d9", "document": "p", "relevances": {"0": 5}})
        assert [(row.item, row.unit, row.value, row.spans) for row in rows] == [
            ("d9/p", "d9:q0", "5", ())
        ]

    def test_crux_lines_are_recognised_by_their_keys_and_others_are_refused(
        self, file: File
    ) -> None:
        assert looks_like_crux({"answerability": []})
        assert looks_like_crux({"relevances": {}})
        assert not looks_like_crux({"id": "d1"})
        with pytest.raises(InputError, match="line 1: is not a CRUX label"):
            self.rows(file, {"id": "d1"})

    def test_the_rater_of_a_crux_file_is_its_folder(self, tmp_path: Path) -> None:
        assert rater_of(tmp_path / "ada" / "qrels.jsonl") == "ada"


class TestClapnq:
    def read(self, file: File, *outputs: Line) -> list[ReleasedAnswer]:
        return list(read_clapnq(file([{"id": "q", "output": list(outputs)}])))

    def output(self, raters: Any, turn: Any = 1, **meta: Any) -> Line:
        facts = {"annotator": raters, "round": turn, **meta}
        return {"answer": f"of {raters}", "selected_sentences": ["s"], "meta": facts}

    def rows_of(self, found: list[ReleasedAnswer]) -> list[tuple[Any, ...]]:
        return [(r.rater, r.replicate, r.output, r.round, r.action) for r in found]

    def test_the_first_annotator_of_a_shared_answer_wrote_it_and_the_second_kept_it(
        self, file: File
    ) -> None:
        found = self.read(file, self.output([7, 9], 2))
        assert self.rows_of(found) == [("7", 0, 0, 1, None), ("9", 0, 0, 2, "keep")]

    def test_a_second_round_answer_modifies_the_first(self, file: File) -> None:
        found = self.read(file, self.output([7]), self.output([8], 2))
        assert self.rows_of(found) == [("7", 0, 0, 1, None), ("8", 0, 1, 2, "modify")]

    def test_a_skipped_output_is_skipped_for_all_its_annotators(self, file: File) -> None:
        found = self.read(file, self.output([7]), self.output([8, 9], 2, skip=True))
        assert [r.action for r in found] == [None, "skip", "skip"]
        assert [r.skipped for r in found] == [False, True, True]

    def test_each_further_answer_of_an_annotator_is_a_replicate(self, file: File) -> None:
        found = self.read(file, *[self.output([7]) for _ in range(3)], self.output([], 0))
        assert self.rows_of(found) == [
            ("7", 0, 0, 1, None), ("7", 1, 1, 1, None), ("7", 2, 2, 1, None), (None, 0, 3, 0, None),
        ]  # fmt: skip

    def test_an_answer_has_its_text_sentences_and_release_facts(self, file: File) -> None:
        more = {"has_minimal_answer": True, "non_consecutive": False, "other": 1}
        ((found),) = self.read(file, self.output([7], **more))
        assert (found.item, found.text, found.selected) == ("q", "of [7]", ("s",))
        assert found.meta == {
            "released_round": 1, "released_has_minimal_answer": True,
            "released_non_consecutive": False,
        }  # fmt: skip
        assert found.place.line == 1

    @pytest.mark.parametrize(
        ("text", "usable"), [("", False), (" NA ", False), (".", False), ("N", True)]
    )
    def test_a_placeholder_answer_is_not_usable(self, file: File, text: str, usable: bool) -> None:
        (found,) = self.read(file, {"answer": text})
        assert (found.usable, found.selected, found.meta) == (usable, (), {})
        assert self.rows_of([found]) == [(None, 0, 0, 0, None)]

    @pytest.mark.parametrize("output", [{"raters": "7"}, {"raters": [7], "turn": "1"}])
    def test_malformed_meta_is_refused_with_the_outputs_number(
        self, file: File, output: dict[str, Any]
    ) -> None:
        with pytest.raises(InputError, match="the meta of output 2 lacks"):
            self.read(file, self.output([7]), self.output(**output))


def result(kind: str, control: str = "c", to: str = "t", **value: Any) -> dict[str, Any]:
    return {"type": kind, "from_name": control, "to_name": to, "value": value}


class TestLabelStudio:
    def said(
        self, file: File, task: Line, rater: str | None = "zoe"
    ) -> tuple[list[StudioAnswer], ReadNotes]:
        notes = ReadNotes()
        path = file(json.dumps([task]).encode(), "tasks.json")
        return list(read_label_studio(path, StandIn(rater), notes, COVERAGE)), notes

    def one(self, file: File, annotation: Line, **task: Any) -> StudioAnswer:
        ((said),), _ = self.said(file, {"id": 5, "annotations": [annotation], **task})
        return said

    def test_people_annotate_and_judges_predict(self, file: File) -> None:
        task = {
            "id": 5, "data": {"item": "i", "unit": "u", "kind": "k"},
            "annotations": [{"completed_by": 3, "lead_time": 2.5}],
            "predictions": [{"model_version": "m", "completed_by": 3}],
        }  # fmt: skip
        (person, model), _ = self.said(file, task)
        assert (person.task, person.item, person.unit, person.kind) == ("5", "i", "u", "k")
        assert (person.rater, person.rater_kind, person.seconds) == ("3", "human", 2.5)
        assert (model.rater, model.rater_kind, model.seconds) == ("m", "judge", None)
        assert (person.place.line, model.replicate, person.declined) == (1, 0, False)

    @pytest.mark.parametrize(
        ("by", "name"),
        [
            (3, "3"), (0, "0"), ("ada", "ada"), ({"id": 3, "username": "ada"}, "3"),
            ({"username": "ada"}, "ada"), ({}, "zoe"), ("", "zoe"), (None, "zoe"),
        ],
    )  # fmt: skip
    def test_an_annotator_is_a_number_or_a_name(self, file: File, by: Any, name: str) -> None:
        assert self.one(file, {"completed_by": by}).rater == name

    def test_facts_of_our_own_export_take_precedence(self, file: File) -> None:
        own = {
            "rater": "bo", "rater_kind": "reference", "replicate": 4, "seconds": 9.0,
            "revision": 2, "assisted_by": "al", "missing": {"v": "declined"},
            "meta": {"v": {"a": 1}},
        }  # fmt: skip
        facts = {"completed_by": 3, "lead_time": 1, "created_at": "2024-05-31T10:00:00Z"}
        said = self.one(file, {**facts, "tandem": own, "was_cancelled": True})
        assert {name: getattr(said, name) for name in own} == own
        assert (said.created_at, said.declined) == ("2024-05-31T10:00:00Z", True)
        silent = self.one(file, {**facts, "tandem": {"seconds": None}})
        assert silent.seconds is None

    def test_without_facts_of_our_own_export_they_are_empty(self, file: File) -> None:
        said = self.one(file, {})
        assert (said.missing, said.meta, said.revision, said.assisted_by) == ({}, {}, None, None)
        assert (said.choices, said.highlights, said.created_at) == ((), (), None)

    def test_repeated_answers_of_a_rater_are_numbered_unless_the_file_does(
        self, file: File
    ) -> None:
        given = [
            {"completed_by": 1}, {"completed_by": 1}, {"completed_by": 2},
            {"completed_by": 1, "tandem": {"replicate": 7}}, {"completed_by": 1},
        ]  # fmt: skip
        said, _ = self.said(file, {"annotations": given})
        assert [(each.rater, each.replicate) for each in said] == [
            ("1", 0), ("1", 1), ("2", 0), ("1", 7), ("1", 3),
        ]  # fmt: skip
        assert {each.task for each in said} == {"1"}

    @pytest.mark.parametrize(
        ("own", "said"),
        [
            ({"rater_kind": "dog"}, 'rater_kind is "dog"'),
            ({"replicate": 30_001}, '"replicate" of annotation 1 is 30001'),
            ({"revision": 0}, '"revision" of annotation 1 is 0'),
            ({"revision": 30_001}, '"revision" of annotation 1 is 30001'),
            ({"seconds": -1}, '"seconds" of annotation 1 is -1'),
        ],
    )
    def test_numbers_out_of_bounds_are_refused(
        self, file: File, own: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            self.one(file, {"completed_by": 1, "tandem": own})
        assert caught.value.wrong.startswith(said)

    def test_numbers_at_their_bounds_are_accepted(self, file: File) -> None:
        said = self.one(file, {"tandem": {"replicate": 30_000, "revision": 30_000, "seconds": 0}})
        assert (said.replicate, said.revision, said.seconds) == (30_000, 30_000, 0)

    def test_choices_ratings_and_numbers_are_read_as_choices(self, file: File) -> None:
        results = [
            result("choices", choices=["yes"]) | {"score": -0.25},
            result("rating", "r", rating=4),
            result("number", "n", number=2.5),
            result("number", "m", number=10),
            {"type": "choices", "from_name": "x", "value": None},
        ]
        assert self.one(file, {"result": results}).choices == (
            Choice("c", "yes", -0.25), Choice("r", "4"), Choice("n", "2.5"), Choice("m", "10"),
        )  # fmt: skip

    @pytest.mark.parametrize("chosen", [[], ["a", "b"]])
    def test_a_control_with_several_choices_is_refused(self, file: File, chosen: list[str]) -> None:
        with pytest.raises(InputError, match=f"has {len(chosen)} choices; give one"):
            self.one(file, {"result": [result("choices", "answerable", choices=chosen)]})

    def test_other_results_are_counted_and_skipped(self, file: File) -> None:
        results = [result("polygon"), result("polygon"), {"value": {}}, result("rating", rating=1)]
        (said,), notes = self.said(file, {"annotations": [{"result": results}]})
        assert notes.skipped == {"results of type polygon": 2, "results of type none": 1}
        assert [choice.value for choice in said.choices] == ["1"]

    @pytest.mark.parametrize("kind", ["labels", "hypertextlabels"])
    def test_a_region_becomes_one_highlight_per_label(self, file: File, kind: str) -> None:
        region: dict[str, Any] = {"start": 0, "end": 4, "text": "Anna", kind: ["a", "b"]}
        bare: dict[str, Any] = {"start": 2**31 - 1, "labels": ["c"]}
        results = [result(kind, to="report", **region), result("hypertextlabels", **bare)]
        span = SpanRow("report", 0, 4, "Anna")
        said = self.one(file, {"result": results}, data={"item": "i"})
        assert said.highlights == (
            Highlight("c", "a", span), Highlight("c", "b", span),
            Highlight("c", "c", SpanRow("t", 2**31 - 1, None, "")),
        )  # fmt: skip
        assert said.choices == ()
        foreign = self.one(file, {"result": [result(kind, to="report", start=0, end=1)]})
        assert foreign.highlights == (Highlight("c", "", SpanRow("", 0, 1, "")),)

    @pytest.mark.parametrize("key", ["start", "end"])
    def test_an_offset_too_large_for_the_database_is_refused(self, file: File, key: str) -> None:
        with pytest.raises(InputError, match=f'"{key}" of the value of result 1'):
            self.one(file, {"result": [result("labels", start=0) | {"value": {key: 2**31}}]})

    def test_unfound_quotes_are_highlights_without_a_location(self, file: File) -> None:
        own = {"unanchored": {"v": [{"field": "report", "text": "a"}, {"text": "b"}]}}
        region = result("labels", start=0, end=1, labels=["v"])
        assert self.one(file, {"tandem": own, "result": [region]}).highlights == (
            Highlight("c", "v", SpanRow("", 0, 1, "")),
            Highlight("v-evidence", "v", SpanRow("report", None, None, "a")),
            Highlight("v-evidence", "v", SpanRow("", None, None, "b")),
        )
