"""`json`: values in the JSON of a text, by path.

A path is `$` with names and numbers, such as `$.verdicts[0].score`; `[*]` stands for all elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judging.backends.base import Answer, AskedUnit, AskedVariable
from judging.parsers.base import ExpectedAnswer, Reading, Step, UnreadError
from judging.parsers.codes import PLAIN, Verdict, Verdicts, reading_of, variables_of
from judging.parsers.ladder import find_json, without_thinking
from judging.parsers.normal import normalise
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

    With `each`, the path of an array, the answer has an element for each unit in the order of the
    request, and the variables' paths begin at the element.
    """

    paths: Mapping[str, Path]
    each: Path | None = None
    verdicts: Verdicts = PLAIN
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
        parts = self._parts(value, len(expected.units))
        words: list[str] = []
        steps: list[Step] = [*found.part.steps, *needed]
        read = [
            (unit, self._verdicts(unit, part, words, steps))
            for unit, part in zip(expected.units, parts, strict=True)
        ]
        if not self.verdicts.as_published:
            variables = [v for unit in expected.units for v in variables_of(unit, self.paths)]
            check_after(self.verdicts, variables, answer.text, found.part.end, words)
        return reading_of(read, steps)

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
        if self._has_paths(value) or self.verdicts.as_published:
            return (value, ()) if self._has_paths(value) else None
        plain = with_plain_keys(value)
        if self._has_paths(plain):
            return plain, ("keys",)
        inside = [each for each in nested(value) if self._has_paths(each)]
        return (inside[0], ("wrapper",)) if len(inside) == 1 else None

    def _has_paths(self, value: Any) -> bool:
        """Whether a value contains the paths. Text in braces need not be an answer."""
        heads = [self.each] if self.each is not None else list(self.paths.values())
        return any(next(values_at(value, path), None) is not None for path in heads)

    def _parts(self, value: Any, count: int) -> Sequence[Any]:
        if self.each is None:
            return [value] * count
        parts = list(values_at(value, self.each))
        parts = parts[0] if len(parts) == 1 and isinstance(parts[0], list) else parts
        if len(parts) != count:
            raise UnreadError(f"the answer has {len(parts)} elements for {count} units")
        return parts

    def _verdicts(
        self, unit: AskedUnit, part: Any, words: list[str], steps: list[Step]
    ) -> dict[str, Verdict]:
        """Return the verdicts of one part, and note their words and the steps that they needed."""
        verdicts = {}
        for variable in variables_of(unit, self.paths):
            table = self.verdicts.table(variable)
            captured = []
            for value in values_at(part, self.paths[variable.name]):
                if (text := as_text(value)) is not None:
                    plain = self.verdicts.as_published
                    word, needed = (text, ()) if plain else _word(value, table)
                    captured.append(word)
                    steps += needed
            if not captured and variable.asked_if:
                continue
            verdicts[variable.name] = self.verdicts.verdict(variable, captured)
            words += captured
        return verdicts


def with_plain_keys(value: Any) -> Any:
    """Return a value with its keys in lower case, and underscores for blanks and hyphens."""
    if isinstance(value, dict):
        plain = {re.sub(r"[\s-]+", "_", key.strip()).casefold(): v for key, v in value.items()}
        return {k: with_plain_keys(v) for k, v in plain.items()} if len(plain) == len(value) else {}
    return [with_plain_keys(each) for each in value] if isinstance(value, list) else value


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
