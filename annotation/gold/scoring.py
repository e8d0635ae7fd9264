"""Score gold and practice answers, admit people to a campaign, and choose the next item.

The first answer to an item counts, because a rater who revises it has seen the feedback. Practice
comes first, then study items in order. Each run of `gold_every` items has one gold item, at a
position that depends on the seed and the person's name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Annotated, NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.campaigns.sampling import rank
from annotation.counters import raters_in
from annotation.models import Admission, Assignment, Campaign, GoldAnswer, Item, Label, Rater, User
from annotation.people.leases import EXPIRED
from annotation.presentation import design
from annotation.trust.draws import in_order_of_draws
from audit.recording import record
from tandem.grouping import grouped
from tandem.messages import Message

CLOSE = 1e-9
MAX_ADMISSION_REASON = 500

Use = Item.Use


class Score(NamedTuple):
    """How many `items` of `of` a rater answered, and how many of `asked` answers were `right`."""

    items: Annotated[int, "answered"]
    of: Annotated[int, "items with gold answers"]
    right: Annotated[int, "number of matching answers"]
    asked: Annotated[int, "gold answers of the answered items"]

    @property
    def share(self) -> float | None:
        return self.right / self.asked if self.asked else None

    @property
    def is_whole(self) -> bool:
        return self.items >= self.of


class GoldComparison(NamedTuple):
    """A gold answer and the rater's first answer, which is None if it has no label."""

    unit: str
    variable: str
    answer: str | None
    gold: str
    reason: str

    @property
    def is_correct(self) -> bool:
        return self.answer == self.gold


def score(campaign: Campaign, rater: Rater, use: str) -> Score:
    """Return a rater's score on the gold or practice items of a campaign."""
    items = Item.objects.filter(campaign=campaign, use=use)
    done = Assignment.objects.filter(
        item__in=items, rater=rater, replicate=0, scope="", status=Assignment.Status.DONE
    )
    found = [each for assignment in done for each in compare_with_gold(assignment)]
    right = sum(each.is_correct for each in found)
    return Score(done.count(), items.count(), right, len(found))


def scores(campaign: Campaign, raters: Collection[int], use: str) -> dict[int, Score]:
    """Return the scores of many raters, by primary key."""
    items = Item.objects.filter(campaign=campaign, use=use)
    of = items.count()
    found = dict.fromkeys(raters, Score(0, of, 0, 0))
    if not of:
        return found
    done = Assignment.objects.filter(
        item__in=items, rater__in=raters, replicate=0, scope="", status=Assignment.Status.DONE
    )
    gold = _gold_answers(items)
    answers = {
        (assignment, unit, name): value
        for assignment, unit, name, value in Label.objects.filter(
            response__assignment__in=done, response__revision=1
        ).values_list("response__assignment", "unit", "variable", "value")
    }
    for pk, rater, item, asked in done.values_list("pk", "rater", "item", "asked"):
        named = set(asked)
        asked_gold = [each for each in gold.get(item, ()) if each.name in named]
        right = sum(
            answers.get((pk, each.unit, each.variable)) == each.value for each in asked_gold
        )
        before = found[rater]
        found[rater] = Score(
            before.items + 1, of, before.right + right, before.asked + len(asked_gold)
        )
    return found


class _GoldAnswer(NamedTuple):
    unit: int
    name: str
    variable: str
    value: str


def _gold_answers(items: QuerySet[Item]) -> dict[int, list[_GoldAnswer]]:
    """Return the gold answers by item."""
    rows = GoldAnswer.objects.filter(unit__item__in=items)
    columns = ("unit__item", "unit", "unit__name", "variable", "value")
    return grouped((item, _GoldAnswer(*gold)) for item, *gold in rows.values_list(*columns))


