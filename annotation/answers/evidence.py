"""Where the quotes of an answer are in the texts that were shown, and misplaced evidence.

Evidence is misplaced if its quote is in another text of the query than the one being judged: a
rater who quotes the report beside the rating of a passage may have rated the report, as most
rationales of one annotator of the CRUX study do. Only quotes that were not found word for word are
checked, so a campaign answered on the page, where every quote is exact, costs one query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from django.db.models import Count, QuerySet

from annotation.models import Campaign, Item, Label, Rater
from annotation.presentation import present, shown_texts
from annotation.protocols.base import ItemSpec
from annotation.protocols.schema import EVIDENCE_KEY
from annotation.protocols.validation import Channel, Entry, Problem, Quote, RefusedError
from annotation.registry import declared
from datasets.material import as_row
from datasets.text import find_quote

METHODS = ("exact", "folded", "joined", "fuzzy", "none")
"""How a quote may have been found, the surest first."""


@dataclass(frozen=True)
class Located:
    """A span of the text `field`, in code points; without ends where its quote stands nowhere."""

    field: str
    start: int | None
    end: int | None
    quote: str
    method: str


Spans = dict[tuple[str, str], list[Located]]


def locate(entries: list[Entry], spec: ItemSpec, channel: Channel) -> tuple[Spans, list[Problem]]:
    """Spans by unit name and variable, and warnings for quotes that stand nowhere.

    People's quotes must stand where they say (RefusedError): a page that counts wrongly must not
    store wrong ranges. Models copy with small changes, and old files hold only the words, so for
    these the text is searched, and what is not found is kept without a place.
    """
    texts = shown_texts(spec)
    spans: Spans = {}
    problems: list[Problem] = []
    for entry in entries:
        for quote in entry.evidence:
            found, problem = _find(entry, quote, texts, strict=channel in ("page", "api"))
            problems += [problem] if problem else []
            spans.setdefault((entry.name, quote.variable), []).extend(found)
        problems += _foreign_citations(entry, texts)
        problems += _misplaced_points(entry, texts, strict=channel in ("page", "api"))
    if problems and channel in ("page", "api"):
        raise RefusedError(problems)
    return spans, problems


def _foreign_citations(entry: Entry, texts: Mapping[str, str]) -> list[Problem]:
    """A problem for each citation of a written answer that is no passage of the item."""
    cited = entry.written.citations if entry.written else ()
    return [
        Problem(entry.name, "citations", f"{passage!r} is no passage of this item")
        for passage in cited
        if f"passage:{passage}" not in texts
    ]


def _misplaced_points(entry: Entry, texts: Mapping[str, str], strict: bool) -> Iterator[Problem]:
    """A problem for each quote of a written point that does not stand where it says."""
    for number, point in enumerate(entry.points, start=1):
        for quote in point.evidence:
            _, problem = _find(entry, quote, texts, strict)
            if problem:
                yield Problem(entry.name, quote.variable, f"point {number}: {problem.message}")


def _find(
    entry: Entry, quote: Quote, texts: Mapping[str, str], strict: bool
) -> tuple[list[Located], Problem | None]:
    place = quote.field or next(iter(texts), "")
    places = _places(place, texts)
    if not places:
        words = Located(place, None, None, quote.quote, "none")
        problem = Problem(entry.name, EVIDENCE_KEY, f"{place!r} is no text of this item")
        return [words], problem
    if strict:
        exact = (_exact(quote, each, texts[each]) for each in places)
        one = next((each for each in exact if each), None)
        return ([one], None) if one else ([], _nowhere(entry, quote, place))
    found = _best(quote, places, texts)
    if any(f.start is None for f in found):
        return found, _nowhere(entry, quote, place)
    return found, None


def _places(place: str, texts: Mapping[str, str]) -> list[str]:
    """The texts that a name stands for: its own, or all of the kind, such as each `passage:ID`."""
    return [place] if place in texts else [each for each in texts if each.startswith(f"{place}:")]


def _best(quote: Quote, places: Sequence[str], texts: Mapping[str, str]) -> list[Located]:
    """The places of a quote in the text that holds it best; the first of those that do so alike."""
    found: list[list[Located]] = []
    for each in places:
        parts = find_quote(texts[each], quote.quote, quote.start)
        found.append([Located(each, p.start, p.end, p.quote, p.method) for p in parts])
        if found[-1][0].method == METHODS[0]:
            break
    best = min(found, key=_doubt)
    if len(places) > 1 and all(part.start is None for part in best):
        # Words that stand nowhere stand in none of the texts more than in another.
        return [replace(part, field=quote.field) for part in best]
    return best


def _doubt(parts: Sequence[Located]) -> tuple[bool, int]:
    lost = any(part.start is None for part in parts)
    return lost, max(METHODS.index(part.method) for part in parts)


def _exact(quote: Quote, place: str, text: str) -> Located | None:
    start = text.find(quote.quote) if quote.start is None else quote.start
    end = start + len(quote.quote)
    if start < 0 or text[start:end] != quote.quote:
        return None
    return Located(place, start, end, quote.quote, "exact")


def _nowhere(entry: Entry, quote: Quote, place: str) -> Problem:
    words = quote.quote if len(quote.quote) <= 60 else quote.quote[:57] + "…"
    return Problem(entry.name, EVIDENCE_KEY, f"{words!r} does not stand there in the {place}")


HERE, NOWHERE = "here", "nowhere"
Texts = Sequence[tuple[str, str]]
"""Kind and text of each of the other texts, in the order in which they are looked at."""


def place_of(quote: str, judged: str, others: Texts) -> str:
    """`here` where a quote stands in the judged text, else the kind of the first other text that
    holds it, else `nowhere`. Word for word, but for blanks.
    """
    wanted = _folded(quote)
    if not wanted or wanted in _folded(judged):
        return HERE
    return next((kind for kind, text in others if wanted in _folded(text)), NOWHERE)


def place_of_all(quotes: Iterable[str], judged: str, others: Texts) -> str:
    """The same of a rationale of several quotes: `here` if one of them is, else where the first of
    them stands that stands anywhere.
    """
    found = [place_of(quote, judged, others) for quote in quotes]
    if not found or HERE in found:
        return HERE
    return next((place for place in found if place != NOWHERE), NOWHERE)


@lru_cache(maxsize=512)
def _folded(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class Misplaced:
    """How many of a rater's rationales stand in other texts alone, by the kind of text."""

    rater: str
    rater_kind: str
    variable: str
    rationales: int
    elsewhere: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.elsewhere.values())

    @property
    def places(self) -> str:
        """How many stand in which kind of text, in words."""
        return " and ".join(f"{n} in {_ARTICLES[kind]}" for kind, n in self.elsewhere.items())

    def __str__(self) -> str:
        verb = "does" if self.total == 1 else "do"
        return (
            f"rater {self.rater!r}: of {self.rationales} rationales for {self.variable}, "
            f"{self.total} {verb} not stand in the text that was judged, but word for word "
            f"elsewhere ({self.places}); look whether that text was judged at all"
        )


