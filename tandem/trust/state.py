"""Where a plan stands: a function of the labels in the order of the draw, and of nothing else.

So the same labels give the same state after one look or after twenty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Literal

import numpy as np

from ..statistics import Floats, Ints
from .draws import order_by_size
from .evidence import (
    BETS,
    evidence_by_size,
    evidence_of_excess,
    log_mean,
    log_steps,
    null_means,
    risk_bound,
)
from .plan import Plan

Labelled = Mapping[int, Ints]
"""The wrong cells of each labelled query by cut (J,), in the order of the draw."""
CannotBeMet = Literal["counted", "evidence"]


class WrongOrderError(ValueError):
    """A query was labelled before its turn, or is not part of the draw."""


@dataclass(frozen=True)
class Phase:
    """The draws for one cut: `before` queries were labelled before the first, `drawn` since."""

    cut: int
    before: tuple[int, ...]
    drawn: tuple[int, ...]


@dataclass(frozen=True)
class State:
    """A plan, what is labelled, and the phase of each cut that was begun.

    `certified` is the number of certified cuts, and `decided_after` (cut by cut) the number of
    labelled queries at which each was certified.
    """

    plan: Plan
    labelled: Labelled
    phases: tuple[Phase, ...]
    decided_after: tuple[int, ...]

    def query_of(self, key: int) -> int:
        """Return the query that is labelled under a key."""
        return key

    @property
    def certified(self) -> int:
        return len(self.decided_after)

    @property
    def share(self) -> float:
        """The share of all cells that the judge may decide."""
        return self.plan.share(self.certified)

    def to_draw(self) -> list[int]:
        """Return the unlabelled queries in the order of the draw for the present cut."""
        if self.certified == self.plan.cuts:
            return []
        phase = self.phases[-1]
        return [q for q in _order(self.plan, phase.cut, phase.before) if q not in self.labelled]

    def evidence(self, cut: int, risk: float | None = None) -> Floats:
        """Return the log evidence against Risk >= `risk` after each draw for a cut, (t,)."""
        phase = next((each for each in self.phases if each.cut == cut), None)
        if phase is None or not phase.drawn:
            return np.empty(0)
        plan, drawn, before = self.plan, list(phase.drawn), list(phase.before)
        return evidence_by_size(
            plan.accepted[drawn, cut].astype(float),
            np.array([self.labelled[query][cut] for query in drawn], float),
            plan.risk if risk is None else risk,
            float(plan.totals[cut]),
            float(sum(self.labelled[query][cut] for query in before)),
            float(plan.accepted[before, cut].sum()) if before else 0.0,
        )

    def bound(self, cut: int | None = None) -> float:
        """Return the upper bound of the risk of a cut, by default of the one that is being tested.

        Its confidence is that of the plan; it holds at every look.
        """
        at = min(self.certified, self.plan.cuts - 1) if cut is None else cut
        return risk_bound(lambda risk: self.evidence(at, risk), self.plan.delta)

    def bound_of_part(self, cut: int, part: Ints, wrong: Ints, level: float) -> float:
        """Return the upper bound of the risk of some of a cut's cells, by the draws for that cut.

        `part` (G,) counts these cells by query, and `wrong` (t,) those of them that are wrong in
        each labelled query, in their order. The bound holds at every look, with confidence
        1 - `level`. It counts every unlabelled cell as wrong where this gives less.
        """
        total, cells = float(self.plan.totals[cut]), float(part.sum())
        known = list(self.labelled)
        counted = float((wrong.sum() + cells - part[known].sum()) / cells)
        phase = next((each for each in self.phases if each.cut == cut), None)
        if phase is None or not phase.drawn:
            return counted
        whole, drawn, before = self.plan.accepted[:, cut], list(phase.drawn), list(phase.before)
        left = whole > 0
        left[before] = False
        turns = slice(len(before), len(before) + len(drawn))
        sizes, errors = whole[drawn].astype(float), wrong[turns].astype(float)
        seen, seen_size = float(wrong[: len(before)].sum()), float(whole[before].sum())
        largest = float((part[left] / whole[left]).max())

        def evidence(risk: float) -> Floats:
            of_all = risk * cells / total
            return evidence_by_size(sizes, errors, of_all, total, seen, seen_size, largest)

        return min(risk_bound(evidence, level), counted)

    @property
    def likely_more(self) -> int | None:
        """How many more queries certify the present cut if errors stay as frequent as so far.

        None if no query is labelled, or if all that are left would not suffice.
        """
        plan, cut, known = self.plan, self.certified, list(self.labelled)
        if cut == plan.cuts or not known:
            return None
        size = plan.accepted[known, cut]
        rate = sum(self.labelled[query][cut] for query in known) / max(size.sum(), 1)
        phase = self.phases[-1]
        before = {query: self.labelled[query] for query in phase.before}
        evidence = _begin(plan, before, cut)
        for query in phase.drawn:
            evidence.add(plan.accepted[query, cut], self.labelled[query][cut])
        for more, query in enumerate(self.to_draw(), 1):
            of_query = int(plan.accepted[query, cut])
            if evidence.add(of_query, rate * of_query) >= log(1 / plan.delta):
                return more
        return None

    @property
    def cannot_be_met(self) -> CannotBeMet | None:
        """Whether it is proven that the first cut has a risk above the plan's, and by what."""
        plan, order = self.plan, list(self.labelled)
        if self.certified or not order:
            return None
        size = plan.accepted[order, 0].astype(float)
        wrong = np.array([self.labelled[query][0] for query in order], float)
        total = float(plan.totals[0])
        if wrong.sum() > plan.risk * total:
            return "counted"
        excess = evidence_of_excess(wrong / size, null_means(size, wrong, plan.risk, total))
        return "evidence" if excess.max(initial=-np.inf) >= log(1 / plan.delta) else None


