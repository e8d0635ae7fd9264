"""What leaves a campaign: units, labels, responses, spans, qrels, and its batch. All streamed.

`since` leaves out the items before that position.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from annotation.files.rows import as_line
from annotation.follows import asked_so_far
from annotation.labelled import chunks, label_rows, units_by_item
from annotation.models import Campaign, Rater, Response
from annotation.presenting import items_of, schema, shown_texts
from annotation.protocols import PROTOCOLS
from datasets import material
from datasets.lines import as_line as batch_line
from datasets.models import Query

__all__ = ["batch", "label_rows", "labels", "responses", "spans", "units"]

Line = dict[str, Any]
CHUNK = 200


def units(campaign: Campaign, since: int = 0) -> Iterator[Line]:
    """What is asked: one line a unit, with its variables and the texts that spans refer to."""
    asked = schema(campaign)
    for chunk in chunks(_items(campaign, since), CHUNK):
        keys = {item.pk for item in chunk}
        units_of, so_far = units_by_item(keys), asked_so_far(campaign, keys)
        for item, texts in _presented(campaign, chunk):
            for unit in units_of[item.pk]:
                if so_far is not None and unit.name not in so_far[item.pk]:
                    continue
                yield {
                    "item": item.key,
                    "unit": unit.key,
                    "kind": unit.kind,
                    "query": item.query,
                    "system": item.system,
                    "variables": [v.name for v in asked.of(unit.kind)],
                    "texts": texts,
                }


class _Item(NamedTuple):
    """What an export says of an item, and what its texts are made from."""

    pk: int
    key: str
    query_id: int
    query: str
    system: str | None
    shown_passages: list[str] | None


def _items(campaign: Campaign, since: int) -> Iterator[_Item]:
    items = campaign.items.filter(position__gte=since).order_by("position")
    columns = ("pk", "key", "query_id", "query__key", "report__system", "shown_passages")
    return map(_Item._make, items.values_list(*columns).iterator(chunk_size=CHUNK))


def _presented(campaign: Campaign, items: list[_Item]) -> Iterator[tuple[_Item, dict[str, str]]]:
    """Items with their texts; the material of a query is read once for all its items here."""
    queries = Query.objects.filter(pk__in={item.query_id for item in items})
    row_of = material.as_rows(queries, PROTOCOLS[campaign.protocol].needs)
    specs: dict[str, dict[str, str]] = {}
    query = None
    for item in items:
        if item.query_id != query:
            made = items_of(campaign, row_of[item.query_id], item.shown_passages)
            specs = {spec.key: dict(shown_texts(spec)) for spec in made}
            query = item.query_id
        yield item, specs[item.key]


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
