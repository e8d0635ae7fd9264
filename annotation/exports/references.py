"""The decisions of adjudicators, one line for each label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.exports.rows import CHUNK, chunks
from annotation.models import Campaign, Decision, Label

COLUMNS = (
    "campaign",
    "item",
    "unit",
    "kind",
    "query",
    "variable",
    "value",
    "spans",
    "reason",
    "decided_by",
    "decided_at",
    "revision",
)
Line = dict[str, Any]


def references(campaign: Campaign) -> Iterator[Line]:
    """Yield the current decisions, in the order of the campaign. `decided_by` is a pseudonym."""
    current = Decision.objects.filter(
        unit__item__campaign=campaign, response__current=True
    ).select_related("response", "by")
    ordered = current.order_by("unit__item__position", "unit__position")
    for chunk in chunks(ordered.iterator(chunk_size=CHUNK), CHUNK):
        made = {each.response_id: each for each in chunk}
        labels = Label.objects.filter(response__in=made).select_related("unit__item__query")
        positions = {pk: position for position, pk in enumerate(made)}
        rows = labels.prefetch_related("spans").order_by("pk")
        for label in sorted(rows, key=lambda each: positions[each.response_id]):
            yield _line(campaign, made[label.response_id], label)


def _line(campaign: Campaign, decision: Decision, label: Label) -> Line:
    response, unit = decision.response, label.unit
    return {
        "campaign": campaign.name,
        "item": unit.item.key,
        "unit": unit.key,
        "kind": unit.kind,
        "query": unit.item.query.key,
        "variable": label.variable,
        "value": label.value,
        "spans": [
            {"field": span.field, "start": span.start, "end": span.end, "text": span.quote}
            for span in label.spans.all()
        ],
        "reason": response.comment,
        "decided_by": decision.by.name,
        "decided_at": response.created_at.isoformat(),
        "revision": response.revision,
    }
