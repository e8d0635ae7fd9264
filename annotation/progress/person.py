"""A person's progress in a campaign: the numbers of items submitted, begun, free and waiting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.db.models import Avg, Count, F, Q, QuerySet, Sum

from annotation import prerequisites
from annotation.assignments.queue import free_items
from annotation.gold.scoring import count_remaining_gold, is_ready
from annotation.models import Assignment, Campaign, Item, Rater, Tally, User
from annotation.people.leases import EXPIRED
from annotation.people.shares import within_share
from annotation.progress.counts import cached
from datasets.db.prepared import Parameter, Prepared

FEWEST_TIMED = 3
FREE = f"free/{Item.Use.STUDY.value}"


@dataclass(frozen=True)
class Progress:
    """A person's numbers of items in a campaign: submitted, begun, free, and free but waiting."""

    done: int = 0
    begun: int = 0
    free: int = 0
    waiting: int = 0

    @property
    def own(self) -> int:
        return self.done + self.begun

    @property
    def left(self) -> int:
        return self.begun + self.free

    @property
    def total(self) -> int:
        return self.done + self.left + self.waiting


def progress(user: User, campaigns: list[int]) -> dict[int, Progress]:
    """Return a person's progress by campaign id, in two queries.

    The free items are those with a free slot, minus those that this person has had. The former are
    read from a counter, and the latter are counted over the person's own assignments.
    """
    mine = _count_own(rater__user=user, item__campaign__in=campaigns)
    return _sum_up(campaigns, mine, _count_free(campaign__in=campaigns))


def progress_of(user: User, campaigns: Sequence[Campaign]) -> dict[int, Progress]:
    """Like `progress`, with waiting items counted separately.

    Costs another query for each campaign whose items may wait.
    """
    found = progress(user, [campaign.pk for campaign in campaigns])
    return {each.pk: _split_waiting(user, each, found[each.pk]) for each in campaigns}


def progress_here(user: User, campaign: Campaign) -> Progress:
    """Like `progress_of`, for one campaign."""
    return _split_waiting(user, campaign, progress_in(user, campaign.pk))


def seconds_per_item(user: User, campaigns: list[int]) -> dict[int, float]:
    """Return the seconds on task that a person's next item is expected to take, by campaign.

    They are the mean of the person's own items there or, if fewer than three are timed, of
    everybody's. A campaign in which fewer than three items are timed is left out.
    """
    own = _mean_seconds(rater__user=user, item__campaign__in=campaigns)
    others = (pk for pk in campaigns if pk not in own)
    means = ((pk, cached(f"seconds-per-item-{pk}", partial(_pace, pk))) for pk in others)
    return own | {pk: seconds for pk, seconds in means if seconds is not None}


def _mean_seconds(**whose: object) -> dict[int, float]:
    rows = _timed(**whose).order_by().values_list("item__campaign")
    means = rows.annotate(mean=Avg("seconds"), items=Count("pk"))
    return {campaign: mean for campaign, mean, items in means if items >= FEWEST_TIMED}


def _pace(campaign: int) -> tuple[float | None, int]:
    """Return the mean seconds of all people in a campaign, if known, and how many are timed."""
    people = {"rater__kind": Rater.Kind.HUMAN, "item__campaign": campaign}
    return _mean_seconds(**people).get(campaign), _timed(**people).count()


def _timed(**whose: object) -> QuerySet[Assignment]:
    return Assignment.objects.filter(**whose, status=Assignment.Status.DONE, seconds__gt=0)


def minutes_left(numbers: Progress, seconds: float | None) -> int | None:
    """Return about how many minutes the items left will take, None if that is unknown."""
    if not numbers.left or not seconds:
        return None
    minutes = max(1, round(numbers.left * seconds / 60))
    return minutes if minutes < 20 else 5 * round(minutes / 5)


def _split_waiting(user: User, campaign: Campaign, numbers: Progress) -> Progress:
    numbers = _limit_to_allotted(user, campaign, numbers)
    return _limit_to_quota(
        campaign, _with_gold(user, campaign, _move_waiting(user, campaign, numbers))
    )


