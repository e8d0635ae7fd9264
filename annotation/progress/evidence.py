"""The labels behind a hint: a person's own, some of them chosen, beside what others gave."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Campaign, Item, KnownAnswer, Label, Rater, Span
from annotation.progress.hints import fast_answers
from annotation.rationales import misplaced_labels

KINDS = {
    "": "All",
    "fast": "Faster than reading",
    "elsewhere": "Evidence from another text",
    "known": "Known answers missed",
    "others": "Differing from somebody else",
}
MOST_QUOTES = 3


@dataclass(frozen=True)
class Chosen:
    """Which labels of a person: of a kind, a variable, a value, and from one label to another."""

    of: str = ""
    variable: str = ""
    value: str = ""
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class Shown:
    """A label with its evidence, what was known to be right, and how many others gave what."""

    label: Label
    known: str | None
    others: Sequence[tuple[str, int]]
    quotes: Sequence[str]
    more_quotes: int


def labels_of(campaign: Campaign, rater: Rater, chosen: Chosen) -> QuerySet[Label]:
    """The current labels, in the order in which they came."""
    labels = _current(campaign).filter(response__assignment__rater=rater)
    if chosen.variable:
        labels = labels.filter(variable=chosen.variable)
    if chosen.value:
        labels = labels.filter(value=chosen.value)
    if chosen.first is not None:
        labels = labels.filter(pk__gte=chosen.first)
    if chosen.last is not None:
        labels = labels.filter(pk__lte=chosen.last)
    match chosen.of:
        case "fast":
            fast = fast_answers(campaign, (rater.pk,))
            labels = labels.filter(response__assignment__in=fast.values("pk"))
        case "elsewhere":
            labels = labels.filter(pk__in=misplaced_labels(campaign, rater.name))
        case "known":
            labels = labels.filter(Exists(_missed()))
        case "others":
            labels = labels.filter(Exists(_differing(campaign)))
    return labels.select_related("unit", "response__assignment__item__query").order_by("pk")


def shown(campaign: Campaign, labels: Sequence[Label]) -> list[Shown]:
    """Labels with what stands beside them, in three queries whatever their number."""
    others, known = _given_by_others(campaign, labels), _known(labels)
    quotes: Mapping[int, list[str]] = defaultdict(list)
    spans = Span.objects.filter(label__in=labels).order_by("label", "pk")
    for label, quote in spans.values_list("label", "quote"):
        quotes[label].append(quote)
    return [
        Shown(
            each,
            known.get((each.unit_id, each.variable)),
            others[each.pk].most_common(),
            quotes[each.pk][:MOST_QUOTES],
            max(0, len(quotes[each.pk]) - MOST_QUOTES),
        )
        for each in labels
    ]


def _current(campaign: Campaign) -> QuerySet[Label]:
    return Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__replicate=0,
    )


def _others(campaign: Campaign) -> QuerySet[Label]:
    """What people gave who count, each for himself: with no suggestion in view."""
    out = campaign.exclusions.filter(undone_at=None).values("rater")
    people = _current(campaign).filter(
        response__assignment__rater__kind=Rater.Kind.HUMAN,
        response__assignment__assisted_by="",
        response__assignment__item__use=Item.Use.STUDY,
    )
    return people.exclude(response__assignment__rater__in=out)


def _differing(campaign: Campaign) -> QuerySet[Label]:
    return (
        _others(campaign)
        .filter(unit=OuterRef("unit"), variable=OuterRef("variable"))
        .exclude(value=OuterRef("value"))
    )


def _missed() -> QuerySet[KnownAnswer]:
    known = KnownAnswer.objects.filter(unit=OuterRef("unit"), variable=OuterRef("variable"))
    return known.exclude(value=OuterRef("value"))


def _given_by_others(campaign: Campaign, labels: Iterable[Label]) -> Mapping[int, Counter[str]]:
    own = {(each.unit_id, each.variable): each for each in labels}
    found: Mapping[int, Counter[str]] = defaultdict(Counter)
    rows = _others(campaign).filter(unit__in={unit for unit, _ in own}).order_by()
    columns = ("unit", "variable", "value", "response__assignment__rater")
    for unit, variable, value, rater in rows.values_list(*columns):
        label = own.get((unit, variable))
        if label is not None and rater != label.response.assignment.rater_id:
            found[label.pk][value] += 1
    return found


def _known(labels: Iterable[Label]) -> dict[tuple[int, str], str]:
    rows = KnownAnswer.objects.filter(unit__in={each.unit_id for each in labels})
    found = rows.values_list("unit", "variable", "value")
    return {(unit, variable): value for unit, variable, value in found}
