"""Section: whether people and judges order systems alike, within queries and overall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from operator import add
from typing import Literal, get_args

import numpy as np

from ..labels.people_sample import PeopleSample, describe_unfinished
from ..labels.resampling import ResamplingArguments, Scores
from ..scores.agreement import FEWEST_OF_EVALUATORS, Labelled, powered_pairs
from ..statistics import (
    SHARE_DIFFERENCE,
    Bools,
    Estimate,
    Floats,
    OrderedPairs,
    PairedTest,
    adjust_tests,
    order_agreement,
    order_chance,
    order_gap,
    ordered_pairs,
    paired_t,
    sign_flip,
    system_rank_correlation,
    undefined,
)
from ..statistics.paired import DECIMALS, OF_ROWS, RankCorrelation
from ..statistics.system_order import GAP_METHOD, METHOD
from ..types import JSON
from .crowd import is_crowd
from .estimates import NOT_SAMPLED

LEVEL = 0.05
ONE_PERSON = "no query has two systems that two people scored"
FEW_SYSTEMS = "fewer than six systems; the pairs of systems say more"
LEFT_OUT = f"{METHOD}, each person left out of the reference in turn"
Finding = Literal["both_alike", "both_opposite", "people_only", "judge_only", "neither", "untested"]
FINDINGS: tuple[Finding, ...] = get_args(Finding)
"""Whether people and judge each find a pair's difference significant after Holm, and its sign."""


def p_values(test: PairedTest, adjusted: float | None) -> JSON:
    """Return the p-value of a test, before and after Holm, or the reason for its absence."""
    found: JSON = {"p_value": test.p_value, "adjusted_p_value": adjusted}
    return {**found, "reason": test.reason} if test.p_value is None else found


def system_order(
    table: Scores, both: Scores, how: ResamplingArguments, sample: PeopleSample | None
) -> JSON:
    """Return whether people order systems alike, and whether each judge orders them as people do.

    People's scores in `table` are compared with each other. Judges are compared with people in
    `both`, which has only the items on which they may be compared. `sample`: see `estimates`.
    """
    systems, people = both.by_query(both.people)
    scores = {
        both.labels.raters[n].name: both.by_query(both.values[:, n])[1]
        for n in both.labels.columns("judge")
    }
    within = {name: ordered_pairs(people, judge)[0] for name, judge in scores.items()}
    others = _with_others(both, scores)
    chances = adjust_tests([order_chance(pairs) for pairs in within.values()])
    gaps = adjust_tests([_gap(others.get(name)) for name in scores])
    return {
        "humans": _humans(table),
        "judges": {
            name: {
                "within_queries": order_agreement(within[name]).as_json(),
                "counts": _counts(within[name]),
                "with_others": _left_out(others.get(name, ())[:1]).as_json(),
                "people_with_others": _left_out(others.get(name, ())[1:]).as_json(),
                "gap": gap.difference.within(*SHARE_DIFFERENCE).as_json(),
                "chance_test": p_values(*chance),
                "gap_test": p_values(gap, adjusted),
                **_of_means(people, scores[name], how),
                **_of_pairs(systems, people, scores[name], both, sample),
            }
            for name, chance, (gap, adjusted) in zip(scores, chances, gaps, strict=True)
        },
    }


def _humans(table: Scores) -> JSON:
    """Return how alike people order systems within queries, each held against the others' mean."""
    alone: dict[str, JSON] = {}
    together: tuple[OrderedPairs, ...] = ()
    for name, own, others in _each_left_out(table):
        pairs = ordered_pairs(others, own)
        together = tuple(map(add, together, pairs)) if together else pairs
        if not is_crowd(table.labels):
            alone[name] = order_agreement(*pairs).as_json()
    return {"within_queries": _left_out(together).as_json(), "raters": alone}


def _with_others(
    table: Scores, judges: Mapping[str, Floats]
) -> dict[str, tuple[OrderedPairs, ...]]:
    """Return each judge's pairs and people's own, where each person in turn is held against others.

    The reference is the mean of all people but the one, for the judge as for that person.
    """
    found: dict[str, tuple[OrderedPairs, ...]] = {}
    for _, own, others in _each_left_out(table):
        for name, judge in judges.items():
            pairs = ordered_pairs(others, judge, own)
            found[name] = tuple(map(add, found[name], pairs)) if name in found else pairs
    return found