def compare_with_gold(assignment: Assignment) -> Iterator[GoldComparison]:
    """Yield the gold answers to the units asked, in order, with the rater's first answers."""
    labels = Label.objects.filter(response__assignment=assignment, response__revision=1)
    answers = {
        (unit, name): value for unit, name, value in labels.values_list("unit", "variable", "value")
    }
    gold = GoldAnswer.objects.filter(unit__item=assignment.item_id, unit__name__in=assignment.asked)
    rows = gold.order_by("unit__position", "pk").values_list(
        "unit", "unit__name", "variable", "value", "reason"
    )
    for unit, name, variable, value, reason in rows:
        yield GoldComparison(name, variable, answers.get((unit, variable)), value, reason)


def practice_score(campaign: Campaign, rater: Rater) -> Score | None:
    """Return a rater's score in the practice of a campaign, or None if it has no practice."""
    first = campaign.practice_of
    return score(first, rater, Item.Use.PRACTICE) if first else None


def is_ready(campaign: Campaign, rater: Rater) -> bool:
    """Whether a rater may take items other than practice: by passing it, or by admission."""
    score = practice_score(campaign, rater)
    return score is None or passes(campaign, score) or is_admitted(campaign, rater)


def passes(campaign: Campaign, score: Score) -> bool:
    """Whether a score is whole, and reaches the pass mark of a campaign."""
    if not score.is_whole:
        return False
    return campaign.qualify is None or (score.share or 0.0) >= campaign.qualify - CLOSE


def is_admitted(campaign: Campaign, rater: Rater) -> bool:
    return Admission.objects.filter(campaign=campaign, rater=rater).exists()


def waiting_for_practice(campaign: Campaign, rater: Rater) -> Q:
    """Return the items that wait for a rater's practice, as a condition on `Item`."""
    if is_ready(campaign, rater):
        return Q(pk__in=())
    return ~Q(use=Item.Use.PRACTICE)


def describe_practice(campaign: Campaign) -> Message:
    first = campaign.practice_of
    own = first is None or first.pk == campaign.pk
    where = Message("the practice")
    if not own:
        where = Message("the practice of “%(first)s”", first=str(first))
    if campaign.qualify is None:
        return Message("%(practice)s to be done", practice=where)
    percent = round(100 * campaign.qualify)
    return Message(
        "%(practice)s to be passed with %(percent)s%% correct", practice=where, percent=percent
    )


def admissible(campaign: Campaign) -> QuerySet[Rater]:
    """Return the people who began here or in the campaign's practice, or were admitted."""
    first = campaign.practice_of_id
    begun = raters_in(campaign.pk, *([first] if first else []))
    people = Q(pk__in=begun, kind=Rater.Kind.HUMAN) | Q(admissions__campaign=campaign)
    return Rater.objects.filter(people).distinct()


def admit(campaign: Campaign, rater: Rater, reason: str, by: User | None = None) -> bool:
    """Admit a rater. Returns False if the rater is admitted already, and keeps the first reason."""
    facts = {"reason": reason, "by": by}
    with transaction.atomic():
        made = Admission.objects.get_or_create(campaign=campaign, rater=rater, defaults=facts)[1]
        if made:
            record("admission.made", campaign.pk, rater, after=reason)
    return made


def is_plain(campaign: Campaign) -> bool:
    """Whether all raters get the items in the batch's order, without gold and practice."""
    items = campaign.options.get("items") or "fixed"
    return items == "fixed" and not campaign.gold_every and campaign.practice_of_id is None


