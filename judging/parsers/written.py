"""Texts and lists that a judge writes: a request, sub-questions, points with their quotes.

They are found by the same parsers as verdicts: between `tags`, in a numbered or bulleted list of
`lines`, by a `regex`, or in `json`. A place that announces a text and cannot be read makes the
reply unreadable, so that no part of a list is lost in silence. The words are kept as they are.

A prompt may end with an opening tag, so that the reply begins inside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import re2

from judging.backends.base import Answer, AskedUnit
from judging.parsers.base import ExpectedAnswer, Parser, Reading, Step, UnreadError
from judging.parsers.codes import PLAIN, Verdicts, steps_of
from judging.parsers.json_path import Path, values_at
from judging.parsers.ladder import MAX_LENGTH, Part, body_of, find_json
from judging.parsers.regex import compile_pattern
from judging.parsers.statements import Span, marker_pattern
from tandem.protocols.base import Conditions, PointList, Variable, WrittenText
from tandem.protocols.schema import EVIDENCE_KEY

Marks = tuple[str, str]
MAX_SHOWN = 60
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Piece:
    """A text that a reply writes, its quotes, and the numbers of the units that it stands for."""

    text: str
    quotes: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Found:
    """The texts that a reply writes. `is_stated` if it gives the list, even an empty one."""

    pieces: Sequence[Piece]
    steps: tuple[Step, ...] = ()
    is_stated: bool = False


class Finder(Protocol):
    """Finds the texts of one key in a reply. `describes` says what it looks for."""

    @property
    def describes(self) -> str: ...

    def find(self, reply: str) -> Found:
        """Find the texts. Raises UnreadError for one that cannot be read."""
        ...


def _body(reply: str, own: Sequence[str]) -> Part:
    body = body_of(reply, own)
    if body.end - body.start > MAX_LENGTH:
        raise UnreadError(f"the completion has over {MAX_LENGTH:,} characters")
    return body


def _shown(text: str) -> str:
    return repr(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…")


def _words(text: str, number: int) -> str:
    if not text.strip():
        raise UnreadError(f"text {number} of the completion is empty")
    return text.strip()


def _numbers(text: str) -> tuple[int, ...]:
    if not (found := _NUMBER.findall(text)):
        raise UnreadError(f"{_shown(text)} contains no number")
    return tuple(map(int, found))


@dataclass(frozen=True)
class Tags:
    """Finds the texts between two marks. Quotes have marks of their own and follow their text.

    If the prompt `opens` the first text, the reply may begin inside it.
    """

    marks: Marks
    quotes: Marks | None = None
    opens: bool = False

    @property
    def describes(self) -> str:
        return f"text between {self.marks[0]} and {self.marks[1]}"

    def find(self, reply: str) -> Found:
        body = _body(reply, [mark for marks in self._kinds for mark in marks])
        return Found(list(self._pieces(self._opened(body.inside))), body.steps)

    @property
    def _kinds(self) -> Sequence[Marks]:
        return (self.marks, *((self.quotes,) if self.quotes else ()))

    def _opened(self, text: str) -> str:
        began = text.lstrip().casefold().startswith(self.marks[0].casefold())
        return f"{self.marks[0]}{text}" if self.opens and not began else text

    def _pieces(self, text: str) -> Iterator[Piece]:
        """Yield each text with the quotes up to the next. Raises UnreadError."""
        last: Piece | None = None
        for number, (is_quote, words) in enumerate(self._inside(text), start=1):
            if not is_quote:
                if last is not None:
                    yield last
                last = Piece(_words(words, number))
            elif last is None:
                raise UnreadError(f"the quote {_shown(words)} comes before the first text")
            else:
                last = replace(last, quotes=(*last.quotes, _words(words, number)))
        if last is not None:
            yield last

    def _inside(self, text: str) -> Iterator[tuple[bool, str]]:
        """Yield what is between each pair of marks, and whether it is a quote."""
        known = [mark for marks in self._kinds for mark in marks]
        longest = sorted(known, key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, longest)), re.IGNORECASE)
        opened: tuple[Marks, int, int] | None = None
        for mark in pattern.finditer(text):
            said = mark[0].casefold()
            if opened is not None:
                marks, start, begin = opened
                if said != marks[1].casefold():
                    raise UnreadError(f"{_shown(text[start : mark.end()])} has no end")
                yield marks == self.quotes, text[begin : mark.start()]
                opened = None
                continue
            kind = next((m for m in self._kinds if m[0].casefold() == said), None)
            if kind is None:
                raise UnreadError(f"{mark[0]} closes nothing")
            opened = kind, mark.start(), mark.end()
        if opened is not None:
            raise UnreadError(f"{_shown(text[opened[1] :])} has no end")


_ITEM = re.compile(
    r"^(?P<indent>[ \t]*)(?:[-*•–]|[(\[]?(?P<number>\d{1,3})[.):\]])[ \t]+(?P<text>\S.*)$"
)


@dataclass(frozen=True)
class Lines:
    """Finds the items of a numbered or bulleted list, which may be `within` two marks.

    Lines that are indented, or that follow an item at once, continue it. Other lines are no part of
    the list.
    """

    within: Tags | None = None
    describes = "numbered or bulleted list"

    def find(self, reply: str) -> Found:
        if self.within is None:
            body = _body(reply, ())
            inside, steps = body.inside, body.steps
        else:
            found = self.within.find(reply)
            if len(found.pieces) > 1:
                wrong = f"the completion has {len(found.pieces)} lists, not one"
                raise UnreadError(wrong, "ambiguous")
            inside, steps = "".join(each.text for each in found.pieces), found.steps
        items = list(self._items(inside))
        numbers = [number for number, _ in items if number is not None]
        if numbers != list(range(1, len(numbers) + 1)):
            missing = next(n for n in range(1, len(numbers) + 2) if n not in numbers)
            raise UnreadError(f"the list has no number {missing}, or has its numbers in disorder")
        return Found([Piece(text) for _, text in items], steps)

    def _items(self, text: str) -> Iterator[tuple[int | None, str]]:
        """Yield each item's number, None for a bullet, and its words."""
        last: tuple[int | None, str] | None = None
        indent, is_open = 0, False
        for line in text.splitlines():
            item = _ITEM.match(line)
            own = len(line) - len(line.lstrip())
            number = int(item["number"]) if item and item["number"] else None
            begins = item is not None and (
                last is None or ((number is None) == (last[0] is None) and own <= indent)
            )
            if begins and item is not None:
                if last is not None:
                    yield last
                else:
                    indent = own
                last, is_open = (number, item["text"].strip()), True
            elif not line.strip():
                is_open = False
            elif last is not None and (is_open or own > indent):
                last = last[0], f"{last[1]} {line.strip()}"
        if last is not None:
            yield last


