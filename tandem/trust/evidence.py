"""Evidence by query that holds at any look: betting martingales, and the bounds that follow.

The unit is the query: a judge's errors may come by whole queries, so cells are never tested one by
one. Each function returns the logarithm of an e-value after each draw, (t,): under the null
hypothesis a nonnegative supermartingale that begins at 1, so the chance that it ever reaches 1/δ is
at most δ (Ville 1939). Therefore somebody may look after each draw, and stop.

Sources: Waudby-Smith and Ramdas, betting (JRSS-B 2024) and sampling without replacement (NeurIPS
2020); Shekhar, Xu, Lipton, Liang and Ramdas, draws by size (UAI 2023).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from math import ceil, log, log1p

import numpy as np

from ..statistics import Floats, Value

BETS = 0.5 + 0.5 * (np.arange(40) + 0.5) / 40
"""The shares of the largest bet that cannot lose everything, over which evidence is averaged."""
SMALL_BETS = np.exp(np.linspace(log(0.01), 0, 40))
"""Those for differences of systems, whose variance is small beside their range."""
LARGEST = 0.999
"""Keeps evidence above zero after the worst draw."""
TINY = 1e-12
RISKS = np.linspace(0.005, 0.995, 199)
"""The risks among which a bound is sought."""


def log_evidence(gains: Floats, losses: Floats, bets: Floats = BETS) -> Floats:
    """Return the logarithms of the evidence after each of the gains, (..., t).

        W_t = mean over bets c of Π_i (1 + .999 c gain_i / loss_i)

    Under the null a gain has a mean of at most 0 given those before it, and is at least -loss.
    """
    steps = log_steps(gains[..., None], losses[..., None], bets)
    return log_mean(np.cumsum(steps, axis=-2))


def log_steps(gain: Value, loss: Value, bets: Floats = BETS) -> Floats:
    """Return what one draw adds to the logarithm of each bet, by bet in the last axis."""
    steps: Floats = np.log1p(bets * LARGEST * (gain / np.maximum(loss, TINY)))
    return steps


def log_mean(logs: Floats) -> Floats:
    """Return the logarithm of the mean over bets of evidence that is given by its logarithms."""
    top = logs.max(axis=-1, keepdims=True)
    mean: Floats = (top + np.log(np.exp(logs - top).mean(axis=-1, keepdims=True)))[..., 0]
    return mean


def _before(values: Floats) -> Floats:
    """Return the sum of the values before each, (..., t)."""
    before = np.zeros(values.shape)
    np.cumsum(values[..., :-1], axis=-1, out=before[..., 1:])
    return before


def null_means(
    size: Floats,
    wrong: Floats,
    risk: float,
    total: float,
    seen: float = 0,
    seen_size: float = 0,
    largest: float = 1,
) -> Floats:
    """Return the least expected share of wrong cells that Risk >= `risk` leaves to each draw, (t,).

    `size` and `wrong` (t,) are the accepted cells of the drawn queries and those of them that are
    wrong, `total` is the number of accepted cells in all queries. `seen` and `seen_size` are the
    wrong and the accepted cells of queries that were labelled before the first of these draws. No
    query has a larger share of wrong cells than `largest`.
    """
    left = total - seen_size - _before(size)
    return np.clip((risk * total - seen - _before(wrong)) / left, 0, largest)


def evidence_by_size(
    size: Floats,
    wrong: Floats,
    risk: float,
    total: float,
    seen: float = 0,
    seen_size: float = 0,
    largest: float = 1,
) -> Floats:
    """Return log evidence against Risk >= `risk`, for queries drawn by size without replacement.

    The arguments are those of `null_means`. Every accepted cell of a drawn query is labelled. The
    errors may be those of a part of the cells, such as a system's: drawn by all A_q of its cells, a
    query's E_q / A_q has the mean Σ E / Σ A for the errors E of any part. `risk` is then the
    part's, times its share of the accepted cells, and `largest` the largest share of a query's
    accepted cells that belong to the part, which makes the largest safe bet larger.
    """
    mean = null_means(size, wrong, risk, total, seen, seen_size, largest)
    return log_evidence(mean - wrong / size, largest - mean)


def evidence_of_cells(wrong: Floats, asked: Floats, risk: float, largest: float = 1) -> Floats:
    """The same, for draws with replacement by size of which `asked` (t,) random cells are labelled.

    All draws are from one cut. A number of cells of a query may occur again in a later draw. No
    draw has a larger share of wrong cells than `largest`.
    """
    mean = min(risk, largest)
    return log_evidence(mean - wrong / asked, np.full(len(wrong), largest - mean))


def evidence_of_even(
    size: Floats, wrong: Floats, risk: float, total: float, queries: int, largest: float
) -> Floats:
    """The same, for queries drawn evenly without replacement, in random order.

    `queries` is the number of all queries, with `total` accepted cells, of which the largest query
    has `largest`. The evidence is weak where sizes differ, since a query may hide that many errors.
    """
    excess = wrong - risk * size
    left = queries - np.arange(len(size))
    least = np.clip(-_before(excess) / left, -risk * largest, (1 - risk) * largest)
    return log_evidence((least - excess) / largest, ((1 - risk) * largest - least) / largest)


def evidence_of_difference(difference: Floats, queries: float, margin: float = 0) -> Floats:
    """Return log evidence against "B is not better than A by more than -`margin`", (..., t).

    `difference` (..., t) is B's score minus A's by people, in [-1, 1], on queries that were drawn
    evenly without replacement from `queries`, infinite for a stream. Without a margin the evidence
    says that B is better; with one, between 0 and 1, that B is not worse than A by it or more.

    Under the null the differences of all queries, shifted up by the margin, sum to 0 at most:
    Σ (D + margin) <= 0. So given those seen, the next has a mean of at most

        most = -Σ seen (D + margin) / queries left - margin,

    within [-1, 1]. The shifted difference lies in [-1 + margin, 1 + margin]; against its mean it
    gains D - most, since the margin cancels, and loses 1 + most at worst. So every factor of
    `log_evidence` has a mean of at most 1 and stays positive.
    """
    return log_mean(np.cumsum(steps_of_difference(difference, queries, margin), axis=-2))


def steps_of_difference(
    difference: Floats, queries: float, margin: float = 0, seen: float | Floats = 0, drawn: int = 0
) -> Floats:
    """Return what each difference adds to the logarithm of each bet, (..., t, bets).

    The arguments are those of `evidence_of_difference`; `seen` (..., 1) is the sum of the `drawn`
    differences before.
    """
    left = queries - drawn - np.arange(difference.shape[-1])
    most = np.clip(-(seen + margin * drawn + _before(difference + margin)) / left - margin, -1, 1)
    return log_steps((difference - most)[..., None], (1 + most)[..., None], SMALL_BETS)


def evidence_of_excess(share: Floats, mean: Floats) -> Floats:
    """Return log evidence against Risk <= risk, from shares of wrong cells and `null_means`."""
    if (share[mean <= 0] > 0).any():
        return np.full(len(share), np.inf)
    return log_evidence(share - mean, np.maximum(mean, TINY))


def risk_bound(evidence: Callable[[float], Floats], delta: float) -> float:
    """Return an upper bound of the risk with confidence 1 - `delta`, valid at every look.

    It is the least of `RISKS` against which the evidence has reached 1/δ, or 1 if there is none.
    The most evidence so far grows with the risk, which makes halving find it.
    """
    needed = log(1 / delta)
    place = bisect_left(
        RISKS, True, key=lambda risk: evidence(float(risk)).max(initial=-np.inf) >= needed
    )
    return float(RISKS[place]) if place < len(RISKS) else 1.0


def fewest_draws(risk: float, delta: float) -> int:
    """Return the draws by size below which nothing can be certified: ⌈ln δ / ln(1 - risk)⌉.

    Errors may come by whole queries, and that many draws miss a share of `risk` with a chance of δ.
    """
    return ceil(log(delta) / log1p(-risk))


def cells_without_error(risk: float, delta: float) -> int:
    """Return how many draws of cells certify if no cell of them is wrong."""
    draws = ceil(log(2 * len(BETS) / delta) / log1p(risk / 2 / (1 - risk)))
    right = np.zeros(draws)
    reached = evidence_of_cells(right, right + 1, risk) >= log(1 / delta)
    return int(reached.argmax()) + 1


def draws_without_error(size: Floats, risk: float, delta: float, total: float) -> int | None:
    """Return how many draws of these sizes, in this order, certify if no cell is wrong."""
    reached = evidence_by_size(size, np.zeros(len(size)), risk, total) >= log(1 / delta)
    return int(reached.argmax()) + 1 if reached.any() else None
