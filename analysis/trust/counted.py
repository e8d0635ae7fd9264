"""Which labels count for a plan, in either form, and the state that follows from them."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.utils import timezone

from analysis.trust.cells import Cells, TrustError
from analysis.trust.labels import Answered, answered, answers_of, check_cells, check_places
from annotation.models import TrustPlan, Unit
from tandem.statistics import Bools, Ints
from tandem.trust.cell_state import draws_of, walk_cells
from tandem.trust.plan import Plan
from tandem.trust.state import State, walk
from tandem.trust.systems import Systems


@dataclass(frozen=True)
class Counted:
    """The state that follows from labels, and what it rests on.

    The keys of `answers` are those of the state's labels: queries by number, or the numbers of
    draws of cells. `wrong` (N,) are the wrong cells among those that count, and `seen` is the
    number of these. `by_system` are the wrong cells by system and cut, (S, J), of each label of the
    state in its order; empty for a plan without bounds by system.
    """

    state: State
    answers: Answered
    wrong: Bools
    seen: int
    by_system: tuple[Ints, ...] = ()


def count_labels(plan: TrustPlan, of_plan: Plan, cells: Cells) -> Counted:
    """Return what counts of the labels of a plan until now."""
    return (_count_whole if of_plan.k is None else _count_draws)(plan, of_plan, cells)


def _count_whole(plan: TrustPlan, of_plan: Plan, cells: Cells) -> Counted:
    thresholds = [cut["threshold"] for cut in plan.document["cuts"]]
    answers = answered(plan, cells.pks)
    checked = check_cells(plan, cells, sorted(answers.complete))
    answers = answers.without(checked.undecided)
    drawn = set(answers.drawn)

    def wrong_of(query: int) -> Ints | None:
        if query not in drawn:
            return None
        if query in answers.complete:
            sure = cells.sure[cells.query == query]
            by_cut = [(checked.wrong[query] & (sure >= least)).sum() for least in thresholds]
            return np.array(by_cut, dtype=np.int64)
        return np.asarray(of_plan.accepted[query]) if query in answers.late else None

    state = walk(of_plan, wrong_of)
    counted = answers.complete & state.labelled.keys()
    wrong = np.zeros(len(cells.query), bool)
    for query in counted:
        wrong[cells.query == query] = checked.wrong[query]
    seen = sum(len(checked.wrong[query]) for query in counted)
    found = Counted(state, answers, wrong, seen)
    if (systems := Systems.of(plan.document)) is None:
        return found
    late = np.stack(list(systems.accepted.values()), axis=1)
    by_query = np.transpose(
        [
            [
                cells.by_query(wrong & (cells.sure >= least) & cells.is_of(name))
                for least in thresholds
            ]
            for name in systems.accepted
        ],
        (2, 0, 1),
    )
    own = tuple((by_query if q in counted else late)[q] for q in state.labelled)
    return Counted(state, answers, wrong, seen, own)


@dataclass(frozen=True)
class CellDraw:
    """A draw: the number of its query, the places of its cells, (k,), and when it was drawn.

    Whatever is answered or decided after `until` is too late for it.
    """

    query: int
    places: Ints
    at: datetime
    until: datetime


def cells_of_draws(
    plan: TrustPlan, of_plan: Plan, cells: Cells, first: int = 1
) -> Iterator[tuple[int, Ints]]:
    """Yield the query of each draw, from that number on, and the places of its cells, (k,).

    Raises TrustError if the judge's verdicts are not those of the commitment.
    """
    if cells.digest != plan.document["verdicts"]:
        raise TrustError("the judge's verdicts have changed since the commitment: end the plan")
    (cut,) = plan.document["cuts"]
    accepted = np.flatnonzero(cells.sure >= cut["threshold"])
    accepted = accepted[np.argsort(cells.query[accepted], kind="stable")]
    starts = np.searchsorted(cells.query[accepted], np.arange(len(cells.queries)))
    for query, positions in draws_of(of_plan, first):
        yield query, accepted[starts[query] + np.array(positions)]


def _count_draws(plan: TrustPlan, of_plan: Plan, cells: Cells) -> Counted:
    drawn = list(_drawn(plan, of_plan, cells))
    answers = _answered(plan, cells, drawn)
    places = np.unique(np.concatenate([np.empty(0, np.int64), *(draw.places for draw in drawn)]))
    checked = check_places(plan, cells, places)
    wrong = np.zeros(len(cells.query), bool)
    wrong[places] = checked.wrong
    settled = dict(zip(places.tolist(), checked.settled_at, strict=True))
    undecided = {
        number
        for number, draw in enumerate(drawn, 1)
        if any((at := settled[place]) is None or at > draw.until for place in draw.places.tolist())
    }
    answers = answers.without(undecided)

    def wrong_cells(number: int) -> Ints | None:
        """The places that count as wrong of a draw, None if it has no labels yet."""
        if number > len(drawn):
            return None
        of_draw = drawn[number - 1].places
        if number in answers.complete:
            return of_draw[wrong[of_draw]]
        return of_draw if number in answers.late else None

    def number_wrong(number: int) -> int | None:
        return None if (found := wrong_cells(number)) is None else len(found)

    state = walk_cells(of_plan, number_wrong)
    counted = [drawn[n - 1].places for n in state.labelled if n in answers.complete]
    seen = np.zeros(len(wrong), bool)
    seen[np.concatenate([np.empty(0, np.int64), *counted])] = True
    own: tuple[Ints, ...] = ()
    if systems := Systems.of(plan.document):
        of_system = [cells.is_of(name) for name in systems.accepted]
        own = tuple(
            np.array([[each[wrong_cells(number)].sum()] for each in of_system], dtype=np.int64)
            for number in state.labelled
        )
    return Counted(state, answers, wrong & seen, int(seen.sum()), own)


def _drawn(plan: TrustPlan, of_plan: Plan, cells: Cells) -> Iterator[CellDraw]:
    """Yield the draws in their order, up to the first that the commitment does not give."""
    if cells.digest != plan.document["verdicts"]:
        return
    limit = timedelta(days=plan.document["late_days"])
    rows = plan.draws.order_by("place").values_list("place", "query", "units", "drawn_at")
    given = cells_of_draws(plan, of_plan, cells)
    for number, ((place, pk, units, at), (query, places)) in enumerate(
        zip(rows, given, strict=False), 1
    ):
        if (place, pk, units) != (number, cells.pks[query], cells.unit[places].tolist()):
            return
        yield CellDraw(query, places, at, at + limit)


def _answered(plan: TrustPlan, cells: Cells, drawn: Sequence[CellDraw]) -> Answered:
    """Return which draws have all answers about the items of their cells, by number from 1."""
    units = {int(unit) for draw in drawn for unit in cells.unit[draw.places]}
    item_of = dict(Unit.objects.filter(pk__in=units).values_list("pk", "item"))
    given: dict[int, list[datetime]] = defaultdict(list)
    for item, at in (
        answers_of(plan).order_by("created_at").values_list("assignment__item", "created_at")
    ):
        given[item].append(at)
    people, now = plan.document["people"], timezone.now()

    def is_complete(draw: CellDraw) -> bool:
        items = {item_of[unit] for unit in cells.unit[draw.places].tolist()}
        return all(bisect_right(given[item], draw.until) >= people for item in items)

    numbered = dict(enumerate(drawn, 1))
    return Answered(
        tuple(numbered),
        frozenset(number for number, draw in numbered.items() if is_complete(draw)),
        frozenset(number for number, draw in numbered.items() if draw.until < now),
    )
