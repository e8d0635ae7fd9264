"""Verdicts: captured words become codes of a variable, and several verdicts become one.

A verdict is read as its author maps it, or as the code that it is. A word that is neither is no
verdict, and two verdicts that differ are ambiguous, unless the author takes the first or the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import re2

from judging.backends.base import AskedUnit, AskedVariable
from judging.parsers.base import Fault, UnreadError
from judging.parsers.ladder import Take

CodeMap = Mapping[str, str]


@dataclass(frozen=True)
class Verdicts:
    """How a parser's captures become labels: `maps` by variable, and what `refusal` looks like."""

    maps: Mapping[str, CodeMap] = field(default_factory=dict)
    take: Take = ""
    refusal: tuple[str, ...] = ()

    def label(self, variable: AskedVariable, captured: Sequence[str]) -> str:
        """Return the code of the verdicts on one variable. Raises UnreadError."""
        chosen = captured[:1] if self.take == "first" else captured
        chosen = captured[-1:] if self.take == "last" else chosen
        if not chosen:
            raise UnreadError(f"the completion has no verdict on {variable.name}")
        codes = {self.code(variable, each) for each in chosen}
        if len(codes) > 1:
            raise UnreadError(
                f"the completion has different verdicts on {variable.name}: "
                f"{', '.join(sorted(codes))}",
                "ambiguous",
            )
        return codes.pop()

    def code(self, variable: AskedVariable, captured: str) -> str:
        """Return the code of one verdict, whatever its case. Raises UnreadError."""
        words = captured.strip()
        table = self.maps.get(variable.name) or {code: code for code in variable.codes}
        if words in table:
            return table[words]
        folded = {code for key, code in table.items() if key.casefold() == words.casefold()}
        if len(folded) == 1:
            return folded.pop()
        raise UnreadError(f"{words[:80]!r} is no verdict on {variable.name}")

    def check_refusal(self, text: str, has_verdict: bool) -> None:
        """Raise UnreadError if the text is a refusal, or a refusal and a verdict at once."""
        if not any(re2.search(pattern, text) for pattern in self.refusal):
            return
        fault: Fault = "ambiguous" if has_verdict else "refused"
        raise UnreadError("the model refused" + (" and answered" if has_verdict else ""), fault)


PLAIN = Verdicts()
"""Verdicts that are codes themselves."""


def variables_of(unit: AskedUnit, names: Iterable[str]) -> list[AskedVariable]:
    """Return the variables of a unit that a parser reads, in the unit's order."""
    wanted = set(names)
    return [variable for variable in unit.variables if variable.name in wanted]


def entry_of(unit: AskedUnit, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return a unit's entry, without labels of variables that the other labels rule out."""
    entry: dict[str, Any] = {}
    for variable in unit.variables:
        holds = all(
            name not in entry or entry[name] in codes for name, codes in variable.asked_if.items()
        )
        if variable.name in labels and holds:
            entry[variable.name] = labels[variable.name]
    return entry
