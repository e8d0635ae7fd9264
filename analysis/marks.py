"""Where raters marked evidence: the spans behind labels, and the texts that they stand in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from annotation.label_rows import LabelRow
from annotation.models import Campaign, Item, Rater, Span
from annotation.presentation import items_of, schema, shown_texts
from datasets.material import as_rows
from datasets.models import Query

CHUNK = 100
_COLUMNS = (
    "label__response__assignment__item__key",
    "label__unit__kind",
    "label__unit__key",
    "label__variable",
    "label__response__assignment__rater__name",
    "field",
    "start",
    "end",
)


class Place(NamedTuple):
    """Whose label of what: the unit by its item, kind and key."""

    item: str
    kind: str
    unit: str
    variable: str
    rater: str


class Mark(NamedTuple):
    """A range of the text `field` in code points; without ends where its quote stands nowhere."""

    field: str
    start: int | None
    end: int | None


@dataclass(frozen=True)
class Marks:
    """Spans by label, of the judgement that stands for its rater; `texts` by item and field.

    `fields` are the texts in which evidence for a variable belongs, where a protocol says so.
    """

    spans: Mapping[Place, tuple[Mark, ...]] = field(default_factory=dict)
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


def campaign_marks(campaign: Campaign) -> Marks:
    """The spans of a campaign's current labels; texts are read only where there are spans."""
    stored = Span.objects.filter(
        label__response__current=True,
        label__response__assignment__item__campaign=campaign,
        label__response__assignment__replicate=0,
    ).exclude(label__response__assignment__rater__kind=Rater.Kind.TRIAL)
    spans: dict[Place, list[Mark]] = {}
    for row in stored.order_by("pk").values_list(*_COLUMNS).iterator(chunk_size=5000):
        spans.setdefault(Place(*row[:5]), []).append(Mark(*row[5:]))
    if not spans:
        return Marks()
    rule = schema(campaign).protocol.evidence
    fields = {rule.variable: rule.field} if rule else {}
    found = {place: tuple(marks) for place, marks in spans.items()}
    return Marks(found, dict(_texts(campaign)), fields)


def _texts(campaign: Campaign) -> Iterator[tuple[tuple[str, str], str]]:
    """The texts of all items; the material of some queries is read at once, and not kept."""
    items = Item.objects.filter(campaign=campaign).order_by()
    columns = ("query_id", "shown_passages", "passage_uses")
    shown = {query: left for query, *left in items.values_list(*columns)}
    needs = schema(campaign).protocol.needs
    pending = iter(shown)
    while chunk := list(islice(pending, CHUNK)):
        rows = as_rows(Query.objects.filter(pk__in=chunk), needs)
        for query, row in rows.items():
            for spec in items_of(campaign, row, *shown[query]):
                for name, text in shown_texts(spec).items():
                    yield (spec.key, name), text


def file_marks(rows: Iterable[LabelRow]) -> Marks:
    """The spans of a labels file, which knows no texts; of repeated judgements the first counts."""
    first: dict[Place, LabelRow] = {}
    for row in rows:
        place = Place(row.item, row.kind or "", row.unit, row.variable, row.rater)
        if place not in first or row.replicate < first[place].replicate:
            first[place] = row
    return Marks(
        {
            place: tuple(Mark(span.field, span.start, span.end) for span in row.spans)
            for place, row in first.items()
            if row.spans
        }
    )
