"""Verdicts: turns the statements of a reply into codes of variables.

A verdict is read by the author's map, or as a code. Any other word is not a verdict. Every
statement must be readable, two different ones are ambiguous unless the author takes the first or
the last, and after the one that is taken nothing may follow that could be another
(`judging.parsers.statements`). For a judge that is read as it was published, only what its parser
captures counts. Where a map leads from several words to one code, such as a cut through a scale,
the word is kept beside the label, as its *grade*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import re2

from judging.backends.base import AskedUnit, AskedVariable
from judging.parsers.base import STEPS, Fault, Reading, Step, UnitVariable, UnreadError
from judging.parsers.ladder import MAX_LENGTH, Part, Take
from judging.parsers.normal import Normal, normalise
from judging.parsers.reasoning import blank
from judging.parsers.statements import SENTENCE, Span, Vocabulary, Word, delimited, marker_pattern
from judging.parsers.words import DENIALS, NEGATIONS, QUALIFIERS

CodeMap = Mapping[str, str]
MAX_STATEMENTS = 500


@dataclass(frozen=True)
class Verdict:
    """A code, and the word of the author's scale that was mapped to it, if that says more."""

    code: str
    grade: str = ""


@dataclass(frozen=True)
class Statement:
    """A place in a text where a verdict on some variables is announced, and its word for each.

    `wrong` says why it cannot be read, and is empty if it can.
    """

    start: int
    end: int
    variables: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    wrong: str = ""


