"""Variance components of query, system and rater, and the sample sizes for narrower intervals.

This is a generalizability study with its decision study (Brennan 2001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from .estimate import Bools, Estimate, Floats, Ints, defined
from .mixed_model import MixedModel, fit_mixed_model
from .planning import MOST, Plan
from .resampling import MINIMUM_CLUSTERS

QUERY, SYSTEM, RATER, RESIDUAL = "query", "system", "rater", "residual"
QUERY_SYSTEM, QUERY_RATER, SYSTEM_RATER = "query:system", "query:rater", "system:rater"
SOURCES = (QUERY, SYSTEM, RATER, QUERY_SYSTEM, QUERY_RATER, SYSTEM_RATER, RESIDUAL)
MOST_QUERIES, MOST_OF_QUERY, MOST_CELLS = 300, 60, 100
"""Limits of a fit. Queries beyond the first number are sampled, since its time grows with them.
Scores of a query beyond the second are sampled, since their covariances grow with the square.
Beyond the third number of system-rater cells, each of which is an effect, there is no fit."""
MOST_SINGLE, PARTS = 60, 30
"""Up to this many queries are left out one by one, more in this many parts."""
NO_FIT = "no interval: without some queries the model has no fit"
AT_ZERO = "no interval: the component is 0, or would be without some queries"
FACETS = (QUERY, SYSTEM, RATER)
NORMAL = 1.959963984540054
Term = tuple[str, ...]
"""The facets by whose numbers the variance of a source is divided."""


@dataclass(frozen=True)
class Components:
    """The variance that each source adds to a single score, in squares of the score's unit.

    `variances` lacks the sources that the design does not have. The design cannot separate the
    sources in `pooled` from the residual, which contains them. `per_item` is the mean number of
    raters per query and system. If `reason` is set, there are no variances. `estimates` has the
    variances with their intervals.
    """

    scores: int
    queries: int
    systems: int
    raters: int
    per_item: float
    variances: Mapping[str, float]
    pooled: tuple[str, ...] = ()
    reason: str | None = None
    estimates: Mapping[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True)
class _Design:
    """Scores (N,) with their queries, systems and raters, numbered from 0, (N,) each."""

    y: Floats
    query: Ints
    system: Ints
    rater: Ints

    @property
    def levels(self) -> tuple[int, int, int]:
        queries, systems, raters = (
            int(of.max(initial=-1)) + 1 for of in (self.query, self.system, self.rater)
        )
        return queries, systems, raters


def variance_components(
    scores: Floats, queries: Ints, systems: Ints, raters: Ints, seed: int = 0
) -> Components:
    """Return the components of scores (N,), with the query, system and rater of each, (N,) each.

    The terms of the model are independent:

        score = mean + system + rater + system:rater + query + query:system + query:rater + residual

    A linear mixed model with a group for each query, fitted by restricted maximum likelihood,
    estimates the components of queries and their interactions (Lindstrom and Bates 1988). Systems
    and raters are fixed effects in this model. Their components are estimated by the method of
    moments: the variance among their effects, less the part due to the effects' own error (Searle,
    Casella and McCulloch 1992). A negative component becomes 0. On balanced data without negative
    components, the estimates equal those of the analysis of variance. NaN scores are left out. At
    most 300 queries, and 60 scores per query, are used; `seed` samples them. There are no
    components below ten queries, or with one system and one rater.

    Intervals are those of the jackknife of log v over queries (Arvesen and Schmitz 1970),

        exp(log v ± t root((g - 1) / g * sum_i (log v_i - mean)^2)),

    where v_i is the component without part i of g parts of the queries (single queries up to 60,
    else 30 parts), and t is Student's with g - 1 degrees of freedom at .975. They hold for these
    systems and raters. There is none for a component that is 0 in one of these fits.
    """
    there = np.isfinite(scores)
    kept = _sampled(queries[there], seed)
    given = (of[there][kept] for of in (queries, systems, raters))
    design = _Design(scores[there][kept], *(np.unique(of, return_inverse=True)[1] for of in given))
    reason = _reason(design)
    if reason is None:
        try:
            fit = _Fit.of(design)
            found = _components(design, fit.variances, fit.pooled)
            return replace(found, estimates=_estimates(fit, found, seed))
        except (ValueError, np.linalg.LinAlgError) as error:
            reason = f"the mixed model has no fit ({error})"
    return _components(design, {}, (), reason)


def _components(
    design: _Design,
    variances: Mapping[str, float],
    pooled: tuple[str, ...],
    reason: str | None = None,
) -> Components:
    items = len(np.unique(np.stack([design.query, design.system]), axis=1).T)
    per_item = len(design.y) / items if items else 0.0
    ordered = {name: variances[name] for name in SOURCES if name in variances}
    return Components(len(design.y), *design.levels, per_item, ordered, pooled, reason)


def _sampled(queries: Ints, seed: int) -> Bools:
    """Select the scores (N,) to use, with limits on queries and on scores of a query."""
    generator = np.random.Generator(np.random.PCG64(seed))
    known, sizes = np.unique(queries, return_counts=True)
    most = min(MOST_QUERIES, len(known))
    taken: Bools = np.isin(queries, generator.choice(known, most, replace=False))
    if sizes.max(initial=0) > MOST_OF_QUERY:
        order = np.lexsort((generator.random(len(queries)), queries))
        rank = np.empty(len(queries), np.int64)
        rank[order] = np.arange(len(queries)) - np.repeat(sizes.cumsum() - sizes, sizes)
        taken &= rank < MOST_OF_QUERY
    return taken


def _reason(design: _Design) -> str | None:
    queries, systems, raters = design.levels
    if queries < MINIMUM_CLUSTERS:
        return f"{queries} queries are too few, {MINIMUM_CLUSTERS} are needed"
    if systems < 2 and raters < 2:
        return "with one system and one rater there is nothing to tell apart"
    if len(np.unique(design.query)) == len(design.y):
        return "each query has one score, so that queries cannot be told from the residual"
    if systems * raters > MOST_CELLS:
        return f"{systems} systems by {raters} raters are too many effects to fit"
    if np.ptp(design.y) == 0:
        return "all scores are equal"
    return None


@dataclass(frozen=True)
class _Fit:
    """A fitted model, from which the model without some queries is fitted."""

    design: _Design
    fixed: Floats
    in_cells: bool
    random: Mapping[str, Floats]
    pooled: tuple[str, ...]
    model: MixedModel

    @classmethod
    def of(cls, design: _Design) -> _Fit:
        fixed, in_cells = _fixed(design)
        random, pooled = _random(design)
        model = fit_mixed_model(design.y, design.query, fixed, random)
        _, systems, raters = design.levels
        if systems > 1 and raters > 1 and not in_cells:
            pooled = (*pooled, SYSTEM_RATER)
        return cls(design, fixed, in_cells, random, pooled, model)

    @property
    def variances(self) -> dict[str, float]:
        return self._with_fixed(self.model)

    def without(self, out: Bools) -> dict[str, float]:
        """Return the variances without some scores (N,)."""
        kept = ~out
        query = np.unique(self.design.query[kept], return_inverse=True)[1]
        random = {name: columns[kept] for name, columns in self.random.items()}
        y = self.design.y[kept]
        return self._with_fixed(fit_mixed_model(y, query, self.fixed[kept], random, self.model))

    def _with_fixed(self, model: MixedModel) -> dict[str, float]:
        _, systems, raters = self.design.levels
        moments = _of_cells if self.in_cells else _of_main_effects
        of_fixed = moments(model.effects, model.error, systems, raters)
        return {**model.variances, **of_fixed, RESIDUAL: model.residual}


def _estimates(fit: _Fit, found: Components, seed: int) -> dict[str, Estimate]:
    """Return each variance with its interval, or the reason why it has none."""
    queries = found.queries
    parts = queries if queries <= MOST_SINGLE else PARTS
    part = np.random.Generator(np.random.PCG64(seed)).permutation(queries) % parts
    left, why = [], ""
    try:
        left = [fit.without(part[fit.design.query] == n) for n in range(parts)]
    except (ValueError, np.linalg.LinAlgError):
        why = NO_FIT
    how = f"95 % jackknife of the log variance over {queries} queries"
    if parts < queries:
        how += f" in {parts} parts"
    made = {}
    for name, value in found.variances.items():
        without = np.array([each[name] for each in left])
        none = why or (AT_ZERO if value <= 0 or (without <= 0).any() else "")
        ends = None if none else _log_interval(value, without)
        made[name] = defined(value, ends, queries, f"variance component; {none or how}")
    return made


def _log_interval(value: float, without: Floats) -> tuple[float, float]:
    """Return the interval from the jackknife of log v, from the values without each part."""
    parts, logs = len(without), np.log(without)
    error = sqrt((parts - 1) / parts * float(((logs - logs.mean()) ** 2).sum()))
    reach = exp(float(stdtrit(parts - 1, 0.975)) * error)
    return value / reach, value * reach


def _fixed(design: _Design) -> tuple[Floats, bool]:
    """Return a column for each combination of system and rater, (N, S R), if all have scores.

    Otherwise returns a column for each system and for each rater but the first.
    """
    _, systems, raters = design.levels
    cells = _indicators(design.system * raters + design.rater, systems * raters)
    if cells.any(axis=0).all():
        return cells, True
    columns = [_indicators(design.system, systems), _indicators(design.rater, raters)[:, 1:]]
    whole = np.concatenate(columns, axis=1)
    if np.linalg.matrix_rank(whole) < whole.shape[1]:
        raise ValueError("no rater connects some systems with the others")
    return whole, False


def _random(design: _Design) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Return the columns of each random source within a query, (N, levels), and the pooled sources.

    The interaction of query and system can be separated from the residual if a query and system
    have two scores, and the interaction of query and rater if a query and rater have two.
    """
    _, systems, raters = design.levels
    found, pooled = {QUERY: np.ones((len(design.y), 1))}, []
    for name, of, number in (
        (QUERY_SYSTEM, design.system, systems),
        (QUERY_RATER, design.rater, raters),
    ):
        if number < 2:
            continue
        if len(np.unique(design.query * number + of)) < len(design.y):
            found[name] = _indicators(of, number)
        else:
            pooled.append(name)
    return found, tuple(pooled)


