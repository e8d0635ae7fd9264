"""Misplaced evidence: a quote that is in another text of the query than the one being judged.

A rater who quotes the report in the rationale for a passage may have rated the report, as most
rationales of one annotator in the CRUX study suggest. Only quotes that were not found word for word
are checked, so this costs one query for a campaign answered on the page, where quotes are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from django.db.models import Count, Exists, OuterRef, QuerySet

from annotation.models import Campaign, Item, Label, Rater, Span
from annotation.presentation import present, texts_by_field
from annotation.registry import get_protocol
from annotation.trust.roles import without_certify
from datasets.material import as_row
from tandem.protocols.schema import EVIDENCE_KEY

UNCERTAIN = ("none", "joined", "fuzzy")
HERE, NOWHERE = "here", "nowhere"
_ARTICLES = {
    "report": "a report of the same query",
    "passage": "another passage of the same query",
    "reference": "a reference of the same query",
}
_RATER_KEY = ("response__assignment__rater__name", "response__assignment__rater__kind", "variable")

RaterKey = tuple[str, str, str]
"""The name and kind of a rater, and a variable."""
Texts = Sequence[tuple[str, str]]
"""Kind and text of each of the other texts, in the order in which they are searched."""


def locate_quote(quote: str, judged: str, others: Texts) -> str:
    """Return which text contains a quote, word for word except for blanks.

    The result is `here` for the judged text, else the kind of the first other text that contains
    the quote, else `nowhere`.
    """
    words = _collapse_blanks(quote)
    if not words or words in _collapse_blanks(judged):
        return HERE
    return next((kind for kind, text in others if words in _collapse_blanks(text)), NOWHERE)


def locate_rationale(quotes: Iterable[str], judged: str, others: Texts) -> str:
    """Like `locate_quote`, for a rationale with several quotes.

    The result is `here` if one of the quotes is in the judged text, else that of the first quote
    found in another text.
    """
    found = [locate_quote(quote, judged, others) for quote in quotes]
    if not found or HERE in found:
        return HERE
    return next((kind for kind in found if kind != NOWHERE), NOWHERE)


@lru_cache(maxsize=512)
def _collapse_blanks(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class MisplacedEvidence:
    """The number of a rater's rationales that quote only other texts, by the kind of text."""

    rater: str
    rater_kind: str
    variable: str
    rationales: int
    elsewhere: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.elsewhere.values())

    @property
    def texts_in_words(self) -> str:
        """The kinds of quoted texts with their numbers, as a phrase."""
        return " and ".join(f"{n} in {_ARTICLES[kind]}" for kind, n in self.elsewhere.items())

    def __str__(self) -> str:
        verb = "quotes" if self.total == 1 else "quote"
        return (
            f"rater {self.rater!r}: of {self.rationales} rationales for {self.variable}, "
            f"{self.total} {verb} another text than the one being judged, word for word "
            f"({self.texts_in_words}); check whether the right text was judged"
        )


def find_misplaced_evidence(
    campaign: Campaign, raters: Collection[str] | None = None
) -> list[MisplacedEvidence]:
    """Return the misplaced evidence of all raters, or of those named, by rater and variable."""
    labels = _with_evidence(campaign, raters)
    found: dict[RaterKey, Counter[str]] = {}
    for _, key, kind in _locate_rationales(_uncertain(labels)):
        if kind not in (HERE, NOWHERE):
            found.setdefault(key, Counter())[kind] += 1
    totals = _totals(labels) if found else {}
    return [MisplacedEvidence(*key, totals[key], found[key]) for key in sorted(found)]


def misplaced_label_ids(campaign: Campaign, rater: str) -> list[int]:
    """Return the ids of a rater's labels whose rationales quote only other texts."""
    labels = _uncertain(_with_evidence(campaign, [rater]))
    return [pk for pk, _, kind in _locate_rationales(labels) if kind not in (HERE, NOWHERE)]


def _with_evidence(campaign: Campaign, raters: Collection[str] | None) -> QuerySet[Label]:
    labels = Label.objects.filter(
        Exists(Span.objects.filter(label=OuterRef("pk"))),
        response__current=True,
        response__assignment__item__campaign=campaign,
    ).exclude(response__assignment__rater__kind=Rater.Kind.TRIAL)
    labels = without_certify(labels, campaign)
    return labels if raters is None else labels.filter(response__assignment__rater__name__in=raters)


def _uncertain(labels: QuerySet[Label]) -> QuerySet[Label]:
    return labels.filter(Exists(Span.objects.filter(label=OuterRef("pk"), method__in=UNCERTAIN)))


def _totals(labels: QuerySet[Label]) -> dict[RaterKey, int]:
    counted = labels.order_by().values_list(*_RATER_KEY).annotate(n=Count("pk"))
    return {(name, kind, variable): n for name, kind, variable, n in counted}


def _locate_rationales(labels: QuerySet[Label]) -> Iterator[tuple[int, RaterKey, str]]:
    """Yield each label's id, its rater and variable, and the text that its rationale quotes."""
    related = ("unit", "response__assignment__rater", "response__assignment__item__query")
    item: int | None = None
    judged: dict[str, str] = {}
    others: Texts = ()
    ordered = labels.select_related(*related, "response__assignment__item__campaign")
    for label in ordered.prefetch_related("spans").order_by(
        "response__assignment__item__position", "pk"
    ):
        assignment = label.response.assignment
        if assignment.item_id != item:
            item = assignment.item_id
            judged, others = (
                dict(texts_by_field(present(assignment.item))),
                _texts_of(assignment.item),
            )
        field, quotes = _quotes_as_sent(label)
        if texts := _judged_texts(label, field, judged):
            key = (assignment.rater.name, assignment.rater.kind, label.variable)
            yield label.pk, key, locate_rationale(quotes, "\n".join(texts), others)


def _judged_texts(label: Label, field: str, texts: Mapping[str, str]) -> list[str]:
    """Return the judged texts among those shown: one, or all that the rule allows to quote."""
    if field in texts:
        return [texts[field]]
    rule = get_protocol(label.response.assignment.item.campaign).evidence
    return [text for name, text in texts.items() if rule and rule.covers(name)]


def _quotes_as_sent(label: Label) -> tuple[str, list[str]]:
    """Return the field that a label quotes, and the quotes as they were sent.

    A span that was found has the text's own words as its quote instead.
    """
    spans = list(label.spans.all())
    rule = get_protocol(label.response.assignment.item.campaign).evidence
    answer = label.response.payload["units"].get(label.unit.name, {})
    sent = answer.get(EVIDENCE_KEY) if rule and rule.variable == label.variable else None
    return spans[0].field, [each["quote"] for each in sent or ()] or [s.quote for s in spans]


def _texts_of(item: Item) -> Texts:
    """Return every text of an item's query, including the judged one, which does no harm."""
    query = as_row(item.query, ("reports", "passages"))
    return [
        *(("report", report.text) for report in query.reports),
        *(("passage", passage.text) for passage in query.passages),
        *(("reference", reference.text) for reference in query.references),
    ]