def _each_left_out(table: Scores) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield each person's scores by query and system, (Q, S), and the mean of all others'."""
    columns = table.labels.columns("human")
    values = table.values[:, columns]
    known = np.isfinite(values)
    sums, sizes = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    for column, own, there in zip(columns, values.T, known.T, strict=True):
        rest = sums - np.where(there, own, 0.0)
        fewer = sizes - there
        others = np.divide(rest, fewer, out=np.full(len(rest), np.nan), where=fewer > 0)
        yield table.labels.raters[column].name, table.by_query(own)[1], table.by_query(others)[1]


def _left_out(pairs: Sequence[OrderedPairs]) -> Estimate:
    """Return the share ordered alike, with each person left out of the reference in turn."""
    if not pairs or not pairs[0].scored.any():
        return undefined(ONE_PERSON, 0, LEFT_OUT)
    made = order_agreement(pairs[0])
    return replace(made, method=made.method.replace(METHOD, LEFT_OUT))


def _gap(pairs: tuple[OrderedPairs, ...] | None) -> PairedTest:
    if pairs is None or not pairs[0].scored.any():
        return PairedTest(undefined(ONE_PERSON, 0, GAP_METHOD), None, GAP_METHOD, ONE_PERSON)
    return order_gap(*pairs)


def _counts(of: OrderedPairs) -> JSON:
    counts = {
        "ordered": of.ordered,
        "scored": of.scored,
        "alike": of.alike,
        "opposite": of.opposite,
        "tied": of.tied,
        "queries": of.scored > 0,
    }
    return {name: int(number.sum()) for name, number in counts.items()}


def _of_means(people: Floats, judge: Floats, how: ResamplingArguments) -> JSON:
    """Return the correlations of the systems' means, on the cells with both scores."""
    common = _common(people, judge)
    made: JSON = {}
    names: tuple[RankCorrelation, ...] = ("kendall", "tau_ap")
    for name in names:
        if people.shape[1] < FEWEST_OF_EVALUATORS:
            method = f"{OF_ROWS[name][1]} of the means of {people.shape[1]} systems"
            made[name] = undefined(FEW_SYSTEMS, people.shape[1], method).as_json()
        else:
            made[name] = system_rank_correlation(*common, name, **how).as_json()
    return made


def _common(people: Floats, judge: Floats) -> tuple[Floats, Floats]:
    """Return two tables (Q, S) with only the scores where both have one."""
    both = np.isfinite(people) & np.isfinite(judge)
    return np.where(both, people, np.nan), np.where(both, judge, np.nan)


def _of_pairs(
    systems: Sequence[str],
    people: Floats,
    judge: Floats,
    table: Scores,
    sample: PeopleSample | None,
) -> JSON:
    """Test every pair of systems under people, the judge, and both, and compare the findings.

    People and judge are tested on the same queries. Each adjusts its tests over all pairs (Holm).
    """
    own, other = (_tested_pairs(scores) for scores in _common(people, judge))
    powered = powered_pairs(_labelled(people, judge, table, sample), systems)
    corrected = [_as_json(each.test, each.adjusted_p_value) for each in powered]
    tested = zip(own, other, corrected, strict=True)
    pairs = [
        {
            "a": a,
            "b": b,
            "queries": by_people["difference"]["n"],
            "finding": _finding(by_people, by_judge),
            "humans": by_people,
            "judge": by_judge,
            "prediction_powered": both,
        }
        for (a, b), (by_people, by_judge, both) in zip(
            combinations(systems, 2), tested, strict=True
        )
    ]
    found = Counter(pair["finding"] for pair in pairs)
    return {"findings": {name: found[name] for name in FINDINGS}, "pairs": pairs}


def _tested_pairs(scores: Floats) -> list[JSON]:
    """Test every pair of systems by paired t, and by signs where all queries differ alike."""
    queries = np.arange(len(scores))
    pairs = combinations(scores.T, 2)
    tests = adjust_tests([_by_signs(paired_t(a, b, queries), a - b) for a, b in pairs])
    return [_as_json(*each) for each in tests]


def _by_signs(test: PairedTest, differences: Floats) -> PairedTest:
    """Replace a t test that is undefined since all differences are equal, unless they are 0."""
    kept = np.round(differences[np.isfinite(differences)], DECIMALS)
    if len(kept) < 2 or np.ptp(kept) > 0 or not kept[0]:
        return test
    return replace(sign_flip(kept), difference=test.difference)


def _as_json(test: PairedTest, adjusted: float | None) -> JSON:
    difference = test.difference.within(*SHARE_DIFFERENCE)
    return {"difference": difference.as_json(), **p_values(test, adjusted)}


def _labelled(
    people: Floats, judge: Floats, table: Scores, sample: PeopleSample | None
) -> Labelled:
    """Return the scores (Q, S) with the queries sampled for people; see `estimates`."""
    asked: Bools = np.asarray(np.isfinite(people).any(axis=1))
    reason: str | None = NOT_SAMPLED
    if sample is not None:
        items = zip(table.queries.tolist(), table.frame.items, strict=True)
        names = {query: item.query for query, item in items}
        drawn = [query for query, name in names.items() if name in sample.drawn]
        unfinished = [query for query in drawn if names[query] in sample.unfinished]
        asked = np.isin(np.arange(len(people)), drawn)
        reason = describe_unfinished(unfinished, drawn) if unfinished else None
    alone = not (np.isfinite(judge).any(axis=1) & ~asked).any()
    return Labelled(people, judge, asked, np.ones(len(people)), None if alone else reason)


def _finding(people: JSON, judge: JSON) -> Finding:
    own, other = _sign(people), _sign(judge)
    if own is None or other is None:
        return "untested"
    if own and other:
        return "both_alike" if own == other else "both_opposite"
    return "people_only" if own else "judge_only" if other else "neither"


def _sign(of: JSON) -> int | None:
    """Return the sign of a significant difference, 0 for another, None without a test."""
    p, difference = of["adjusted_p_value"], of["difference"]["value"]
    if p is None or difference is None:
        # Without any difference there is no p-value either, and nothing to find.
        return 0 if difference is not None and round(difference, DECIMALS) == 0 else None
    return int(np.sign(difference)) if p < LEVEL else 0
