"""Read TOML that other people wrote: everything that makes Python's reader fail is one error.

Python's reader raises RecursionError for nested values, ValueError for numbers of over 4,300
digits, and takes minutes for a key of thousands of parts.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

MAX_DEPTH = 50
MAX_DIGITS = 4_000
_DIGITS = re.compile(r"[\d_]{4000}")
_LINE = re.compile(r"at line (\d+)")
_SEPARATORS = re.compile(r"[\s=\[\]{},]")
TOO_DEEP = f"a value is nested more than {MAX_DEPTH} deep"


class TomlError(ValueError):
    """A text is not TOML, or more than a person writes. `line` is counted from 1, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def read_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML document. Raises TomlError."""
    _check_keys(text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _LINE.search(str(error))
        # Python's reader says "at end of document" of the last line.
        last = int(found[1]) if found else len(text.splitlines())
        raise TomlError(f"it is not TOML: {error}", last) from error
    except RecursionError as error:
        raise TomlError(f"it is not TOML: {TOO_DEEP}", _deep_line(text)) from error
    except (ValueError, ArithmeticError, MemoryError) as error:
        lines = enumerate(text.split("\n"), start=1)
        line = next((number for number, line in lines if _DIGITS.search(line)), None)
        raise TomlError(f"it is not TOML: {_reason(error, line)}", line) from error
    _check_depth(document, text)
    return document


def _reason(error: BaseException, line: int | None) -> str:
    if line is not None:
        return f"a number has over {MAX_DIGITS:,} digits"
    return " ".join(str(error).split()) or type(error).__name__


def _check_keys(text: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MAX_DEPTH and _parts(line) > MAX_DEPTH:
            raise TomlError(f"it is not TOML: a key has more than {MAX_DEPTH} parts", number)


def _parts(line: str) -> int:
    """Return the number of parts of a line's longest dotted key."""
    most = run = 0
    for piece in line.split("."):
        word = piece.strip()
        # A key may follow other words, and end before others, as in `[ a . b ]`.
        run = run + 1 if word and not _SEPARATORS.search(word) else 0
        most = max(most, run)
    return most


def _check_depth(document: Mapping[str, Any], text: str) -> None:
    left: list[tuple[Any, int]] = [(document, 0)]
    while left:
        value, depth = left.pop()
        if depth > MAX_DEPTH:
            raise TomlError(f"it is not TOML: {TOO_DEEP}", _deep_line(text))
        inner = value.values() if isinstance(value, dict) else value
        if isinstance(value, dict | list):
            left += [(each, depth + 1) for each in inner]


def _deep_line(text: str) -> int | None:
    """Return the line on which brackets are first open more than `MAX_DEPTH` deep."""
    depth = 0
    for number, line in enumerate(text.split("\n"), start=1):
        for sign in line:
            depth += (sign in "[{") - (sign in "]}")
            if depth > MAX_DEPTH:
                return number
    return None


class Lines:
    """Finds the line, from 1, of a table or a key in a file."""

    def __init__(self, text: str) -> None:
        self._places: list[tuple[int, str, int, str]] = []
        table, counts, quote = "", Counter[str](), ""
        for row, line in enumerate(text.splitlines(), start=1):
            if not quote and (header := _HEADER.match(line)):
                table = re.sub(r"[\s\"']", "", header[1])
                counts[table] += 1
                self._places.append((row, table, counts[table] - 1, ""))
            elif not quote and (key := _KEY.match(line)):
                self._places.append((row, table, counts[table] - 1, key[1].strip("\"' ")))
            quote = _open_quote(line, quote)

    def places(self) -> Iterator[tuple[int, tuple[str, int, str]]]:
        """Yield each line of a table or a key: the table, its number among equals, and the key."""
        for row, table, number, key in self._places:
            yield row, (table, max(0, number), key)

    def of(self, table: str, key: str = "", number: int = 0) -> int | None:
        """Return the line of a key, or of its table, or of the table around it.

        `number` counts tables of the same name.
        """
        targets = {(table, key), (f"{table}.{key}", "")} if key else {(table, ""), ("", table)}
        for row, inside, count, name in self._places:
            if count in (number, -1) and (inside, name) in targets:
                return row
        if key:
            return self.of(table, "", number)
        return self.of(table.rpartition(".")[0]) if "." in table else None


_HEADER = re.compile(r"^\s*\[\[?([^\[\]]+)\]?\]\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*([\w.-]+|\"[^\"]*\"|'[^']*')\s*=")


def _open_quote(line: str, quote: str) -> str:
    """Return the quotation mark of a multi-line text that is still open after a line, if any."""
    for mark in re.findall(r'"""|\'\'\'', line):
        quote = "" if quote == mark else quote or mark
    return quote
