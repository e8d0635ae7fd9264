"""Scoring gold and practice answers, admission to a campaign, and which item comes next.

The first answer to an item counts, because a rater who revises it has seen the feedback. Practice
comes first, then study items in order, with a gold item in each run of `gold_every` items, at a
position that the seed and the person's name give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.campaigns.sampling import rank
from annotation.counters import raters_in
from annotation.models import Admission, Assignment, Campaign, Item, KnownAnswer, Label, Rater, User
from annotation.people.leases import EXPIRED
from annotation.presentation import design
from audit.recording import record

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
    said = {
        (held, unit, name): value
        for held, unit, name, value in Label.objects.filter(
            response__assignment__in=done, response__revision=1
        ).values_list("response__assignment", "unit", "variable", "value")
    }
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
    said = {
        (unit, name): value for unit, name, value in labels.values_list("unit", "variable", "value")
    }
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


LONGEST = 500


def admissible(campaign: Campaign) -> QuerySet[Rater]:
    """The people of a campaign: who began here or in its practice, or was let in before."""
    first = campaign.practice_of_id
    begun = raters_in(campaign.pk, *([first] if first else []))
    wanted = Q(pk__in=begun, kind=Rater.Kind.HUMAN) | Q(admissions__campaign=campaign)
    return Rater.objects.filter(wanted).distinct()


def admit(campaign: Campaign, rater: Rater, reason: str, by: User | None = None) -> bool:
    """False where somebody did so before; the first reason stands."""
    facts = {"reason": reason, "by": by}
    with transaction.atomic():
        made = Admission.objects.get_or_create(campaign=campaign, rater=rater, defaults=facts)[1]
        if made:
            record("admission.made", campaign.pk, rater, after=reason)
    return made


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


def standings(campaign: Campaign, use: str, raters: Collection[int]) -> dict[int, Score]:
    """Scores on the gold, or the practice, items by the raters' keys; the first answer counts."""
    items = Item.objects.filter(campaign=campaign, use=use)
    of = items.count()
    if not of:
        return {}
    done = Assignment.objects.filter(
        item__in=items,
        rater__in=raters,
        replicate=0,
        scope="",
        status=Assignment.Status.DONE,
    )
    known, said = _known_codes(items), _said(done)
    answered: Mapping[int, list[tuple[int, int]]] = defaultdict(list)
    for pk, rater, item, asked in done.values_list("pk", "rater", "item", "asked"):
        names = set(asked)
        checked = [
            said.get((pk, unit, variable)) == value
            for name, unit, variable, value in known[item]
            if name in names
        ]
        answered[rater].append((sum(checked), len(checked)))
    return {
        rater: Score(len(each), of, sum(right for right, _ in each), sum(n for _, n in each))
        for rater, each in answered.items()
    }


def _known_codes(items: QuerySet[Item]) -> Mapping[int, list[tuple[str, int, str, str]]]:
    found: Mapping[int, list[tuple[str, int, str, str]]] = defaultdict(list)
    rows = KnownAnswer.objects.filter(unit__item__in=items).order_by("pk")
    columns = ("unit__item", "unit__name", "unit", "variable", "value")
    for item, name, unit, variable, value in rows.values_list(*columns):
        found[item].append((name, unit, variable, value))
    return found


def _said(done: QuerySet[Assignment]) -> dict[tuple[int, int, str], str]:
    labels = Label.objects.filter(response__assignment__in=done, response__revision=1)
    rows = labels.order_by().values_list("response__assignment", "unit", "variable", "value")
    return {(pk, unit, variable): value for pk, unit, variable, value in rows}


def shows_feedback(assignment: Assignment) -> bool:
    """Whether the known answers of an item may ever be shown to its people."""
    return assignment.item.use == Item.Use.PRACTICE
