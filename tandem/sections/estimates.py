"""Section: each system's score from people on a sample of queries, and a judge on all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..document import DASH, Cell, Number, Table
from ..labels.people_sample import PeopleSample, describe_unfinished
from ..labels.resampling import Scores, systems_of
from ..statistics import (
    PEOPLE_ALONE,
    Bools,
    Bounds,
    Estimate,
    Floats,
    Ints,
    effective_labels,
    fixed_collection_mean,
    mean_by_cluster,
    people_only_mean,
    prediction_powered_mean,
    undefined,
)
from ..types import JSON
from .base import SYSTEMS, SectionPart

POWERED = "prediction-powered mean (PPI++)"
COLLECTION = "difference estimator over a fixed collection"
NOT_SAMPLED = "the queries that people labelled are not a random sample (see --human-share)"


def estimates(table: Scores, sample: PeopleSample | None) -> JSON:
    """Return by system the estimates of people, of the judge (uncorrected), and of both together.

    People's labels are decided unit by unit. Queries on which people tie on every unit have no
    value, and do not count as judged by the judge alone.

    `sample` are the queries sampled for people. Without a sample, until people have finished it, or
    if the judge alone labelled no query, there is no estimate from both. There are two: the
    prediction-powered mean is about all queries of this kind, and the mean over a fixed collection
    about exactly these. Means are cut to the ends of the scale. `judge` is the first judge by
    name, and `judges` are all judges if there are several.
    """
    judges = table.labels.columns("judge")
    found: JSON = {}
    for system, items in systems_of(table.frame).items():
        each = {table.labels.raters[n].name: _with_judge(table, n, items, sample) for n in judges}
        if each:
            first = next(iter(each.values()))
            found[system] = first if len(each) == 1 else {**first, "judges": each}
    return found


def mean_share(table: Scores, values: Floats, items: Ints, method: str) -> Estimate:
    """Return the mean of some items' scores (I,), within the ends of their scale."""
    return mean_by_cluster(values[items], table.queries[items], method, table.bounds)


def _with_judge(table: Scores, judge: int, items: Ints, sample: PeopleSample | None) -> JSON:
    queries, scores = table.queries[items], table.values[:, judge]
    people = _query_means(table.majority[items], queries)
    asked = np.isfinite(_query_means(table.people[items], queries))
    both = _Both.of(table, items, people, _query_means(scores[items], queries), asked, sample)
    worth = None
    if (why := _why_undefined(both, sample)) is None:
        worth = effective_labels(both.human, both.judge, both.judge_only)
    return {
        "humans": people_only_mean(people[np.isfinite(people)], table.bounds).as_json(),
        "judge": mean_share(table, scores, items, "mean over items, uncorrected").as_json(),
        "prediction_powered": _estimate(both, POWERED, why, table.bounds),
        "fixed_collection": _estimate(both, COLLECTION, why, table.bounds),
        "effective_labels": worth,
        "judge_name": table.labels.raters[judge].name,
    }


@dataclass(frozen=True)
class _Both:
    """Scores by query: `human` and `judge` (n,) of the queries that people were asked and labelled.

    `judge_only` (N,) are those of the queries that people were not asked, and `outstanding` those
    of the judge on the queries that people have not finished; NaN = none. `drawn` and `unfinished`
    count the system's queries that were sampled for people.
    """

    human: Floats
    judge: Floats
    judge_only: Floats
    outstanding: Floats
    drawn: Ints
    unfinished: Ints

    @classmethod
    def of(
        cls,
        table: Scores,
        items: Ints,
        people: Floats,
        judged: Floats,
        asked: Bools,
        sample: PeopleSample | None,
    ) -> _Both:
        lacking = np.zeros(len(people), bool)
        if sample is not None:
            names = {int(table.queries[n]): table.frame.items[n].query for n in items}
            own = [names[query] for query in sorted(names)]
            asked = np.array([name in sample.drawn for name in own], bool)
            lacking = asked & np.array([name in sample.unfinished for name in own], bool)
        labelled = asked & np.isfinite(people) & ~lacking
        only = judged[~asked & np.isfinite(judged)]
        drawn, unfinished = np.flatnonzero(asked), np.flatnonzero(lacking)
        return cls(people[labelled], judged[labelled], only, judged[lacking], drawn, unfinished)


