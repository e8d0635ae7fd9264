"""`json`: values in the JSON of a text, by path.

A path is `$` with names and numbers, such as `$.verdicts[0].score`; `[*]` stands for all elements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judging.backends.base import Answer, AskedUnit, AskedVariable
from judging.parsers.base import (
    ExpectedAnswer,
    Fault,
    Reading,
    Step,
    UnitVariable,
    UnreadError,
)
from judging.parsers.codes import PLAIN, Verdict, Verdicts, reading_of, variables_of
from judging.parsers.ladder import find_json, without_thinking
from judging.parsers.normal import normalise
from judging.parsers.sentences import match_units
from judging.parsers.statements import sole_word

Path = tuple[str | int | None, ...]
"""The names and numbers of a path, and None for all elements."""
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]|\[(\*)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")


def read_path(text: str) -> Path:
    """Read a path. Raises ValueError."""
    path: list[str | int | None] = []
    at = 1
    while text[:1] == "$" and (step := _STEP.match(text, at)):
        name, number, every, *quoted = step.groups()
        path.append(
            None if every else int(number) if number else name or next(filter(None, quoted), "")
        )
        at = step.end()
    if text[:1] != "$" or at != len(text):
        raise ValueError(f"{text!r} is not a path such as $.score or $.verdicts[*].label")
    return tuple(path)


def values_at(value: Any, path: Path) -> Iterator[Any]:
    """Yield the values at a path; none if the path does not exist."""
    if not path:
        yield value
        return
    first, *rest = path
    inner: Sequence[Any] = ()
    if isinstance(first, str) and isinstance(value, Mapping) and first in value:
        inner = (value[first],)
    elif isinstance(value, list) and (first is None or isinstance(first, int)):
        inner = value if first is None else value[first : first + 1]
    for each in inner:
        yield from values_at(each, tuple(rest))


@dataclass(frozen=True)
class JsonParser:
    """Reads each variable at its path.

    With `each`, the path of an array, the variables' paths begin at an element. An element belongs
    to the unit whose sentence is at its path `match`. A unit that no element names is missing.
    Without `match`, the answer has an element for each unit in the order of the request.
    """

    paths: Mapping[str, Path]
    each: Path | None = None
    verdicts: Verdicts = PLAIN
    match: Path | None = None
    whole = False

    @property
    def several(self) -> bool:
        return self.each is not None

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.paths)

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        try:
            found = find_json(answer.text, self._fits, self._keys, "{[", self.verdicts.take)
        except UnreadError as error:
            if error.fault == "unreadable":
                self.verdicts.check_refusal(answer.text, has_verdict=False)
            raise
        self.verdicts.check_refusal(answer.text, has_verdict=True)
        value, needed = self._form_of(found.value) or (found.value, ())
        words: list[str] = []
        steps: list[Step] = [*found.part.steps, *needed]
        read = self._by_position if self.match is None else self._by_sentence
        reading = read(value, expected, words, steps)
        if not self.verdicts.as_published:
            variables = [v for unit in expected.units for v in variables_of(unit, self.paths)]
            check_after(self.verdicts, variables, answer.text, found.part.end, words)
        return reading

    def _by_position(
        self, value: Any, expected: ExpectedAnswer, words: list[str], steps: list[Step]
    ) -> Reading:
        parts = self._parts(value, len(expected.units))
        read = [
            (unit, self._verdicts(unit, [part], words, steps))
            for unit, part in zip(expected.units, parts, strict=True)
        ]
        return reading_of(read, steps)

    def _by_sentence(
        self, value: Any, expected: ExpectedAnswer, words: list[str], steps: list[Step]
    ) -> Reading:
        """Read the elements that name a unit. Raises UnreadError if there is none to read."""
        elements = self._elements(value)
        matched = match_units(expected.units, [self._sentence(each) for each in elements])
        read: list[tuple[AskedUnit, dict[str, Verdict]]] = []
        missing: dict[UnitVariable, Fault] = {}
        for unit in expected.units:
            parts = [elements[index] for index in matched[unit.name]]
            fault: Fault = "unmatched"
            verdicts: dict[str, Verdict] = {}
            try:
                verdicts = self._verdicts(unit, parts, words, steps) if parts else {}
            except UnreadError as error:
                fault = error.fault
            if not verdicts:
                asked = (v for v in variables_of(unit, self.paths) if not v.asked_if)
                missing |= {(unit.name, variable.name): fault for variable in asked}
            read.append((unit, verdicts))
        if not any(verdicts for _, verdicts in read):
            faults = sorted(set(missing.values())) or ["unreadable"]
            wrong = "no element of the answer names one of the sentences and has a verdict on it"
            raise UnreadError(wrong, faults[0] if len(faults) == 1 else "unreadable")
        reading = reading_of(read, steps)
        return replace(reading, missing=missing, own=self._own_codes(elements, expected))

    def _own_codes(
        self, elements: Sequence[Any], expected: ExpectedAnswer
    ) -> Mapping[str, Mapping[str, int]]:
        """Return by variable how many of the judge's own sentences have each code.

        Only if the request is about one text, and only for variables on which each has a verdict.
        """
        if expected.by_unit or len({(unit.kind, unit.about) for unit in expected.units}) != 1:
            return {}
        counts: dict[str, dict[str, int]] = {}
        for variable in variables_of(expected.units[0], self.paths):
            try:
                every = [self._captured(variable, [each], []) for each in elements]
                codes = Counter(self.verdicts.verdict(variable, each).code for each in every)
            except UnreadError:
                continue
            counts[variable.name] = dict(codes)
        return counts

    def _sentence(self, element: Any) -> str | None:
        found = next(values_at(element, self.match or ()), None)
        return found if isinstance(found, str) else None

    @property
    def _keys(self) -> Sequence[str]:
        """The names of which an answer has at least one."""
        heads = [self.each] if self.each else list(self.paths.values())
        firsts = (next((step for step in head if isinstance(step, str)), "") for head in heads)
        return [first for first in firsts if first]

    def _fits(self, value: Any) -> bool:
        return self._form_of(value) is not None

    def _form_of(self, value: Any) -> tuple[Any, tuple[Step, ...]] | None:
        """Return the value of the form that was asked for, and the steps by which it is found."""
        if self.verdicts.as_published:
            return (value, ()) if self._has_paths(value) else None
        if self._has_paths(value):
            self._check_twins(value)
            return value, ()
        plain = with_plain_keys(value)
        if self._has_paths(plain):
            return plain, ("keys",)
        inside = [each for each in nested(value) if self._has_paths(each)]
        return (inside[0], ("wrapper",)) if len(inside) == 1 else None

    def _check_twins(self, value: Any) -> None:
        """Raise UnreadError if a key of the answer stands twice, in two spellings."""
        asked = {step for path in self.paths.values() for step in path if isinstance(step, str)}
        for each in (value, *nested(value)):
            for key in asked & each.keys() if isinstance(each, dict) else ():
                if any(_plain_key(o) == _plain_key(key) and each[o] != each[key] for o in each):
                    raise UnreadError(f"the completion has the key {key!r} twice", "ambiguous")

    def _has_paths(self, value: Any) -> bool:
        """Whether a value contains the paths. Text in braces need not be an answer."""
        heads = [self.each] if self.each is not None else list(self.paths.values())
        return any(next(values_at(value, path), None) is not None for path in heads)

    def _parts(self, value: Any, count: int) -> Sequence[Any]:
        if self.each is None:
            return [value] * count
        parts = self._elements(value)
        if len(parts) != count:
            raise UnreadError(f"the answer has {len(parts)} elements for {count} units")
        return parts

    def _elements(self, value: Any) -> Sequence[Any]:
        parts = list(values_at(value, self.each or ()))
        return parts[0] if len(parts) == 1 and isinstance(parts[0], list) else parts

    def _captured(
        self, variable: AskedVariable, parts: Sequence[Any], steps: list[Step]
    ) -> list[str]:
        """Return the words of some parts on a variable, and note the steps that they needed."""
        table, plain = self.verdicts.table(variable), self.verdicts.as_published
        captured = []
        path = self.paths[variable.name]
        for value in (each for part in parts for each in values_at(part, path)):
            if (text := as_text(value)) is not None:
                word, needed = (text, ()) if plain else _word(value, table)
                captured.append(word)
                steps += needed
        return captured

    def _verdicts(
        self, unit: AskedUnit, parts: Sequence[Any], words: list[str], steps: list[Step]
    ) -> dict[str, Verdict]:
        """Return the verdicts of a unit's parts, and note their words and the steps needed."""
        verdicts = {}
        for variable in variables_of(unit, self.paths):
            captured = self._captured(variable, parts, steps)
            if not captured and variable.asked_if:
                continue
            verdicts[variable.name] = self.verdicts.verdict(variable, captured)
            words += captured
        return verdicts