@dataclass(frozen=True)
class Pattern:
    """Finds texts as the group `text` of a pattern, and with it quotes and numbers if named.

    Each place of the `marker` must be part of a match.
    """

    pattern: str
    text: str
    quotes: str = ""
    numbers: str = ""
    marker: str = ""

    @property
    def describes(self) -> str:
        return f"text that matches the pattern of {self.text}"

    def find(self, reply: str) -> Found:
        body = _body(reply, (self.pattern, self.marker))
        matches = list(compile_pattern(self.pattern).finditer(body.inside))
        self._check_markers(body.inside, [match.span() for match in matches])
        pieces = [self._piece(n, match) for n, match in enumerate(matches, start=1)]
        return Found(pieces, body.steps)

    def _piece(self, number: int, match: re2._Match[str]) -> Piece:
        quotes = (match[self.quotes] or "").strip() if self.quotes else ""
        return Piece(
            _words(match[self.text] or "", number),
            (quotes,) if quotes else (),
            _numbers(match[self.numbers] or "") if self.numbers else (),
        )

    def _check_markers(self, text: str, spans: Sequence[Span]) -> None:
        for place in marker_pattern(self.marker).finditer(text) if self.marker else ():
            if not any(start <= place.start() and place.end() <= end for start, end in spans):
                wrong = text[place.start() : place.start() + MAX_SHOWN].splitlines()[0]
                raise UnreadError(f"{_shown(wrong)} cannot be read")


