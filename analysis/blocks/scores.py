"""Scores of reports that labels make, such as coverage: per report, system and rater."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from analysis.blocks.comparisons import comparisons
from analysis.blocks.coverage import coverage
from analysis.blocks.crowd import FEW_ITEMS, FEWEST, distributed, is_crowd
from analysis.blocks.estimates import estimates
from analysis.blocks.itemscores import MEAN, Scores, systems_of
from analysis.blocks.resampling import JSON, drawing
from analysis.frames import Frame, VariableFrame
from analysis.people import reference
from analysis.statistics import (
    SHARE,
    Floats,
    Ints,
    correlation_estimates,
    mean_by_cluster,
    pair_counts,
    spearman,
)

Measure = Callable[[VariableFrame, int], Floats]
"""From the labels of a variable and the number of items to scores (I, R)."""

MEASURES: Mapping[str, tuple[str, Measure]] = {"coverage": ("answerable", coverage)}
"""The scores that a report shows, each with the variable that it is made of."""
MOST_PAIRS = 1000


def scores(
    frame: Frame,
    resamples: int | None,
    seed: int,
    sampled: bool | None,
    held: Collection[str] | None = None,
) -> JSON:
    """The scores that the frame's variables allow. `sampled`: see `estimates`.

    `held` are the items on which judges are held against people; None for all.
    """
    return {
        name: _block(of, resamples, seed, sampled, held)
        for name, of in scores_of_items(frame).items()
    }


def scores_of_items(frame: Frame) -> dict[str, Scores]:
    """Each score that the frame's variables allow, of every item by every rater."""
    found: dict[str, Scores] = {}
    for name, (variable, measure) in MEASURES.items():
        labels = frame.variables.get(variable)
        if labels is not None and set(labels.scale.categories) >= {"yes", "no"}:
            keys = {q: n for n, q in enumerate(sorted({i.query for i in frame.items}))}
            queries = np.array([keys[item.query] for item in frame.items], dtype=np.int64)
            values, agreed = (measure(of, len(frame.items)) for of in (labels, _agreed(labels)))
            found[name] = Scores(frame, labels, values, queries, agreed[:, 0])
    return found


def _agreed(labels: VariableFrame) -> VariableFrame:
    """What people together say, as the labels of one rater; ties are no label."""
    return replace(labels, codes=reference(labels).codes[:, None])


def _block(
    of: Scores,
    resamples: int | None,
    seed: int,
    sampled: bool | None,
    held: Collection[str] | None,
) -> JSON:
    both = of if held is None else of.only(held)
    how = drawing(of.queries, resamples, seed)

    def compare(x: Floats, y: Floats) -> JSON:
        made = correlation_estimates(x, y, of.queries, detail=" over items", **how)
        return {name: estimate.as_json() for name, estimate in made.items()}

    return {
        "items": _items(of),
        "systems": _systems(of),
        "majority": _majority(of),
        "comparisons": comparisons(of),
        **_pairs(of, compare),
        "correlation": _correlations(both, compare),
        "estimate": estimates(both, sampled),
    }


def _items(of: Scores) -> list[JSON]:
    names = [rater.name for rater in of.labels.raters]
    return [
        {
            "item": item.key,
            "query": item.query,
            "system": item.system,
            "values": {
                name: float(value)
                for name, value in zip(names, of.values[n], strict=True)
                if np.isfinite(value)
            },
        }
        for n, item in enumerate(of.frame.items)
        if np.isfinite(of.values[n]).any()
    ]


def _systems(of: Scores) -> JSON:
    """Of a crowd the people stand there as their mean alone: each scored a few items."""
    columns = of.columns()
    if is_crowd(of.labels):
        people = {of.labels.raters[n].name for n in of.labels.columns("human")}
        columns = {name: values for name, values in columns.items() if name not in people}
    return {
        system: {
            name: _mean(of, values, items, "mean over items") for name, values in columns.items()
        }
        for system, items in systems_of(of.frame).items()
    }


def _majority(of: Scores) -> JSON:
    how = "mean over items of the score by people's majority"
    return {
        system: _mean(of, of.majority, items, how) for system, items in systems_of(of.frame).items()
    }


def _mean(of: Scores, values: Floats, items: Ints, method: str) -> JSON:
    """The mean score of some items: a share, and so is all of its interval."""
    return mean_by_cluster(values[items], of.queries[items], method).within(*SHARE).as_json()


def _pairs(of: Scores, compare: Callable[[Floats, Floats], JSON]) -> JSON:
    raters = of.labels.raters
    if is_crowd(of.labels):
        return {"pairs_distribution": _distribution(of)}
    return {
        "pairs": [
            {"a": raters[a].name, "b": raters[b].name, **compare(of.values[:, a], of.values[:, b])}
            for a, b in combinations(of.labels.columns("human"), 2)
        ]
    }


def _distribution(of: Scores) -> JSON:
    """Of the pairs of people with enough items in common; of very many, a sample of them."""
    values = of.values[:, of.labels.columns("human")]
    found = pair_counts(np.where(np.isfinite(values), 0, -1), 1).least(FEWEST)
    chosen = np.arange(len(found.units))
    if len(chosen) > MOST_PAIRS:
        generator = np.random.Generator(np.random.PCG64(0))
        chosen = np.sort(generator.choice(len(chosen), MOST_PAIRS, replace=False))
    made = [_spearman(values[:, found.one[n]], values[:, found.other[n]]) for n in chosen]
    return {
        "pairs": len(found.units),
        "fewest_items": FEWEST,
        "spearman": distributed(np.array(made, dtype=float), FEW_ITEMS),
    }


def _spearman(x: Floats, y: Floats) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    return float(spearman(x[both], y[both]))


def _correlations(of: Scores, compare: Callable[[Floats, Floats], JSON]) -> JSON:
    raters, people = of.labels.raters, of.people
    alone = [] if is_crowd(of.labels) else of.labels.columns("human")
    return {
        raters[judge].name: {
            **{raters[n].name: compare(of.values[:, judge], of.values[:, n]) for n in alone},
            MEAN: compare(of.values[:, judge], people),
        }
        for judge in of.labels.columns("judge")
    }
