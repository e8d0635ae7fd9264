"""What leaves a campaign: units, labels, responses, spans, qrels, and its batch. All streamed.

`since` leaves out the items before that position.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.exports.presented import ShownItem, asked_units, presented, shown_items
from annotation.files.rows import as_line
from annotation.labelled import label_rows
from annotation.models import Campaign, Rater, Response
from annotation.presenting import schema, shown_texts
from datasets import material
from datasets.material import as_line as batch_line

__all__ = ["batch", "label_rows", "labels", "responses", "spans", "units"]

Line = dict[str, Any]
CHUNK = 200


def units(campaign: Campaign, since: int = 0) -> Iterator[Line]:
    """What is asked: one line a unit, with its variables and the texts that spans refer to."""
    for chunk in shown_items(campaign, since):
        yield from _unit_lines(campaign, chunk)


def units_of(campaign: Campaign, position: int) -> list[Line]:
    """The same of the one item at that position."""
    return list(_unit_lines(campaign, next(shown_items(campaign, position))[:1]))


def _unit_lines(campaign: Campaign, items: list[ShownItem]) -> Iterator[Line]:
    asked, units_by_item = schema(campaign), asked_units(campaign, items)
    for item, spec in presented(campaign, items):
        texts = dict(shown_texts(spec))
        for unit in units_by_item[item.pk]:
            yield {
                "item": item.key,
                "unit": unit.key,
                "kind": unit.kind,
                "query": item.query,
                "system": item.system,
                "variables": [v.name for v in asked.of(unit.kind)],
                "texts": texts,
            }


def labels(campaign: Campaign, since: int = 0) -> Iterator[Line]:
    """The labels file: every current label, and every missing one with its reason."""
    for row in label_rows(campaign, since):
        yield as_line(row)


def responses(campaign: Campaign, since: int = 0) -> Iterator[Line]:
    """Whole answers as they were given, with what raters wrote: every current response."""
    related = ("assignment__item", "assignment__rater")
    standing = Response.objects.filter(
        current=True,
        assignment__item__campaign=campaign,
        assignment__item__position__gte=since,
    ).exclude(assignment__rater__kind=Rater.Kind.TRIAL)
    order = ("assignment__item__position", "assignment__rater__name", "assignment_id")
    for response in standing.select_related(*related).order_by(*order).iterator(chunk_size=CHUNK):
        assignment = response.assignment
        yield {
            "campaign": campaign.name,
            "protocol": campaign.protocol,
            "item": assignment.item.key,
            "rater": assignment.rater.name,
            "rater_kind": assignment.rater.kind,
            "replicate": assignment.replicate,
            "revision": response.revision,
            "created_at": response.created_at.isoformat(),
            "seconds": assignment.seconds,
            "assisted_by": assignment.assisted_by or None,
            "comment": response.comment or None,
            "units": response.payload["units"],
        }


def spans(campaign: Campaign) -> Iterator[Line]:
    """Every piece of evidence: one line a span, with the label that it belongs to."""
    for row in label_rows(campaign):
        for span in row.spans or ():
            yield {
                "item": row.item,
                "unit": row.unit,
                "kind": row.kind,
                "variable": row.variable,
                "value": row.value,
                "rater": row.rater,
                "rater_kind": row.rater_kind,
                "replicate": row.replicate,
                "field": span.field,
                "start": span.start,
                "end": span.end,
                "text": span.text,
            }


def batch(campaign: Campaign) -> Iterator[Line]:
    """The campaign's batch in the native format."""
    for row in material.batch_rows(campaign.batch):
        yield batch_line(row)
