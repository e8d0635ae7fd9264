"""Which values a labels file may have, before any campaign's codes are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.files.rows import InputError
from tandem.labels.file.reader import read_labels

LINE = '{{"item": "i", "unit": "u", "variable": "v", "rater": "r", "value": {}}}\n'


def value_of(folder: Path, raw: str) -> str | None:
    path = folder / "l.jsonl"
    path.write_text(LINE.format(raw), "utf-8")
    (row,) = read_labels(path)
    return row.value


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("1.5", "1.5"),
        ("-0.25", "-0.25"),
        ("0.1000", "0.1"),
        ("1e-7", "1e-07"),
        ("2.0", "2"),
        ("3", "3"),
        ('"1.50"', "1.50"),
    ],
)
def test_a_number_is_read_as_its_shortest_text(tmp_path: Path, raw: str, code: str) -> None:
    assert value_of(tmp_path, raw) == code


@pytest.mark.every_case
@pytest.mark.parametrize("raw", ["true", "false", '""', "{}"])
def test_a_value_that_is_neither_text_nor_number_is_refused(tmp_path: Path, raw: str) -> None:
    with pytest.raises(
        InputError, match="line 1: value is not a code; write it as text or a number"
    ):
        value_of(tmp_path, raw)


@pytest.mark.every_case
@pytest.mark.parametrize("raw", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_is_refused(tmp_path: Path, raw: str) -> None:
    with pytest.raises(InputError, match="line 1: "):
        value_of(tmp_path, raw)
