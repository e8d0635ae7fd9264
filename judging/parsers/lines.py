"""`lines`: one verdict in each numbered line, a line for each unit that is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from judging.backends.base import Answer, AskedVariable
from judging.parsers.base import ExpectedAnswer, Fault, Reading, UnreadError
from judging.parsers.codes import (
    PLAIN,
    Statement,
    Verdict,
    Verdicts,
    reading_of,
    variables_of,
)
from judging.parsers.ladder import body_of
from judging.parsers.reasoning import blank
from judging.parsers.statements import Span, sole_word
from judging.parsers.words import EXPLICIT, WITHDRAWALS

_LINE = re.compile(
    r"^[ \t>*_#|-]*(?:(?:fact|key point|point|nugget|statement|sentence|item|number|no\.?|#)\s*)?"
    r"[(\[]?(\d{1,4})(?:[ \t]*[.):\]|=]+[ \t]*|[ \t]+[-–—→][ \t]+|[ \t]*->[ \t]*)(\S.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_TAIL = re.compile(r"(?:[:|=→]|\s[-–—]|->)\s*([^:|=→]+?)\s*\|?\s*$")
_SENTENCE_START = re.compile(r"(?:^|[.!?;]\s)\W*", re.MULTILINE)
_DRESS = "*_`\"' \t\r|"


@dataclass(frozen=True)
class LinesParser:
    """Reads one variable of several units, numbered from 1 as they were asked.

    All numbers must occur. A line may continue after its verdict if a `separator` ends the verdict.
    """

    variable: str
    separator: str = ""
    verdicts: Verdicts = PLAIN
    whole, several = False, True

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.variable,)

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        body = body_of(answer.text)
        normal = self.verdicts.normal(body)
        asked = next(v for unit in expected.units for v in variables_of(unit, self.reads))
        said: dict[int, list[Statement]] = {}
        lines: list[Span] = []
        for line in _LINE.finditer(normal.text):
            statement = self._statement(asked, line)
            said.setdefault(int(line[1]), []).append(statement)
            lines.append(line.span())
        self.verdicts.check_refusal(body.inside, bool(said))
        if strange := sorted(said.keys() - set(range(1, len(expected.units) + 1))):
            raise UnreadError(f"line {strange[0]} has a verdict on nothing that was asked")
        checked = bool(said) and not self.verdicts.as_published
        if checked and (found := _withdrawal(normal.text, lines)):
            raise UnreadError(f"{found!r} follows the verdicts and may change them", "ambiguous")
        read, steps = [], [*body.steps]
        for number, unit in enumerate(expected.units, start=1):
            if number not in said:
                raise UnreadError(f"line {number} is missing")
            read.append((unit, {self.variable: self._verdict(asked, number, said[number])}))
            for each in said[number]:
                steps += normal.steps(each.start, each.end)
        return reading_of(read, steps)

    def _verdict(
        self, variable: AskedVariable, number: int, statements: list[Statement]
    ) -> Verdict:
        """Return the verdict of the lines with one number. Raises UnreadError."""
        taken = self.verdicts.taken(statements)
        for each in taken if self.verdicts.as_published else statements:
            if each.wrong:
                read = any(not one.wrong for one in statements)
                fault: Fault = "ambiguous" if read or each.words else "unreadable"
                raise UnreadError(f"line {number}: {each.wrong}", fault)
        return self.verdicts.verdict(variable, [each.words[self.variable] for each in taken])

    def _statement(self, variable: AskedVariable, line: re.Match[str]) -> Statement:
        """Return the statement of a line, whose rest must not change its verdict."""
        names, table, words = (self.variable,), self.verdicts.table(variable), line[2]
        head, mark, rest = words, "", ""
        if self.separator:
            head, mark, rest = words.strip(_DRESS).partition(self.separator)
        if self.verdicts.as_published:
            found: str | None = head.strip(_DRESS).rstrip(".,;")
        else:
            found = sole_word(head.strip(_DRESS), table)
            if found is None and (tail := _TAIL.search(words)):
                # A line may repeat what it is about: 1. It opened in 1932: support
                found, rest = sole_word(tail[1].strip(_DRESS), table), ""
        word = None if found is None else self.verdicts.word(variable, found)
        if word is None:
            wrong = f"{words[:80]!r} is not a verdict on {variable.name}"
            return Statement(line.start(), line.end(), names, wrong=wrong)
        if mark and not self.verdicts.as_published:
            try:
                self.verdicts.check_rest([variable], rest, [word])
            except UnreadError as error:
                words_of_it = {self.variable: word}
                return Statement(line.start(), line.end(), names, words_of_it, str(error))
        return Statement(line.start(), line.end(), names, {self.variable: word})


def _withdrawal(text: str, lines: Sequence[Span]) -> str | None:
    """Return what withdraws a verdict in the words between and after the lines, or None.

    A withdrawal that may also be part of a reason counts only where a sentence begins with it.
    """
    rest = blank(text, lines)[lines[0][1] :]
    if found := EXPLICIT.search(rest):
        return found[0]
    starts = (WITHDRAWALS.match(rest, each.end()) for each in _SENTENCE_START.finditer(rest))
    return next((found[0] for found in starts if found), None)