_ARTICLES = {
    "report": "a report of the same query",
    "passage": "another passage of the same query",
    "reference": "a reference of the same query",
}


DOUBTFUL = ("none", "joined", "fuzzy")
Who = tuple[str, str, str]
_WHO = ("response__assignment__rater__name", "response__assignment__rater__kind", "variable")


def misplaced(campaign: Campaign, raters: Collection[str] | None = None) -> list[Misplaced]:
    """By rater and variable, those with any such rationale; all raters, or only those named."""
    labels = _with_evidence(campaign, raters)
    elsewhere: dict[Who, Counter[str]] = {}
    for _, who, place in _rationale_places(labels.filter(spans__method__in=DOUBTFUL).distinct()):
        if place not in (HERE, NOWHERE):
            elsewhere.setdefault(who, Counter())[place] += 1
    if not elsewhere:
        return []
    totals = _totals(labels)
    return [Misplaced(*who, totals[who], elsewhere[who]) for who in sorted(elsewhere)]


def misplaced_labels(campaign: Campaign, rater: str) -> list[int]:
    """The labels whose rationales stand in another text alone, by their keys."""
    labels = _with_evidence(campaign, [rater]).filter(spans__method__in=DOUBTFUL).distinct()
    return [key for key, _, place in _rationale_places(labels) if place not in (HERE, NOWHERE)]


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


def _rationale_places(labels: QuerySet[Label]) -> Iterator[tuple[int, Who, str]]:
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