@dataclass(frozen=True)
class Verdicts:
    """Rules that turn statements into labels.

    `maps` are the words of each variable, `refusal` patterns that recognise a refusal. `marker` are
    the words that announce a verdict, `texts` the options' own texts in the prompt, by word, and
    `fields` the headings under which the prompt shows an item's texts.
    """

    maps: Mapping[str, CodeMap] = field(default_factory=dict)
    take: Take = ""
    refusal: tuple[str, ...] = ()
    marker: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    as_published: bool = False

    def normal(self, part: Part, own: Sequence[str] = ()) -> Normal:
        """Return the text from which verdicts are read. Raises UnreadError if it is too long."""
        if part.end - part.start > MAX_LENGTH:
            raise UnreadError(f"the completion has over {MAX_LENGTH:,} characters")
        if self.as_published:
            return Normal(part.inside, range(part.start, part.end + 1))
        return normalise(part.text, part.start, part.end, (*own, self.marker))

    def statement(
        self, variables: Iterable[AskedVariable], text: str, spans: Mapping[str, Span], start: int
    ) -> Statement:
        """Return the statement that begins at `start`, with the words at the spans of a text."""
        words: dict[str, str] = {}
        before, end, wrong = start, start, ""
        for variable in variables:
            if (span := spans.get(variable.name)) is None:
                continue
            end = max(end, span[1])
            said, table = text[slice(*span)].strip(), self.table(variable)
            found = Word(said, *span) if self.as_published else delimited(text, *span, table)
            before, ahead = span[1], text[before : span[0]]
            if found is None or not (self.as_published or _is_plain(ahead, self.marker)):
                wrong = f"{_around(text, span)!r} is not a verdict on {variable.name}"
                continue
            end = max(end, found.end)
            if (word := self.word(variable, found.text)) is None:
                wrong = f"{found.text[:80]!r} is not a verdict on {variable.name}"
            else:
                words[variable.name] = word
        return Statement(start, end, tuple(spans), words, wrong)

    def settle(
        self, variables: Sequence[AskedVariable], text: str, found: Iterable[Statement]
    ) -> tuple[dict[str, Verdict], Sequence[Statement]]:
        """Return the verdicts that count, by variable, and the statements that give them.

        Raises UnreadError.
        """
        statements = sorted(found, key=lambda each: (each.start, each.end))
        if not self.as_published:
            statements = self._with_markers(text, statements) if self.marker else statements
            statements = list(self._sound(variables, text, statements))
            self._check_example(text, statements)
        chosen: list[Statement] = []
        verdicts: dict[str, Verdict] = {}
        for variable in variables:
            found = [each for each in statements if variable.name in each.variables]
            if not self.as_published:
                found += [each for each in statements if not each.variables]
            taken = self.taken(found)
            for each in taken if self.as_published else found:
                if each.wrong:
                    read = any(not one.wrong for one in found)
                    raise UnreadError(each.wrong, "ambiguous" if read else "unreadable")
            if taken or not variable.asked_if:
                words = [each.words[variable.name] for each in taken]
                verdicts[variable.name] = self.verdict(variable, words)
            chosen += taken
        if chosen and not self.as_published:
            self._check_rest(variables, text, statements, chosen)
        return verdicts, chosen

    def taken(self, statements: Sequence[Statement]) -> Sequence[Statement]:
        """Return the statements that count: the first, the last, or all."""
        if not self.take:
            return statements
        return statements[:1] if self.take == "first" else statements[-1:]

    def _sound(
        self, variables: Sequence[AskedVariable], text: str, statements: Sequence[Statement]
    ) -> Iterator[Statement]:
        """Yield statements, marking as wrong those that are denied, or that one sentence varies.

        If the last counts, others may be: *it is not [[none]]. … [[full]]*.
        """
        tables = {variable.name: self.table(variable) for variable in variables}
        last: Statement | None = None
        for each in statements:
            wrong = ""
            if DENIALS.search(text, max(0, each.start - 40), each.start):
                wrong = f"{_around(text, (each.start, each.end))!r} is denied"
            elif last is not None and not SENTENCE.search(text, last.end, each.start):
                said, before = each.words, last.words
                if any(tables[n][said[n]] != tables[n][before[n]] for n in said.keys() & before):
                    wrong = f"{_around(text, (last.start, each.end))!r} has two verdicts"
            last = each
            counts = self.take != "last" or each is statements[-1]
            yield replace(each, wrong=wrong) if wrong and counts else each

    def _check_example(self, text: str, statements: Sequence[Statement]) -> None:
        """Raise UnreadError if the reply goes on with an example of its own, as base models do."""
        if self.fields and statements and self.take != "first":
            heading = rf"^\W*(?:{'|'.join(map(re.escape, self.fields))}):"
            if re.compile(heading, re.MULTILINE).search(text, statements[0].end):
                raise UnreadError("the reply goes on with another item of its own", "ambiguous")

    def _with_markers(self, text: str, statements: list[Statement]) -> list[Statement]:
        """Return the statements, with one more for each place of the marker that has none."""
        for place in islice(marker_pattern(self.marker).finditer(text), 2 * MAX_STATEMENTS):
            start, end = place.span()
            if not any(each.start <= start and end <= each.end for each in statements):
                wrong = f"{_around(text, (start, end))!r} announces a verdict that cannot be read"
                statements.append(Statement(start, end, wrong=wrong))
        return sorted(statements, key=lambda each: (each.start, each.end))

    def _check_rest(
        self,
        variables: Sequence[AskedVariable],
        text: str,
        statements: Sequence[Statement],
        chosen: Sequence[Statement],
    ) -> None:
        """Raise UnreadError if something after the verdict could be another one."""
        words = [word for each in chosen for word in each.words.values()]
        end = max(each.end for each in chosen)
        later = [(each.start, each.end) for each in statements if each.start >= end]
        self.check_rest(variables, blank(text, later)[end:], words, first=self.take == "first")

    def check_rest(
        self,
        variables: Iterable[AskedVariable],
        rest: str,
        words: Iterable[str],
        *,
        first: bool = False,
    ) -> None:
        """Raise UnreadError if the rest of a reply could be another verdict than its `words`."""
        found = self.vocabulary(variables).contradiction(rest, words, first=first)
        if found is not None:
            raise UnreadError(
                f"{found!r} follows the verdict and may change it, so it is not clear", "ambiguous"
            )

    def vocabulary(self, variables: Iterable[AskedVariable]) -> Vocabulary:
        """Return all words of some variables, with their codes."""
        codes: dict[str, set[str]] = {}
        for variable in variables:
            for word, code in self.table(variable).items():
                codes.setdefault(word.casefold(), set()).add(code)
        return Vocabulary({word: frozenset(each) for word, each in codes.items()}, self.texts)

    def verdict(self, variable: AskedVariable, captured: Sequence[str]) -> Verdict:
        """Return the verdict on one variable from the captured words. Raises UnreadError.

        Different words for the same code give no grade.
        """
        if not captured:
            raise UnreadError(f"the completion has no verdict on {variable.name}")
        words = set()
        for each in captured:
            if (word := self.word(variable, each)) is None:
                raise UnreadError(f"{each[:80]!r} is not a verdict on {variable.name}")
            words.add(word)
        table = self.table(variable)
        codes = {table[word] for word in words}
        if len(codes) > 1:
            raise UnreadError(
                f"the completion has different verdicts on {variable.name}: "
                f"{', '.join(sorted(codes))}",
                "ambiguous",
            )
        return Verdict(codes.pop(), self.grade(variable, words.pop()) if len(words) == 1 else "")

    def table(self, variable: AskedVariable) -> CodeMap:
        """Return a variable's words with their codes: its map, or the codes themselves."""
        return self.maps.get(variable.name) or {code: code for code in variable.codes}

    def grade(self, variable: AskedVariable, word: str) -> str:
        """Return the word if several words of the table share a code, otherwise nothing."""
        codes = {key.casefold(): code for key, code in self.table(variable).items()}
        return word if len(set(codes.values())) < len(codes) else ""

    def word(self, variable: AskedVariable, captured: str) -> str | None:
        """Return the captured word of the table, ignoring case; None if it has no such word."""
        said, table = captured.strip(), self.table(variable)
        if said in table:
            return said
        folded = [key for key in table if key.casefold() == said.casefold()]
        return folded[0] if len({table[key] for key in folded}) == 1 else None

    def check_refusal(self, text: str, has_verdict: bool) -> None:
        """Raise UnreadError if the text is a refusal, or a refusal and a verdict at once."""
        if not any(re2.search(pattern, text) for pattern in self.refusal):
            return
        fault: Fault = "ambiguous" if has_verdict else "refused"
        raise UnreadError("the model refused" + (" and answered" if has_verdict else ""), fault)


