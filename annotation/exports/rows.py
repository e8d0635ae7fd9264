"""Stream the lines of labels, units, responses and spans from the database.

Rows are read in chunks of plain values, without model instances, because a campaign may have very
many labels. `since` leaves out the items before that position.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Any, NamedTuple, TypeVar

from annotation.campaigns.relevance import Uses
from annotation.exports.decided import with_decisions
from annotation.exposure.detection import exposed_labels, exposed_units
from annotation.exposure.ledger import saw_answers
from annotation.missing_reasons import Reasons, reasons
from annotation.models import (
    Assignment,
    Campaign,
    CarriedAnswer,
    Item,
    Label,
    Rater,
    Response,
    Span,
    Unit,
)
from annotation.prerequisites import units_asked_so_far
from annotation.presentation import design, items_of, schema, schema_for, texts_by_field
from annotation.registry import get_protocol
from annotation.trust.roles import without_certify
from datasets import material
from datasets.material import as_line as batch_line
from datasets.models import Query
from tandem.grouping import grouped
from tandem.labels.file.rows import GRADE, LabelRow, SpanRow, as_line
from tandem.protocols.base import ItemSpec, UnitSpec
from tandem.protocols.schema import Schema

CHUNK = 500
T = TypeVar("T")


class _ClosedAssignment(NamedTuple):
    """A closed assignment, with the columns that its label rows share."""

    pk: int
    item_id: int
    item: str
    query: str
    system: str | None
    setting: str | None
    rater: str
    rater_kind: str
    replicate: int
    status: str
    reason: str
    missing: Reasons
    asked: list[str]
    seconds: float | None
    assisted_by: str


_ANSWERED = (
    "pk",
    "item_id",
    "item__key",
    "item__query__key",
    "item__report__system",
    "item__report__setting",
    "rater__name",
    "rater__kind",
    "replicate",
    "status",
    "reason",
    "missing",
    "asked",
    "seconds",
    "assisted_by",
)


class UnitFacts(NamedTuple):
    """A unit without its item."""

    pk: int
    name: str
    key: str
    kind: str


class _Label(NamedTuple):
    pk: int
    value: str
    score: float | None
    meta: dict[str, Any] | None
    created_at: datetime
    revision: int
    exposed: bool | None


def label_rows(campaign: Campaign, since: int = 0) -> Iterator[LabelRow]:
    """Yield every current label and every missing label, by item, rater and replicate.

    Labels from trials are left out, and so are labels for gold and practice items, and people's
    labels that certify a judge. `since` leaves out the items before that position.
    """
    asked, batch = schema(campaign), campaign.batch.name
    for chunk in chunks(_closed_assignments(campaign, since), CHUNK):
        loaded = _Chunk(chunk, _carried_from(campaign, [each.pk for each in chunk]))
        for assignment in chunk:
            yield from loaded.rows(campaign, batch, asked, assignment)


def has_grades(campaign: Campaign) -> bool:
    """Return whether a label of the campaign has a grade beside its code."""
    judged = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater__kind=Rater.Kind.JUDGE,
    )
    return judged.filter(meta__has_key=GRADE).exists()


def chunks(values: Iterator[T], size: int) -> Iterator[list[T]]:
    while chunk := list(islice(values, size)):
        yield chunk


def _closed_assignments(campaign: Campaign, since: int) -> Iterator[_ClosedAssignment]:
    closed = (
        Assignment.objects.filter(item__campaign=campaign, item__position__gte=since)
        .filter(item__use=Item.Use.STUDY)
        .exclude(status__in=("open", "leased", "cancelled"), missing={})
        .exclude(rater__kind=Rater.Kind.TRIAL)
    )
    readable = without_certify(closed, campaign, "")
    in_order = readable.order_by("item__position", "rater__name", "replicate", "id")
    rows = in_order.values_list(*_ANSWERED).iterator(chunk_size=CHUNK)
    return map(_ClosedAssignment._make, rows)


class _Chunk:
    """The units, labels and spans of some assignments."""

    def __init__(
        self, assignments: Sequence[_ClosedAssignment], carried: Mapping[int, str]
    ) -> None:
        keys = [assignment.pk for assignment in assignments]
        self.units = units_by_item({assignment.item_id for assignment in assignments})
        self.labels = _labels(keys)
        self.spans = _spans(keys)
        self.carried = carried

    def rows(
        self, campaign: Campaign, batch: str, asked: Schema, assignment: _ClosedAssignment
    ) -> Iterator[LabelRow]:
        """Yield the rows of an assignment, in the order of units and variables."""
        named = set(assignment.asked)
        units = [unit for unit in self.units[assignment.item_id] if unit.name in named]
        of_rater = schema_for(campaign, assignment.rater_kind)
        missing = _missing(assignment, of_rater, units)
        for unit in units:
            reasons = missing.get(unit.name, {})
            for variable in asked.variables_of(unit.kind):
                label = self.labels.get((assignment.pk, unit.pk, variable.name))
                reason = reasons.get(variable.name)
                if label is not None or reason:
                    facts = {"variable": variable.name, "missing": None if label else reason}
                    facts["carried"] = self.carried.get(assignment.pk)
                    facts |= self._of_label(label) if label else {}
                    yield _row(campaign, batch, assignment, unit, facts)

    def _of_label(self, label: _Label) -> dict[str, Any]:
        return {
            "value": label.value,
            "created_at": label.created_at.isoformat(),
            "revision": label.revision,
            "score": label.score,
            "spans": tuple(self.spans.get(label.pk, ())) or None,
            **_meta(label),
            "exposed": label.exposed,
        }


def _row(
    campaign: Campaign,
    batch: str,
    assignment: _ClosedAssignment,
    unit: UnitFacts,
    facts: dict[str, Any],
) -> LabelRow:
    return LabelRow(
        campaign=campaign.name,
        protocol=campaign.protocol,
        item=assignment.item,
        unit=unit.key,
        kind=unit.kind,
        rater=assignment.rater,
        rater_kind=assignment.rater_kind,
        replicate=assignment.replicate,
        seconds=assignment.seconds,
        assisted_by=assignment.assisted_by or None,
        batch=batch,
        query=assignment.query,
        system=assignment.system,
        setting=assignment.setting,
        **facts,
    )


def _meta(label: _Label) -> dict[str, Any]:
    """Return the columns of a label's metadata, besides its code and score."""
    if not label.meta or GRADE not in label.meta:
        return {"meta": label.meta}
    meta = dict(label.meta)
    return {"grade": str(meta.pop(GRADE)), "meta": meta or None}