def is_gold_turn(seed: int, rater: str, number: int, every: int) -> bool:
    """Whether a person's item with this number is a gold item. Practice items are not counted."""
    return every > 0 and number % every == _gold_position(seed, rater, number // every, every)


def count_gold_to_come(
    seed: int, rater: str, number: int, every: int, gold: int, others: int
) -> int:
    """Return how many of `gold` gold items come among `others` other items, from `number` on."""
    if every <= 0:
        return 0
    come = 0
    while come < gold:
        before = _items_before_gold(seed, rater, number, every)
        if before >= others:
            break
        others, number, come = others - before, number + before + 1, come + 1
    return come


def _items_before_gold(seed: int, rater: str, number: int, every: int) -> int:
    """Return the number of items before the next gold item."""
    run, place = divmod(number, every)
    turn = _gold_position(seed, rater, run, every)
    if turn < place:
        turn = every + _gold_position(seed, rater, run + 1, every)
    return turn - place


def _gold_position(seed: int, rater: str, run: int, every: int) -> int:
    return int.from_bytes(rank(seed, f"gold for {rater}", str(run))[:8]) % every


def next_item(campaign: Campaign, rater: Rater, ready: QuerySet[Item]) -> Item | None:
    """Return the next of the items that a person may take now, or None if there are none."""
    for items in _in_turn(campaign, rater, ready):
        if (found := items.first()) is not None:
            return found
    return None


def _in_turn(campaign: Campaign, rater: Rater, ready: QuerySet[Item]) -> Iterator[QuerySet[Item]]:
    seed, number = design(campaign).seed, count_items_had(campaign, rater)
    if campaign.practice_of_id == campaign.pk:
        yield ready.filter(use=Use.PRACTICE).order_by("position")
    study = ready.filter(use=Use.STUDY)
    # A gold item is mixed in among others, so none comes if nothing else is left.
    if is_gold_turn(seed, rater.name, number, campaign.gold_every) and study.exists():
        yield _gold(ready, seed, rater)
    yield from _study(study, campaign, rater, seed, number)


def count_items_had(campaign: Campaign, rater: Rater) -> int:
    """Return the number of items that a person has had, not counting practice."""
    mine = Assignment.objects.filter(item__campaign=campaign, rater=rater, replicate=0, scope="")
    return mine.exclude(item__use=Use.PRACTICE).count()


def _gold(ready: QuerySet[Item], seed: int, rater: Rater) -> QuerySet[Item]:
    """Return a gold item that is new to a person, chosen by the seed."""
    gold = ready.filter(use=Use.GOLD)
    purpose = f"gold for {rater.name}"
    keys = gold.values_list("key", flat=True)
    first = min(keys, key=lambda key: rank(seed, purpose, key), default=None)
    return gold.filter(key=first)


def count_remaining_gold(campaign: Campaign, rater: Rater, study: int) -> tuple[int, int]:
    """Return how many practice and gold items a person will get besides `study` study items."""
    uses = Item.objects.filter(campaign=campaign).exclude(use=Use.STUDY)
    # An item whose lease expired is assigned again.
    had = Assignment.objects.filter(~Q(**EXPIRED), rater=rater, item=OuterRef("pk"))
    new = uses.filter(~Exists(had)).values_list("use", flat=True)
    own = list(new.order_by())
    practice = own.count(Use.PRACTICE) if campaign.practice_of_id == campaign.pk else 0
    number, seed = count_items_had(campaign, rater), design(campaign).seed
    every, gold = campaign.gold_every, own.count(Use.GOLD)
    return practice, count_gold_to_come(seed, rater.name, number, every, gold, study)


def _study(
    ready: QuerySet[Item], campaign: Campaign, rater: Rater, seed: int, number: int
) -> Iterator[QuerySet[Item]]:
    if campaign.has_plan:
        yield in_order_of_draws(ready, campaign)
        return
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
    random = rank(seed, f"next for {rater.name}", str(number))
    start = int.from_bytes(random[:8]) % (last + 1)
    from_start = in_order.filter(position__gte=start)
    if order == "random":
        yield from_start
    else:
        query = from_start.values_list("query", flat=True).first()
        yield in_order.filter(query=query)
    # Other raters may have taken the items found between two of these statements.
    yield in_order


def _last_query(campaign: Campaign, rater: Rater) -> int | None:
    mine = Assignment.objects.filter(item__campaign=campaign, rater=rater, item__use=Use.STUDY)
    return mine.order_by("-pk").values_list("item__query", flat=True).first()


def scores_of_begun(campaign: Campaign, raters: Collection[int], use: str) -> dict[int, Score]:
    """Like `scores`, but only for raters who have answered an item of this use."""
    return {rater: each for rater, each in scores(campaign, raters, use).items() if each.items}


def shows_feedback(assignment: Assignment) -> bool:
    """Whether the gold answers of the item may be shown to the people who answer it."""
    return assignment.item.use == Item.Use.PRACTICE
