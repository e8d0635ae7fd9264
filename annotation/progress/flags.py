"""Quality flags on a person's work, and the labels that each flag is about.

These flags need no statistics of labels; `analysis.monitoring.flags` has the others. A flag's
`labels` is the query string, as a mapping, of the page that shows its labels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from annotation.answers.misplaced import find_misplaced_evidence, misplaced_label_ids
from annotation.exposure.ledger import saw_answers
from annotation.gold.scoring import Score
from annotation.models import Assignment, Campaign, GoldAnswer, Item, Label, Rater, Span
from annotation.presentation import schema, with_value
from annotation.progress.counts import DONE, people_of
from annotation.progress.status import Person
from annotation.trust.roles import without_certify

WORDS_A_MINUTE = 600
"""More than twice the mean speed of silent reading of prose (238, Brysbaert 2019)."""
FEWEST_FAST, LEAST_SHARE = 5, 0.1
FEWEST_GOLD, FAR_BELOW = 5, 0.2
TITLES = {
    "fast": "Faster than reading",
    "slow": "Far slower than the others",
    "quick": "Far faster than the others",
    "known": "Gold answers missed",
    "elsewhere": "Misplaced evidence",
    "one_answer": "One answer nearly always",
    "in_a_row": "One answer in a row",
    "escapes": "Escapes far more often",
    "apart": "Less agreement than the others",
}
LABEL_KINDS = {
    "": "All",
    "fast": "Faster than reading",
    "elsewhere": "Misplaced evidence",
    "known": "Gold answers missed",
    "others": "Different from another person",
}
MAX_QUOTES = 3


@dataclass(frozen=True)
class Flag:
    """A flag of the kind `code` on a rater's work, perhaps on one `variable` alone."""

    code: str
    rater: int
    name: str
    variable: str | None
    text: str
    labels: Mapping[str, str] = field(default_factory=dict)


def find_flags(campaign: Campaign, people: Iterable[Person]) -> list[Flag]:
    """Return the flags on the work of these people."""
    by_name = {each.name: each for each in people}
    return [
        *_fast(campaign, by_name),
        *_missed_gold(by_name),
        *_misplaced_evidence(campaign, by_name),
    ]


def fast_answers(campaign: Campaign, raters: Collection[int]) -> QuerySet[Assignment]:
    """Return answers that took less time than a very fast reader needs for the item's texts.

    Items with texts that the person has had before do not count, since they need no new reading.
    """
    return people_of(campaign, raters).filter(DONE, _is_fast(), ~_read_before())


def _is_fast() -> Q:
    return Q(seconds__lt=F("item__words") * 60.0 / WORDS_A_MINUTE)


def _read_before() -> Exists:
    """Whether the same person had an earlier item with the same texts of the same query."""
    earlier = Assignment.objects.filter(
        rater=OuterRef("rater"),
        item__campaign=OuterRef("item__campaign"),
        item__query=OuterRef("item__query"),
        pk__lt=OuterRef("pk"),
    )
    # Either all items of a protocol have a report, or all have a passage, or all have neither.
    for text in ("item__report", "item__passage"):
        earlier = earlier.alias(**{f"of_{text}": Coalesce(text, 0)})
        earlier = earlier.filter(**{f"of_{text}": Coalesce(OuterRef(text), 0)})
    return Exists(earlier)


def _fast(campaign: Campaign, people: Mapping[str, Person]) -> Iterator[Flag]:
    timed = Q(seconds__isnull=False, item__words__isnull=False)
    rows = (
        people_of(campaign, [each.rater for each in people.values()])
        .filter(DONE, timed)
        .order_by()
        .values_list("rater__name")
        .annotate(timed=Count("pk"), fast=Count("pk", filter=_is_fast() & ~Q(_read_before())))
    )
    for name, of, fast in sorted(rows):
        if name in people and fast >= FEWEST_FAST and fast >= LEAST_SHARE * of:
            text = (
                f"{fast:,} of {of:,} timed answers took less time than reading the texts of the "
                f"item at {WORDS_A_MINUTE} words a minute, which is more than twice as fast as "
                "most people read. Items with texts that the person had read before do not count."
            )
            yield Flag("fast", people[name].rater, name, None, text, {"of": "fast"})


def _missed_gold(people: Mapping[str, Person]) -> Iterator[Flag]:
    for name, person in sorted(people.items()):
        others = [p.gold for p in people.values() if p.gold and p.name != name and not p.excluded]
        own, rest = person.gold, _sum_scores(others)
        if own is None or own.asked < FEWEST_GOLD or rest.asked < FEWEST_GOLD:
            continue
        if (own.share or 0) < (rest.share or 0) - FAR_BELOW:
            text = (
                f"{own.right} of {own.asked} gold answers correct; the others have {rest.right} of "
                f"{rest.asked}."
            )
            yield Flag("known", person.rater, name, None, text, {"of": "known"})