def _missing(assignment: _ClosedAssignment, asked: Schema, units: Sequence[UnitFacts]) -> Reasons:
    if assignment.status == Assignment.Status.DONE:
        return assignment.missing
    closed = Assignment(
        status=assignment.status, reason=assignment.reason, missing=assignment.missing
    )
    return reasons(closed, asked, {unit.name: unit.kind for unit in units})


def units_by_item(items: set[int]) -> dict[int, list[UnitFacts]]:
    """Return the units of items in their stored order, by the items' primary keys."""
    rows = Unit.objects.filter(item__in=items).order_by("position")
    facts = rows.values_list("item_id", "pk", "name", "key", "kind")
    return grouped((item, UnitFacts._make(unit)) for item, *unit in facts)


def _carried_from(campaign: Campaign, assignments: Sequence[int]) -> dict[int, str]:
    """Return the campaigns that answers were carried over from, by assignment."""
    if campaign.continues_id is None:
        return {}
    rows = CarriedAnswer.objects.filter(
        response__assignment__in=assignments, response__current=True
    )
    return dict(rows.values_list("response__assignment", "campaign"))


def _labels(assignments: Sequence[int]) -> dict[tuple[int, int, str], _Label]:
    labels = Label.objects.filter(response__assignment__in=assignments, response__current=True)
    current = labels.values_list(
        "response__assignment_id",
        "unit_id",
        "variable",
        "pk",
        "value",
        "score",
        "meta",
        "response__created_at",
        "response__revision",
        "response__exposed",
    )
    found = {(held, unit, name): _Label._make(label) for held, unit, name, *label in current}
    if any(label.exposed for label in found.values()):
        marked = exposed_labels(labels)
        found = {
            place: label._replace(exposed=label.pk in marked) if label.exposed else label
            for place, label in found.items()
        }
    return found


def _spans(assignments: Sequence[int]) -> dict[int, list[SpanRow]]:
    of = Span.objects.filter(
        label__response__assignment__in=assignments, label__response__current=True
    )
    found: dict[int, list[SpanRow]] = defaultdict(list)
    rows = of.order_by("label_id", "pk").values_list("label_id", "field", "start", "end", "quote")
    for label, field, start, end, quote in rows:
        found[label].append(SpanRow(field, start, end, quote))
    return found


ITEMS_AT_ONCE = 200
COLUMNS = (
    "pk",
    "key",
    "query_id",
    "query__key",
    "report__system",
    "shown_passages",
    "passage_uses",
)
"""The columns of an item, in the order of `ShownItem`."""


class ShownItem(NamedTuple):
    """The columns of an item that exports need, including those that determine its texts."""

    pk: int
    key: str
    query_id: int
    query: str
    system: str | None
    shown_passages: list[str] | None
    passage_uses: Uses | None


def shown_items(campaign: Campaign, since: int = 0) -> Iterator[list[ShownItem]]:
    """Yield the items from a position on, in chunks."""
    items = campaign.items.filter(position__gte=since).order_by("position")
    rows = items.values_list(*COLUMNS).iterator(chunk_size=ITEMS_AT_ONCE)
    return chunks(map(ShownItem._make, rows), ITEMS_AT_ONCE)


