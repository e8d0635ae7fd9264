"""Agreement on resamples of queries and raters, for intervals that also hold for other raters.

Resampling only queries ignores how much a figure depends on which people labelled. Queries and
raters are therefore resampled separately, with replacement. A label's weight is the product of how
often its query and its rater were drawn (Owen 2007, the pigeonhole bootstrap). Pairs of a rater
with the same rater never count, since a rater drawn twice is not a second rater.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from .agreement import correct_for_chance, positions
from .coefficients import OF_TWO, keys_of_two
from .estimate import Floats, Ints, Level, Scale, ratio
from .pairwise import MEANS, PairMean, kept_pairs, shared_units
from .tally import Resamples, Tally, kinds_of

#: The number of cells computed at once, which take 16 MB.
AT_ONCE = 2_000_000


def sample_raters(raters: int, resamples: int, seed: int) -> Floats:
    """Count how often each rater is drawn, (B, R), with at least two different raters per resample.

    A resample of a single rater has no agreement to measure, so it is drawn again.
    """
    generator = np.random.Generator(np.random.PCG64([seed, 1]))
    shares = np.full(raters, 1 / max(raters, 1))
    draws = generator.multinomial(raters, shares, size=resamples)
    while raters > 1 and (alone := (draws > 0).sum(axis=1) < 2).any():
        draws[alone] = generator.multinomial(raters, shares, size=int(alone.sum()))
    return draws.astype(float)


def sample_kinds_and_raters(
    tally: Tally, raters: int, draws: int | Resamples, seed: int, size: int = 1
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the weights of kinds (b, P) and how often each rater is drawn (b, R).

    The block size b keeps b times `size` small. The resampled queries are the same as in the
    bootstrap of queries alone.
    """
    both = tally.weigh(draws) if isinstance(draws, Resamples) else tally.resampled(draws, seed)
    number = len(draws.draws) if isinstance(draws, Resamples) else draws
    people, start = sample_raters(raters, number, seed), 0
    step = max(1, AT_ONCE // max(1, size))
    for weights in both:
        for at in range(0, len(weights), step):
            some = weights[at : at + step]
            yield some, people[start : start + len(some)]
            start += len(some)


def two_way_pairs(
    judge: Ints,
    people: Ints,
    clusters: Ints,
    k: int,
    draws: int | Resamples,
    seed: int,
    values: Floats | None = None,
) -> tuple[dict[str, Floats], dict[str, Floats], int]:
    """Return the agreement of people (U, R), a judge's (U,) gap to it, and the number of people.

    Agreement and gap are (B,), a value per resample, by coefficient. Pairs and units are those of
    `gap_estimates`. With `values` (K,), the numbers of ordered categories, kappa with quadratic
    weights is one of the coefficients.
    """
    held = np.where(judge[:, None] >= 0, people, -1)
    pairs, _ = kept_pairs(shared_units(held), people.shape[1])
    who = np.unique(pairs)
    if not len(who):
        return {}, {}, 0
    enter = (held[:, who] >= 0).sum(axis=1) >= 2
    rows, kinds = kinds_of(np.where(enter[:, None], np.column_stack([judge, held[:, who]]), -1))
    with_each = np.array([(0, n + 1) for n in range(len(who))], dtype=np.int64)
    beside = PairMean(rows, with_each, k, values)
    among = PairMean(rows, np.searchsorted(who, pairs).astype(np.int64) + 1, k, values)
    left_out = ("sets",) if values is not None else ("sets", "order")
    functions = {n: of for n, of in MEANS.items() if OF_TWO[n].needs not in left_out}
    tally = Tally.of(kinds, len(rows), clusters)
    blocks = []
    for weights, people_drawn in sample_kinds_and_raters(tally, len(who), draws, seed):
        drawn = np.column_stack([np.ones(len(people_drawn)), people_drawn])
        blocks.append(
            {
                f"{name}{of}": np.asarray(function(mean, weights, drawn))
                for name, function in functions.items()
                for of, mean in (("", among), ("_gap", beside))
            }
        )
    made = _concatenate(iter(blocks))
    ceiling = {name: made[name] for name in functions}
    return ceiling, {name: made[f"{name}_gap"] - made[name] for name in functions}, len(who)


@dataclass(frozen=True)
class TwoWay:
    """Labels (U, R) of raters, -1 = missing, with resamples of their queries and raters.

    `other` (U,) has the labels of one additional rater, and `values` (K,) the numbers of the
    categories.
    """

    codes: Ints
    clusters: Ints
    k: int
    level: Level
    values: Floats | None
    draws: int | Resamples
    seed: int
    other: Ints | None = None

    @property
    def raters(self) -> int:
        """The number of raters."""
        return int(self.codes.shape[1])

    def of_people(self) -> dict[str, Floats]:
        """Return the coefficients among the raters on each resample, (B,) each.

        These are the coefficients of `agreement_estimates`, computed from weighted labels. On each
        unit, n_k is the weight of category k, s_k is the sum of its raters' squared weights, and
        sum_k (n_k^2 - s_k) is the number of agreeing pairs of different raters.
        """
        return _concatenate(self._among(*block) for block in self._blocks())

    def of_judge(self) -> dict[str, Floats]:
        """Compare `other` with the raters' most frequent label or mean on resamples, (B,) each."""
        return _concatenate(self._with_other(*block) for block in self._blocks())

    @cached_property
    def _numbers(self) -> Floats:
        """Return the centred number of each category, (K,)."""
        return positions(self.k, self.values)

    @cached_property
    def _kinds(self) -> tuple[Ints, Ints]:
        other = np.zeros((len(self.codes), 0), np.int64) if self.other is None else self.other
        return kinds_of(np.column_stack([self.codes, other]))

    @cached_property
    def _indicators(self) -> sparse.csr_array:
        """Return which rater gave which kind of unit which category, (P K, R)."""
        rows = self._kinds[0][:, : self.raters]
        kind, rater = np.nonzero(rows >= 0)
        places = kind * self.k + rows[kind, rater]
        shape = (len(rows) * self.k, self.raters)
        return sparse.csr_array((np.ones(len(kind)), (places, rater)), shape=shape)

    def _blocks(self) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield weights of kinds (b, P), of their labels (b, P, K), and the squares (b, P, K)."""
        rows, kinds = self._kinds
        tally, size = Tally.of(kinds, len(rows), self.clusters), len(rows) * self.k
        for weights, drawn in sample_kinds_and_raters(
            tally, self.raters, self.draws, self.seed, size
        ):
            yield weights, self._labels(drawn), self._labels(drawn**2)

    def _labels(self, drawn: Floats) -> Floats:
        found: Floats = (self._indicators @ drawn.T).T.reshape(len(drawn), -1, self.k)
        return found

    def _among(self, weights: Floats, n: Floats, s: Floats) -> dict[str, Floats]:
        size, same = n.sum(axis=-1), s.sum(axis=-1)
        pairs, agreeing = size**2 - same, (n**2 - s).sum(axis=-1)
        several = weights * (pairs > 0)
        totals = np.einsum("bp,bpk->bk", several, n)
        shares = ratio(totals, totals.sum(axis=-1, keepdims=True))
        percent = _mean(ratio(agreeing, pairs), several)
        pooled = ratio((several * agreeing).sum(axis=-1), (several * pairs).sum(axis=-1))
        chance = np.asarray((shares**2).sum(axis=-1))
        return {
            "percent": percent,
            "fleiss_kappa": correct_for_chance(percent, chance),
            "fleiss_kappa_pooled": correct_for_chance(pooled, chance),
            "randolph_kappa": correct_for_chance(percent, 1 / self.k),
            "krippendorff_alpha": self._alpha(several, n, pairs, totals),
            "gwet_ac": self._gwet(weights, n, s, pairs),
        }

    def _alpha(self, several: Floats, n: Floats, pairs: Floats, totals: Floats) -> Floats:
        """Return alpha = 1 - (N - 1) * sum_u [S(n_u) * m_u / p_u] / S(T).

        m_u is the number of labels of unit u, p_u its number of pairs of different raters, and S
        the sum of squared differences over all pairs. N and T are those of `krippendorff_alpha`.
        All numbers are of weighted labels.
        """
        scale = self._scale(totals)[:, None, :]
        size, labels = n.sum(axis=-1), totals.sum(axis=-1)
        within = self._differences(n, scale)
        observed = (several * np.nan_to_num(ratio(size * within, pairs))).sum(axis=-1)
        overall = self._differences(totals[:, None, :], scale)[:, 0]
        varied = np.count_nonzero(totals, axis=-1) > 1
        return 1 - ratio((labels - 1) * observed, np.where(varied, overall, 0.0))

    def _scale(self, totals: Floats) -> Floats:
        """Return each category's number, or its midrank if categories are ordinal, (b, K)."""
        if self.level == "ordinal":
            ranks: Floats = np.cumsum(totals, axis=-1) - totals / 2
            centred: Floats = ranks - ranks.mean(axis=-1, keepdims=True)
            return centred
        return np.broadcast_to(self._numbers, totals.shape)

    def _differences(self, n: Floats, scale: Floats) -> Floats:
        """Return the sum of squared differences over all ordered pairs of labels, (b, P)."""
        size = n.sum(axis=-1)
        if self.level == "nominal":
            unequal: Floats = size**2 - (n**2).sum(axis=-1)
            return unequal
        first, second = (n * scale).sum(axis=-1), (n * scale**2).sum(axis=-1)
        found: Floats = 2 * (size * second - first**2)
        return found

    def _gwet(self, weights: Floats, n: Floats, s: Floats, pairs: Floats) -> Floats:
        similarity = np.eye(self.k)
        if self.level != "nominal":
            gaps = (self._numbers[:, None] - self._numbers) ** 2
            similarity = 1 - gaps / (gaps.max() or 1.0)
        alike = np.einsum("bpk,bpk->bp", n, n @ similarity) - s.sum(axis=-1)
        agreement = _mean(ratio(alike, pairs), weights * (pairs > 0))
        size = n.sum(axis=-1)
        mean = np.einsum("bp,bpk->bk", weights, np.nan_to_num(ratio(n, size[..., None])))
        share = ratio(mean, (weights * (size > 0)).sum(axis=-1)[:, None])
        spread = (share * (1 - share)).sum(axis=-1)
        return correct_for_chance(
            agreement, ratio(similarity.sum() * spread, self.k * (self.k - 1))
        )

    def _with_other(self, weights: Floats, n: Floats, _: Floats) -> dict[str, Floats]:
        judge = self._kinds[0][:, -1]
        people = self._together(n)
        there = (people >= 0) & (judge >= 0)
        rows = np.broadcast_to(np.arange(len(weights))[:, None], people.shape)
        cells = (rows * self.k + people) * self.k + judge
        size = len(weights) * self.k**2
        counted = np.bincount(cells[there], weights[there], minlength=size)
        tables = counted.astype(float).reshape(len(weights), self.k, self.k)
        scale = Scale(self.k, self.level, self._numbers)
        return {key: np.asarray(OF_TWO[key].compute(tables, scale)) for key in keys_of_two()}

    def _together(self, n: Floats) -> Ints:
        """Return the drawn raters' joint label on each kind, (b, P); -1 on a tie or without any."""
        size = n.sum(axis=-1)
        if self.level == "interval":
            order = np.argsort(self._numbers, kind="stable")
            numbers = self._numbers[order]
            halves = (numbers[1:] + numbers[:-1]) / 2
            means = ratio(n @ self._numbers, size)
            found = order[np.searchsorted(halves, means, side="right").clip(0, len(halves))]
            return np.where(size > 0, found, -1).astype(np.int64)
        most = n.max(axis=-1)
        clear = (size > 0) & ((n == most[..., None]).sum(axis=-1) == 1)
        return np.where(clear, n.argmax(axis=-1), -1).astype(np.int64)


def _mean(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over kinds (b, P) of the defined values."""
    there = np.isfinite(values)
    kept = weights * there
    return ratio((kept * np.where(there, values, 0.0)).sum(axis=-1), kept.sum(axis=-1))


def _concatenate(blocks: Iterator[dict[str, Floats]]) -> dict[str, Floats]:
    found = list(blocks)
    return {name: np.concatenate([each[name] for each in found]) for name in found[0]}