def _limit_to_allotted(user: User, campaign: Campaign, numbers: Progress) -> Progress:
    """Count only the items that the person may take under the campaign's fixed shares."""
    if not campaign.has_shares:
        return numbers
    rater = Rater.objects.filter(user=user).first()
    if rater is None:
        # A person without a pseudonym has not had an item yet.
        free = campaign.items.filter(within_share(campaign, user.pk), taken__lt=F("quota"))
        return replace(numbers, free=free.filter(use=Item.Use.STUDY).count())
    return replace(numbers, free=free_items(campaign, rater).filter(use=Item.Use.STUDY).count())


def _with_gold(user: User, campaign: Campaign, numbers: Progress) -> Progress:
    """Add the practice and gold items that this person will get, without revealing them."""
    if not campaign.gold_every and campaign.practice_of_id != campaign.pk:
        return numbers
    rater = Rater.objects.filter(user=user).first() or Rater(pk=0, name=user.username)
    practice, gold = count_remaining_gold(campaign, rater, numbers.free or numbers.waiting)
    free, waiting = (gold, 0) if numbers.free else (0, gold)
    return replace(numbers, free=numbers.free + practice + free, waiting=numbers.waiting + waiting)


def _limit_to_quota(campaign: Campaign, numbers: Progress) -> Progress:
    """Limit the numbers to what the campaign gives to one person, waiting items last."""
    most = campaign.items_per_person
    if not most:
        return numbers
    free = min(numbers.free, max(0, most - numbers.own))
    waiting = min(numbers.waiting, max(0, most - numbers.own - free))
    return replace(numbers, free=free, waiting=waiting)


def _move_waiting(user: User, campaign: Campaign, numbers: Progress) -> Progress:
    if not prerequisites.wait_rules(campaign):
        return numbers
    # A person without any item has no rater yet. An unused key represents such a person.
    rater = Rater.objects.filter(user=user).first() or Rater(pk=0)
    if not is_ready(campaign, rater):
        # All items wait for the practice, so they need not be counted.
        return replace(numbers, free=0, waiting=numbers.free)
    study = free_items(campaign, rater).filter(use=Item.Use.STUDY)
    held = study.filter(prerequisites.waiting_items(campaign, rater)).count()
    return replace(numbers, free=max(0, numbers.free - held), waiting=held)


def progress_in(user: User, campaign: int) -> Progress:
    """Like `progress`, for one campaign."""
    mine = _mine_in_one.rows(user=user.pk, campaign=campaign)
    return _sum_up([campaign], mine, _free_in_one.rows(campaign=campaign))[campaign]


def _sum_up(
    campaigns: list[int], mine: Iterable[Sequence[int]], free: Iterable[Sequence[int]]
) -> dict[int, Progress]:
    own = {pk: numbers for pk, *numbers in mine}
    free_slots = {each[0]: each[1] for each in free}
    found = {}
    for pk in campaigns:
        done, begun, had = own.get(pk, (0, 0, 0))
        found[pk] = Progress(done, begun, max(0, free_slots.get(pk, 0) - had))
    return found


def _count_own(**whose: object) -> QuerySet[Assignment, tuple[int, ...]]:
    """Count a person's items by campaign: done, begun, and `had`, which still have a free slot."""
    own = Q(replicate=0, scope="")
    # An item whose lease expired does not count as had, since this person may take it again.
    had = Q(item__taken__lt=F("item__quota"), item__use=Item.Use.STUDY.value) & ~Q(**EXPIRED)
    return (
        Assignment.objects.filter(**whose)
        .order_by()
        .values_list("item__campaign")
        .annotate(
            done=Count("pk", own & Q(status="done")),
            begun=Count("pk", own & Q(status="open")),
            had=Count("item", had, distinct=True),
        )
    )


def _count_free(**which: object) -> QuerySet[Tally, tuple[int, ...]]:
    """Count the items with a free slot by campaign."""
    rows = Tally.objects.filter(what=FREE, **which).order_by()
    return rows.values_list("campaign").annotate(free=Sum("number"))


_mine_in_one = Prepared(
    lambda: _count_own(rater__user=Parameter("user"), item__campaign=Parameter("campaign"))
)
_free_in_one = Prepared(lambda: _count_free(campaign=Parameter("campaign")))
