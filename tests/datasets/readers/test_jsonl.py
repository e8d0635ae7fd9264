"""What the reader of JSON lines accepts, and what it refuses with file and line."""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path

import pytest

from tandem.files import jsonl
from tandem.files.jsonl import MAX_DEPTH, MAX_DIGITS, excerpt, records
from tandem.files.rows import InputError
from tests.datasets.helpers import refusal

#: Python 3.13 reports the column of the comma, older versions that of the next character.
TRAILING_COMMA = 11 if sys.version_info >= (3, 13) else 12


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "batch.jsonl"


def read(file: Path, content: bytes) -> list[tuple[int, dict[str, object]]]:
    file.write_bytes(content)
    return list(records(file))


def refused(file: Path, content: bytes, line: int | None = 2) -> InputError:
    file.write_bytes(content)
    return refusal(lambda: records(file), file, line)


GOOD = b'{"id": "a"}\n'


@pytest.mark.every_case
@pytest.mark.parametrize(
    "content",
    [
        b'{"id": "a"}\n{"id": "b"}\n',
        b'{"id": "a"}\n{"id": "b"}',
        b'{"id": "a"}\r\n{"id": "b"}\r\n',
        b'\xef\xbb\xbf{"id": "a"}\n{"id": "b"}\n',
        b'{"id": "a"}\n{"id": "b"}\n\n  \n\t\r\n',
        b'\t{"id":\t"a"}  \n {"id": "b"}\r',
    ],
)
def test_the_reader_gives_the_same_records_however_lines_end(file: Path, content: bytes) -> None:
    assert read(file, content) == [(1, {"id": "a"}), (2, {"id": "b"})]


def test_the_reader_skips_blank_lines_but_counts_them(file: Path) -> None:
    assert read(file, b'\n\n{"id": "a"}\n\n{"id": "b"}\n') == [(3, {"id": "a"}), (5, {"id": "b"})]


@pytest.mark.every_case
@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\r", "\x0b", "\x0c"])
def test_only_a_newline_ends_a_line(file: Path, separator: str) -> None:
    text = f"one{separator}two"
    raw = separator if ord(separator) >= 32 else json.dumps(separator)[1:-1]
    content = f'{{"id": "one{raw}two"}}\n'.encode()
    assert read(file, content) == [(1, {"id": text})]


@pytest.mark.every_case
@pytest.mark.parametrize("text", ["😀 👩‍👩‍👧", "e\u0301 é", "مرحبا שלום", "a\r\nb", "\ufeffx", "𝔘"])
def test_the_reader_keeps_texts_as_they_are(file: Path, text: str) -> None:
    for ascii_only in (True, False):
        line = json.dumps({"text": text}, ensure_ascii=ascii_only).encode() + b"\n"
        assert read(file, line) == [(1, {"text": text})]


def test_the_reader_names_the_path_as_it_was_given(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    file.write_bytes(b"[]\n")
    with pytest.raises(InputError, match=r"^batch\.jsonl, line 1: "):
        list(records("batch.jsonl"))


@pytest.mark.every_case
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b" \r\n"])
def test_the_reader_refuses_an_empty_file(file: Path, content: bytes) -> None:
    assert "no records" in refused(file, content, None).wrong


def test_the_reader_refuses_a_missing_file(file: Path) -> None:
    assert "cannot be read" in refusal(lambda: records(file), file, None).wrong


def test_the_reader_refuses_a_folder(tmp_path: Path) -> None:
    assert "folder" in refusal(lambda: records(tmp_path), tmp_path, None).wrong


def test_the_reader_refuses_a_line_over_the_size_limit(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 1024**2)
    fits = b'{"id": "' + b"x" * (1024**2 - 10) + b'"}'
    assert len(read(file, fits + b"\n")) == 1
    assert len(read(file, fits + b"\r\n")) == 1
    assert len(read(file, fits)) == 1
    assert "longer than 1 MiB" in refused(file, GOOD + fits + b" \n").wrong
    assert "longer than 1 MiB" in refused(file, GOOD + fits + b" ").wrong