def _of_cells(effects: Floats, error: Floats, systems: int, raters: int) -> dict[str, float]:
    """Return the components of systems, raters and their interaction, from cell means (S R,)."""
    of_systems, of_raters = _centred(systems), _centred(raters)
    found: dict[str, float] = {}
    both = 0.0
    if systems > 1 and raters > 1:
        crossed = np.kron(of_systems, of_raters)
        both = _square(crossed, effects, error) / ((systems - 1) * (raters - 1))
        found[SYSTEM_RATER] = max(0.0, both)
    if systems > 1:
        mean = np.kron(of_systems, np.full((1, raters), 1 / raters))
        found[SYSTEM] = max(0.0, _square(mean, effects, error) / (systems - 1) - both / raters)
    if raters > 1:
        mean = np.kron(np.full((1, systems), 1 / systems), of_raters)
        found[RATER] = max(0.0, _square(mean, effects, error) / (raters - 1) - both / systems)
    return found


def _of_main_effects(effects: Floats, error: Floats, systems: int, raters: int) -> dict[str, float]:
    """Return systems' and raters' components from effects (S + R - 1,); the first rater's is 0."""
    of_systems = np.hstack([_centred(systems), np.zeros((systems, raters - 1))])
    of_raters = np.hstack([np.zeros((raters, systems)), _centred(raters)[:, 1:]])
    parts = ((SYSTEM, of_systems, systems), (RATER, of_raters, raters))
    return {
        name: max(0.0, _square(of, effects, error) / (number - 1))
        for name, of, number in parts
        if number > 1
    }


