"""A system's score from people alone, from a judge alone, and from both together."""

from __future__ import annotations

import numpy as np

from analysis.blocks.itemscores import Scores, systems_of
from analysis.blocks.resampling import JSON
from analysis.statistics import (
    PEOPLE_ALONE,
    SHARE,
    Bools,
    Estimate,
    Floats,
    Ints,
    effective_labels,
    mean_by_cluster,
    people_only_mean,
    prediction_powered_mean,
    undefined,
)

POWERED = "prediction-powered mean (PPI++)"


def estimates(of: Scores, sampled: bool | None) -> JSON:
    """By system: people, judge (uncorrected) and the prediction-powered estimate of both.

    People are people together, decided unit by unit. Queries on which they tie throughout give no
    value, and are no judged ones either.

    `sampled` says whether the queries that people labelled are a drawn sample of all: True, False,
    or None where nothing is known. Where they are not, or no query is judged only, there is no
    prediction-powered estimate. Scores are shares: means and intervals are cut where no share can
    lie. The first judge by name stands in `judge`; all of them, where there are several, under
    `judges`.
    """
    judges = of.labels.columns("judge")
    found: JSON = {}
    for system, items in systems_of(of.frame).items():
        people = _query_means(of.majority[items], of.queries[items])
        asked = np.isfinite(_query_means(of.people[items], of.queries[items]))
        each = {
            of.labels.raters[n].name: _with_judge(of, n, items, people, asked, sampled)
            for n in judges
        }
        if each:
            first = next(iter(each.values()))
            found[system] = first if len(each) == 1 else {**first, "judges": each}
    return found


def _with_judge(
    of: Scores, judge: int, items: Ints, people: Floats, asked: Bools, sampled: bool | None
) -> JSON:
    scores = of.values[items, judge]
    judged = _query_means(scores, of.queries[items])
    labelled = np.isfinite(people)
    only = judged[~asked & np.isfinite(judged)]
    powered, worth = _powered(people[labelled], judged[labelled], only, sampled)
    return {
        "humans": people_only_mean(people[np.isfinite(people)]).within(*SHARE).as_json(),
        "judge": mean_by_cluster(scores, of.queries[items], "mean over items, uncorrected")
        .within(*SHARE)
        .as_json(),
        "prediction_powered": powered.within(*SHARE).as_json(),
        "effective_labels": worth,
        "judge_name": of.labels.raters[judge].name,
    }


def _powered(
    human: Floats, judge: Floats, only: Floats, sampled: bool | None
) -> tuple[Estimate, float | None]:
    if len(human) and not len(only):
        return undefined(PEOPLE_ALONE, len(human), POWERED), None
    if np.isnan(judge).any():
        reason = f"the judge has no score on {int(np.isnan(judge).sum())} of the labelled queries"
        return undefined(reason, len(human), POWERED), None
    if not sampled:
        reason = "the queries that people labelled are no drawn sample (see --human-share)"
        return undefined(reason, len(human), POWERED), None
    return prediction_powered_mean(human, judge, only), effective_labels(human, judge, only)


def _query_means(values: Floats, queries: Ints) -> Floats:
    """The mean of each query's scores, NaN where it has none."""
    names, index = np.unique(queries, return_inverse=True)
    there = np.isfinite(values)
    sums = np.bincount(index, np.where(there, values, 0.0), minlength=len(names))
    sizes = np.bincount(index, there, minlength=len(names))
    return np.divide(sums, sizes, out=np.full(len(names), np.nan), where=sizes > 0)
