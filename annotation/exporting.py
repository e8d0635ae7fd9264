"""What leaves a campaign: units, labels, responses, spans, qrels, and its batch. All streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Prefetch, QuerySet

from annotation.files.rows import LabelRow, SpanRow, as_line
from annotation.missing import reasons
from annotation.models import Assignment, Campaign, Item, Label, Response
from annotation.presenting import items_of, schema, shown_texts
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import Schema
from datasets import material
from datasets.lines import as_line as batch_line

Line = dict[str, Any]
CHUNK = 200


def units(campaign: Campaign) -> Iterator[Line]:
    """What is asked: one line a unit, with its variables and the texts that spans refer to."""
    asked = schema(campaign)
    for item, texts in _presented(campaign):
        for unit in item.units.all():
            yield {
                "item": item.key,
                "unit": unit.key,
                "kind": unit.kind,
                "query": item.query.key,
                "system": item.report.system if item.report else None,
                "variables": [v.name for v in asked.of(unit.kind)],
                "texts": texts,
            }


def _presented(campaign: Campaign) -> Iterator[tuple[Item, dict[str, str]]]:
    """Items with their texts; the material of a query is read once for all its items."""
    needs = PROTOCOLS[campaign.protocol].needs
    related = campaign.items.select_related("query", "report").prefetch_related("units")
    specs: dict[str, dict[str, str]] = {}
    query = None
    for item in related.order_by("position").iterator(chunk_size=CHUNK):
        if item.query_id != query:
            row = material.as_row(item.query, needs)
            made = items_of(campaign, row, item.shown_passages)
            specs = {spec.key: dict(shown_texts(spec)) for spec in made}
            query = item.query_id
        yield item, specs[item.key]


def labels(campaign: Campaign) -> Iterator[Line]:
    """The labels file: every current label, and every missing one with its reason."""
    for row in label_rows(campaign):
        yield as_line(row)


def label_rows(campaign: Campaign) -> Iterator[LabelRow]:
    asked = schema(campaign)
    for assignment in _assignments(campaign):
        yield from _AssignmentRows(campaign, asked, assignment).rows()


def _assignments(campaign: Campaign) -> Iterator[Assignment]:
    of_labels = Label.objects.select_related("unit").prefetch_related("spans")
    current = Response.objects.filter(current=True).prefetch_related(Prefetch("labels", of_labels))
    closed: QuerySet[Assignment] = (
        Assignment.objects.filter(item__campaign=campaign)
        .exclude(status__in=("open", "leased", "cancelled"), missing={})
        .select_related("item__query", "item__report", "rater")
        .prefetch_related(
            "item__units",
            Prefetch("responses", current, to_attr="standing"),
        )
        .order_by("item__position", "rater__name", "replicate", "id")
    )
    yield from closed.iterator(chunk_size=CHUNK)


class _AssignmentRows:
    """The rows of one assignment, in the order of the item's units and the protocol's variables."""

    def __init__(self, campaign: Campaign, asked: Schema, assignment: Assignment) -> None:
        self.campaign, self.asked, self.assignment = campaign, asked, assignment
        standing: list[Response] = getattr(assignment, "standing", [])
        self.response = standing[0] if standing else None
        self.labels: dict[tuple[int, str], Label] = {
            (label.unit_id, label.variable): label
            for response in standing
            for label in response.labels.all()
        }

    def rows(self) -> Iterator[LabelRow]:
        asked = set(self.assignment.asked)
        units = [unit for unit in self.assignment.item.units.all() if unit.name in asked]
        missing = reasons(self.assignment, self.asked, {u.name: u.kind for u in units})
        for unit in units:
            for variable in self.asked.of(unit.kind):
                label = self.labels.get((unit.pk, variable.name))
                reason = missing.get(unit.name, {}).get(variable.name)
                if label is not None or reason:
                    yield self._row(unit.key, unit.kind, variable.name, label, reason)

    def _row(
        self, unit: str, kind: str, variable: str, label: Label | None, reason: str | None
    ) -> LabelRow:
        assignment, item = self.assignment, self.assignment.item
        return LabelRow(
            campaign=self.campaign.name,
            protocol=self.campaign.protocol,
            item=item.key,
            unit=unit,
            kind=kind,
            variable=variable,
            value=label.value if label else None,
            missing=None if label else reason,
            rater=assignment.rater.name,
            rater_kind=assignment.rater.kind,
            replicate=assignment.replicate,
            created_at=self.response.created_at.isoformat() if label and self.response else None,
            revision=self.response.revision if label and self.response else None,
            seconds=assignment.seconds,
            score=label.score if label else None,
            spans=_spans(label) if label else None,
            assisted_by=assignment.assisted_by or None,
            batch=self.campaign.batch.name,
            query=item.query.key,
            system=item.report.system if item.report else None,
            setting=item.report.setting if item.report else None,
            meta=label.meta if label else None,
        )


def _spans(label: Label) -> tuple[SpanRow, ...] | None:
    return tuple(SpanRow(s.field, s.start, s.end, s.quote) for s in label.spans.all()) or None


def responses(campaign: Campaign) -> Iterator[Line]:
    """Whole answers as they were given, with what raters wrote: every current response."""
    related = ("assignment__item", "assignment__rater")
    standing = Response.objects.filter(current=True, assignment__item__campaign=campaign)
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
