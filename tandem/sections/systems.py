"""Section: scores of systems, compared in pairs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..labels.frame import Frame, VariableFrame
from ..labels.people_sample import PeopleSample
from ..labels.reference import reference
from ..labels.resampling import MEAN, Scores, resampling_arguments, systems_of
from ..statistics import (
    SHARE_DIFFERENCE,
    Floats,
    Ints,
    adjust_tests,
    compare_systems,
    correlation_estimates,
    pair_counts,
    spearman,
    wilcoxon_signed_rank,
)
from ..types import JSON
from .crowd import FEW_ITEMS, FEWEST, is_crowd, quantiles_of
from .estimates import estimates, mean_share
from .system_order import p_values, system_order

Measure = Callable[[VariableFrame, int], Floats]
"""Maps the labels of a variable and the number of items to scores (I, R)."""
MOST_PAIRS = 1000


def coverage(labels: VariableFrame, items: int) -> Floats:
    """Return Cov = yes / (yes + no) of each item by each rater, (I, R).

    The denominator is the questions that the rater labelled yes or no: null questions, escapes and
    missing judgements do not count. NaN if a rater labelled none.
    """
    # A file with only no has no code for yes.
    code = {category: n for n, category in enumerate(labels.scale.categories)}
    yes = code.get("yes", len(code))
    answered = np.zeros((items, labels.codes.shape[1]))
    covered = np.zeros_like(answered)
    np.add.at(answered, labels.units.item, labels.codes >= 0)
    np.add.at(covered, labels.units.item, labels.codes == yes)
    return np.divide(covered, answered, out=np.full_like(covered, np.nan), where=answered > 0)


def comparisons(table: Scores) -> list[JSON]:
    """Compare systems by paired t on queries and, on the same differences, Wilcoxon's signed ranks.

    Only queries with scores of both systems count. Holm's adjustment of each test covers all pairs
    of systems with a defined test.
    """
    names, scores = table.by_query(table.people)
    compared = compare_systems(scores, names)
    column = {name: scores[:, n] for n, name in enumerate(names)}
    differences = [column[each.a] - column[each.b] for each in compared]
    ranks = adjust_tests([wilcoxon_signed_rank(difference) for difference in differences])
    return [
        {
            "a": each.a,
            "b": each.b,
            "queries": int(np.isfinite(difference).sum()),
            "difference": each.test.difference.within(*SHARE_DIFFERENCE).as_json(),
            "higher": int((np.round(difference, 12) > 0).sum()),
            "lower": int((np.round(difference, 12) < 0).sum()),
            "paired_t": p_values(each.test, each.adjusted_p_value),
            "wilcoxon": p_values(*rank),
        }
        for each, difference, rank in zip(compared, differences, ranks, strict=True)
    ]


ANSWERS = {"yes", "no"}
MEASURES: Mapping[str, tuple[str, Measure]] = {"coverage": ("answerable", coverage)}
"""The scores that a report shows, each with its variable."""


def scores(
    frame: Frame,
    resamples: int | None,
    seed: int,
    sampled: PeopleSample | None,
    comparable: Collection[str] | None = None,
) -> JSON:
    """Return the scores that the frame's variables allow. `sampled`: see `estimates`.

    `comparable` are the items on which judges are compared with people; None for all.
    """
    return {
        name: _block(table, resamples, seed, sampled, comparable)
        for name, table in scores_of_items(frame).items()
    }


def scores_of_items(frame: Frame) -> dict[str, Scores]:
    """Return each score that the frame's variables allow, for every item by every rater."""
    found: dict[str, Scores] = {}
    for name, (variable, measure) in MEASURES.items():
        labels = frame.variables.get(variable)
        if labels is not None and _is_of_answers(set(labels.scale.categories)):
            keys = {q: n for n, q in enumerate(sorted({i.query for i in frame.items}))}
            queries = np.array([keys[item.query] for item in frame.items], dtype=np.int64)
            values, agreed = (
                measure(table, len(frame.items)) for table in (labels, _agreed(labels))
            )
            found[name] = Scores(frame, labels, values, queries, agreed[:, 0])
    return found


def _is_of_answers(categories: Set[str]) -> bool:
    """Whether a variable's categories are yes and no; one of them may be unused."""
    return categories >= ANSWERS or (bool(categories) and categories <= ANSWERS)


