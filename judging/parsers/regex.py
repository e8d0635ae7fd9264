"""`regex`: the groups that a pattern captures in the text.

The pattern runs in linear time (RE2), since it is a researcher's and runs on the server. It has one
group, for the one variable that the judge labels, or a named group for each variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import re2

from judging.backends.base import Answer
from judging.parsers.base import ExpectedAnswer, Reading
from judging.parsers.codes import PLAIN, Verdicts, reading_of, variables_of
from judging.parsers.ladder import Part, body_of


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
        body = body_of(answer.text)
        captured = self._captured(body)
        self.verdicts.check_refusal(body.inside, any(captured.values()))
        (unit,) = expected.units
        verdicts = {
            variable.name: self.verdicts.verdict(variable, captured[variable.name])
            for variable in variables_of(unit, captured)
        }
        return reading_of([(unit, verdicts)], body.steps)

    def _captured(self, body: Part) -> Mapping[str, Sequence[str]]:
        pattern = compile_pattern(self.pattern)
        groups = pattern.groupindex or {self.variables[0]: 1}
        found: dict[str, list[str]] = {name: [] for name in groups}
        for match in pattern.finditer(body.inside):
            for name, group in groups.items():
                if match.group(group) is not None:
                    found[name].append(match.group(group))
        return found
