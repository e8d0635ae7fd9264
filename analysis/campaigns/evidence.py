"""The evidence that a campaign's labels rest on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from annotation.models import Campaign, Item, Rater, Span
from annotation.presentation import items_of, schema, texts_by_field
from annotation.trust.roles import without_certify
from datasets.material import as_rows
from datasets.models import Query
from tandem.grouping import grouped
from tandem.labels.facts import Evidence, EvidenceSpan, LabelKey

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


def campaign_evidence(campaign: Campaign) -> Evidence:
    """Return the spans of a campaign's current labels; texts are read only if there are spans."""
    stored = Span.objects.filter(
        label__response__current=True,
        label__response__assignment__item__campaign=campaign,
        label__response__assignment__replicate=0,
    ).exclude(label__response__assignment__rater__kind=Rater.Kind.TRIAL)
    stored = without_certify(stored, campaign, "label__response__assignment")
    rows = stored.order_by("pk").values_list(*_COLUMNS).iterator(chunk_size=5000)
    spans = grouped((LabelKey(*row[:5]), EvidenceSpan(*row[5:])) for row in rows)
    rule = schema(campaign).protocol.evidence
    owed = {rule.variable: rule.codes} if rule and rule.codes else {}
    if not spans:
        return Evidence(owed=owed)
    fields = {rule.variable: rule.field} if rule else {}
    found = {place: tuple(marks) for place, marks in spans.items()}
    return Evidence(found, dict(_texts(campaign)), fields, owed)


def _texts(campaign: Campaign) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the texts of all items, reading the material of some queries at a time."""
    items = Item.objects.filter(campaign=campaign).order_by()
    columns = ("query_id", "shown_passages", "passage_uses")
    shown = {query: left for query, *left in items.values_list(*columns)}
    needs = schema(campaign).protocol.needs
    pending = iter(shown)
    while chunk := list(islice(pending, CHUNK)):
        rows = as_rows(Query.objects.filter(pk__in=chunk), needs)
        for query, row in rows.items():
            for spec in items_of(campaign, row, *shown[query]):
                for name, text in texts_by_field(spec).items():
                    yield (spec.key, name), text