def test_the_reader_never_holds_an_endless_line_in_memory(file: Path) -> None:
    with file.open("wb") as handle:
        handle.write(GOOD)
        handle.truncate(200 * 1024**2)
    tracemalloc.start()
    try:
        refusal(lambda: records(file), file, 2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * 1024**2


@pytest.mark.parametrize(
    ("line", "column"), [(b'{"id": "\xe9"}', 9), ('{"é": "'.encode() + b'\xff"}', 8)]
)
def test_the_reader_refuses_bytes_that_are_not_utf8_and_names_the_column(
    file: Path, line: bytes, column: int
) -> None:
    error = refused(file, GOOD + line)
    assert f"column {column} " in error.wrong
    assert error.remedy == "save the file as UTF-8"


def test_the_reader_refuses_surrogates_encoded_as_utf8(file: Path) -> None:
    assert "not UTF-8" in refused(file, GOOD + b'{"id": "\xed\xa0\x80"}').wrong


@pytest.mark.every_case
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_the_reader_says_how_to_convert_utf16(file: Path, encoding: str) -> None:
    assert "as UTF-8" in refused(file, '{"id": "a"}\n'.encode(encoding), 1).remedy


def test_the_reader_recognises_utf16_by_its_byte_order_mark(file: Path) -> None:
    assert refused(file, '{"id": "a"}\n'.encode("utf-16"), 1).wrong == "the file is UTF-16"


def test_the_reader_refuses_nul_both_raw_and_escaped(file: Path) -> None:
    assert "NUL character at column 10" in refused(file, GOOD + b'{"id": "a\0"}').wrong
    assert (
        "NUL character (\\u0000) at column 10" in refused(file, GOOD + rb'{"id": "a\u0000"}').wrong
    )
    assert "NUL" in refused(file, GOOD + rb'{"a\u0000": 1}').wrong


def test_the_reader_takes_an_escaped_backslash_before_a_u_as_a_backslash(file: Path) -> None:
    assert read(file, rb'{"id": "\\u0000 \\ud800"}') == [(1, {"id": r"\u0000 \ud800"})]


@pytest.mark.every_case
@pytest.mark.parametrize(
    "escape",
    [rb"\ud83d", rb"\ude00", rb"\ud83dx", rb"\ud83d\ud83d\ude00", rb"\ude00\ud83d", rb"\uDBFF"],
)
def test_the_reader_refuses_a_lone_surrogate(file: Path, escape: bytes) -> None:
    error = refused(file, GOOD + b'{"id": "' + escape + b'"}')
    assert "lone surrogate" in error.wrong
    assert "column 9" in error.wrong


def test_the_reader_joins_a_pair_of_surrogates(file: Path) -> None:
    assert read(file, rb'{"id": "\uD83D\ude00"}') == [(1, {"id": "😀"})]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("line", "column"),
    [
        (b'{"id": "a",}', TRAILING_COMMA),
        (b'{"id": a}', 8),
        (b'{"id": "a"} {"id": "b"}', 13),
        (b'{"id": "a', 8),
        (b"{", 2),
        (b"{'id': 1}", 2),
        (b'{"id": "a\tb"}', 10),
        (b'{"id": "\\x"}', 9),
        (b"\xef\xbb\xbf{}", 1),
    ],
)
def test_the_reader_refuses_broken_json_and_names_the_column(
    file: Path, line: bytes, column: int
) -> None:
    error = refused(file, GOOD + line)
    assert f"broken JSON at column {column} " in error.wrong
    assert "one whole JSON object on each line" in error.remedy


def test_the_reader_refuses_a_duplicate_key(file: Path) -> None:
    assert '"id" appears twice' in refused(file, GOOD + b'{"id": 1, "a": 2, "id": 1}').wrong
    assert '"x" appears twice' in refused(file, GOOD + b'{"m": [{"x": 1, "x": 2}]}').wrong


@pytest.mark.every_case
@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e999"])
def test_the_reader_refuses_nan_and_infinite_numbers(file: Path, number: bytes) -> None:
    assert refused(file, GOOD + b'{"meta": {"x": ' + number + b"}}").remedy


def test_the_reader_refuses_huge_whole_numbers(file: Path) -> None:
    digits = b"9" * MAX_DIGITS
    assert read(file, b'{"x": -' + digits + b"}") == [(1, {"x": -int(digits)})]
    for count in (MAX_DIGITS + 1, 5000):
        error = refused(file, GOOD + b'{"x": ' + b"9" * count + b"}")
        assert "over 30 digits" in error.wrong
        assert len(str(error)) < 300


@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
def test_the_reader_refuses_deep_nesting(file: Path, brackets: tuple[str, str]) -> None:
    begin, end = brackets

    def nested(depth: int) -> bytes:
        return f'{{"meta": {begin * depth}1{end * depth}}}\n'.encode()

    assert len(read(file, nested(MAX_DEPTH - 1))) == 1
    for depth in (MAX_DEPTH, 500, 100_000):
        assert "nested deeper than 64" in refused(file, GOOD + nested(depth)).wrong


def test_many_brackets_side_by_side_do_not_count_as_nesting(file: Path) -> None:
    assert len(read(file, json.dumps({"meta": [[]] * 1000}).encode())) == 1


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"[]", "a list"),
        (b'"id"', "a string"),
        (b"1", "a number"),
        (b"2.5", "a number"),
        (b"true", "true or false"),
        (b"null", "null"),
    ],
)
def test_the_reader_refuses_a_line_that_is_not_an_object(
    file: Path, line: bytes, kind: str
) -> None:
    assert refused(file, GOOD + line).wrong == f"the line is {kind}, not an object"


def test_the_reader_yields_the_lines_before_an_invalid_one(file: Path) -> None:
    file.write_bytes(GOOD + b"{\n")
    found = records(file)
    assert next(found) == (1, {"id": "a"})
    with pytest.raises(InputError):
        next(found)


@pytest.mark.every_case
@pytest.mark.parametrize("control", ["\x1b[31m", "\u202e", "\u2028", "\x07", "\x85", "\u200b"])
def test_excerpts_escape_invisible_characters(control: str) -> None:
    found = excerpt(f"a{control}b")
    assert found.isprintable()
    assert "\\" in found


def test_excerpts_are_cut_after_60_characters() -> None:
    assert excerpt("é" * 61) == '"' + "é" * 60 + '…"'
    assert excerpt("é" * 60) == '"' + "é" * 60 + '"'
