"""People with an assignment, and complete answers that every channel accepts."""

from __future__ import annotations

from typing import Any

from annotation.assignments.queue import claim_slot, order_for
from annotation.models import Assignment, Item, Rater
from annotation.presentation import asked_units, present, schema, texts_by_field
from tandem.protocols.base import UnitSpec
from tandem.protocols.schema import EVIDENCE_KEY, Schema


def person(item: Item, name: str) -> Assignment:
    """A person's assignment to an item, in one of its slots."""
    rater, _ = Rater.objects.get_or_create(name=name)
    asked, shown = order_for(item, rater)
    return Assignment.objects.create(
        item=item, rater=rater, slot=claim_slot(item), asked=asked, shown=shown
    )


def good_answer(assignment: Assignment) -> dict[str, Any]:
    """An answer: the first code of every asked variable, and evidence where it is allowed."""
    spec, asked = present(assignment.item), schema(assignment.item.campaign)
    texts = dict(texts_by_field(spec))
    return {name: _unit(asked, unit, texts) for name, unit in asked_units(assignment, spec).items()}


def _unit(asked: Schema, unit: UnitSpec, texts: dict[str, str]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    kind = unit.kind
    if rule := asked.evidence(kind):
        field, begin = unit.place[:2] if rule.within and unit.place else (rule.field, 0)
        named = {"field": field} if rule.names_texts else {}
        answer[EVIDENCE_KEY] = [
            {"quote": texts[field][start:end], "start": start, **named}
            for start, end in ((begin + 5, begin + 14), (begin + 2, begin + 9))
        ]
    for variable in asked.variables_of(kind):
        held = asked.holds(variable.asked_if, answer)
        answer[variable.name] = variable.codes[0] if held else None
    if written := asked.written(kind):
        cited = [field.partition(":")[2] for field in texts]
        answer["deflected"] = "no"
        answer[written.name] = {"text": "By hand 🌉.\r\nשלום [1]", "citations": cited}
    if listed := asked.listed(kind):
        quotes = [{"quote": texts[listed.field][4:9], "start": 4}]
        words = ("One שלום 🌉", "Two\r\ne\u0301")
        answer[listed.name] = [{"text": each, "evidence": quotes} for each in words]
    if matching := asked.matching(kind):
        answer[matching.matches] = [2, 1]
    return answer
