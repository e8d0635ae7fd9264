"""How many of the known answers somebody gave, and whether that lets them into a campaign.

The first answer to an item counts: whoever revises it has seen the feedback.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from django.db.models import Q, QuerySet

from annotation.models import Admission, Assignment, Campaign, Item, KnownAnswer, Label, Rater

CLOSE = 1e-9


class Score(NamedTuple):
    """Answered `items` of `of`; `right` of the `asked` known answers to these."""

    items: int
    of: int
    right: int
    asked: int

    @property
    def share(self) -> float | None:
        return self.right / self.asked if self.asked else None

    @property
    def is_whole(self) -> bool:
        return self.items >= self.of


class Checked(NamedTuple):
    """One known answer beside what somebody said first; None where that is nothing."""

    unit: str
    variable: str
    said: str | None
    known: str
    reason: str

    @property
    def is_right(self) -> bool:
        return self.said == self.known


def score(campaign: Campaign, rater: Rater, use: str) -> Score:
    """How somebody did on the gold, or the practice, items of a campaign."""
    items = Item.objects.filter(campaign=campaign, use=use)
    done = Assignment.objects.filter(
        item__in=items, rater=rater, replicate=0, scope="", status=Assignment.Status.DONE
    )
    found = [each for assignment in done for each in checked(assignment)]
    right = sum(each.is_right for each in found)
    return Score(done.count(), items.count(), right, len(found))


def scores(campaign: Campaign, raters: Collection[int], use: str) -> dict[int, Score]:
    """The same of many people at once, by the raters' primary keys."""
    items = Item.objects.filter(campaign=campaign, use=use)
    of = items.count()
    done = Assignment.objects.filter(
        item__in=items, rater__in=raters, replicate=0, scope="", status=Assignment.Status.DONE
    )
    known = _known(items)
    said = {(held, unit, name): value for held, unit, name, value in Label.objects.filter(
        response__assignment__in=done, response__revision=1
    ).values_list("response__assignment", "unit", "variable", "value")}  # fmt: skip
    found = dict.fromkeys(raters, Score(0, of, 0, 0))
    for pk, rater, item, asked in done.values_list("pk", "rater", "item", "asked"):
        named = set(asked)
        here = [each for each in known.get(item, ()) if each.name in named]
        right = sum(said.get((pk, each.unit, each.variable)) == each.value for each in here)
        before = found[rater]
        found[rater] = Score(before.items + 1, of, before.right + right, before.asked + len(here))
    return found


class _Known(NamedTuple):
    unit: int
    name: str
    variable: str
    value: str


def _known(items: QuerySet[Item]) -> dict[int, list[_Known]]:
    """The known answers by item."""
    found: dict[int, list[_Known]] = {}
    rows = KnownAnswer.objects.filter(unit__item__in=items)
    columns = ("unit__item", "unit", "unit__name", "variable", "value")
    for item, unit, name, variable, value in rows.values_list(*columns):
        found.setdefault(item, []).append(_Known(unit, name, variable, value))
    return found


def checked(assignment: Assignment) -> Iterator[Checked]:
    """The known answers to the units that were asked, in their order, with the first answer."""
    labels = Label.objects.filter(response__assignment=assignment, response__revision=1)
    said = {(unit, name): value for unit, name, value in labels.values_list(
        "unit", "variable", "value")}  # fmt: skip
    known = KnownAnswer.objects.filter(
        unit__item=assignment.item_id, unit__name__in=assignment.asked
    )
    rows = known.order_by("unit__position", "pk").values_list(
        "unit", "unit__name", "variable", "value", "reason"
    )
    for unit, name, variable, value, reason in rows:
        yield Checked(name, variable, said.get((unit, variable)), value, reason)


def practised(campaign: Campaign, rater: Rater) -> Score | None:
    """How somebody did in the practice that a campaign asks for; None where it asks for none."""
    first = campaign.practice_of
    return score(first, rater, Item.Use.PRACTICE) if first else None


def is_ready(campaign: Campaign, rater: Rater) -> bool:
    """Whether somebody may take other items than practice: passed it, or was let in."""
    told = practised(campaign, rater)
    return told is None or passes(campaign, told) or is_admitted(campaign, rater)


def passes(campaign: Campaign, told: Score) -> bool:
    """Whether a score is whole, and good enough for a campaign."""
    if not told.is_whole:
        return False
    return campaign.qualify is None or (told.share or 0.0) >= campaign.qualify - CLOSE


def is_admitted(campaign: Campaign, rater: Rater) -> bool:
    return Admission.objects.filter(campaign=campaign, rater=rater).exists()


def holds_back(campaign: Campaign, rater: Rater) -> Q:
    """The items that wait for somebody's practice, as a condition on `Item`."""
    if is_ready(campaign, rater):
        return Q(pk__in=())
    return ~Q(use=Item.Use.PRACTICE)


def words(campaign: Campaign) -> str:
    first = campaign.practice_of
    own = first is None or first.pk == campaign.pk
    where = "the practice" if own else f"the practice of “{first}”"
    if campaign.qualify is None:
        return f"{where} to be done"
    return f"{where} to be passed with {campaign.qualify:.0%} right"
