"""Where a plan of the form `cells` stands: draws with replacement, of each of which k cells count.

Like `state`, it is a function of the labels in the order of the draws. A draw's query and cells
follow from the plan's seed and the draw's number, so that whoever looks earlier or later reads the
same cells. There is one cut, and the evidence after each draw is that of its cells alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import log

import numpy as np

from ..statistics import Floats, Ints
from .draws import draw_cells
from .evidence import BETS, evidence_of_cells, evidence_of_excess, log_mean, log_steps, risk_bound
from .plan import Plan
from .state import CannotBeMet, Phase, State, WrongOrderError, state_of

MOST_MORE = 5_000
"""The most draws among which the likely number of further ones is sought."""


@dataclass(frozen=True)
class CellState(State):
    """A plan after some draws: `labelled` has the wrong cells (1,) of each, by number from 1.

    `queries` are those of the draws that count.
    """

    queries: tuple[int, ...] = ()

    def query_of(self, key: int) -> int:
        return self.queries[key - 1]

    def to_draw(self) -> list[int]:
        """Return nothing: the queries that follow have no end, see `draws_of`."""
        return []

    def evidence(self, cut: int, risk: float | None = None) -> Floats:
        at = self.plan.risk if risk is None else risk
        return evidence_of_cells(self._wrong, self._asked, at)

    def bound_of_part(self, cut: int, part: Ints, wrong: Ints, level: float) -> float:
        """Return the upper bound of the risk of some of the cells, by all draws so far.

        `part` (G,) counts these cells by query, and `wrong` (t,) those of them that are wrong in
        each draw. The bound holds at every look, with confidence 1 - `level`.
        """
        sizes, asked = self.plan.accepted[:, cut], self.plan.asked
        share = float(part.sum()) / float(sizes.sum())
        largest = float((asked(part[sizes > 0]) / asked(sizes[sizes > 0])).max())

        def evidence(risk: float) -> Floats:
            return evidence_of_cells(wrong.astype(float), self._asked, risk * share, largest)

        return risk_bound(evidence, level)

    @property
    def likely_more(self) -> int | None:
        """How many more draws certify the cut if errors stay as frequent as so far."""
        if self.certified or not self.queries:
            return None
        risk = self.plan.risk
        gains = (risk - self._wrong / self._asked)[:, None]
        so_far = np.log1p(BETS * 0.999 * gains / (1 - risk)).sum(axis=0)
        rate = float((self._wrong / self._asked).mean())
        more = np.arange(1, MOST_MORE + 1)
        reached = log_mean(so_far + more[:, None] * log_steps(risk - rate, 1 - risk))
        enough = reached >= log(1 / self.plan.delta)
        return int(more[enough.argmax()]) if enough.any() else None

    @property
    def cannot_be_met(self) -> CannotBeMet | None:
        if self.certified or not self.queries:
            return None
        mean = np.full(len(self.queries), self.plan.risk)
        excess = evidence_of_excess(self._wrong / self._asked, mean)
        return "evidence" if excess.max() >= log(1 / self.plan.delta) else None

    @property
    def _wrong(self) -> Floats:
        return np.array([each[0] for each in self.labelled.values()], float)

    @property
    def _asked(self) -> Floats:
        drawn = list(self.queries)
        return self.plan.asked(self.plan.accepted[drawn, 0]).astype(float)


def draws_of(plan: Plan, first: int = 1) -> Iterator[tuple[int, list[int]]]:
    """Yield the query of each draw, from that number on, and the places of its drawn cells.

    Places count the query's accepted cells in their order. Draws have no end.
    """
    assert plan.k is not None
    sizes = plan.accepted[:, 0]
    for number in count(first):
        yield draw_cells(sizes, plan.seed, 0, number, plan.k)


def walk_cells(plan: Plan, wrong_of: Callable[[int], int | None]) -> CellState:
    """Return the state after all labels that are there, draw by draw.

    `wrong_of` returns the wrong cells of a draw, by its number from 1, or None where it has no
    labels yet: those behind it do not count before. Nothing counts after the certificate.
    """
    logs, needed, risk = np.zeros(len(BETS)), log(1 / plan.delta), plan.risk
    known: dict[int, Ints] = {}
    queries: list[int] = []
    is_certified = False
    for number, (query, cells) in enumerate(draws_of(plan), 1):
        if (wrong := wrong_of(number)) is None:
            break
        known[number] = np.array([wrong], dtype=np.int64)
        queries.append(query)
        logs += log_steps(risk - wrong / len(cells), 1 - risk)
        if is_certified := bool(log_mean(logs) >= needed):
            break
    decided = (len(known),) if is_certified else ()
    return CellState(plan, known, (Phase(0, (), tuple(known)),), decided, tuple(queries))


def state_after(plan: Plan, labelled: Sequence[tuple[int, Ints]]) -> State:
    """Return the state of a plan of either form after labels of these queries, draw by draw.

    Raises WrongOrderError if they are not in the order of the draw.
    """
    if plan.k is None:
        return state_of(plan, labelled)
    for (given, _), (query, _) in zip(labelled, draws_of(plan), strict=False):
        if given != query:
            raise WrongOrderError(f"query {given} was labelled before its turn: {query} is next")
    state = walk_cells(
        plan, lambda number: int(labelled[number - 1][1][0]) if number <= len(labelled) else None
    )
    if len(state.labelled) < len(labelled):
        query = labelled[len(state.labelled)][0]
        raise WrongOrderError(f"query {query} was labelled after the certificate")
    return state
