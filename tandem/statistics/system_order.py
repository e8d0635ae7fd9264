"""Whether a judge orders systems as people do within queries, where difficulty cancels.

Correlations over all answers compare answers to different queries. Their value is high already if
judge and people agree on which queries are hard, even if the judge reverses the systems. Two
answers to the same query differ only in their systems.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np

from .cluster_means import mean_by_cluster
from .correlation import BLOCK, DECIMALS, tau_ap_of_scored
from .estimate import COEFFICIENT, SHARE, SHARE_DIFFERENCE, Estimate, Floats, ratio, undefined
from .paired import PairedTest, paired_t

CHANCE = 0.5
METHOD = "share of pairs of systems ordered alike within queries, ties one half, mean of queries"
GAP_METHOD = "share of pairs of systems ordered alike, judge less people"
NO_PAIRS = "no query has two systems that people's scores order"
NOT_SCORED = "no query has two systems that people order and that have both scores to compare"
Within = Literal["kendall", "tau_ap"]
WITHIN: dict[Within, str] = {
    "kendall": "Kendall's tau-b within queries, mean of queries",
    "tau_ap": "tau_AP within queries, with people's order as the reference, mean of queries",
}
NOT_ORDERED = "no query has two systems with both scores that both order"


@dataclass(frozen=True)
class OrderedPairs:
    """Numbers of pairs of systems within each query, (Q,) each.

    `ordered` are the pairs that a reference orders. Of these, a rater's scores are known for
    `scored`, which they order `alike`, or as a tie (`tied`), or else the opposite way.
    """

    ordered: Floats
    scored: Floats
    alike: Floats
    tied: Floats

    @property
    def opposite(self) -> Floats:
        return self.scored - self.alike - self.tied

    @property
    def shares(self) -> Floats:
        """The share ordered alike by query, ties one half; NaN without a scored pair."""
        return ratio(self.alike + self.tied / 2, self.scored)

    def __add__(self, other: OrderedPairs) -> OrderedPairs:
        return OrderedPairs(
            self.ordered + other.ordered,
            self.scored + other.scored,
            self.alike + other.alike,
            self.tied + other.tied,
        )


def ordered_pairs(reference: Floats, *raters: Floats) -> tuple[OrderedPairs, ...]:
    """Count the pairs of systems that a reference orders within a query, and how each rater does.

    `reference` and each of `raters` (Q, S) are scores of S systems on Q queries, NaN = none. A pair
    counts in `scored` only if every rater has both scores, so that raters are compared on the same
    pairs. Pairs that the reference ties are left out. Scores that differ only after the twelfth
    decimal are tied, since means of fractions are not exact.
    """
    one, other = np.triu_indices(reference.shape[1], 1)
    step = max(1, BLOCK // max(1, len(one)))
    found: list[list[Floats]] = []
    for start in range(0, max(1, len(reference)), step):
        by_reference, *by_rater = (
            np.sign(np.round(block[:, one] - block[:, other], DECIMALS))
            for block in (scores[start : start + step] for scores in (reference, *raters))
        )
        is_ordered = np.abs(by_reference) > 0
        is_scored = reduce(np.logical_and, map(np.isfinite, by_rater), is_ordered)
        numbers = [is_ordered, is_scored]
        for signs in by_rater:
            numbers += [is_scored & (signs == by_reference), is_scored & (signs == 0)]
        found.append([each.sum(axis=1).astype(float) for each in numbers])
    ordered, scored, *rest = (np.concatenate(each) for each in zip(*found, strict=True))
    return tuple(
        OrderedPairs(ordered, scored, alike, tied)
        for alike, tied in zip(rest[::2], rest[1::2], strict=True)
    )


def order_agreement(pairs: OrderedPairs) -> Estimate:
    """Return the share of pairs ordered within queries by a reference that a rater orders alike.

    A pair that the rater ties counts one half, so a rater without any order has .5, as has one that
    orders at random; one that reverses every pair has 0. This is (1 + tau) / 2, where tau is
    Kendall's, without the pairs that the reference ties. The share is computed for each query,
    and every query has the same weight. n is the number of pairs.
    """
    n, shares = int(pairs.scored.sum()), pairs.shares
    if not n:
        return undefined(NOT_SCORED if pairs.ordered.any() else NO_PAIRS, 0, METHOD)
    made = mean_by_cluster(shares, np.arange(len(shares)), METHOD, SHARE)
    return replace(made, n=n)


def order_gap(judge: OrderedPairs, people: OrderedPairs) -> PairedTest:
    """Return the mean over queries of a judge's share less people's, and its two-sided t test.

    Both come from one call of `ordered_pairs`, or from sums of such calls with each person left out
    of the reference in turn: the judge and the person are then compared with the same other people.
    n is the number of queries.
    """
    test = paired_t(judge.shares, people.shares, np.arange(len(judge.shares)))
    if not judge.scored.any():
        return replace(test, difference=undefined(NOT_SCORED, 0, GAP_METHOD), reason=NOT_SCORED)
    made = test.difference.within(*SHARE_DIFFERENCE)
    return replace(test, difference=replace(made, method=f"{GAP_METHOD}, {made.method}"))


def order_chance(pairs: OrderedPairs) -> PairedTest:
    """Test by queries whether a rater's share differs from one half, two-sided, by t."""
    return paired_t(pairs.shares, np.full(len(pairs.shares), CHANCE), np.arange(len(pairs.shares)))


def correlation_within_queries(
    reference: Floats, judge: Floats, function: Within = "kendall"
) -> Estimate:
    """Return the mean over queries of the rank correlation of the systems within a query.

    `reference` and `judge` (Q, S) are scores of S systems on Q queries, NaN = none. Within each
    query it is Kendall's tau-b, or `tau_ap` with the reference's order as true, of the systems that
    both score; then every query has the same weight. A query does not count if tau is undefined
    there, because one of the two ties all systems (for tau_AP: because the reference does). n is
    the number of queries that count, and the interval is by queries. The correlation of the
    systems' means, in contrast, is `system_rank_correlation`.
    """
    correlate = _kendall_of_scored if function == "kendall" else tau_ap_of_scored
    taus = correlate(reference, judge)
    if not np.isfinite(taus).any():
        return undefined(NOT_ORDERED, 0, WITHIN[function])
    return mean_by_cluster(taus, np.arange(len(taus)), WITHIN[function], COEFFICIENT)


def _kendall_of_scored(reference: Floats, judge: Floats) -> Floats:
    """Return tau-b of each row's systems that both score, for scores (Q, S), NaN = none: (Q,)."""
    one, other = np.triu_indices(reference.shape[1], 1)
    step = max(1, BLOCK // max(1, len(one)))
    found: list[Floats] = []
    for start in range(0, max(1, len(reference)), step):
        signs = [
            np.sign(np.round(block[:, one] - block[:, other], DECIMALS))
            for block in (scores[start : start + step] for scores in (reference, judge))
        ]
        both = np.isfinite(signs[0] * signs[1])
        a, b = (np.where(both, each, 0.0) for each in signs)
        untied = np.abs(a).sum(axis=1) * np.abs(b).sum(axis=1)
        found.append(ratio((a * b).sum(axis=1), np.sqrt(untied)))
    return np.concatenate(found)
