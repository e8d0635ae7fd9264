"""Files and expected errors for the tests of the readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tandem.files.rows import InputError

FILES = Path(__file__).parent / "files"
"""Small files of our own in the formats of other tools."""
DATA = Path(__file__).resolve().parents[2] / "../shared/data"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder shared/data is not here")


def jsonl(path: Path, *rows: Any) -> Path:
    """Writes one JSON line per row."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_bytes("".join(lines).encode("utf-8"))
    return path


def data_lines(name: str) -> list[dict[str, Any]]:
    """The objects of a file of shared/data, read by the json module."""
    text = (DATA / name).read_bytes().decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def refusal(read: Callable[[], Iterable[object]], file: Path, line: int | None) -> InputError:
    """The error that reading raises, checked for the form `FILE, line N: wrong; remedy`."""
    with pytest.raises(InputError) as caught:
        list(read())
    error = caught.value
    place = str(file) if line is None else f"{file}, line {line}"
    assert (error.place.file, error.place.line) == (str(file), line)
    assert str(error) == f"{place}: {error.wrong}; {error.remedy}"
    assert len(str(error).splitlines()) == 1
    assert str(error).isprintable()
    assert error.wrong
    assert error.remedy
    return error