def _agreed(labels: VariableFrame) -> VariableFrame:
    """Return people's joint labels like those of one rater. Ties are missing."""
    return replace(labels, codes=reference(labels).codes[:, None])


def _block(
    table: Scores,
    resamples: int | None,
    seed: int,
    sampled: PeopleSample | None,
    comparable: Collection[str] | None,
) -> JSON:
    both = table if comparable is None else table.only(comparable)
    how = resampling_arguments(table.queries, resamples, seed)

    def compare(x: Floats, y: Floats) -> JSON:
        made = correlation_estimates(x, y, table.queries, detail=" over items", **how)
        return {name: estimate.as_json() for name, estimate in made.items()}

    return {
        "items": _items(table),
        "systems": _systems(table),
        "majority": _majority(table),
        "comparisons": comparisons(table),
        **_pairs(table, compare),
        "order": system_order(table, both, how, sampled),
        "correlation": _correlations(both, compare),
        "estimate": estimates(both, sampled),
    }


def _items(table: Scores) -> list[JSON]:
    names = [rater.name for rater in table.labels.raters]
    return [
        {
            "item": item.key,
            "query": item.query,
            "system": item.system,
            "values": {
                name: float(value)
                for name, value in zip(names, table.values[n], strict=True)
                if np.isfinite(value)
            },
        }
        for n, item in enumerate(table.frame.items)
        if np.isfinite(table.values[n]).any()
    ]


def _systems(table: Scores) -> JSON:
    """Return means by system.

    A crowd appears only as its mean, since its people score few items.
    """
    columns = table.columns()
    if is_crowd(table.labels):
        people = {table.labels.raters[n].name for n in table.labels.columns("human")}
        columns = {name: values for name, values in columns.items() if name not in people}
    return {
        system: {
            name: _mean(table, values, items, "mean over items") for name, values in columns.items()
        }
        for system, items in systems_of(table.frame).items()
    }


def _majority(table: Scores) -> JSON:
    how = "mean over items of the score by people's majority"
    return {
        system: _mean(table, table.majority, items, how)
        for system, items in systems_of(table.frame).items()
    }


def _mean(table: Scores, values: Floats, items: Ints, method: str) -> JSON:
    return mean_share(table, values, items, method).as_json()


def _pairs(table: Scores, compare: Callable[[Floats, Floats], JSON]) -> JSON:
    raters = table.labels.raters
    if is_crowd(table.labels):
        return {"pairs_distribution": _distribution(table)}
    return {
        "pairs": [
            {
                "a": raters[a].name,
                "b": raters[b].name,
                **compare(table.values[:, a], table.values[:, b]),
            }
            for a, b in combinations(table.labels.columns("human"), 2)
        ]
    }


def _distribution(table: Scores) -> JSON:
    """Return the correlations of pairs of people with enough common items, or a sample of pairs."""
    values = table.values[:, table.labels.columns("human")]
    found = pair_counts(np.where(np.isfinite(values), 0, -1), 1).least(FEWEST)
    chosen = np.arange(len(found.units))
    if len(chosen) > MOST_PAIRS:
        generator = np.random.Generator(np.random.PCG64(0))
        chosen = np.sort(generator.choice(len(chosen), MOST_PAIRS, replace=False))
    made = [_spearman(values[:, found.one[n]], values[:, found.other[n]]) for n in chosen]
    return {
        "pairs": len(found.units),
        "fewest_items": FEWEST,
        "spearman": quantiles_of(np.array(made, dtype=float), FEW_ITEMS),
    }


def _spearman(x: Floats, y: Floats) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    return float(spearman(x[both], y[both]))


def _correlations(table: Scores, compare: Callable[[Floats, Floats], JSON]) -> JSON:
    """Return each judge's correlation with each person, people's mean, and later judges."""
    raters, people = table.labels.raters, table.people
    judges = table.labels.columns("judge")
    alone = [] if is_crowd(table.labels) else table.labels.columns("human")
    return {
        raters[judge].name: {
            **{raters[p].name: compare(table.values[:, judge], table.values[:, p]) for p in alone},
            MEAN: compare(table.values[:, judge], people),
            **{
                raters[other].name: compare(table.values[:, judge], table.values[:, other])
                for other in judges[n + 1 :]
            },
        }
        for n, judge in enumerate(judges)
    }