@dataclass(frozen=True)
class JsonTexts:
    """Finds texts at a path. With `each`, the path of an array, the paths begin at an element."""

    text: Path
    each: Path | None = None
    quotes: Path | None = None
    numbers: Path | None = None
    describes = "text at its path in the JSON"

    def find(self, reply: str) -> Found:
        head = self.text if self.each is None else self.each
        keys = [step for step in head if isinstance(step, str)][:1]
        found = find_json(reply, lambda each: self._elements(each) is not None, keys, "{[")
        elements = self._elements(found.value)
        pieces = [self._piece(n, each) for n, each in enumerate(elements or (), start=1)]
        return Found(pieces, found.part.steps, is_stated=elements is not None)

    def _elements(self, value: Any) -> list[Any] | None:
        """Return the elements of the array at the path, or None if the path does not exist."""
        head = self.text if self.each is None else self.each
        inner = list(values_at(value, head[:-1] if head[-1:] == (None,) else head))
        if not inner or inner == [None]:
            return None
        return list(inner[0]) if len(inner) == 1 and isinstance(inner[0], list) else inner

    def _piece(self, number: int, element: Any) -> Piece:
        words = [element] if self.each is None else list(values_at(element, self.text))
        if len(words) != 1 or not isinstance(words[0], str):
            raise UnreadError(f"element {number} of the answer has no text, or several")
        quotes = self._values(element, self.quotes)
        numbers = " ".join(map(str, self._values(element, self.numbers)))
        if not all(isinstance(quote, str) for quote in quotes):
            raise UnreadError(f"element {number} of the answer has a quote that is not a text")
        return Piece(
            _words(words[0], number),
            tuple(_words(quote, number) for quote in quotes),
            _numbers(numbers) if self.numbers is not None else (),
        )

    def _values(self, element: Any, path: Path | None) -> list[Any]:
        found = [] if path is None else list(values_at(element, path))
        return list(found[0]) if len(found) == 1 and isinstance(found[0], list) else found