def _square(of: npt.NDArray[Any], effects: Floats, error: Floats) -> float:
    """Return the squared length of `of` times the effects, less the part due to their error."""
    return float(((of @ effects) ** 2).sum() - np.trace(of @ error @ of.T))


def _centred(number: int) -> Floats:
    made: Floats = np.eye(number) - 1 / number
    return made


def _indicators(of: Ints, number: int) -> Floats:
    made = np.zeros((len(of), number))
    made[np.arange(len(of)), of] = 1.0
    return made


@dataclass(frozen=True)
class Aim:
    """A mean to plan for: the divisor of each source's variance, and a factor for all."""

    name: str
    divisors: Mapping[str, Term]
    factor: float = 1.0


def _facets(source: str) -> Term:
    return FACETS if source == RESIDUAL else tuple(source.split(":"))


SYSTEM_MEAN = Aim(
    "system_mean",
    {
        QUERY: (QUERY,),
        RATER: (RATER,),
        QUERY_SYSTEM: (QUERY,),
        QUERY_RATER: (QUERY, RATER),
        SYSTEM_RATER: (RATER,),
        RESIDUAL: (QUERY, RATER),
    },
)
DIFFERENCE = Aim(
    "difference",
    {QUERY_SYSTEM: (QUERY,), SYSTEM_RATER: (RATER,), RESIDUAL: (QUERY, RATER)},
    2.0,
)
OVERALL = Aim("overall_mean", {source: _facets(source) for source in SOURCES})
AIMS = (SYSTEM_MEAN, DIFFERENCE, OVERALL)


