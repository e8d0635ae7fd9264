"""What stands out in a person's work, as hints: each with its evidence, none of them a verdict.

Here are those that need no statistics of the labels; the others are in `analysis.crowd`. A hint
leads to the very labels that it is about: `labels` is the query of the page that shows them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from annotation.gold.scoring import Score
from annotation.models import Assignment, Campaign, Rater
from annotation.progress.counting import DONE, people_of
from annotation.progress.standing import Person
from annotation.rationales import misplaced

WORDS_A_MINUTE = 600
"""More than twice what people read of prose in silence (238 on average, Brysbaert 2019)."""
FEWEST_FAST, LEAST_SHARE = 5, 0.1
FEWEST_KNOWN, FAR_BELOW = 5, 0.2


@dataclass(frozen=True)
class Hint:
    """A hint of the kind `code` at the work of a rater, of one `variable` where it is about one."""

    code: str
    rater: int
    name: str
    variable: str | None
    text: str
    labels: Mapping[str, str] = field(default_factory=dict)


TITLES = {
    "fast": "Faster than reading",
    "known": "Known answers missed",
    "elsewhere": "Evidence from another text",
    "one_answer": "One answer nearly always",
    "in_a_row": "One answer in a row",
    "escapes": "No answer far more often",
    "apart": "Less agreement than the others",
}


def hints(campaign: Campaign, people: Iterable[Person]) -> list[Hint]:
    """The hints at these people."""
    there = {each.name: each for each in people}
    return [*_fast(campaign, there), *_known(there), *_elsewhere(campaign, there)]


def fast_answers(campaign: Campaign, raters: Collection[int]) -> QuerySet[Assignment]:
    """Answers that took less time than a very fast reader needs for the texts of their item.

    Only the first item of somebody with its texts: who meets a text again need not read it again.
    """
    return people_of(campaign, raters).filter(DONE, _in_less_time(), ~_read_before())


def _in_less_time() -> Q:
    return Q(seconds__lt=F("item__words") * 60.0 / WORDS_A_MINUTE)


def _read_before() -> Exists:
    """Whether the same person was given the same texts of the same query earlier."""
    earlier = Assignment.objects.filter(
        rater=OuterRef("rater"),
        item__campaign=OuterRef("item__campaign"),
        item__query=OuterRef("item__query"),
        pk__lt=OuterRef("pk"),
    )
    # A protocol's items are all of a report, or all of a passage, or of neither.
    for text in ("item__report", "item__passage"):
        earlier = earlier.alias(**{f"of_{text}": Coalesce(text, 0)})
        earlier = earlier.filter(**{f"of_{text}": Coalesce(OuterRef(text), 0)})
    return Exists(earlier)


def _fast(campaign: Campaign, people: Mapping[str, Person]) -> Iterator[Hint]:
    timed = Q(seconds__isnull=False, item__words__isnull=False)
    rows = (
        people_of(campaign, [each.rater for each in people.values()])
        .filter(DONE, timed)
        .order_by()
        .values_list("rater__name")
        .annotate(timed=Count("pk"), fast=Count("pk", filter=_in_less_time() & ~Q(_read_before())))
    )
    for name, of, fast in sorted(rows):
        if name in people and fast >= FEWEST_FAST and fast >= LEAST_SHARE * of:
            text = (
                f"{fast} of {of} timed answers came in less time than it takes to read the texts "
                f"of the item at {WORDS_A_MINUTE} words a minute, which is more than twice as fast "
                "as most people read. Items with texts that the person had met before are not "
                "counted."
            )
            yield Hint("fast", people[name].rater, name, None, text, {"of": "fast"})


def _known(people: Mapping[str, Person]) -> Iterator[Hint]:
    for name, person in sorted(people.items()):
        others = [p.gold for p in people.values() if p.gold and p.name != name and not p.excluded]
        own, rest = person.gold, _together(others)
        if own is None or own.asked < FEWEST_KNOWN or rest.asked < FEWEST_KNOWN:
            continue
        if (own.share or 0) < (rest.share or 0) - FAR_BELOW:
            text = (
                f"Right on {own.right} of {own.asked} known answers; the others on {rest.right} of "
                f"{rest.asked}."
            )
            yield Hint("known", person.rater, name, None, text, {"of": "known"})


def _together(scores: Iterable[Score]) -> Score:
    every = list(scores)
    return Score(0, 0, sum(each.right for each in every), sum(each.asked for each in every))


def _elsewhere(campaign: Campaign, people: Mapping[str, Person]) -> Iterator[Hint]:
    for found in misplaced(campaign, list(people)):
        if found.rater_kind == Rater.Kind.HUMAN:
            text = (
                f"Of {found.rationales} rationales {found.total} do not stand in the text that was "
                f"judged, but word for word in another of the same query ({found.places}). Look "
                "whether the right text was judged."
            )
            labels = {"of": "elsewhere", "variable": found.variable}
            rater = people[found.rater].rater
            yield Hint("elsewhere", rater, found.rater, found.variable, text, labels)
