"""Where a plan stands: a function of the labels in the order of the draw, and of nothing else.

So the same labels give the same state after one look or after twenty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from ..statistics import Floats, Ints
from .draws import order_by_size
from .evidence import evidence_by_size, evidence_of_excess, null_means, risk_bound
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
        return np.empty(0) if phase is None else _evidence(self.plan, self.labelled, phase, risk)

    def bound(self, cut: int | None = None) -> float:
        """Return the upper bound of the risk of a cut, by default of the one that is being tested.

        Its confidence is that of the plan; it holds at every look.
        """
        at = min(self.certified, self.plan.cuts - 1) if cut is None else cut
        return risk_bound(lambda risk: self.evidence(at, risk), self.plan.delta)

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
    needed = log(1 / plan.delta)
    known: dict[int, Ints] = {}
    phases = [Phase(0, (), ())]
    decided: list[int] = []
    turns = iter(_order(plan, 0, ()))
    for query, wrong in labelled:
        if len(decided) == plan.cuts or query != next(turns, None):
            raise WrongOrderError(f"query {query} is not the next in the order of the draw")
        known[query] = np.asarray(wrong)
        last = phases[-1]
        phases[-1] = last = Phase(last.cut, last.before, (*last.drawn, query))
        proved = _evidence(plan, known, last)[-1] >= needed
        while len(decided) < plan.cuts and (proved or _is_counted(plan, known, len(decided))):
            decided.append(len(known))
            proved = False
            if len(decided) < plan.cuts:
                phases.append(Phase(len(decided), tuple(known), ()))
                turns = iter(_order(plan, len(decided), tuple(known)))
    return State(plan, known, tuple(phases), tuple(decided))


def _order(plan: Plan, cut: int, before: Sequence[int]) -> list[int]:
    sizes = dict(enumerate(plan.accepted[:, cut].tolist()))
    return order_by_size(sizes, sizes.keys() - set(before), plan.seed, cut)


def _evidence(plan: Plan, labelled: Labelled, phase: Phase, risk: float | None = None) -> Floats:
    cut, drawn, before = phase.cut, list(phase.drawn), list(phase.before)
    if not drawn:
        return np.empty(0)
    return evidence_by_size(
        plan.accepted[drawn, cut].astype(float),
        np.array([labelled[query][cut] for query in drawn], float),
        plan.risk if risk is None else risk,
        float(plan.totals[cut]),
        float(sum(labelled[query][cut] for query in before)),
        float(plan.accepted[before, cut].sum()),
    )


def _is_counted(plan: Plan, labelled: Labelled, cut: int) -> bool:
    """Whether a cut is below the risk even if every unlabelled cell that it accepts is wrong."""
    order = list(labelled)
    wrong = sum(int(wrong[cut]) for wrong in labelled.values())
    rest = int(plan.totals[cut]) - int(plan.accepted[order, cut].sum())
    return bool(wrong + rest < plan.risk * plan.totals[cut])
