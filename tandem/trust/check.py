"""What labels that exist say about a judge's errors among its surest cells: one look, exploratory.

How the labelled queries were drawn decides what may be said. Drawn evenly, they give a bound by
`evidence_of_even`, with queries in the order of the SHA-256 of their keys, which depends on nothing
else. Drawn by size from a committed draw, they give the bound of the plan. If every query is
labelled, the risk is known. Otherwise there are figures, and no bound: queries that somebody chose,
or that were finished first, may be the easy ones. Evenly drawn labels in the form by size would
certify falsely where errors sit in the largest queries.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Literal

import numpy as np

from ..labels.people_sample import PeopleSample, describe_unfinished
from ..statistics import Bools, Estimate, Floats, Ints, defined, undefined
from .cells import Cells
from .evidence import evidence_of_even, risk_bound
from .plan import SHARES, CutTable, Plan
from .state import State, state_of

Drawn = Literal["even", "by-size", "all", "unknown"]
UNKNOWN_DRAW = (
    "nobody said how the labelled queries were drawn, and queries that were chosen or finished "
    "first may be the easy ones"
)
NO_LABEL = "people labelled none of these units"
TOO_FEW = "too few queries are labelled for a bound below 1"
NO_OTHERS = (
    "people labelled every query that the judge answered here; a bound is about the queries that "
    "they did not label, so the judge’s answers to these are needed, too"
)
EXACT = "every query is labelled, so that the risk is exact"
RISK_METHOD = "share of wrong answers among the labelled ones"


@dataclass(frozen=True)
class Committed:
    """A committed draw by size, as far as it is labelled.

    `queries` are the keys of the plan's population in its order, `thresholds` the least sureness
    that each cut accepts, strict cuts first, `level` the plan's, and `labelled` the keys of the
    labelled queries in the order of the draw.
    """

    queries: tuple[str, ...]
    thresholds: tuple[float, ...]
    seed: str
    risk: float
    level: float
    labelled: tuple[str, ...]


@dataclass(frozen=True)
class Draw:
    """How the labelled queries were drawn.

    `sample` are the queries that people were asked; without it, those with any label. `unjudged`
    says by judge why its cells are not those of all queries. `plans` are the committed draws by
    variable and judge, which go before the `kind`. `reason` says why nothing is known.
    """

    kind: Drawn
    sample: PeopleSample | None = None
    unjudged: Mapping[str, str] = field(default_factory=dict)
    plans: Mapping[tuple[str, str], Committed] = field(default_factory=dict)
    reason: str = UNKNOWN_DRAW


@dataclass(frozen=True)
class Accepted:
    """Accepted cells: how many, how many of them people labelled, and how many of these are wrong.

    `outstanding` ones are without a label in labelled queries, and count as wrong for the bound.
    """

    cells: int
    labelled: int
    wrong: int
    outstanding: int
    risk: Estimate
    bound: Estimate


@dataclass(frozen=True)
class CutCheck:
    """A cut: the share of all cells that it accepts, the least sureness, and the accepted cells.

    The bounds of `systems` share δ, so that all of them hold together.
    """

    share: float
    threshold: float
    whole: Accepted
    systems: Mapping[str, Accepted]


@dataclass(frozen=True)
class Check:
    """A judge's cuts, strict to loose. `labelled` counts queries with labels, of `queries`.

    Each bound holds by itself with confidence 1 - `delta`.
    """

    kind: Drawn
    delta: float
    queries: int
    labelled: int
    cells: int
    cuts: tuple[CutCheck, ...]


def check(
    cells: Cells,
    draw: Draw,
    variable: str,
    judge: str,
    delta: float,
    shares: tuple[float, ...] = SHARES,
) -> Check:
    """Return the risk of a judge's surest cells, for each share of cells and for all that it has.

    Each bound holds by itself with confidence 1 - `delta`. It follows from `evidence_of_even` for
    queries drawn evenly, taken in the order of the SHA-256 of their keys, and from
    `evidence_by_size` for a committed draw, with the level and the cuts of its plan. Where every
    query is labelled, the risk is exact, and where the draw is unknown, there is no bound. The
    bounds of systems hold together, each with δ over their number.
    """
    if (plan := draw.plans.get((variable, judge))) is not None:
        cells, delta, thresholds = cells.only(plan.queries), plan.level, plan.thresholds
    else:
        table = CutTable.of(cells.sure, cells.query, len(cells.keys), (*shares, 1.0))
        thresholds = table.thresholds
    look = _Look(cells, draw, judge, plan, thresholds)
    cuts = tuple(_cut(look, cut, delta) for cut in range(len(thresholds)))
    return Check(
        look.kind, delta, len(cells.keys), int(look.labelled.sum()), len(cells.query), cuts
    )


@dataclass(frozen=True)
class _Look:
    """The cells of a judge, the least sureness of each cut, and what is known of the draw."""

    cells: Cells
    draw: Draw
    judge: str
    plan: Committed | None
    thresholds: tuple[float, ...]

    @property
    def kind(self) -> Drawn:
        return self.draw.kind if self.plan is None else "by-size"

    @cached_property
    def labelled(self) -> Bools:
        """Whether each query counts as labelled, (G,)."""
        if self.plan is not None:
            return self._are_among(self.plan.labelled)
        has_label = self.cells.by_query(self.cells.labelled) > 0
        sample = self.draw.sample
        if sample is None:
            return has_label
        # A drawn query that everybody declined is part of the sample, too.
        finished = self._are_among(sample.drawn - sample.unfinished)
        return self._are_among(sample.drawn) & (has_label | finished)

    def _are_among(self, some: Collection[str]) -> Bools:
        return np.array([key in some for key in self.cells.keys], bool)

    @cached_property
    def systems(self) -> Mapping[str, Bools]:
        """Whether each cell is of a system, (N,), if there are several."""
        names = sorted({name for name in self.cells.system if name is not None})
        of_cell = np.array([name or "" for name in self.cells.system], dtype=object)
        return {name: of_cell == name for name in names} if len(names) > 1 else {}

    @cached_property
    def order(self) -> Ints:
        """The queries in hashed order."""
        return np.array(hashed_order(self.cells.keys), np.int64)

    @property
    def counted_wrong(self) -> Bools:
        """Whether a cell of a labelled query counts as wrong: without a label it does."""
        return self.cells.wrong | ~self.cells.labelled

    def accepted(self, cut: int) -> Bools:
        return np.asarray(self.cells.sure >= self.thresholds[cut])

    @property
    def why_no_bound(self) -> str:
        """Why no cut has a bound; empty if one may have."""
        kind, sample = self.kind, self.draw.sample
        if kind == "by-size":
            return ""
        if kind == "unknown":
            return self.draw.reason
        if why := self.draw.unjudged.get(self.judge):
            return why
        if sample is not None and sample.unfinished:
            left, of = len(sample.unfinished), len(sample.drawn)
            if kind == "all":
                return f"people have not finished {left} of {of} queries"
            return describe_unfinished(sample.unfinished, sample.drawn)
        if kind == "all" and (left := int((~self.labelled).sum())):
            return f"{left} of {len(self.labelled)} queries have no label from people"
        judged = self.cells.by_query(np.isfinite(self.cells.sure)) > 0
        if kind == "even" and self.labelled[judged].all():
            return NO_OTHERS
        return ""

    @cached_property
    def state(self) -> State:
        """The state of the plan of a committed draw. Raises ValueError."""
        assert self.plan is not None
        masks = [self.accepted(cut) for cut in range(len(self.thresholds))]
        accepted = np.stack([self.cells.by_query(mask) for mask in masks], axis=1)
        wrong = np.stack([self.cells.by_query(mask & self.counted_wrong) for mask in masks], axis=1)
        cells = self.cells.by_query(np.ones(len(self.cells.query), bool))
        plan = Plan(accepted, cells, self.plan.risk, self.plan.level, self.plan.seed)
        number = {key: n for n, key in enumerate(self.plan.queries)}
        return state_of(plan, [(number[key], wrong[number[key]]) for key in self.plan.labelled])


def _cut(look: _Look, cut: int, delta: float) -> CutCheck:
    mask = look.accepted(cut)
    systems = {
        name: _accepted(look, cut, mask & own, delta / len(look.systems))
        for name, own in look.systems.items()
    }
    whole = _accepted(look, cut, mask, delta)
    return CutCheck(float(mask.mean()), float(look.thresholds[cut]), whole, systems)


def _accepted(look: _Look, cut: int, mask: Bools, delta: float) -> Accepted:
    cells = look.cells
    seen = mask & look.labelled[cells.query]
    labelled = seen & cells.labelled
    number, wrong = int(labelled.sum()), int((labelled & cells.wrong).sum())
    risk = undefined(NO_LABEL, 0, RISK_METHOD)
    if number:
        risk = defined(wrong / number, None, number, RISK_METHOD)
    outstanding = int((seen & ~cells.labelled).sum())
    bound = _bound(look, cut, mask, delta)
    return Accepted(int(mask.sum()), number, wrong, outstanding, risk, bound)


def _bound(look: _Look, cut: int, mask: Bools, delta: float) -> Estimate:
    """Return the upper bound of the risk of some of a cut's cells; n counts labelled queries."""
    size = look.cells.by_query(mask)
    queries = int((look.labelled & (size > 0)).sum())
    method = f"upper bound with confidence {1 - delta:.6g}, {FORMS[look.kind]}"
    why = look.why_no_bound or ("" if queries else NO_LABEL)
    if not why and look.kind == "all":
        left = int((mask & ~look.cells.labelled).sum())
        why = f"{EXACT}, but for a label of {left} of these units" if left else EXACT
    if why:
        return undefined(why, queries, method)
    wrong = look.cells.by_query(mask & look.counted_wrong)
    try:
        if look.kind == "by-size":
            errors = wrong[list(look.state.labelled)]
            bound = look.state.bound_of_part(cut, size, errors, delta)
        else:
            bound = _bound_of_even(look, size, wrong, delta)
    except ValueError as error:
        return undefined(f"the labels are not those of the plan: {error}", queries, method)
    # Even if every cell that nobody labelled is wrong.
    most = (wrong[look.labelled].sum() + size[~look.labelled].sum()) / size.sum()
    if min(bound, most) >= 1:
        return undefined(TOO_FEW, queries, method)
    return defined(min(bound, float(most)), None, queries, method)


FORMS: Mapping[Drawn, str] = {
    "even": "by betting on queries that were drawn evenly",
    "by-size": "by betting on queries that were drawn by size",
    "all": "not needed where all are labelled",
    "unknown": "not known without the draw",
}


def _bound_of_even(look: _Look, size: Ints, wrong: Ints, delta: float) -> float:
    """Bound the risk over the queries with any of the cells, drawn evenly among these."""
    order = look.order
    drawn = order[look.labelled[order] & (size[order] > 0)]
    sizes, errors = size[drawn].astype(float), wrong[drawn].astype(float)
    total, queries, largest = float(size.sum()), int((size > 0).sum()), float(size.max())

    def evidence(risk: float) -> Floats:
        return evidence_of_even(sizes, errors, risk, total, queries, largest)

    return risk_bound(evidence, delta)


def hashed_order(keys: tuple[str, ...]) -> list[int]:
    """Return the positions of queries in the order of the SHA-256 of their keys in UTF-8."""
    return sorted(range(len(keys)), key=lambda n: sha256(keys[n].encode()).digest())
