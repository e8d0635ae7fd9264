"""Which item comes next for a person: practice first, gold now and then, study items in an order.

Pure but for the queries at its end. The places of gold items are drawn for each person: one in
each run of `gold_every` items, at a place that the seed and the person's name give.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.assigning import rank
from annotation.models import Assignment, Campaign, Item, Rater
from annotation.people.leases import EXPIRED
from annotation.presenting import design

Use = Item.Use


def is_plain(campaign: Campaign) -> bool:
    """Whether everybody gets the batch's order and nothing else."""
    items = campaign.options.get("items") or "fixed"
    return items == "fixed" and not campaign.gold_every and campaign.practice_of_id is None


def is_gold_turn(seed: int, rater: str, number: int, every: int) -> bool:
    """Whether a person's item of this number, from 0 and without practice, is a gold one."""
    return every > 0 and number % every == _place(seed, rater, number // every, every)


def gold_to_come(seed: int, rater: str, number: int, every: int, gold: int, others: int) -> int:
    """How many of so many gold items come while so many others do, from this number on."""
    if every <= 0:
        return 0
    come = 0
    while come < gold:
        before = _until_turn(seed, rater, number, every)
        if before >= others:
            break
        others, number, come = others - before, number + before + 1, come + 1
    return come


def _until_turn(seed: int, rater: str, number: int, every: int) -> int:
    """How many items come before the next turn of a gold one."""
    run, place = divmod(number, every)
    turn = _place(seed, rater, run, every)
    if turn < place:
        turn = every + _place(seed, rater, run + 1, every)
    return turn - place


def _place(seed: int, rater: str, run: int, every: int) -> int:
    return int.from_bytes(rank(seed, f"gold for {rater}", str(run))[:8]) % every


def next_of(campaign: Campaign, rater: Rater, ready: QuerySet[Item]) -> Item | None:
    """The next of the items that a person may take now; None only where there is none at all."""
    for items in _in_turn(campaign, rater, ready):
        if (found := items.first()) is not None:
            return found
    return None


def _in_turn(campaign: Campaign, rater: Rater, ready: QuerySet[Item]) -> Iterator[QuerySet[Item]]:
    seed, number = design(campaign).seed, number_of(campaign, rater)
    if campaign.practice_of_id == campaign.pk:
        yield ready.filter(use=Use.PRACTICE).order_by("position")
    study = ready.filter(use=Use.STUDY)
    # A gold item stands among others, so that none comes where nothing else is left.
    if is_gold_turn(seed, rater.name, number, campaign.gold_every) and study.exists():
        yield _gold(ready, seed, rater)
    yield from _study(study, campaign, rater, seed, number)


def number_of(campaign: Campaign, rater: Rater) -> int:
    """How many items a person has had, practice aside."""
    mine = Assignment.objects.filter(item__campaign=campaign, rater=rater, replicate=0, scope="")
    return mine.exclude(item__use=Use.PRACTICE).count()


def _gold(ready: QuerySet[Item], seed: int, rater: Rater) -> QuerySet[Item]:
    """One of the gold items that are new to a person, by chance."""
    gold = ready.filter(use=Use.GOLD)
    purpose = f"gold for {rater.name}"
    keys = gold.values_list("key", flat=True)
    first = min(keys, key=lambda key: rank(seed, purpose, key), default=None)
    return gold.filter(key=first)


def left_known(campaign: Campaign, rater: Rater, study: int) -> tuple[int, int]:
    """How many practice and gold items a person is still to get, with so many study items."""
    uses = Item.objects.filter(campaign=campaign).exclude(use=Use.STUDY)
    # One whose time ran out is given again.
    had = Assignment.objects.filter(~Q(**EXPIRED), rater=rater, item=OuterRef("pk"))
    new = uses.filter(~Exists(had)).values_list("use", flat=True)
    own = list(new.order_by())
    practice = own.count(Use.PRACTICE) if campaign.practice_of_id == campaign.pk else 0
    number, seed = number_of(campaign, rater), design(campaign).seed
    every, gold = campaign.gold_every, own.count(Use.GOLD)
    return practice, gold_to_come(seed, rater.name, number, every, gold, study)


def _study(
    ready: QuerySet[Item], campaign: Campaign, rater: Rater, seed: int, number: int
) -> Iterator[QuerySet[Item]]:
    order = design(campaign).items
    in_order = ready.order_by("position")
    if order == "fixed":
        yield in_order
        return
    if order == "blocked":
        yield in_order.filter(query=_last_query(campaign, rater))
    last = ready.order_by("-position").values_list("position", flat=True).first()
    if last is None:
        return
    drawn = rank(seed, f"next for {rater.name}", str(number))
    start = int.from_bytes(drawn[:8]) % (last + 1)
    from_there = in_order.filter(position__gte=start)
    if order == "random":
        yield from_there
    else:
        query = from_there.values_list("query", flat=True).first()
        yield in_order.filter(query=query)
    # Others may have taken what there was between two of these queries.
    yield in_order


def _last_query(campaign: Campaign, rater: Rater) -> int | None:
    mine = Assignment.objects.filter(item__campaign=campaign, rater=rater, item__use=Use.STUDY)
    return mine.order_by("-pk").values_list("item__query", flat=True).first()
