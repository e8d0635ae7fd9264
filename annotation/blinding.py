"""The names of units and texts on a page whose stored names would name a system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from annotation.models import Assignment
from annotation.presentation import asked_units, ordered_texts, schema
from tandem.protocols.base import ItemSpec, Payload, UnitSpec, kinds_of
from tandem.protocols.schema import EVIDENCE_KEY
from tandem.protocols.validation import NOT_AMONG, Problem, RefusedError

BLIND = {
    "item",
    "report",
    "report-nugget",
    "sentence",
    "sentence-citation",
    "report-passage",
    "pair",
}
REPORT = "report:"
SWAPPED_CODES = {"first": "second", "second": "first"}


@dataclass(frozen=True)
class Blinding:
    """A page's aliases of units. `swapped` tells whether the texts of a pair are in reverse order.

    `names` are the stored names by alias, and `units` the units by alias. `fields` are the aliases
    of texts whose fields have the id of a report.
    """

    names: Mapping[str, str]
    units: Mapping[str, UnitSpec]
    swapped: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def aliases(self) -> dict[str, str]:
        return {name: alias for alias, name in self.names.items()}

    def for_page(self, payload: Payload | None) -> Payload | None:
        """Return a stored answer under aliases, without the keys that the page may not have."""
        if payload is None or not (self.names or self.fields):
            return payload
        return self._renamed(payload, self.aliases, self.fields)

    def for_storage(self, payload: Payload) -> Payload:
        """Return a page's answer under the stored names. Unknown names stay as they are."""
        if not (self.names or self.fields):
            return payload
        return self._renamed(payload, self.names, {a: name for name, a in self.fields.items()})

    def blind(self, spec: ItemSpec) -> ItemSpec:
        """Return an item whose texts have aliases as fields, also where its units name them."""
        if not self.fields:
            return spec
        texts = (replace(text, field=self._field(text.field)) for text in spec.texts)
        return replace(spec, texts=tuple(texts), units=tuple(map(self._blind_unit, spec.units)))

    @cached_property
    def page_units(self) -> Mapping[str, UnitSpec]:
        """The units by alias, which name the aliases of their texts."""
        return {name: self._blind_unit(unit) for name, unit in self.units.items()}

    def _blind_unit(self, unit: UnitSpec) -> UnitSpec:
        place = unit.place and (self._field(unit.place[0]), *unit.place[1:])
        of = tuple(map(self._field, unit.of))
        # Places of equal units name reports.
        return replace(unit, of=of, place=place, same_as=None, also=())

    def _field(self, name: str) -> str:
        return self.fields.get(name, name)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise RefusedError for a name that is not an alias of the page.

        A stored name gets the same error, because it may reveal the author of a text.
        """
        if self.names and not set(names) <= self.names.keys():
            raise RefusedError([Problem("", "", NOT_AMONG)])

    def _renamed(
        self, payload: Payload, names: Mapping[str, str], fields: Mapping[str, str]
    ) -> Payload:
        units = payload.get("units")
        units = units if isinstance(units, Mapping) else {}
        answers = {
            names.get(name, name): _with_fields(self._swap(units[name]), fields) for name in units
        }
        return {"units": answers, "comment": payload.get("comment")}

    def _swap(self, answer: Any) -> Any:
        return with_swapped_codes(answer) if self.swapped else answer


def _with_fields(answer: Any, fields: Mapping[str, str]) -> Any:
    """Return a unit's answer whose quotes name texts by other fields."""
    quotes = answer.get(EVIDENCE_KEY) if fields and isinstance(answer, Mapping) else None
    if not isinstance(quotes, list):
        return answer
    renamed = [
        {**each, "field": fields.get(each["field"], each["field"])}
        if isinstance(each, Mapping) and isinstance(each.get("field"), str)
        else each
        for each in quotes
    ]
    return {**answer, EVIDENCE_KEY: renamed}


def with_swapped_codes(answer: Any) -> Any:
    """Return a unit's answer about a pair in reverse order."""
    if not isinstance(answer, Mapping):
        return answer
    return {
        key: SWAPPED_CODES.get(code, code) if isinstance(code, str) else code
        for key, code in answer.items()
    }


def blinding_of(assignment: Assignment, spec: ItemSpec) -> Blinding:
    named = asked_units(assignment, spec)
    aliases = aliases_for(assignment)
    units = {aliases.get(name, name): unit for name, unit in named.items()}
    pair = any(unit.kind == "pair" for unit in named.values())
    swapped = pair and ordered_texts(assignment, spec) != list(spec.texts)
    # The shipped protocols' quotes never name a report, and their pages write no fields of reports.
    own = assignment.item.campaign.protocol_file_id is not None
    fields = field_aliases(assignment, spec) if own else {}
    return Blinding({alias: name for name, alias in aliases.items()}, units, swapped, fields)


def aliases_for(assignment: Assignment) -> dict[str, str]:
    """Return the aliases of units by stored name; empty if the names reveal nothing.

    The id of a report's key point usually contains the id of the report.
    """
    asked = schema(assignment.item.campaign)
    if not (BLIND & kinds_of(asked.variables) or asked.protocol.reading == "answers"):
        return {}
    return {name: f"u{number}" for number, name in enumerate(assignment.asked)}


def field_aliases(assignment: Assignment, spec: ItemSpec) -> dict[str, str]:
    """Return aliases of the fields of shown reports, which contain the ids of the reports.

    Those of a team's protocol are of the kind `report`, which its evidence may be in.
    """
    own = assignment.item.campaign.protocol_file_id is not None
    prefix = REPORT if own else "answer-"
    shown = [text.field for text in ordered_texts(assignment, spec)]
    answers = [name for name in shown if name.startswith(REPORT)]
    return {name: f"{prefix}{number}" for number, name in enumerate(answers, start=1)}


def problems_for_page(assignment: Assignment, problems: list[Problem]) -> list[Problem]:
    """Return the problems with the aliases of their units."""
    aliases = aliases_for(assignment)
    return [replace(each, unit=aliases.get(each.unit, each.unit)) for each in problems]
