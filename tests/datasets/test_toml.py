"""Every reader of TOML refuses what a person does not write, and names the line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from analysis.study.file import parse_study
from annotation.people import background
from judging.judge_file.document import read_file
from judging.judge_file.template import FileError
from judging.list_prices import PriceFileError, read_prices
from tandem.files.rows import InputError
from tandem.files.toml import TomlError, read_toml
from tandem.scores.answers.refusals import refusal_list

DEEP = "a = 1\nb = " + "[" * 9000 + "]" * 9000
HOSTILE = {
    "deep lists": (DEEP, 2, "nested more than 50 deep"),
    "lists of 60": ("a = 1\n\nb = " + "[" * 60 + "]" * 60, 3, "nested more than 50 deep"),
    "deep tables": ("a = " + "{b = " * 4000 + "1" + "}" * 4000, 1, "nested more than 50 deep"),
    "a key of many parts": ("a = 1\n" + "a." * 9000 + "a = 1", 2, "a key has more than 50 parts"),
    "a table of many parts": ("[" + "a . " * 9000 + "a]", 1, "a key has more than 50 parts"),
    "many quoted parts": ('"a".' * 9000 + "a = 1", 1, "a key has more than 50 parts"),
    "a huge number": ("a = 1\nb = " + "9" * 5000, 2, "over 4,000 digits"),
    "a huge number with underscores": ("b = 1" + "_0" * 5000, 1, "over 4,000 digits"),
    "a month that does not exist": ("a = 1\nb = 2026-13-01", 2, "it is not TOML"),
    "a day that does not exist": ("a = 2026-02-30", 1, "it is not TOML"),
    "an hour that does not exist": ("a = 25:00:00", 1, "it is not TOML"),
    "an unclosed list": ("a = [1,\n2", 2, "it is not TOML"),
    "an unclosed text": ('a = 1\nb = "', 2, "it is not TOML"),
    "half a surrogate pair": ('a = "\\ud800"', 1, "it is not TOML"),
    "a control character": ('a = "\x01"', 1, "it is not TOML"),
    "a bidi override": ("\u202ea = 1", 1, "it is not TOML"),
    "a key twice": ("a = 1\na = 2", 2, "it is not TOML"),
}


@pytest.mark.parametrize(("text", "line", "wrong"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_document_is_refused_with_its_line(
    text: str, line: int | None, wrong: str
) -> None:
    before = time.process_time()
    with pytest.raises(TomlError, match=wrong) as raised:
        read_toml(text)
    assert line is None or raised.value.line == line
    assert time.process_time() - before < 5


@pytest.mark.parametrize("text", [each[0] for each in HOSTILE.values()], ids=HOSTILE)
def test_every_reader_refuses_it_in_its_own_words(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(FileError):
        read_file(text)
    with pytest.raises(InputError):
        parse_study(text)
    with pytest.raises(background.BackgroundError):
        background.read_toml(text)
    with pytest.raises(PriceFileError, match=r"file\.toml"):
        read_prices(path)
    with pytest.raises(ValueError, match=r"file\.toml"):
        refusal_list(f"file:{path}")


@pytest.mark.parametrize(
    "text",
    [
        "[a.b.c]\nd.e = [[1, [2]], {f = 'g'}]",
        'a = """\n' + "Chapter one " + "." * 300 + " 12\n" + 'b.c.d = 1\n"""',
        "a = '1.2.3.4.5'",
        "a = 12345678901234567890",
    ],
)
def test_what_people_write_is_read(text: str) -> None:
    assert read_toml(text)
