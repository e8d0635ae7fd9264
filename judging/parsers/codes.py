"""Verdicts: turns captured words into codes of a variable, and several verdicts into one.

A verdict is read by the author's map, or as a code. Any other word is not a verdict. Two different
verdicts are ambiguous, unless the author takes the first or the last. Where a map leads from
several words to one code, such as a cut through a scale, the word is kept beside the label, as its
*grade*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import re2

from judging.backends.base import AskedUnit, AskedVariable
from judging.parsers.base import Fault, Reading, Step, UnitVariable, UnreadError
from judging.parsers.ladder import Take

CodeMap = Mapping[str, str]


@dataclass(frozen=True)
class Verdict:
    """A code, and the word of the author's scale that was mapped to it, if that says more."""

    code: str
    grade: str = ""


@dataclass(frozen=True)
class Verdicts:
    """Rules that turn captures into labels: `maps` by variable, and patterns of a `refusal`."""

    maps: Mapping[str, CodeMap] = field(default_factory=dict)
    take: Take = ""
    refusal: tuple[str, ...] = ()

    def verdict(self, variable: AskedVariable, captured: Sequence[str]) -> Verdict:
        """Return the verdict on one variable from the captured words. Raises UnreadError.

        Different words for the same code give no grade.
        """
        chosen = captured[:1] if self.take == "first" else captured
        chosen = captured[-1:] if self.take == "last" else chosen
        if not chosen:
            raise UnreadError(f"the completion has no verdict on {variable.name}")
        words = {self._word(variable, each) for each in chosen}
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

    def _word(self, variable: AskedVariable, captured: str) -> str:
        """Return the captured word of the table, ignoring case. Raises UnreadError."""
        said, table = captured.strip(), self.table(variable)
        if said in table:
            return said
        folded = [key for key in table if key.casefold() == said.casefold()]
        if len({table[key] for key in folded}) == 1:
            return folded[0]
        raise UnreadError(f"{said[:80]!r} is not a verdict on {variable.name}")

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
    asked = set(names)
    return [variable for variable in unit.variables if variable.name in asked]


def reading_of(
    found: Iterable[tuple[AskedUnit, Mapping[str, Verdict]]], steps: tuple[Step, ...]
) -> Reading:
    """Return the reading of verdicts by unit and variable."""
    units: dict[str, dict[str, Any]] = {}
    grades: dict[UnitVariable, str] = {}
    for unit, verdicts in found:
        entry = entry_of(unit, {name: verdict.code for name, verdict in verdicts.items()})
        given = {name: verdict.grade for name, verdict in verdicts.items() if name in entry}
        grades |= {(unit.name, name): grade for name, grade in given.items() if grade}
        units[unit.name] = entry
    return Reading(units, steps or ("as-is",), grades=grades)


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