def _why_undefined(both: _Both, sample: PeopleSample | None) -> str | None:
    """Explain why there is no estimate from people and judge; None if there is one."""
    if len(both.human) and not len(both.judge_only):
        return PEOPLE_ALONE
    if lost := int(np.isnan(both.judge).sum()):
        return f"the judge has no score on {lost} of the labelled queries"
    if sample is None:
        return NOT_SAMPLED
    return describe_unfinished(both.unfinished, both.drawn) if len(both.unfinished) else None


def _estimate(both: _Both, method: str, why: str | None, ends: Bounds) -> JSON:
    """Return an estimate from both; until people have finished the sample, its bounds instead."""
    given = both.human, both.judge, both.judge_only
    function = prediction_powered_mean if method == POWERED else fixed_collection_mean
    if why is None:
        return function(*given, bounds=ends).as_json()
    found = undefined(why, len(both.human), method).as_json()
    if why != describe_unfinished(both.unfinished, both.drawn):
        return found
    bounds = _bounds(both, method, ends)
    found |= {"outstanding": len(both.unfinished)}
    return found if bounds is None else {**found, "bounds": bounds}


def _bounds(both: _Both, method: str, ends: Bounds) -> list[float] | None:
    """Return the ends between which the estimate will lie, whatever people say on the rest.

    Their scores on all unfinished queries are then at the lower, or all at the upper of the `ends`.
    The weight of the judge, which depends on all scores, is from 0 to 1. None if the judge lacks a
    score, or if the ends are unknown.
    """
    judge = np.concatenate([both.judge, both.outstanding])
    if np.isnan(judge).any() or not np.isfinite(ends).all():
        return None
    functions = [fixed_collection_mean]
    if method == POWERED:
        functions = [partial(prediction_powered_mean, lam=lam) for lam in (0.0, 1.0)]
    made = [
        function(human, judge, both.judge_only, bounds=ends).value or 0.0
        for function in functions
        for human in (
            np.concatenate([both.human, np.full(len(both.outstanding), score)]) for score in ends
        )
    ]
    return [min(made), max(made)]


def _query_means(values: Floats, queries: Ints) -> Floats:
    """Return the mean of each query's scores, NaN without one."""
    names, index = np.unique(queries, return_inverse=True)
    there = np.isfinite(values)
    sums = np.bincount(index, np.where(there, values, 0.0), minlength=len(names))
    sizes = np.bincount(index, there, minlength=len(names))
    means: Floats = np.divide(sums, sizes, out=np.full(len(names), np.nan), where=sizes > 0)
    return means


def estimates_tables(systems: JSON) -> list[Table]:
    """Return one table per judge, with its name in the caption even if there is only one."""
    by_judge: dict[str, list[tuple[Cell, ...]]] = {}
    for system, block in systems.items():
        for judge, of in block.get("judges", {block.get("judge_name", "judge"): block}).items():
            by_judge.setdefault(judge, []).append(_row(system or DASH, of))
    header = (
        "System", "People", "Judge, uncorrected", "Prediction-powered", "These queries alone",
        "Effective labels",
    )  # fmt: skip
    return [
        Table(f"People, and {judge} beside them", header, tuple(rows))
        for judge, rows in by_judge.items()
    ]


def _row(system: str, of: JSON) -> tuple[Cell, ...]:
    powered = of["prediction_powered"]
    worth = Number(of["effective_labels"], reason=powered.get("reason", ""), digits=0)
    return (
        system,
        Number.from_estimate(of["humans"]),
        Number.from_estimate(of["judge"]),
        Number.from_estimate(powered),
        # Reports frozen by earlier versions have no such estimate.
        Number.from_estimate(of["fixed_collection"]) if "fixed_collection" in of else DASH,
        worth,
    )


PART = SectionPart(
    SYSTEMS,
    title="People and judges together",
    tables=lambda shown: estimates_tables(shown.score["estimate"]),
)
