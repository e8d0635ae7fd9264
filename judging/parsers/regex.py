"""`regex`: the groups that a pattern captures in the text.

The pattern runs in linear time (RE2), since it is a researcher's and runs on the server. It has one
group, for the one variable that the judge labels, or a named group for each variable. Each of its
matches is a statement, and so is each place of the marker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import re2

from judging.backends.base import Answer, AskedVariable
from judging.parsers.base import ExpectedAnswer, Reading
from judging.parsers.codes import (
    MAX_STATEMENTS,
    PLAIN,
    Statement,
    Verdicts,
    read_statements,
    variables_of,
)
from judging.parsers.ladder import body_of
from judging.parsers.normal import Normal


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> re2._Regexp[str]:
    """Compile a pattern. Raises ValueError with what is wrong."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        words = str(error.args[0]) if error.args else "it cannot be read"
        raise ValueError(words.removeprefix("b'").rstrip("'")) from error


@dataclass(frozen=True)
class RegexParser:
    """Reads `variables`, by the groups of a pattern."""

    pattern: str
    variables: tuple[str, ...]
    verdicts: Verdicts = PLAIN
    whole = several = False

    @property
    def reads(self) -> tuple[str, ...]:
        return self.variables

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        body = body_of(answer.text, (self.pattern, self.verdicts.marker))
        (unit,) = expected.units
        variables = variables_of(unit, self.variables)
        normal = self.verdicts.normal(body, _TAG.findall(self.pattern))
        found = self._some(variables, normal.text)
        if not found:
            # The pattern may itself describe the dress: \*\*([A-D])\*\*.
            dressed = Normal(body.inside, range(body.start, body.end + 1))
            if found := self._some(variables, dressed.text):
                normal = dressed
        return read_statements(self.verdicts, unit, variables, body, normal, found)

    def _some(self, variables: Sequence[AskedVariable], text: str) -> list[Statement]:
        return list(islice(self._statements(variables, text), MAX_STATEMENTS + 1))

    def _statements(self, variables: Sequence[AskedVariable], text: str) -> Iterator[Statement]:
        pattern = compile_pattern(self.pattern)
        groups = pattern.groupindex or {self.variables[0]: 1}
        for match in pattern.finditer(text):
            spans = {
                name: match.span(group)
                for name, group in groups.items()
                if match.group(group) is not None
            }
            if spans:
                yield self.verdicts.statement(variables, text, spans, match.start())


_TAG = re.compile(r"</?\w[\w:-]*>")