def _sum_scores(scores: Iterable[Score]) -> Score:
    every = list(scores)
    return Score(0, 0, sum(each.right for each in every), sum(each.asked for each in every))


def _misplaced_evidence(campaign: Campaign, people: Mapping[str, Person]) -> Iterator[Flag]:
    for found in find_misplaced_evidence(campaign, list(people)):
        if found.rater_kind == Rater.Kind.HUMAN:
            text = (
                f"{found.total} of {found.rationales} rationales are not in the text being judged, "
                "but word for word in another text of the same query "
                f"({found.texts_in_words}). Check whether the right text was judged."
            )
            labels = {"of": "elsewhere", "variable": found.variable}
            rater = people[found.rater].rater
            yield Flag("elsewhere", rater, found.rater, found.variable, text, labels)


@dataclass(frozen=True)
class LabelFilter:
    """Selects labels of a person: by kind, variable and value, from a first to a last label."""

    of: str = ""
    variable: str = ""
    value: str = ""
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class LabelRow:
    """A label with its evidence, the gold answer, and the labels of others with their numbers.

    Values are codes; a set of codes has their words.
    """

    label: Label
    value: str
    gold: str | None
    others: Sequence[tuple[str, int]]
    quotes: Sequence[str]
    more_quotes: int


def filter_labels(campaign: Campaign, rater: Rater, chosen: LabelFilter) -> QuerySet[Label]:
    """Return a rater's current labels that pass the filter, in the order of arrival."""
    labels = _current(campaign).filter(response__assignment__rater=rater)
    if chosen.variable:
        labels = labels.filter(variable=chosen.variable)
    if chosen.value:
        labels = labels.filter(with_value(schema(campaign), chosen.variable, chosen.value))
    if chosen.first is not None:
        labels = labels.filter(pk__gte=chosen.first)
    if chosen.last is not None:
        labels = labels.filter(pk__lte=chosen.last)
    match chosen.of:
        case "fast":
            fast = fast_answers(campaign, (rater.pk,))
            labels = labels.filter(response__assignment__in=fast.values("pk"))
        case "elsewhere":
            labels = labels.filter(pk__in=misplaced_label_ids(campaign, rater.name))
        case "known":
            labels = labels.filter(Exists(_missed()))
        case "others":
            labels = labels.filter(Exists(_differing(campaign)))
    return labels.select_related("unit", "response__assignment__item__query").order_by("pk")


def label_rows(campaign: Campaign, labels: Sequence[Label]) -> list[LabelRow]:
    """Return labels with gold answers, labels of others and evidence, in three queries."""
    saw_answers("flagged", campaign, units={each.unit_id for each in labels})
    others, gold = _labels_of_others(campaign, labels), _gold_codes(labels)
    quotes: Mapping[int, list[str]] = defaultdict(list)
    spans = Span.objects.filter(label__in=labels).order_by("label", "pk")
    for label, quote in spans.values_list("label", "quote"):
        quotes[label].append(quote)
    asked = schema(campaign)
    several = {each.name for each in asked.variables if each.several}

    def shown(name: str, value: str) -> str:
        return asked.word(name, value) if name in several else value

    golden = {key: shown(key[1], value) for key, value in gold.items()}
    return [
        LabelRow(
            each,
            shown(each.variable, each.value),
            golden.get((each.unit_id, each.variable)),
            [(shown(each.variable, v), n) for v, n in others[each.pk].most_common()],
            quotes[each.pk][:MAX_QUOTES],
            max(0, len(quotes[each.pk]) - MAX_QUOTES),
        )
        for each in labels
    ]


def _current(campaign: Campaign) -> QuerySet[Label]:
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__replicate=0,
    )
    return without_certify(labels, campaign)


def _others(campaign: Campaign) -> QuerySet[Label]:
    """Return people's labels that statistics count, given without a judge's label in view."""
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


def _missed() -> QuerySet[GoldAnswer]:
    known = GoldAnswer.objects.filter(unit=OuterRef("unit"), variable=OuterRef("variable"))
    return known.exclude(value=OuterRef("value"))


def _labels_of_others(campaign: Campaign, labels: Iterable[Label]) -> Mapping[int, Counter[str]]:
    own = {(each.unit_id, each.variable): each for each in labels}
    found: Mapping[int, Counter[str]] = defaultdict(Counter)
    rows = _others(campaign).filter(unit__in={unit for unit, _ in own}).order_by()
    columns = ("unit", "variable", "value", "response__assignment__rater")
    for unit, variable, value, rater in rows.values_list(*columns):
        label = own.get((unit, variable))
        if label is not None and rater != label.response.assignment.rater_id:
            found[label.pk][value] += 1
    return found


def _gold_codes(labels: Iterable[Label]) -> dict[tuple[int, str], str]:
    rows = GoldAnswer.objects.filter(unit__in={each.unit_id for each in labels})
    found = rows.values_list("unit", "variable", "value")
    return {(unit, variable): value for unit, variable, value in found}