PLAIN = Verdicts()
"""Verdicts that are codes themselves."""


def _is_plain(ahead: str, marker: str) -> bool:
    """Return whether nothing between the beginning of a statement and its word changes the word."""
    if marker:
        ahead = marker_pattern(marker).sub(" ", ahead)
    return not (NEGATIONS.search(ahead) or QUALIFIERS.search(ahead))


def _around(text: str, span: Span) -> str:
    """Return a piece of a text for a message."""
    return " ".join(text[max(0, span[0] - 20) : span[1] + 20].split())


def variables_of(unit: AskedUnit, names: Iterable[str]) -> list[AskedVariable]:
    """Return the variables of a unit that a parser reads, in the unit's order."""
    asked = set(names)
    return [variable for variable in unit.variables if variable.name in asked]


def steps_of(*several: Iterable[Step]) -> tuple[Step, ...]:
    """Return steps in their order, each once."""
    needed = {step for steps in several for step in steps if step != "as-is"}
    return tuple(step for step in STEPS if step in needed) or ("as-is",)


def reading_of(
    found: Iterable[tuple[AskedUnit, Mapping[str, Verdict]]], steps: Iterable[Step]
) -> Reading:
    """Return the reading of verdicts by unit and variable."""
    units: dict[str, dict[str, Any]] = {}
    grades: dict[UnitVariable, str] = {}
    for unit, verdicts in found:
        entry = entry_of(unit, {name: verdict.code for name, verdict in verdicts.items()})
        given = {name: verdict.grade for name, verdict in verdicts.items() if name in entry}
        grades |= {(unit.name, name): grade for name, grade in given.items() if grade}
        units[unit.name] = entry
    return Reading(units, steps_of(steps), grades=grades)


def entry_of(unit: AskedUnit, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return a unit's entry, without variables that do not apply given the other labels."""
    entry: dict[str, Any] = {}
    for variable in unit.variables:
        holds = all(
            name not in entry or entry[name] in codes for name, codes in variable.asked_if.items()
        )
        if variable.name in labels and holds:
            entry[variable.name] = labels[variable.name]
    return entry


def read_statements(
    verdicts: Verdicts,
    unit: AskedUnit,
    variables: Sequence[AskedVariable],
    body: Part,
    normal: Normal,
    given: Iterable[Statement],
) -> Reading:
    """Return the reading of one unit from the statements in the normal text of a reply.

    Raises UnreadError.
    """
    found = list(islice(given, MAX_STATEMENTS + 1))
    if len(found) > MAX_STATEMENTS:
        raise UnreadError(f"the completion announces a verdict over {MAX_STATEMENTS:,} times")
    verdicts.check_refusal(body.inside, bool(found))
    if not found and not verdicts.marker:
        names = ", ".join(variable.name for variable in variables)
        raise UnreadError(f"the completion has no verdict on {names}")
    read, chosen = verdicts.settle(variables, normal.text, found)
    steps = [step for each in chosen for step in normal.steps(each.start, each.end)]
    reading = reading_of([(unit, read)], (*body.steps, *steps))
    places = {
        (unit.name, name): normal.place(each.start, each.end)
        for each in chosen
        for name in each.words
    }
    return replace(reading, places=places)
