"""`lines`: one verdict in each numbered line, a line for each unit that is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from judging.backends.base import Answer
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError
from judging.parsers.codes import PLAIN, Verdicts, reading_of, variables_of
from judging.parsers.ladder import body_of

_LINE = re.compile(r"^[ \t>*_#-]*\(?(\d{1,4})[.):\]]+[ \t]*(\S.*)$", re.MULTILINE)
_EMPHASIS = "*_`\"' \t\r"


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
        said: dict[int, list[str]] = {}
        for number, words in _LINE.findall(body.inside):
            said.setdefault(int(number), []).append(self._verdict(words))
        self.verdicts.check_refusal(body.inside, bool(said))
        if strange := sorted(said.keys() - set(range(1, len(expected.units) + 1))):
            raise UnreadError(f"line {strange[0]} has a verdict on nothing that was asked")
        found = []
        for number, unit in enumerate(expected.units, start=1):
            if number not in said:
                raise UnreadError(f"line {number} is missing")
            (variable,) = variables_of(unit, (self.variable,))
            found.append((unit, {variable.name: self.verdicts.verdict(variable, said[number])}))
        return reading_of(found, body.steps)

    def _verdict(self, words: str) -> str:
        verdict = words.partition(self.separator)[0] if self.separator else words
        return verdict.strip(_EMPHASIS).rstrip(".,;")
