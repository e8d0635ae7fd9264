"""Read JSON Lines and JSON lists from unchecked files, as pairs of line number and object.

A file is split at the newline character only, so U+2028 or a lone CR inside a text ends no line.
NUL, lone surrogates, NaN and duplicate keys are refused with the file and the line: Python's `json`
accepts them, but a database or another parser does not. A list is read entry by entry, so that only
one entry is in memory.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeAlias

from tandem.files.file_kinds import kind_of_bytes, kind_of_line, refuse_kind
from tandem.files.rows import InputError, Place

MAX_LINE_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 64
MAX_DIGITS = 30
EXCERPT = 60

PathLike: TypeAlias = str | os.PathLike[str]

_UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u(?P<unit>[0-9a-fA-F]{4})|.)", re.DOTALL
)


class LineError(Exception):
    """The reason why a piece of JSON is refused, before its place is known."""

    def __init__(self, wrong: str, remedy: str) -> None:
        self.wrong, self.remedy = wrong, remedy
        super().__init__(wrong)


class BrokenJsonError(LineError):
    """A piece of text is not JSON at all."""


def excerpt(value: str, limit: int = EXCERPT) -> str:
    """Quote `value` for a message: on one line, escaped where unprintable, cut to `limit`."""
    cut = value[:limit]
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
    return f'"{safe}{"…" if len(value) > limit else ""}"'


def lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Yield each non-blank line of a UTF-8 file with its number from 1, without its line end.

    Raises InputError for a file that cannot be read or has no such line, for a line over
    `MAX_LINE_BYTES`, for NUL, and for anything that is not UTF-8.
    """
    file = os.fspath(path)
    empty = True
    try:
        # `path` may be a str, and the generator must close the file that it opened.
        with open(path, "rb") as handle:  # noqa: PTH123
            for number, raw in _raw_lines(handle, file):
                if raw and not raw.isspace():
                    empty = False
                    yield number, _decoded(raw, Place(file, number))
    except IsADirectoryError:
        raise InputError(Place(file), "is a folder", "name the files in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            Place(file), f"cannot be read ({reason.lower()})", "check the path and its permissions"
        ) from None
    if empty:
        raise InputError(Place(file), "holds no records", "check that it is the right file")


def records(path: PathLike) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each line of a JSON Lines file as its number from 1 and an object, without blank lines.

    Raises InputError as `lines` does, and for JSON that is broken, is not an object, nests deeper
    than `MAX_DEPTH`, has a key twice, or contains NaN, Infinity, an integer of over `MAX_DIGITS`
    digits, a NUL or a lone surrogate.
    """
    file = os.fspath(path)
    for number, text in lines(path):
        yield number, _record(text, Place(file, number))


def records_in(block: bytes, file: str, first: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Like `records`, for a block of a file's lines that starts with line number `first`."""
    for number, raw in _raw_lines(io.BytesIO(block), file, first - 1):
        if raw and not raw.isspace():
            place = Place(file, number)
            yield number, _record(_decoded(raw, place), place)


def _record(text: str, place: Place) -> dict[str, Any]:
    try:
        return _parsed(text)
    except LineError as refused:
        if place.line == 1 and isinstance(refused, BrokenJsonError):
            refuse_kind(kind_of_line(text), place)
        raise InputError(place, refused.wrong, refused.remedy) from None


def _raw_lines(handle: BinaryIO, file: str, number: int = 0) -> Iterator[tuple[int, bytes]]:
    while raw := handle.readline(MAX_LINE_BYTES + 2):
        number += 1
        if raw.endswith(b"\n"):
            raw = raw[:-1].removesuffix(b"\r")
        if len(raw) > MAX_LINE_BYTES:
            raise InputError(
                Place(file, number),
                f"the line is longer than {MAX_LINE_BYTES // 1024**2} MiB",
                "write one record per line, and leave out what is not needed",
            )
        yield number, raw.removeprefix(_UTF8_BOM) if number == 1 else raw