def state_of(plan: Plan, labelled: Sequence[tuple[int, Ints]]) -> State:
    """Return the state after labels of these queries, with their wrong cells by cut (J,).

    Raises WrongOrderError if they are not in the order of the draw.
    """
    rest = iter(labelled)

    def following(query: int) -> Ints | None:
        given, wrong = next(rest, (query, None))
        if given != query:
            raise WrongOrderError(f"query {given} was labelled before its turn: {query} is next")
        return wrong

    state = walk(plan, following)
    if (left := next(rest, None)) is not None:
        raise WrongOrderError(f"query {left[0]} is not part of the draw any more")
    return state


def walk(plan: Plan, wrong_of: Callable[[int], Ints | None]) -> State:
    """Return the state after all labels that are there, query by query in the order of the draw.

    `wrong_of` returns the wrong cells of the next query by cut (J,), or None where it has no labels
    yet: those behind it do not count before.
    """
    needed = log(1 / plan.delta)
    known: dict[int, Ints] = {}
    phases: list[Phase] = []
    decided: list[int] = []
    while len(decided) < plan.cuts:
        cut, before = len(decided), tuple(known)
        drawn: list[int] = []
        evidence = _begin(plan, known, cut)
        proved = False
        for query in _order(plan, cut, before):
            if (wrong := wrong_of(query)) is None:
                break
            known[query] = np.asarray(wrong)
            drawn.append(query)
            proved = evidence.add(plan.accepted[query, cut], known[query][cut]) >= needed
            if proved or evidence.is_counted:
                decided.append(len(known))
                break
        phases.append(Phase(cut, before, tuple(drawn)))
        if len(decided) == cut:
            break
        while len(decided) < plan.cuts and _begin(plan, known, len(decided)).is_counted:
            decided.append(len(known))
    return State(plan, known, tuple(phases), tuple(decided))


@dataclass
class Evidence:
    """The evidence of one phase, draw by draw: the logarithms of its bets so far."""

    risk: float
    total: float
    wrong: float
    size: float
    logs: Floats = field(default_factory=lambda: np.zeros(len(BETS)))

    @property
    def is_counted(self) -> bool:
        """Whether the cut is below the risk even if every unlabelled cell of it is wrong."""
        return self.wrong + self.total - self.size < self.risk * self.total

    def add(self, size: int, wrong: float) -> float:
        """Return the log evidence after one more draw."""
        left = self.total - self.size
        mean = min(max((self.risk * self.total - self.wrong) / left, 0.0), 1.0)
        self.logs += log_steps(mean - wrong / size, 1 - mean)
        self.wrong, self.size = self.wrong + wrong, self.size + size
        return float(log_mean(self.logs))


def _begin(plan: Plan, labelled: Labelled, cut: int) -> Evidence:
    """Return the evidence of a cut before its first draw, after these labels."""
    wrong = sum(int(each[cut]) for each in labelled.values())
    seen = int(plan.accepted[list(labelled), cut].sum()) if labelled else 0
    return Evidence(plan.risk, float(plan.totals[cut]), float(wrong), float(seen))


def _order(plan: Plan, cut: int, before: Sequence[int]) -> list[int]:
    sizes = dict(enumerate(plan.accepted[:, cut].tolist()))
    return order_by_size(sizes, sizes.keys() - set(before), plan.seed, cut)
