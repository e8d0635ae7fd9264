"""`tags`: a verdict between two marks, such as `<verdict>…</verdict>` or `[[A]]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from judging.backends.base import Answer
from judging.parsers.base import ExpectedAnswer, Reading
from judging.parsers.codes import PLAIN, Verdicts, reading_of, variables_of
from judging.parsers.ladder import body_of

MAX_VERDICT = 200


@dataclass(frozen=True)
class TagsParser:
    """Reads the text between an opening and a closing marker, for each variable."""

    marks: Mapping[str, tuple[str, str]]
    verdicts: Verdicts = PLAIN
    whole = several = False

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.marks)

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        body = body_of(answer.text)
        captured = {name: _between(body.inside, *marks) for name, marks in self.marks.items()}
        self.verdicts.check_refusal(body.inside, any(captured.values()))
        (unit,) = expected.units
        verdicts = {
            variable.name: self.verdicts.verdict(variable, captured[variable.name])
            for variable in variables_of(unit, captured)
        }
        return reading_of([(unit, verdicts)], body.steps)


def _between(text: str, opening: str, closing: str) -> list[str]:
    """Return the texts between the markers, in any case, if short enough."""
    end_mark = re.compile(re.escape(closing), re.IGNORECASE)
    found, at = [], 0
    for mark in re.finditer(re.escape(opening), text, re.IGNORECASE):
        begin = mark.end()
        end = end_mark.search(text, begin, begin + MAX_VERDICT + len(closing))
        if mark.start() >= at and end:
            found.append(text[begin : end.start()])
            at = end.end()
    return found
