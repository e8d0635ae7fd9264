"""JSON files that hold one list of objects, as other tools write them; JSON Lines are read too.

A list is taken apart entry by entry, so that only one of them is in memory, and is checked as
strictly as lines are (`jsonl.records`).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from datasets.readers.jsonl import (
    DECODER,
    MAX_LINE_BYTES,
    LineError,
    broken,
    checked,
    kind,
    records,
    refuse_depth,
)
from datasets.rows import InputError, Place

CHUNK = 1 << 16
_CUT_OFF = 16
_BLANKS = re.compile(r"[ \t\n\r]*")
_KINDS: dict[str, object] = {"[": [], '"': "", "t": True, "f": False, "n": None}
_KINDS |= dict.fromkeys("-0123456789", 0)


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object of a file with the line on which it begins, from 1.

    Raises InputError as `jsonl.records` does, and for a list that is not closed or holds anything
    but objects.
    """
    return _entries(path) if is_list(path) else records(path)


def is_list(path: Path) -> bool:
    """Whether the first character of a file opens a list; False where it cannot be read."""
    try:
        with path.open("rb") as handle:
            start = handle.read(CHUNK).removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n")
    except OSError:
        return False
    return start.startswith(b"[")


def _entries(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open("rb") as handle:
        source = _Source(handle, str(path))
        source.expect("[", "a list")
        number = 0
        while not source.ends(first=number == 0):
            number += 1
            line = source.line
            yield line, source.entry(number)
        if source.next() is not None:
            source.refuse("something stands behind the list", "write one list only")
    if not number:
        raise InputError(Place(str(path)), "holds no records", "check that it is the right file")


class _Source:
    """The text of a file from where it was read to; `line` is the one that `at` stands on."""

    def __init__(self, handle: BinaryIO, file: str) -> None:
        self.handle, self.file = handle, file
        self.text, self.at, self.line = "", 0, 1
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._ended = False

    def next(self) -> str | None:
        """The next character that is no blank; None at the end of the file."""
        while True:
            self._move((_BLANKS.match(self.text, self.at) or _never()).end())
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._more():
                return None

    def expect(self, wanted: str, what: str) -> None:
        if self.next() != wanted:
            self.refuse(f"{what} was expected", "write one JSON list of objects")
        self._move(self.at + 1)

    def ends(self, first: bool) -> bool:
        """Whether the list is closed here; else the source stands at its next entry."""
        found = self.next()
        if found == "]":
            self._move(self.at + 1)
            return True
        if not first:
            self.expect(",", "a comma or the end of the list")
            self.next()
        return False

    def entry(self, number: int) -> dict[str, Any]:
        """The object that begins here."""
        self._check_object(number)
        try:
            value, end = self._decoded()
            found = checked(value, self.text[self.at : end], f"entry {number}")
        except LineError as error:
            self.refuse(error.wrong, error.mend)
        self._move(end)
        return found

    def refuse(self, wrong: str, mend: str) -> NoReturn:
        raise InputError(Place(self.file, self.line), wrong, mend)

    def _check_object(self, number: int) -> None:
        found = self.next()
        if found is None:
            self.refuse("the list is not closed", "give the whole file")
        if found != "{":
            what = kind(_KINDS[found]) if found in _KINDS else "nothing"
            self.refuse(f"entry {number} is {what}, not an object", "write a list of objects")

    def _decoded(self) -> tuple[object, int]:
        while True:
            try:
                return DECODER.raw_decode(self.text, self.at)
            except RecursionError:
                refuse_depth()
            except json.JSONDecodeError as error:
                # What was read so far may end within the object.
                ahead = error.pos - self.at
                cut_off = len(self.text) - error.pos < _CUT_OFF or "Unterminated" in error.msg
                if not cut_off or not self._more():
                    self._move(self.at + ahead)
                    raise LineError(broken(error), "give the whole list, as JSON") from None

    def _more(self) -> bool:
        """Reads on, as much again as is held, so that a long object is not tried too often."""
        if len(self.text) - self.at > MAX_LINE_BYTES:
            self.refuse("an entry is longer than 32 MiB", "leave out what is not needed")
        raw = b"" if self._ended else self.handle.read(max(CHUNK, len(self.text) - self.at))
        self._ended = not raw
        try:
            read = self._decode(raw, final=not raw)
        except UnicodeDecodeError:
            self.line += self.text.count("\n", self.at)
            self.refuse("not UTF-8 on or after this line", "save the file as UTF-8")
        self.text, self.at = self.text[self.at :] + read, 0
        return bool(raw)

    def _move(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to


def _never() -> NoReturn:
    raise AssertionError("blanks match everywhere")
