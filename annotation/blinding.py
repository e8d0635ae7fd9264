"""What a person's page calls the units of an item, so that no id of a report comes to the browser.

An id often holds the name of a system. So where a unit is a report, a part or point of one, or a
pair, all units of the item go by their number in the recorded order, as `u0`; the others keep their
names. A pair's codes `first` and `second` follow the batch; on the page they follow what is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from annotation.doors import Payload
from annotation.models import Assignment
from annotation.presenting import asked_units, ordered_texts, schema
from annotation.protocols.base import ItemSpec, UnitSpec, kinds_of
from annotation.protocols.checking import Problem, RefusedError

BLIND = {"report", "sentence", "report-passage", "pair"}
TURNED = {"first": "second", "second": "first"}


@dataclass(frozen=True)
class Blinding:
    """A page's names for units, each with the stored one; `turned` where a pair is shown turned."""

    names: Mapping[str, str]
    units: Mapping[str, UnitSpec]
    turned: bool = False

    @cached_property
    def aliases(self) -> dict[str, str]:
        return {name: alias for alias, name in self.names.items()}

    def hidden(self, payload: Payload | None) -> Payload | None:
        """A stored payload as the page may know it; what stands beside its answers stays here."""
        if payload is None or not self.names:
            return payload
        return self._renamed(payload, self.aliases)

    def revealed(self, payload: Payload) -> Payload:
        """A page's payload under the stored names. One that is none of ours stays as it came."""
        return self._renamed(payload, self.names) if self.names else payload

    def check_names(self, names: Iterable[str]) -> None:
        """Raises RefusedError for a name that is none of the page's.

        It is told alike of a stored one: who guesses that would learn whose text is whose.
        """
        if self.names and not set(names) <= self.names.keys():
            raise RefusedError([Problem("", "", "was not asked")])

    def _renamed(self, payload: Payload, names: Mapping[str, str]) -> Payload:
        given = payload.get("units")
        units = given if isinstance(given, Mapping) else {}
        answers = {names.get(name, name): self._turned(units[name]) for name in units}
        return {"units": answers, "comment": payload.get("comment")}

    def _turned(self, answer: Any) -> Any:
        if not self.turned or not isinstance(answer, Mapping):
            return answer
        return {key: _turned(code) for key, code in answer.items()}


def _turned(code: Any) -> Any:
    return TURNED.get(code, code) if isinstance(code, str) else code


def blinding_of(assignment: Assignment, spec: ItemSpec) -> Blinding:
    named = asked_units(assignment, spec)
    aliases = alias_of(assignment)
    units = {aliases.get(name, name): unit for name, unit in named.items()}
    pair = any(unit.kind == "pair" for unit in named.values())
    turned = pair and ordered_texts(assignment, spec) != list(spec.texts)
    return Blinding({alias: name for name, alias in aliases.items()}, units, turned)


def alias_of(assignment: Assignment) -> dict[str, str]:
    """The page's names of units by the stored ones; none where nothing has to be hidden.

    The id of a point that a report makes mostly holds that of the report.
    """
    asked = schema(assignment.item.campaign)
    if not (BLIND & kinds_of(asked.variables) or asked.protocol.reading == "answers"):
        return {}
    return {name: f"u{number}" for number, name in enumerate(assignment.asked)}


def hidden_fields(assignment: Assignment, spec: ItemSpec) -> dict[str, str]:
    """The page's names of the answers on show, by their fields, which hold the ids of reports."""
    shown = [text.field for text in ordered_texts(assignment, spec)]
    answers = [field for field in shown if field.startswith("report:")]
    return {field: f"answer-{number}" for number, field in enumerate(answers, start=1)}


def hidden_problems(assignment: Assignment, problems: list[Problem]) -> list[Problem]:
    """Problems that name units as the page does."""
    aliases = alias_of(assignment)
    return [replace(each, unit=aliases.get(each.unit, each.unit)) for each in problems]