@dataclass(frozen=True)
class Decision:
    """The width of an aim's interval, and the size of each facet that the target width needs.

    Each facet's size assumes that the other facets keep their present sizes.
    """

    aim: str
    width: float
    plans: Mapping[str, Plan]


def decisions(components: Components, target: float) -> list[Decision]:
    """Run decision studies (Brennan 2001) for a target width.

    The aims are one system's mean, the difference of two systems, and the mean over systems like
    these. The variance of a mean is the sum of the components, each divided by the numbers of
    queries, systems and raters that it is averaged over. The interval is normal, with a width of
    2 * 1.96 * root(variance). Returns nothing if there are no components.
    Raises ValueError if the width is not above 0.
    """
    if not target > 0:
        raise ValueError("a width must be above 0")
    if components.reason is not None:
        return []
    aims = AIMS if components.systems > 1 else (SYSTEM_MEAN,)
    return [_decision(aim, components, target) for aim in aims]


def _decision(aim: Aim, components: Components, target: float) -> Decision:
    now = {QUERY: components.queries, SYSTEM: components.systems, RATER: components.per_item}
    facets = [each for each in FACETS if any(each in term for term in aim.divisors.values())]
    width = _width(aim, components, now, ())
    plans = {each: _plan(aim, components, now, each, target) for each in facets}
    return Decision(aim.name, width, plans)


def _plan(
    aim: Aim, components: Components, now: Mapping[str, float], facet: str, target: float
) -> Plan:
    if facet == RATER and (components.raters < 2 or QUERY_SYSTEM in components.pooled):
        return Plan(None, None, "no item has two raters, so what more would add is unknown")
    # With infinitely many levels of a facet, only sources that do not depend on it remain.
    rest = _width(aim, components, now, (facet,))
    if rest >= target:
        return Plan(None, None, f"any number of them would leave it {rest:.3g} wide")
    one = _width(aim, components, {**now, facet: 1}, ()) ** 2 - rest**2
    needed = max(1, ceil(one / (target**2 - rest**2) - 1e-9))
    if needed > MOST:
        return Plan(None, None, f"more than {MOST:,} of them would be needed")
    return Plan(needed, max(0, ceil(needed - now[facet] - 1e-9)))


def _width(
    aim: Aim, components: Components, numbers: Mapping[str, float], endless: Sequence[str]
) -> float:
    total = 0.0
    for source, term in aim.divisors.items():
        if not set(term) & set(endless):
            share = components.variances.get(source, 0.0)
            for facet in term:
                share /= numbers[facet]
            total += share
    return 2 * NORMAL * sqrt(aim.factor * total)
