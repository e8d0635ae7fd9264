"""Labels that cannot be imported: one message with file, line and remedy, and nothing loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import Assignment, Campaign, Label, Rater, Response, Span
from tandem.files.spreadsheet import escape_formula, unescape_formula
from tests.cast import Line, campaign_of, exported, manage, manage_measured, run, write_lines

MIB = 1024 * 1024
GOOD: Line = {
    "item": "r",
    "unit": "🌉",
    "variable": "answerable",
    "value": "no",
    "rater": "ann",
}
HEADER = "item,unit,variable,value,rater"
CELLS = "r,🌉,answerable,no,ann"


@pytest.fixture
def coverage(batch: Path) -> Campaign:
    return campaign_of("report-coverage")


def counts() -> list[int]:
    return [m.objects.count() for m in (Rater, Assignment, Response, Label, Span)]


def refusal(path: Path, *arguments: str) -> str:
    before = counts()
    with pytest.raises(CommandError) as error:
        run("import_labels", path, "--campaign", "c", *arguments)
    assert counts() == before
    line = str(error.value)
    assert "\n" not in line
    return line


def without(*names: str) -> Line:
    return {name: value for name, value in GOOD.items() if name not in names}


WRONG: dict[str, tuple[Line, str]] = {
    "an unknown key": (GOOD | {"vlaue": "no"}, 'unknown key "vlaue"; did you mean "value"?'),
    "an unknown item": (
        GOOD | {"item": "zz"},
        "campaign 'c': item \"zz\" is not in it; check the key",
    ),
    "an unknown unit": (
        GOOD | {"unit": "q2:a"},
        'campaign \'c\': unit "q2:a" of item "r" is not asked; check key and kind',
    ),
    "a unit of another kind": (GOOD | {"kind": "sentence"}, "is not asked; check key and kind"),
    "an unknown variable": (
        GOOD | {"variable": "rating"},
        "campaign 'c': variable \"rating\" is not asked; it asks answerable",
    ),
    "an unknown code": (
        GOOD | {"value": "maybe"},
        "campaign 'c': answerable is \"maybe\"; give one of yes, no, invalid",
    ),
    "a code in other letters": (GOOD | {"value": "Yes"}, 'answerable is "Yes"; give one of yes'),
    "a boolean": (GOOD | {"value": True}, "value is not a code; write it as text or a number"),
    "a broken number": (
        GOOD | {"value": 0.5},
        "campaign 'c': answerable is \"0.5\"; give one of yes, no, invalid",
    ),
    "another protocol": (
        GOOD | {"protocol": "rubric-passage"},
        'campaign \'c\': protocol is "rubric-passage", not "report-coverage"; '
        "give a campaign of that protocol, or correct the line",
    ),
    "an empty value": (GOOD | {"value": ""}, "value is not a code"),
    "no value at all": (without("value"), "a label has a value or a missing reason; give one"),
    "a value and a reason": (
        GOOD | {"missing": "timeout"},
        "a label has a value or a missing reason; give one",
    ),
    "an unknown reason": (without("value") | {"missing": "tired"}, 'missing is "tired"; give one'),
    "no rater": (without("rater"), '"rater" is missing; add it'),
    "a blank rater": (GOOD | {"rater": "  "}, "the rater is blank"),
    "a rater with a long name": (GOOD | {"rater": "x" * 151}, "rater has 151 characters"),
    "no item": (without("item"), '"item" is missing; add it'),
    "an unknown kind of rater": (
        GOOD | {"rater_kind": "robot"},
        'rater_kind is "robot"; give human, judge or reference',
    ),
    "half a replicate": (GOOD | {"replicate": 0.5}, "replicate is 0.5; write a whole number"),
    "a negative replicate": (GOOD | {"replicate": -1}, '"replicate" is -1; write a number'),
    "revision 0": (GOOD | {"revision": 0}, '"revision" is 0; write a number from 1'),
    "negative seconds": (GOOD | {"seconds": -1}, '"seconds" is -1; write a number at least 0'),
    "a moment that is none": (GOOD | {"created_at": "noon"}, 'created_at is "noon"; write it as'),
    "a moment before all time": (
        GOOD | {"created_at": "0001-01-01T00:00:00+14:00"},
        "created_at is",
    ),
    "spans that are not list": (GOOD | {"spans": {}}, '"spans" is an object, not a list'),
    "an empty span": (GOOD | {"spans": [{}]}, "span 1 has no text; give its quote, or start"),
    "an unknown key in a span": (
        GOOD | {"spans": [{"text": "a", "begin": 1}]},
        'unknown key "begin" in span 1',
    ),
    "a span with a long field": (
        GOOD | {"spans": [{"text": "a", "field": "x" * 301}]},
        "field has 301 characters",
    ),
    "meta that is not an object": (GOOD | {"meta": "x"}, '"meta" is a string, not an object'),
}


class TestLines:
    @pytest.mark.every_case
    @pytest.mark.parametrize(("line", "said"), WRONG.values(), ids=WRONG)
    def test_a_wrong_line_is_named_with_its_remedy(
        self, coverage: Campaign, tmp_path: Path, line: Line, said: str
    ) -> None:
        path = write_lines(tmp_path / "l.jsonl", [GOOD | {"unit": "a/b#1"}, line])
        message = refusal(path)
        assert message.startswith(f"{path}, line 2: ")
        assert said in message
        assert "; " in message

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("raw", "said"),
        [
            (b'{"item": ', "line 2: broken JSON"),
            (b"[1]", "line 2: the line is a list, not an object"),
            (b'{"item": "r\0"}', "line 2: NUL character"),
            (b'{"item": "\\u0000"}', "line 2: NUL character"),
            (b'{"item": "\\udc00"}', "line 2: lone surrogate"),
            (b'{"item": "\xff"}', "line 2: not UTF-8"),
            (b'{"score": Infinity}', "line 2: Infinity is not JSON"),
            (b'{"value": NaN}', "line 2: NaN is not JSON"),
            (b'{"value": -Infinity}', "line 2: -Infinity is not JSON"),
            (b'{"value": 1e999}', "line 2: "),
            (b'{"item": "r", "item": "r"}', 'line 2: the key "item" appears twice'),
        ],
    )
    def test_bytes_that_are_not_utf8_are_reported(
        self, coverage: Campaign, tmp_path: Path, raw: bytes, said: str
    ) -> None:
        path = write_lines(tmp_path / "l.jsonl", [GOOD])
        path.write_bytes(path.read_bytes() + raw + b"\n")
        assert said in refusal(path)

    def test_a_repeated_label_is_named_with_both_lines(
        self, coverage: Campaign, tmp_path: Path
    ) -> None:
        path = write_lines(tmp_path / "l.jsonl", [GOOD, GOOD | {"value": "yes"}])
        assert refusal(path) == (
            f"{path}, line 2: 'ann' has this label on line 1 too; "
            "keep one, or number replicates or revisions"
        )

    def test_a_rater_of_two_kinds_in_one_file_is_refused(
        self, coverage: Campaign, tmp_path: Path
    ) -> None:
        other = GOOD | {"unit": "a/b#1", "rater_kind": "judge"}
        path = write_lines(tmp_path / "l.jsonl", [GOOD, other])
        assert refusal(path) == (
            f"{path}, line 2: 'ann' is a judge here and a human on line 1; "
            "correct rater_kind, or give each a name of its own"
        )

    def test_a_rater_known_as_another_kind_is_refused(
        self, coverage: Campaign, tmp_path: Path
    ) -> None:
        Rater.objects.create(name="ann", kind="judge")
        path = write_lines(tmp_path / "l.jsonl", [GOOD])
        assert refusal(path) == (
            f"{path}, line 1: rater 'ann' is of kind judge, not human; "
            "correct rater_kind, or give the rater another name"
        )

    def test_a_key_shared_by_two_kinds_of_unit_requires_the_kind(
        self, batch: Path, tmp_path: Path
    ) -> None:
        campaign_of("grounded-answer")
        row = {
            "item": "q/1",
            "unit": "q/1/p#1",
            "variable": "selected",
            "value": "yes",
            "rater": "a",
        }
        path = write_lines(tmp_path / "l.jsonl", [row])
        assert 'unit "q/1/p#1" of item "q/1" may be one of 2; give its kind' in refusal(path)
        write_lines(path, [row | {"kind": "passage"}])
        run("import_labels", path, "--campaign", "c")
        assert Label.objects.get().unit.kind == "passage"

    def test_a_unit_that_was_not_sampled_is_refused_with_how_to_ask_all(
        self, batch: Path, tmp_path: Path
    ) -> None:
        campaign_of("rubric-passage", "--option", "per_passage=1")
        asked = {unit["unit"] for unit in exported("c", "units") if unit["item"] == "q/1/p"}
        (other, *_) = {"a/b#1", "🌉", " blank "} - asked
        row = {"item": "q/1/p", "unit": other, "variable": "rating", "value": 1, "rater": "a"}
        message = refusal(write_lines(tmp_path / "l.jsonl", [row]))
        assert "is not asked; check key and kind or create the campaign with --option" in message

    def test_an_error_in_a_second_file_leaves_nothing_of_the_first(
        self, coverage: Campaign, tmp_path: Path
    ) -> None:
        good = write_lines(tmp_path / "a.jsonl", [GOOD])
        bad = write_lines(tmp_path / "b.jsonl", [GOOD | {"value": "maybe"}])
        with pytest.raises(CommandError, match=r"b\.jsonl, line 1"):
            run("import_labels", good, bad, "--campaign", "c")
        assert counts() == [0] * 5

    @pytest.mark.parametrize("name", ["l.jsonl", "l.csv"])
    def test_an_empty_file_and_a_missing_one_are_named(
        self, coverage: Campaign, tmp_path: Path, name: str
    ) -> None:
        path = tmp_path / name
        assert "cannot be read (no such file or directory); check the path" in refusal(path)
        path.touch()
        assert refusal(path) == f"{path}: holds no records; check that it is the right file"

    def test_a_folder_is_named(self, coverage: Campaign, tmp_path: Path) -> None:
        for name in ("x", "x.csv"):
            (tmp_path / name).mkdir()
            assert f"{tmp_path / name}: " in refusal(tmp_path / name)

    def test_an_unknown_campaign_is_named(self, db: None, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "l.jsonl", [GOOD])
        assert refusal(path) == "There is no campaign 'c'; create it with tandem campaign create."


class TestCsv:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (f"{HEADER}\n", "holds no records"),
            (f"{HEADER},colour\n", "line 1: unknown column 'colour'; the columns are campaign,"),
            ("item,item\n", "line 1: a column occurs twice; keep one of the two"),
            (
                f"{HEADER}\nr,🌉\n",
                "line 2: 2 cells where the header has 5; correct the line's commas",
            ),
            (f'{HEADER}\nr,"🌉"x,answerable,no,ann\n', "line 2: broken CSV"),
            (f'{HEADER}\nr,"🌉,answerable,no,ann\n', "broken CSV (unexpected end of data)"),
            (f"{HEADER}\nr,🌉\0,answerable,no,ann\n", "line 2: holds a NUL character; take it out"),
            (f"{HEADER}\nr,🌉,answerable,maybe,ann\n", "line 2: campaign 'c': answerable is \"may"),
            (f"{HEADER}\nr,🌉,answerable,,ann\n", "line 2: a label has a value or a missing"),
            (f"{HEADER},score\n{CELLS},NaN\n", 'line 2: score is "NaN"; write it as JSON'),
            (f"{HEADER},score\n{CELLS},1e999\n", 'line 2: score is "1e999"; write it as JSON'),
            (f"{HEADER},score\n{CELLS},Infinity\n", 'line 2: score is "Infinity"'),
            (f"{HEADER},score\n{CELLS},true\n", '"score" is true or false, not a number'),
            (f"{HEADER},meta\n{CELLS},{{\n", 'line 2: meta is "{"; write it as JSON'),
            (f'{HEADER},meta\n{CELLS},"{{""a"":1,""a"":2}}"\n', "line 2: meta is"),
            (f'{HEADER},meta\n{CELLS},"{{""a"":""\\u0000""}}"\n', "line 2: meta is"),
            (f'{HEADER},meta\n{CELLS},"{{""a"":""\\ud800""}}"\n', "line 2: meta is"),
            (f'{HEADER},meta\n{CELLS},"{"[" * 9999}"\n', "line 2: meta is"),
            (f'{HEADER},meta\n{CELLS},"{{""n"":{"9" * 31}}}"\n', "line 2: meta is"),
        ],
    )
    def test_a_wrong_cell_is_named(
        self, coverage: Campaign, tmp_path: Path, text: str, said: str
    ) -> None:
        path = tmp_path / "l.csv"
        path.write_text(text, "utf-8")
        assert said in refusal(path)

    @pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
    def test_another_encoding_is_named(
        self, coverage: Campaign, tmp_path: Path, encoding: str
    ) -> None:
        path = tmp_path / "l.csv"
        path.write_text(f"{HEADER}\nr,é,answerable,no,ann\n", encoding)
        assert "save it as UTF-8" in refusal(path) or "save the file as UTF-8" in refusal(path)

    def test_files_saved_by_a_spreadsheet_are_accepted(
        self, coverage: Campaign, tmp_path: Path
    ) -> None:
        path = tmp_path / "l.csv"
        path.write_bytes(f"\ufeff{HEADER}\r\n{CELLS}\r\n\r\n".encode())
        assert "Imported 1 labels from ann." in run("import_labels", path, "--campaign", "c")

    @pytest.mark.every_case
    @pytest.mark.parametrize("text", ["", "x", "-1.5", "+2", "'x", "it's", "1-2", " x"])
    def test_other_text_is_not_escaped(self, text: str) -> None:
        assert escape_formula(text) == text
        assert unescape_formula(text) == text


class TestResponses:
    def row(self, **changes: Any) -> Line:
        return {"item": "r", "rater": "ann", "units": {"🌉": {"answerable": "no"}}, **changes}

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"item": "zz"}, "item \"zz\" is not in campaign 'c'; check the key"),
            ({"units": {"zz": {}}}, 'unit "zz" of item "r" is not asked; check its name'),
            ({"units": {"🌉": []}}, 'unit "🌉" is not an object; write its answer'),
            ({"units": {}}, "the response contains no label; take the line out"),
            ({"units": {"🌉": {"answerable": "maybe"}}}, 'answerable is "maybe"; give one of'),
            ({"units": {"🌉": {"answerable": True}}}, "is not a code; write it as text"),
            ({"units": {"🌉": {"answerable": ["no"]}}}, "is not a code; write it as text"),
            ({"units": {"🌉": {"colour": "red"}}}, 'variable "colour" is not asked'),
            ({"units": {"🌉": {"answerable": "no", "evidence": "x"}}}, "evidence is not a list"),
            ({"units": {"🌉": {"answerable": "no", "evidence": [1]}}}, "a quote is a number"),
            ({"replicate": 1.5}, "replicate is 1.5; write a whole number"),
            ({"protocol": "key-point-recall"}, 'protocol is "key-point-recall", not "report-c'),
            ({"coment": "x"}, 'unknown key "coment"; did you mean "comment"?'),
        ],
    )
    def test_a_wrong_response_is_named(
        self, coverage: Campaign, tmp_path: Path, changes: Line, said: str
    ) -> None:
        path = write_lines(tmp_path / "r.jsonl", [self.row(**changes)])
        message = refusal(path)
        assert message.startswith(f"{path}, line 1: ")
        assert said in message

    def test_a_repeated_response_is_named(self, coverage: Campaign, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "r.jsonl", [self.row(), self.row()])
        assert refusal(path) == (
            f'{path}, line 2: \'ann\' has unit "🌉" of item "r" on line 1 too; '
            "keep one, or number replicates or revisions"
        )

    def test_a_unit_on_two_lines_is_refused_even_for_different_variables(
        self, batch: Path, tmp_path: Path
    ) -> None:
        campaign_of("report-coverage", "--option", "variables=answerable,rating")
        other = self.row(units={"a/b#1": {"answerable": "no"}, "🌉": {"rating": 3}})
        path = write_lines(tmp_path / "r.jsonl", [self.row(), other])
        assert 'line 2: \'ann\' has unit "🌉" of item "r" on line 1 too' in refusal(path)

    def test_a_malformed_written_answer_is_named(self, batch: Path, tmp_path: Path) -> None:
        campaign_of("grounded-answer")
        answer = {"descriptor": "complete", "deflected": "no", "written": {"text": "x"}}
        row = {"item": "q3", "rater": "ann", "units": {"q3": answer}}
        message = refusal(write_lines(tmp_path / "r.jsonl", [row]))
        assert "line 1: unit 'q3' written: is not {text, citations}; correct the answer" in message


class TestCrux:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ({"id": "r", "answerability": 3}, '"answerability" is not a list'),
            ({"id": "r", "answerability": [7]}, 'label 0 is "7"; give 1, 0, -1 or -2'),
            ({"id": "r", "answerability": [True]}, 'label 0 is "True"'),
            ({"id": "r", "answerability": [[]]}, 'label 0 is "[]"'),
            ({"id": "zz", "answerability": [1]}, 'item "zz" is not in it'),
            ({"id": "r", "answerability": [1], "question_based_nugget": []}, "not an object"),
        ],
    )
    def test_a_wrong_crux_line_is_named(
        self, coverage: Campaign, tmp_path: Path, line: Line, said: str
    ) -> None:
        path = write_lines(tmp_path / "qlabels.jsonl", [line])
        message = refusal(path)
        assert message.startswith(f"{path}, line 1: ")
        assert said in message

    def test_a_line_that_is_no_crux_label_is_named(
        self, coverage: Campaign, tmp_path: Path
    ) -> None:
        path = write_lines(tmp_path / "l.jsonl", [GOOD])
        assert "line 1: is not a CRUX label; give qlabels" in refusal(path, "--format", "crux")


@pytest.mark.processes
class TestCommand:
    """Exit status, standard error and memory of a separate process."""

    def test_an_error_is_one_line_with_exit_status_1(self, house: Path, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "l.jsonl", [GOOD, GOOD | {"value": "maybe"}])
        done = manage(house, "import_labels", path, "--campaign", "c")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"{path}, line 2: campaign 'c': answerable is \"maybe\"; give one of yes, no, invalid\n"
        )
        labels = manage(house, "export", "--campaign", "c", "--what", "labels")
        assert (labels.returncode, labels.stdout) == (0, "")

    @pytest.mark.first_case
    @pytest.mark.parametrize("name", ["long.jsonl", "long.csv"])
    def test_a_line_of_200_mib_is_refused_in_little_memory(
        self, house: Path, tmp_path: Path, name: str
    ) -> None:
        path = tmp_path / name
        path.write_text(json.dumps(GOOD) + "\n" if name.endswith("jsonl") else HEADER + "\n")
        with path.open("r+b") as file:
            file.truncate(200 * MIB)
        status, said, peak = manage_measured(house, "import_labels", path, "--campaign", "c")
        message = f"{path}, line 2: the line is longer than 32 MiB; "
        assert (status, said.startswith(message), said.count("\n")) == (1, True, 1)
        assert peak < 300

    def test_a_cell_of_200_mib_is_refused_in_little_memory(
        self, house: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "cell.csv"
        with path.open("w", encoding="utf-8") as file:
            file.write(f'{HEADER}\nr,"')
            file.writelines("x" * MIB + "\n" for _ in range(200))
        status, said, peak = manage_measured(house, "import_labels", path, "--campaign", "c")
        assert (status, said.count("\n")) == (1, 1)
        assert "broken CSV (field larger than field limit" in said
        assert peak < 300

    def test_an_export_to_an_invalid_path_is_a_one_line_error(
        self, house: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "none" / "units.jsonl"
        done = manage(house, "export", "--campaign", "c", "--what", "units", "--output", out)
        assert done.returncode == 1
        assert done.stderr == (
            f"{out}: cannot be written (no such file or directory); choose another file.\n"
        )

    def test_an_export_is_written_whole_and_readable(self, house: Path, tmp_path: Path) -> None:
        out = tmp_path / "units.jsonl"
        done = manage(house, "export", "--campaign", "c", "--what", "units", "--output", out)
        assert (done.returncode, done.stderr) == (0, "")
        assert [path.name for path in tmp_path.iterdir()] == ["units.jsonl"]
        assert len(out.read_text("utf-8").split("\n")) == 15
        plain = tmp_path / "plain"
        plain.touch()
        assert out.stat().st_mode == plain.stat().st_mode
