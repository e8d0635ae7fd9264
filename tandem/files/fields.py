"""Typed access to the keys of a JSON object; an error names the key and says what to do.

An optional key that is null counts as absent. A boolean is never a number. Strings are kept as
they are, including blanks around them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NoReturn

from tandem.files.file_kinds import Door, refuse_object
from tandem.files.jsonl import describe_type, excerpt
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.spelling import is_blank
from tandem.similar import did_you_mean

MAX_ID = 255

_TEXT = frozenset((str, type(None)))
_DATE_FIRST = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]|$)", re.ASCII)


class Fields:
    """The members of the JSON object at `place`; `of` names the object, as in `report 2`.

    Raises InputError if a value is not an object and, with `known`, for an unknown key.
    Each method reads one key and raises InputError for a value of the wrong type.
    """

    __slots__ = ("of", "place", "raw")

    def __init__(
        self, raw: Any, place: Place, of: str = "", known: Collection[str] | None = None
    ) -> None:
        self.place, self.of = place, of
        if not isinstance(raw, dict):
            self._refuse(
                f"{of or 'the line'} is {describe_type(raw)}, not an object", "write an object"
            )
        self.raw: Mapping[str, Any] = raw
        if known is not None:
            self._refuse_unknown(known)

    def string(self, key: str) -> str:
        """Return a required string, which may be empty."""
        value = self.optional_string(key)
        if value is None:
            self._refuse_absent(key)
        return value

    def filled(self, key: str) -> str:
        """Return a required string that is not blank."""
        value = self.string(key)
        if is_blank(value):
            self._refuse(f"{self._name(key)} is empty", "write its text")
        return value

    def optional_string(self, key: str) -> str | None:
        value = self.raw.get(key)
        if value is not None and not isinstance(value, str):
            self._refuse_type(key, value, "a string")
        return value

    def optional_strings(self, keys: Collection[str]) -> list[str | None]:
        """Like `optional_string` for several keys, faster in files with many lines."""
        values = [self.raw.get(key) for key in keys]
        if not _TEXT.issuperset(map(type, values)):
            return [self.optional_string(key) for key in keys]
        return values

    def id(self, key: str = "id") -> str:
        """Return a required identifier verbatim: not blank, at most `MAX_ID` code points."""
        value = self.string(key)
        if len(value) > MAX_ID or not value.strip():
            self._refuse_id(value, self._name(key))
        return value

    def optional_id(self, key: str) -> str | None:
        return None if self.raw.get(key) is None else self.id(key)

    def ids(self, key: str) -> tuple[str, ...] | None:
        """Return a list of identifiers, including repeated ones."""
        values = self.strings(key)
        if values is not None:
            self._check_ids(values, self._name(key))
        return values

    def lists_of_ids(self, key: str) -> tuple[tuple[str, ...], ...] | None:
        """Return a list of lists of identifiers."""
        values = self._list(key)
        for number, value in enumerate(values or (), 1):
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                found = describe_type(value)
                wrong = f"entry {number} of {self._name(key)} is {found}, not a list of strings"
                self._refuse(wrong, "write a list of strings")
            self._check_ids(value, f"entry {number} of {self._name(key)}")
        return None if values is None else tuple(map(tuple, values))

    def strings(self, key: str) -> tuple[str, ...] | None:
        values = self._list(key)
        for number, value in enumerate(values or (), 1):
            if not isinstance(value, str):
                self._refuse(
                    f"entry {number} of {self._name(key)} is {describe_type(value)}, not a string",
                    "write a list of strings",
                )
        return None if values is None else tuple(values)

    def strings_or_nulls(self, key: str) -> tuple[str | None, ...]:
        """Return a required list of strings, some of which may be null."""
        values = self._list(key)
        if values is None:
            self._refuse_absent(key)
        for number, value in enumerate(values, 1):
            if value is not None and not isinstance(value, str):
                wrong = f"entry {number} of {self._name(key)} is {describe_type(value)}"
                self._refuse(f"{wrong}, not a string or null", "write a list of strings and nulls")
        return tuple(values)

    def number(self, key: str, low: float, high: float) -> float | None:
        """Return a number within [low, high]."""
        value = self.raw.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._refuse_type(key, value, "a number")
        if not low <= value <= high:
            limits = f"at least {low:g}" if high == float("inf") else f"from {low:g} to {high:g}"
            self._refuse(f"{self._name(key)} is {value}", f"write a number {limits}")
        return float(value)

    def boolean(self, key: str) -> bool | None:
        value = self.raw.get(key)
        if value is not None and not isinstance(value, bool):
            self._refuse_type(key, value, "true or false")
        return value

    def one_of(self, key: str, codes: Collection[str]) -> str | None:
        """Return a string that is one of the codes."""
        value = self.optional_string(key)
        if value is not None and value not in codes:
            wrong = f"{self._name(key)} is {excerpt(value)}"
            self._refuse(wrong, f"write one of {', '.join(codes)}")
        return value

    def date(self, key: str) -> str | None:
        """Return an ISO date or datetime, as the string in the file."""
        value = self.optional_string(key)
        if value is not None and not _is_iso(value):
            self._refuse(
                f"{self._name(key)} is {excerpt(value)}, not an ISO date",
                "write it as 2024-05-31 or 2024-05-31T12:30:00Z",
            )
        return value

    def object(self, key: str) -> Mapping[str, Any] | None:
        """Return an object with any keys."""
        value = self.raw.get(key)
        if value is not None and not isinstance(value, dict):
            self._refuse_type(key, value, "an object")
        return value

    def objects(
        self, key: str, one: str, known: Collection[str] | None = None
    ) -> tuple[Fields, ...]:
        """Return a list of objects, empty if the key is absent; messages call an entry `one`."""
        values = self._list(key)
        if not values:
            return ()
        of = f" of {self.of}" if self.of else ""
        return tuple(
            Fields(value, self.place, f"{one} {number}{of}", known)
            for number, value in enumerate(values, 1)
        )

    def _list(self, key: str) -> list[Any] | None:
        value = self.raw.get(key)
        if value is not None and not isinstance(value, list):
            self._refuse_type(key, value, "a list")
        return value

    def _check_ids(self, values: Iterable[str], name: str) -> None:
        for number, value in enumerate(values, 1):
            if len(value) > MAX_ID or not value.strip():
                self._refuse_id(value, f"entry {number} of {name}")

    def _refuse_id(self, value: str, name: str) -> NoReturn:
        if not value.strip():
            self._refuse(f"{name} is empty", "give it an identifier")
        self._refuse(
            f"{name} has {len(value)} characters: {excerpt(value, 20)}",
            f"use at most {MAX_ID}",
        )

    def _name(self, key: str) -> str:
        return f'"{key}" of {self.of}' if self.of else f'"{key}"'

    def _refuse_absent(self, key: str) -> NoReturn:
        wrong = "is null" if key in self.raw else "is missing"
        self._refuse(f"{self._name(key)} {wrong}", "add it")

    def _refuse_type(self, key: str, value: Any, expected: str) -> NoReturn:
        remedy = "put it in double quotes" if expected == "a string" else f"write {expected}"
        if expected == "a string" and isinstance(value, list | dict):
            remedy = "write a string"
        self._refuse(f"{self._name(key)} is {describe_type(value)}, not {expected}", remedy)

    def _refuse_unknown(self, known: Collection[str]) -> None:
        for key in self.raw:
            if key not in known:
                of = f" in {self.of}" if self.of else ""
                self._refuse(f"unknown key {excerpt(key)}{of}", _suggestion(key, known))

    def _refuse(self, wrong: str, remedy: str) -> NoReturn:
        raise InputError(self.place, wrong, remedy)


def known_fields(raw: Any, place: Place, known: Collection[str], door: Door) -> Fields:
    """Return the members of a file's object, which may have no other keys than `known`.

    Raises InputError, which says what the file is if it belongs elsewhere.
    """
    try:
        return Fields(raw, place, known=known)
    except InputError:
        refuse_object(raw, place, door)
        raise


def part_id(of: str, part: str, place: Place) -> str:
    """Return an identifier for a part that has none in its file. Raises InputError if too long."""
    return Fields({"id": f"{of}:{part}"}, place).id()


def first_repeated(values: Iterable[str]) -> str | None:
    """Return the first value that occurs again, or None."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def _is_iso(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return _DATE_FIRST.match(value) is not None


def _suggestion(key: str, known: Collection[str]) -> str:
    keys = ", ".join(known)
    where = " or put it under meta" if "meta" in known else ""
    return did_you_mean(key, known, f"remove it{where}; the keys here are {keys}", excerpt)


IN_FULL = 50


class Tally:
    """Warnings of one kind: the first `IN_FULL` are noted in full, the others are counted."""

    def __init__(self, notes: ReadNotes, more: str) -> None:
        self._notes, self._more = notes, more
        self.count = 0

    def add(self, warning: str) -> None:
        self.count += 1
        if self.count <= IN_FULL:
            self._notes.warnings.append(warning)

    def finish(self) -> None:
        """Note the number of warnings that were only counted, if any."""
        if self.count > IN_FULL:
            self._notes.warnings.append(f"{self.count - IN_FULL} {self._more}")