def present_items(
    campaign: Campaign, items: list[ShownItem]
) -> Iterator[tuple[ShownItem, ItemSpec]]:
    """Yield items as they are shown, reading each query once for all its items in the chunk."""
    queries = Query.objects.filter(pk__in={item.query_id for item in items})
    row_of = material.as_rows(queries, get_protocol(campaign).needs)
    specs: dict[str, ItemSpec] = {}
    query = None
    for item in items:
        if item.query_id != query:
            left = item.shown_passages, item.passage_uses
            made = items_of(campaign, row_of[item.query_id], *left)
            specs = {spec.key: spec for spec in made}
            query = item.query_id
        yield item, specs[item.key]


def asked_units(campaign: Campaign, items: list[ShownItem]) -> dict[int, list[UnitFacts]]:
    """Return the units that the campaign asks, by the items' primary keys."""
    keys = {item.pk for item in items}
    found, so_far = units_by_item(keys), units_asked_so_far(campaign, keys)
    if so_far is None or design(campaign).judge_sampling == "all":
        return found
    return {pk: [unit for unit in found[pk] if unit.name in so_far[pk]] for pk in keys}


class LabelledItem(NamedTuple):
    """An item with its units as they are shown, and all its labels."""

    item: ShownItem
    spec: ItemSpec
    units: list[UnitSpec]
    rows: list[LabelRow]


def labelled_items(campaign: Campaign) -> Iterator[LabelledItem]:
    """Yield every item, including those without labels.

    Items and labels are both read in the order of the items' positions, and matched on the way.
    """
    labelled = groupby(label_rows(campaign), key=lambda row: row.item)
    following = next(labelled, None)
    for chunk in shown_items(campaign):
        asked = asked_units(campaign, chunk)
        for item, spec in present_items(campaign, chunk):
            rows: list[LabelRow] = []
            if following is not None and following[0] == item.key:
                rows = list(following[1])
                following = next(labelled, None)
            words = {(unit.kind, unit.key): unit for unit in spec.units}
            units = [words[unit.kind, unit.key] for unit in asked[item.pk]]
            yield LabelledItem(item, spec, units, rows)


Line = dict[str, Any]


def units(campaign: Campaign, since: int = 0) -> Iterator[Line]:
    """Yield one line per unit, with its variables and the texts that spans refer to."""
    for chunk in shown_items(campaign, since):
        yield from _unit_lines(campaign, chunk)


def units_of(campaign: Campaign, position: int) -> list[Line]:
    """Return the lines of the item at this position."""
    return list(_unit_lines(campaign, next(shown_items(campaign, position))[:1]))


def places_of(unit: UnitSpec) -> list[dict[str, str]]:
    """Return the equal units that take the labels of a unit."""
    return [{"item": item, "unit": key} for item, key in unit.also]


def _unit_lines(campaign: Campaign, items: list[ShownItem]) -> Iterator[Line]:
    asked, units_by_item = schema(campaign), asked_units(campaign, items)
    for item, spec in present_items(campaign, items):
        texts = dict(texts_by_field(spec))
        also = {(u.kind, u.key): {"also": places_of(u)} for u in spec.units if u.also}
        for unit in units_by_item[item.pk]:
            line = {
                "item": item.key,
                "unit": unit.key,
                "kind": unit.kind,
                "query": item.query,
                "system": item.system,
                "variables": [v.name for v in asked.variables_of(unit.kind)],
                "texts": texts,
            }
            yield line | also.get((unit.kind, unit.key), {})


def labels(campaign: Campaign, since: int = 0) -> Iterator[Line]:
    """Yield the lines of the labels file: every current and every missing label."""
    saw_answers("answers", campaign)
    return map(as_line, with_decisions(campaign, label_rows(campaign, since)))


def responses(campaign: Campaign, since: int = 0) -> Iterator[Line]:
    """Yield every current response: a whole answer, with the texts that the rater wrote."""
    saw_answers("answers", campaign)
    return _response_lines(campaign, since)


def _response_lines(campaign: Campaign, since: int) -> Iterator[Line]:
    related = ("assignment__item", "assignment__rater")
    current = Response.objects.filter(
        current=True,
        assignment__item__campaign=campaign,
        assignment__item__position__gte=since,
    ).exclude(assignment__rater__kind=Rater.Kind.TRIAL)
    current = without_certify(current, campaign, "assignment")
    order = ("assignment__item__position", "assignment__rater__name", "assignment_id")
    for response in current.select_related(*related).order_by(*order).iterator(chunk_size=CHUNK):
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
            "exposed": _exposed(response),
        }


def _exposed(response: Response) -> list[str] | None:
    """Return the names of the exposed units of an answer, or None if that is unknown."""
    if not response.exposed:
        return None if response.exposed is None else []
    return sorted(exposed_units({response.pk})[response.pk])


def spans(campaign: Campaign) -> Iterator[Line]:
    """Yield one line per span, with the label that it belongs to."""
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
    """Yield the campaign's batch in the native format."""
    for row in material.batch_rows(campaign.batch):
        yield batch_line(row)
