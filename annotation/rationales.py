"""A campaign's rationales that stand in another text of their query than the one that was judged.

Only quotes that were not found word for word are looked at again, so that work done on the page,
where every quote is exact, costs one query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from django.db.models import Count, QuerySet

from annotation.declared import declared
from annotation.elsewhere import HERE, NOWHERE, Misplaced, Texts, place_of_all
from annotation.models import Campaign, Item, Label, Rater
from annotation.presenting import present, shown_texts
from annotation.protocols.schema import EVIDENCE_KEY
from datasets.material import as_row

DOUBTFUL = ("none", "joined", "fuzzy")
Who = tuple[str, str, str]
_WHO = ("response__assignment__rater__name", "response__assignment__rater__kind", "variable")


def misplaced(campaign: Campaign, raters: Collection[str] | None = None) -> list[Misplaced]:
    """By rater and variable, those with any such rationale; all raters, or only those named."""
    labels = _with_evidence(campaign, raters)
    elsewhere: dict[Who, Counter[str]] = {}
    for _, who, place in _places(labels.filter(spans__method__in=DOUBTFUL).distinct()):
        if place not in (HERE, NOWHERE):
            elsewhere.setdefault(who, Counter())[place] += 1
    if not elsewhere:
        return []
    totals = _totals(labels)
    return [Misplaced(*who, totals[who], elsewhere[who]) for who in sorted(elsewhere)]


def misplaced_labels(campaign: Campaign, rater: str) -> list[int]:
    """The labels whose rationales stand in another text alone, by their keys."""
    labels = _with_evidence(campaign, [rater]).filter(spans__method__in=DOUBTFUL).distinct()
    return [key for key, _, place in _places(labels) if place not in (HERE, NOWHERE)]


def _with_evidence(campaign: Campaign, raters: Collection[str] | None) -> QuerySet[Label]:
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        spans__isnull=False,
    ).exclude(response__assignment__rater__kind=Rater.Kind.TRIAL)
    return labels if raters is None else labels.filter(response__assignment__rater__name__in=raters)


def _totals(labels: QuerySet[Label]) -> dict[Who, int]:
    counted = labels.order_by().values_list(*_WHO).annotate(n=Count("pk", distinct=True))
    return {(name, kind, variable): n for name, kind, variable, n in counted}


def _places(labels: QuerySet[Label]) -> Iterator[tuple[int, Who, str]]:
    """Each label, whose it is, and where its rationale stands; texts of an item are read once."""
    related = ("unit", "response__assignment__rater", "response__assignment__item__query")
    item: int | None = None
    judged: dict[str, str] = {}
    others: Texts = ()
    ordered = labels.select_related(*related, "response__assignment__item__campaign")
    for label in ordered.order_by("response__assignment__item__position", "pk"):
        held = label.response.assignment
        if held.item_id != item:
            item = held.item_id
            judged, others = dict(shown_texts(present(held.item))), _texts_of(held.item)
        field, quotes = _given(label)
        if texts := _judged(label, field, judged):
            who = (held.rater.name, held.rater.kind, label.variable)
            yield label.pk, who, place_of_all(quotes, "\n".join(texts), others)


def _judged(label: Label, field: str, texts: Mapping[str, str]) -> list[str]:
    """The texts that were judged of those on show: one, or all that its rule lets be quoted."""
    if field in texts:
        return [texts[field]]
    rule = declared(label.response.assignment.item.campaign).evidence
    return [text for name, text in texts.items() if rule and rule.covers(name)]


def _given(label: Label) -> tuple[str, list[str]]:
    """The field that a label quotes, and the quotes as they were given.

    What is stored as the quote of a span that was found is the text's own words.
    """
    spans = list(label.spans.all())
    rule = declared(label.response.assignment.item.campaign).evidence
    answer = label.response.payload["units"].get(label.unit.name, {})
    given = answer.get(EVIDENCE_KEY) if rule and rule.variable == label.variable else None
    return spans[0].field, [each["quote"] for each in given or ()] or [s.quote for s in spans]


def _texts_of(item: Item) -> Texts:
    """Every text of an item's query; the judged one among them does no harm."""
    query = as_row(item.query, ("reports", "passages"))
    return [
        *(("report", report.text) for report in query.reports),
        *(("passage", passage.text) for passage in query.passages),
        *(("reference", reference.text) for reference in query.references),
    ]
