"""A batch is loaded whole or not at all, once, with one line for every error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from datasets import loading, models
from datasets.material import batch_rows
from datasets.readers import read
from tests.cast import (
    BATCH,
    FIRST,
    FULL,
    SECOND,
    Line,
    load,
    manage,
    manage_measured,
    run,
    write_lines,
)

MODELS = (
    models.Batch,
    models.Query,
    models.Question,
    models.Passage,
    models.Grounding,
    models.KeyPoint,
    models.Report,
    models.Ranking,
)
MIB = 1024 * 1024


def counts() -> list[int]:
    return [model.objects.count() for model in MODELS]


def refusal(path: Path, name: str = "x", *arguments: str) -> str:
    """The one line of the error when loading a file; checks that nothing was loaded."""
    before = counts()
    with pytest.raises(CommandError) as error:
        run("load_batch", path, "--name", name, *arguments)
    assert counts() == before
    line = str(error.value)
    assert "\n" not in line
    return line


def changed(**changes: Any) -> Line:
    return {**SECOND, **changes}


class TestLoading:
    def test_the_message_counts_what_was_loaded(self, db: None, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "b.jsonl", BATCH)
        assert run("load_batch", path, "--name", "b") == (
            "Loaded batch 'b' (native): 3 queries, 4 passages, 7 questions, 6 reports, "
            "4 key points, 1 rankings.\n"
        )

    @pytest.mark.postgresql
    def test_rows_are_read_back_unchanged(self, batch: Path) -> None:
        rows = [located.query for located in read([batch])]
        assert list(batch_rows(models.Batch.objects.get())) == rows

    @pytest.mark.postgresql
    def test_texts_are_stored_verbatim(self, batch: Path) -> None:
        assert models.Report.objects.get(key="r").text == FULL
        assert models.Report.objects.get(key="s/two").text.startswith("She was born\u2028in 1860.")
        assert models.Passage.objects.get(key="p3").text == "Bruges lies near.\rGhent does not."
        assert models.Question.objects.filter(key=" blank ").exists()

    def test_loading_twice_changes_nothing_and_says_so(self, batch: Path) -> None:
        before = counts()
        said = run("load_batch", batch, "--name", "b")
        assert said.startswith("Nothing to do: batch 'b' is already loaded (3 queries")
        assert counts() == before

    def test_the_same_content_in_another_layout_is_the_same_batch(
        self, batch: Path, tmp_path: Path
    ) -> None:
        lines = [json.dumps(dict(reversed(line.items()))) for line in BATCH]
        other = tmp_path / "other.jsonl"
        other.write_bytes(b"\xef\xbb\xbf" + "\r\n\n".join(lines).encode())
        assert run("load_batch", other, "--name", "b").startswith("Nothing to do")

    def test_two_files_make_one_batch(self, db: None, tmp_path: Path) -> None:
        files = [write_lines(tmp_path / f"{n}.jsonl", [line]) for n, line in enumerate(BATCH)]
        run("load_batch", *files, "--name", "b")
        assert models.Query.objects.filter(batch__name="b").count() == 3

    def test_a_passage_on_two_lines_is_stored_once_and_keeps_each_lines_facts(
        self, db: None, tmp_path: Path
    ) -> None:
        shared = {"id": "p", "text": FIRST["passages"][0]["text"], "age": "4 days"}
        load(tmp_path, [FIRST, changed(passages=[*SECOND["passages"], shared])])
        assert models.Passage.objects.filter(key="p").count() == 1
        ages = models.Grounding.objects.filter(passage__key="p").values_list("age", flat=True)
        assert set(ages) == {"3 days", "4 days"}

    def test_a_key_point_may_name_a_passage_of_a_later_line(self, db: None, tmp_path: Path) -> None:
        early = changed(key_points=[{"id": "e", "text": "Early.", "passage": "p"}])
        load(tmp_path, [early, FIRST])
        assert models.KeyPoint.objects.get(key="e").passage.key == "p"

    def test_a_passage_may_come_long_after_the_key_point_that_names_it(
        self, db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loading, "CHUNK", 1)
        early = {**FIRST, "key_points": [{"id": "e", "text": "Born.", "passage": "p2"}]}
        load(tmp_path, [early, SECOND], "late")
        points = models.KeyPoint.objects.order_by("key").values_list("key", "passage__key")
        assert list(points) == [("e", "p2"), ("k3", "p2")]
        assert models.Batch.objects.get().counts["key_points"] == 2
        assert list(models.Query.objects.values_list("position", flat=True)) == [0, 1]

    def test_near_collisions_and_unknown_passages_cause_warnings(
        self, db: None, tmp_path: Path
    ) -> None:
        reports = [{"id": "R", "text": "x"}, {"id": "r ", "text": "y", "context": ["gone"]}]
        path = write_lines(tmp_path / "b.jsonl", [changed(reports=reports)])
        said = run("load_batch", path, "--name", "b")
        assert 'the report id "r " differs from "R"' in said
        assert 'names the passage "gone", which is not in the batch' in said

    @pytest.mark.postgresql
    def test_many_lines_are_loaded_in_order(self, db: None, tmp_path: Path) -> None:
        passages = [[{"id": f"p{n}-{k}", "text": "x"} for k in range(9)] for n in range(600)]
        lines = [{"id": f"q{n}", "text": "?", "passages": p} for n, p in enumerate(passages)]
        load(tmp_path, lines)
        keys = list(models.Query.objects.values_list("key", flat=True))
        assert keys == [line["id"] for line in lines]
        assert models.Passage.objects.count() == 5400


WRONG = {
    "an unknown key": (changed(qustions=[]), 'unknown key "qustions"; did you mean "questions"?'),
    "an unknown key further in": (
        changed(reports=[{"id": "x", "text": "y", "sistem": "z"}]),
        'unknown key "sistem" in report 1; did you mean "system"?',
    ),
    "no id": ({"text": "?"}, '"id" is missing; add it'),
    "a number for an id": (
        changed(id=7),
        '"id" is a number, not a string; put it in double quotes',
    ),
    "a blank text": (changed(text=" "), '"text" is empty; write its text'),
    "a date that is none": (changed(asked_at="May"), '"asked_at" is "May", not an ISO date'),
    "a long id": (changed(id="x" * 256), '"id" has 256 characters'),
    "a question twice on a line": (
        changed(questions=SECOND["questions"] * 2),
        'the question id "q2:a" appears twice on this line; keep one',
    ),
    "a question twice in the batch": (
        changed(questions=[{"id": "a/b#1", "text": "?"}]),
        'the question id "a/b#1" is already used at',
    ),
    "a query twice": (FIRST, 'the query id "q/1" is already used at'),
    "a passage with another text": (
        changed(passages=[*SECOND["passages"], {"id": "p", "text": "other"}]),
        'the passage "p" has another text than at',
    ),
    "a sentence that is not verbatim": (
        changed(reports=[{"id": "x", "text": "One. Two.", "sentences": ["Three."]}]),
        'sentence 1 of report 1 is not in its text: "Three."',
    ),
    "a score beyond 1": (
        changed(key_points=[{"id": "k", "text": "?", "passage": "p2", "score": 1.5}]),
        "is 1.5; write a number from 0 to 1",
    ),
    "a boolean for a number": (
        changed(questions=[{"id": "n", "text": "?", "weight": True}]),
        "is true or false, not a number",
    ),
    "a key point without its passage": (
        changed(key_points=[{"id": "k", "text": "?", "passage": "nowhere"}]),
        'key point "k" names the passage "nowhere", which is not in the batch',
    ),
}


class TestRefusals:
    @pytest.mark.every_case
    @pytest.mark.parametrize(("line", "said"), WRONG.values(), ids=WRONG)
    def test_an_invalid_line_is_refused_with_the_remedy(
        self, db: None, tmp_path: Path, line: Line, said: str
    ) -> None:
        path = write_lines(tmp_path / "b.jsonl", [FIRST, line])
        message = refusal(path)
        assert message.startswith(f"{path}, line 2: ")
        assert said in message
        assert "; " in message

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("raw", "said"),
        [
            (b'{"id": "x", ', "line 2: broken JSON at column 13"),
            (b'["x"]', "line 2: the line is a list, not an object"),
            (b'{"id": "x", "id": "y", "text": "?"}', 'line 2: the key "id" appears twice'),
            (b'{"id": "x", "text": "\\u0000"}', "line 2: NUL character (\\u0000)"),
            (b'{"id": "x", "text": "\0"}', "line 2: NUL character at column 22"),
            (b'{"id": "x", "text": "\\ud83d"}', "line 2: lone surrogate"),
            (b'{"id": "x", "text": "caf\xe9"}', "line 2: not UTF-8 at column 25 (byte 0xE9)"),
            (b'{"id": "x", "text": "?", "meta": {"n": NaN}}', "line 2: NaN is not JSON"),
            (b'{"id": "x", "meta": ' + b"[" * 100_000, "line 2: JSON nested deeper than 64"),
        ],
    )
    def test_bytes_that_are_not_a_json_line_are_refused(
        self, db: None, tmp_path: Path, raw: bytes, said: str
    ) -> None:
        path = write_lines(tmp_path / "b.jsonl", [FIRST])
        path.write_bytes(path.read_bytes() + raw + b"\n")
        assert said in refusal(path)

    @pytest.mark.parametrize("content", [b"", b"\n \r\n\t\n", b"\xef\xbb\xbf"])
    def test_an_empty_file_is_refused(self, db: None, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "b.jsonl"
        path.write_bytes(content)
        assert refusal(path) == f"{path}: holds no records; check that it is the right file"

    def test_a_utf_16_file_is_refused_with_the_remedy(self, db: None, tmp_path: Path) -> None:
        path = tmp_path / "b.jsonl"
        path.write_text(json.dumps(FIRST), "utf-16")
        assert refusal(path) == f"{path}, line 1: the file is UTF-16; save it as UTF-8"

    def test_a_missing_file_is_refused(self, db: None, tmp_path: Path) -> None:
        assert "cannot be read (no such file or directory)" in refusal(tmp_path / "none.jsonl")

    def test_an_error_in_a_second_file_leaves_nothing_of_the_first(
        self, db: None, tmp_path: Path
    ) -> None:
        good = write_lines(tmp_path / "a.jsonl", [FIRST])
        bad = write_lines(tmp_path / "b.jsonl", [changed(text="")])
        with pytest.raises(CommandError, match=r"b\.jsonl, line 1"):
            run("load_batch", good, bad, "--name", "x")
        assert counts() == [0] * len(MODELS)

    def test_other_content_under_the_same_name_is_refused(
        self, batch: Path, tmp_path: Path
    ) -> None:
        other = write_lines(tmp_path / "other.jsonl", [FIRST])
        assert refusal(other, "b") == (
            f"{other}: a batch called 'b' has other content; "
            "choose another --name; a loaded batch never changes"
        )

    def test_a_broken_file_under_a_taken_name_is_refused_for_its_error(
        self, batch: Path, tmp_path: Path
    ) -> None:
        other = write_lines(tmp_path / "other.jsonl", [FIRST, changed(text="")])
        assert 'line 2: "text" is empty' in refusal(other, "b")

    @pytest.mark.postgresql
    @pytest.mark.parametrize("name", ["", " ", "x" * 201])
    def test_a_name_that_the_database_cannot_hold_is_refused(
        self, db: None, tmp_path: Path, name: str
    ) -> None:
        path = write_lines(tmp_path / "b.jsonl", [FIRST])
        assert "the batch's name is blank or longer than 200" in refusal(path, name)


@pytest.mark.processes
@pytest.mark.processes
class TestCommand:
    """Exit status, standard error and memory of a separate process."""

    def test_an_error_is_one_line_and_status_1(self, house: Path, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "b.jsonl", [FIRST, changed(qustions=[])])
        done = manage(house, "load_batch", path, "--name", "x")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f'{path}, line 2: unknown key "qustions"; did you mean "questions"?\n'
        )

    def test_loading_again_exits_with_status_0(self, house: Path) -> None:
        done = manage(house, "load_batch", house / "b.jsonl", "--name", "b")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Nothing to do")

    def test_a_line_of_200_mib_is_refused_without_using_much_memory(
        self, house: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "long.jsonl"
        path.write_text(json.dumps(FIRST) + "\n", "utf-8")
        with path.open("r+b") as file:
            file.truncate(200 * MIB)
        status, said, peak = manage_measured(house, "load_batch", path, "--name", "long")
        message = f"{path}, line 2: the line is longer than 32 MiB; "
        assert (status, said.startswith(message), said.count("\n")) == (1, True, 1)
        assert peak < 300

    @pytest.mark.postgresql
    def test_a_missing_database_gives_a_message_of_one_line(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "b.jsonl", BATCH)
        done = manage(tmp_path / "empty", "load_batch", path, "--name", "b")
        assert done.returncode == 1
        assert done.stderr == "The database is not up to date; run tandem migrate.\n"