def with_plain_keys(value: Any) -> Any:
    """Return a value with its keys in lower case, and underscores for blanks and hyphens."""
    if isinstance(value, dict):
        plain = {_plain_key(key): v for key, v in value.items()}
        return {k: with_plain_keys(v) for k, v in plain.items()} if len(plain) == len(value) else {}
    return [with_plain_keys(each) for each in value] if isinstance(value, list) else value


def _plain_key(key: str) -> str:
    return re.sub(r"[\s-]+", "_", key.strip()).casefold()


def nested(value: Any, depth: int = 2) -> Iterator[Any]:
    """Yield the objects and arrays within a value, down to a depth."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        if isinstance(each, dict | list) and depth:
            yield each
            yield from nested(each, depth - 1)


def _word(value: Any, table: Mapping[str, str]) -> tuple[str, tuple[Step, ...]]:
    """Return the word that a value stands for, and the steps by which it was found."""
    text = as_text(value) or ""
    if isinstance(value, bool) and text not in table:
        for yes, no in (("1", "0"), ("yes", "no")):
            if {yes, no} <= table.keys():
                return yes if value else no, ("boolean",)
    if not isinstance(value, str):
        return text, ()
    normal = normalise(text, 0, len(text))
    sole = sole_word(normal.text, table)
    return (text, ()) if sole is None else (sole, normal.steps(0, len(normal.text)))


def check_after(
    verdicts: Verdicts,
    variables: Sequence[AskedVariable],
    text: str,
    end: int,
    words: Sequence[str],
) -> None:
    """Raise UnreadError if what follows an object that ends at `end` could be another verdict."""
    if text[end:].strip():
        body = without_thinking(text)
        rest = normalise(body.text, end, len(text)).text
        verdicts.check_rest(variables, rest, words, first=verdicts.take == "first")


def as_text(value: Any) -> str | None:
    """Format a plain JSON value like a key of a map. Return None for any other value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None