@dataclass(frozen=True)
class WrittenParser:
    """Reads the texts that a judge writes for one unit, and verdicts by a parser of their own.

    `written` and `listed` are the protocol's rules, each with its finder. If the judge gives no
    verdict on a variable that only says whether there is anything to write, the verdict follows
    from what it wrote. A reply without any text is unreadable, unless one of the patterns `none`
    matches. Units that are matched to the list are numbered from 1 as they were asked.
    """

    variables: Sequence[Variable]
    written: tuple[WrittenText, Finder] | None = None
    listed: tuple[PointList, Finder] | None = None
    verdict: Parser | None = None
    none: tuple[str, ...] = ()
    rules: Verdicts = PLAIN
    quoted: bool = False
    whole, several = False, True

    @property
    def reads(self) -> tuple[str, ...]:
        """The keys of an answer that are read: variables, texts, lists, and what goes with them."""
        rules = [pair[0] for pair in (self.written, self.listed) if pair]
        listed = self.listed[0] if self.listed else None
        matched = (listed.match, listed.matches) if listed and listed.match_kind else ()
        return (
            *dict.fromkeys(
                (
                    *(self.verdict.reads if self.verdict else ()),
                    *(name for rule in rules for name in rule.asked_if),
                    *(rule.name for rule in rules),
                    *matched,
                    *((EVIDENCE_KEY,) if self.quoted else ()),
                )
            ),
        )

    @property
    def kind(self) -> str:
        """The kind of the unit that the texts belong to."""
        return next(pair[0].kind for pair in (self.listed, self.written) if pair)

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        owners = [unit for unit in expected.units if unit.kind == self.kind]
        if len(owners) != 1:
            raise UnreadError(f"the request asks about {len(owners)} units that texts belong to")
        verdicts = self._verdicts(answer, owners[0])
        entry = dict(verdicts.units.get(owners[0].name, {})) if verdicts else {}
        texts = self._find(self.written, answer.text, entry)
        points = self._find(self.listed, answer.text, entry)
        units = {owners[0].name: entry}
        if self.written and texts:
            entry |= self._conditions(self.written[0].asked_if, entry, bool(texts.pieces))
            entry[self.written[0].name] = self._text(texts.pieces)
        if self.listed and points:
            entry |= self._conditions(self.listed[0].asked_if, entry, bool(points.pieces))
            entry[self.listed[0].name] = self._points(points.pieces)
            units |= self._matched(self.listed[0], expected.units, points.pieces)
        steps = [found.steps for found in (texts, points, verdicts) if found]
        return Reading(units, steps_of(*steps))

    def _verdicts(self, answer: Answer, owner: AskedUnit) -> Reading | None:
        if self.verdict is None:
            return None
        return self.verdict.read(answer, ExpectedAnswer((owner,), by_unit=True))

    def _find(
        self,
        rule: tuple[WrittenText | PointList, Finder] | None,
        reply: str,
        entry: Mapping[str, Any],
    ) -> Found | None:
        """Return what is written under a rule, None without a rule. Raises UnreadError."""
        if rule is None:
            return None
        found = rule[1].find(reply)
        if found.pieces or found.is_stated:
            return found
        conditions, body = rule[0].asked_if, body_of(reply).inside
        denied = any(entry.get(name, codes[0]) not in codes for name, codes in conditions.items())
        if denied or any(re2.search(pattern, body) for pattern in self.none):
            return found
        self.rules.check_refusal(body, has_verdict=False)
        raise UnreadError(f"the completion has no {rule[1].describes}")

    def _conditions(
        self, conditions: Conditions, entry: Mapping[str, Any], holds: bool
    ) -> dict[str, str]:
        """Return the verdicts that follow from whether something was written."""
        found = {}
        for name, codes in conditions.items():
            if name not in entry:
                variable = next(each for each in self.variables if each.name == name)
                others = (code for code in variable.answers if code not in codes)
                found[name] = codes[0] if holds else next(others, codes[0])
        return found

    def _text(self, pieces: Sequence[Piece]) -> dict[str, Any] | None:
        words = list(dict.fromkeys(each.text for each in pieces))
        if len(words) > 1 and not self.rules.take:
            raise UnreadError(f"the completion has {len(words)} different texts", "ambiguous")
        if not words:
            return None
        return {"text": words[-1 if self.rules.take == "last" else 0], "citations": []}

    def _points(self, pieces: Sequence[Piece]) -> list[dict[str, Any]] | None:
        rule = self.listed[0] if self.listed else None
        if not pieces and rule and rule.asked_if:
            return None
        return [
            {
                "text": each.text,
                EVIDENCE_KEY: [{"quote": quote, "start": None} for quote in each.quotes],
            }
            for each in pieces
        ]

    def _matched(
        self, rule: PointList, units: Sequence[AskedUnit], pieces: Sequence[Piece]
    ) -> dict[str, dict[str, Any]]:
        """Return the entries of the units that are matched to the list. Raises UnreadError."""
        matched = [unit for unit in units if rule.match_kind and unit.kind == rule.match_kind]
        if not matched:
            return {}
        named = {number for each in pieces for number in each.numbers}
        if beyond := sorted(named - set(range(1, len(matched) + 1))):
            raise UnreadError(f"the completion names number {beyond[0]} of {len(matched)}")
        return {
            unit.name: self._match(rule, unit, number, pieces)
            for number, unit in enumerate(matched, start=1)
        }

    def _match(
        self, rule: PointList, unit: AskedUnit, number: int, pieces: Sequence[Piece]
    ) -> dict[str, Any]:
        places = [n for n, each in enumerate(pieces, start=1) if number in each.numbers]
        (codes,) = (v.codes for v in unit.variables if v.name == rule.match)
        other = next((code for code in codes if code != rule.match_code), rule.match_code)
        return {rule.match: rule.match_code if places else other, rule.matches: places}
