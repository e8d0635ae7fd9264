"""How many queries, systems or raters an interval takes, from the components of variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

from analysis.statistics.components import (
    QUERY,
    QUERY_RATER,
    QUERY_SYSTEM,
    RATER,
    RESIDUAL,
    SOURCES,
    SYSTEM,
    SYSTEM_RATER,
    Components,
)
from analysis.statistics.planning import MOST, Plan

FACETS = (QUERY, SYSTEM, RATER)
NORMAL = 1.959963984540054
Term = tuple[str, ...]
"""What a source's variance is divided by: the numbers of these facets."""


@dataclass(frozen=True)
class Aim:
    """A mean that is planned for: by source what divides its variance, and a factor for all."""

    name: str
    terms: Mapping[str, Term]
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
    """The width of an aim's interval with the numbers of now, and what each facet's would have to
    be, the others staying as they are, for the width that is wanted."""

    aim: str
    width: float
    plans: Mapping[str, Plan]


def decisions(components: Components, wanted: float) -> list[Decision]:
    """Decision studies (Brennan 2001) of one system's mean, of the difference of two systems, and
    of the mean over systems like these.

    The variance of a mean is the sum of the components, each over the numbers of queries, systems
    and raters that it is averaged over; the interval is that of the normal distribution, 2 times
    1.96 roots wide. Empty where there are no components. Raises ValueError for a width not above 0.
    """
    if not wanted > 0:
        raise ValueError("a width must be above 0")
    if components.reason is not None:
        return []
    aims = AIMS if components.systems > 1 else (SYSTEM_MEAN,)
    return [_decision(aim, components, wanted) for aim in aims]


def _decision(aim: Aim, components: Components, wanted: float) -> Decision:
    now = {QUERY: components.queries, SYSTEM: components.systems, RATER: components.per_item}
    facets = [each for each in FACETS if any(each in term for term in aim.terms.values())]
    width = _width(aim, components, now, ())
    plans = {each: _plan(aim, components, now, each, wanted) for each in facets}
    return Decision(aim.name, width, plans)


def _plan(
    aim: Aim, components: Components, now: Mapping[str, float], facet: str, wanted: float
) -> Plan:
    if facet == RATER and (components.raters < 2 or QUERY_SYSTEM in components.pooled):
        return Plan(None, None, "no item has two raters, so what more would add is unknown")
    # Endlessly many of a facet leave what does not hang on it.
    rest = _width(aim, components, now, (facet,))
    if rest >= wanted:
        return Plan(None, None, f"any number of them would leave it {rest:.3g} wide")
    one = _width(aim, components, {**now, facet: 1}, ()) ** 2 - rest**2
    needed = max(1, ceil(one / (wanted**2 - rest**2) - 1e-9))
    if needed > MOST:
        return Plan(None, None, f"more than {MOST:,} of them would be needed")
    return Plan(needed, max(0, ceil(needed - now[facet] - 1e-9)))


def _width(
    aim: Aim, components: Components, numbers: Mapping[str, float], endless: Sequence[str]
) -> float:
    total = 0.0
    for source, term in aim.terms.items():
        if not set(term) & set(endless):
            share = components.variances.get(source, 0.0)
            for facet in term:
                share /= numbers[facet]
            total += share
    return 2 * NORMAL * sqrt(aim.factor * total)