def _decoded(raw: bytes, place: Place) -> str:
    if place.line == 1:
        refuse_kind(kind_of_bytes(raw), place)
    if place.line == 1 and raw.startswith(UTF16_BOMS):
        raise InputError(place, "the file is UTF-16", "save it as UTF-8")
    nul = raw.find(b"\0")
    if nul >= 0:
        column = len(raw[:nul].decode("utf-8", "replace")) + 1
        raise InputError(
            place,
            f"NUL character at column {column}",
            "remove it, or save the file as UTF-8 if it is UTF-16",
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8")) + 1
        wrong = f"not UTF-8 at column {column} (byte 0x{raw[error.start]:02X})"
        raise InputError(place, wrong, "save the file as UTF-8") from None


def _parsed(text: str) -> dict[str, Any]:
    try:
        value = DECODER.decode(text)
    except RecursionError:
        refuse_depth()
    except json.JSONDecodeError as error:
        remedy = "write one whole JSON object on each line"
        wrong = describe_json_error(error, f" at column {error.pos + 1}")
        raise BrokenJsonError(wrong, remedy) from None
    return check_object(value, text, "the line")


def describe_json_error(error: json.JSONDecodeError, where: str = "") -> str:
    """Describe what is wrong with JSON that could not be decoded."""
    near = excerpt(error.doc[max(0, error.pos - 20) : error.pos + 20])
    return f"broken JSON{where} ({error.msg.lower()}) near {near}"


def check_object(value: object, text: str, what: str) -> dict[str, Any]:
    """Return a decoded object. Raises LineError if its JSON, `text`, cannot be stored."""
    if not isinstance(value, dict):
        raise LineError(
            f"{what} is {describe_type(value)}, not an object", "write one JSON object on each line"
        )
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(value)
    if "\\u" in text:
        _check_escapes(text)
    return value


def describe_type(value: object) -> str:
    """Name the type of a JSON value for a message."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string"}
    names |= {list: "a list", dict: "an object", type(None): "null"}
    return names[type(value)]


def _check_depth(value: object) -> None:
    level: list[Any] = [value]
    depth = 0
    while level:
        level = [c for c in level if isinstance(c, dict | list)]
        depth += bool(level)
        if depth > MAX_DEPTH:
            refuse_depth()
        level = [inner for c in level for inner in (c.values() if isinstance(c, dict) else c)]


def refuse_depth() -> NoReturn:
    raise LineError(f"JSON nested deeper than {MAX_DEPTH} levels", "flatten it") from None


def _check_escapes(text: str) -> None:
    for escape in _ESCAPES.finditer(text):
        unit = int(escape["unit"] or "20", 16)
        at = f"at column {escape.start() + 1}"
        if unit == 0:
            raise LineError(f"NUL character (\\u0000) {at}", "remove it")
        if 0xD800 <= unit <= 0xDFFF:
            raise LineError(
                f"lone surrogate (\\u{escape['unit']}) {at}",
                "write the whole character, or remove the escape",
            )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, number in counts.items() if number > 1)
        raise LineError(f"the key {excerpt(twice)} appears twice in one object", "keep one of them")
    return members


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise LineError(
            f"a whole number of over {MAX_DIGITS} digits ({excerpt(digits, 20)})",
            "write it as a string",
        )
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise LineError(f"the number {excerpt(digits, 20)} is too large", "write a smaller number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise LineError(f"{name} is not JSON", "write a number, or null for an absent value")


DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_integer,
    parse_float=_finite,
    parse_constant=_refuse_constant,
)


CHUNK = 1 << 16
_CUT_OFF = 16
_BLANKS = re.compile(r"[ \t\n\r]*")
_KINDS: dict[str, object] = {"[": [], '"': "", "t": True, "f": False, "n": None}
_KINDS |= dict.fromkeys("-0123456789", 0)


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of a file with the number of the line on which it begins, from 1.

    Raises InputError as `jsonl.records` does, and for a list that is not closed or holds anything
    but objects.
    """
    return _entries(path) if is_list(path) else records(path)


def is_list(path: Path) -> bool:
    """Return whether the first character of a file opens a list; False if it cannot be read."""
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
            source.refuse("the file continues after the list", "write only one list")
    if not number:
        raise InputError(Place(str(path)), "holds no records", "check that it is the right file")


class _Source:
    """The text of a file that has been read and not yet parsed; `at` is in line number `line`."""

    def __init__(self, handle: BinaryIO, file: str) -> None:
        self.handle, self.file = handle, file
        self.text, self.at, self.line = "", 0, 1
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._ended = False

    def next(self) -> str | None:
        """Return the next character that is not a blank; None at the end of the file."""
        while True:
            self._move((_BLANKS.match(self.text, self.at) or _never()).end())
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._more():
                return None

    def expect(self, character: str, what: str) -> None:
        if self.next() != character:
            self.refuse(f"{what} was expected", "write one JSON list of objects")
        self._move(self.at + 1)

    def ends(self, first: bool) -> bool:
        """Return whether the list is closed here; otherwise move to its next entry."""
        if self.next() == "]":
            self._move(self.at + 1)
            return True
        if not first:
            self.expect(",", "a comma or the end of the list")
            self.next()
        return False

    def entry(self, number: int) -> dict[str, Any]:
        """Return the object that begins here."""
        self._check_object(number)
        try:
            value, end = self._decoded()
            entry = check_object(value, self.text[self.at : end], f"entry {number}")
        except LineError as error:
            self.refuse(error.wrong, error.remedy)
        self._move(end)
        return entry

    def refuse(self, wrong: str, remedy: str) -> NoReturn:
        raise InputError(Place(self.file, self.line), wrong, remedy)

    def _check_object(self, number: int) -> None:
        start = self.next()
        if start is None:
            self.refuse("the list is not closed", "use the whole file")
        if start != "{":
            if number == 1 and start.isalpha():
                refuse_kind(kind_of_line(self.text.partition("\n")[0]), Place(self.file))
            what = describe_type(_KINDS[start]) if start in _KINDS else "nothing"
            self.refuse(f"entry {number} is {what}, not an object", "write a list of objects")

    def _decoded(self) -> tuple[object, int]:
        while True:
            try:
                return DECODER.raw_decode(self.text, self.at)
            except RecursionError:
                refuse_depth()
            except json.JSONDecodeError as error:
                # The text that has been read may end within the object.
                ahead = error.pos - self.at
                cut_off = len(self.text) - error.pos < _CUT_OFF or "Unterminated" in error.msg
                if not cut_off or not self._more():
                    self._move(self.at + ahead)
                    raise LineError(
                        describe_json_error(error), "write the whole list as JSON"
                    ) from None

    def _more(self) -> bool:
        """Read on, doubling the text, so that a long object is not parsed too often."""
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
