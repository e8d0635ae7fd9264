"""Linear mixed models of independent groups, by restricted maximum likelihood.

The scores of a group are y = X b + sum of Z_k u_k + e. The coefficients u_k of random source k are
independent with variance v_k. The residuals e are independent with variance s. -2 times the
restricted log-likelihood is (Lindstrom and Bates 1988)

    (N - P) log(2 pi) + log|V| + log|X'V^-1 X| + (y - X b)' V^-1 (y - X b),

where V = s I + sum of v_k Z_k Z_k', N is the number of scores, and P that of fixed effects b.

The best b and s follow from the ratios v_k / s, for which Newton's method searches. Where the
likelihood is not concave, Fisher's expected curvature is used instead (Searle, Casella and
McCulloch 1992, chapter 6). Each step goes to the best variances >= 0 under the curvature, so that a
variance at the boundary is exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from .estimate import Floats, Ints

MOST_STEPS, MOST_HALVINGS = 100, 20
NEAR, NEARLY = 1e-11, 1e-4
"""Gains in -2 log-likelihood: a step that promises less than the first is not taken. A step that
promises less than the second and gains nothing is the last: rounding hides further gains."""
STARTS = (1.0, 0.0, 100.0)
"""Initial ratios. Each leads to the nearest maximum, and a small design may have several."""
LEAST_SHARE, LEAST_RESIDUAL = 0.1, 1e-6
"""A step leaves at least the first share of the residual's variance, which stays above the second
share of the mean square: where the random sources explain every score, the likelihood grows without
end as it falls to 0."""
LEAST_RATIO, LEAST_CURVATURE = 1e-9, 1e-9
"""A ratio below the first is 0. Below the second, relative to its diagonal, a curvature is flat."""


@dataclass(frozen=True)
class MixedModel:
    """Variances of random sources and of the residual, and the restricted log-likelihood.

    `effects` (P,) are the fixed effects by generalised least squares, and `error` (P, P) is their
    covariance matrix.
    """

    variances: Mapping[str, float]
    residual: float
    effects: Floats
    error: Floats
    likelihood: float


def fit_mixed_model(
    y: Floats,
    group: Ints,
    fixed: Floats,
    random: Mapping[str, Floats],
    near: MixedModel | None = None,
) -> MixedModel:
    """Fit scores (N,) of groups numbered from 0, (N,), by fixed columns (N, P) and random ones.

    `random` maps each random source to its columns (N, L), for which each group has coefficients of
    its own. Variances that would be negative are 0. `near` is a fit to begin from, of nearly the
    same scores. Raises ValueError if there is no fit.
    """
    start = np.linalg.solve(fixed.T @ fixed, fixed.T @ y)
    left = y - fixed @ start
    size = float(np.sqrt(left @ left / len(y)))
    if size <= 1e-12 * float(np.abs(y).max()):
        raise ValueError("the fixed effects leave nothing")
    data = _rotated(left / size, group, fixed, random)
    first = [np.full(len(random), share) for share in STARTS]
    if near is not None:
        first = [np.array([near.variances[name] for name in random]) / near.residual]
    starts = [_State(data, each) for each in first]
    if not starts[0].tells_apart:
        raise ValueError("the scores cannot tell its sources apart")
    best = min(_peaks(starts), key=lambda state: state.deviance)
    residual = best.residual * size**2
    return MixedModel(
        dict(zip(random, map(float, best.ratios * residual), strict=True)),
        residual,
        start + best.effects * size,
        residual * (best.root @ best.root.T),
        -best.deviance / 2 - (len(y) - fixed.shape[1]) * float(np.log(size)),
    )


@dataclass(frozen=True)
class _Data:
    """Groups (G,), each rotated so that only its first M rows depend on the random sources.

    For these rows, `columns` (G, M, L) are the columns of all random sources, `of_source` (L, K)
    marks the source of each, and `both` (G, M, P + 1) are the fixed columns and the scores. `rest`
    (P + 1, P + 1) are the products of fixed columns and scores over the other rows, which depend
    only on the fixed effects and the residual. `free` is N - P.
    """

    columns: Floats
    of_source: Floats
    both: Floats
    rest: Floats
    free: int


def _rotated(y: Floats, group: Ints, fixed: Floats, random: Mapping[str, Floats]) -> _Data:
    sizes = np.bincount(group)
    order = np.argsort(group, kind="stable")
    place = np.arange(len(y)) - np.repeat(sizes.cumsum() - sizes, sizes)
    widths = [each.shape[1] for each in random.values()]
    whole = np.concatenate([*random.values(), fixed, y[:, None]], axis=1)
    # Smaller groups are padded with rows of 0, which change no product and no determinant.
    rows = np.zeros((len(sizes), int(sizes.max()), whole.shape[1]))
    rows[group[order], place] = whole[order]
    columns, both = rows[:, :, : sum(widths)], rows[:, :, sum(widths) :]
    rest = np.zeros((both.shape[2],) * 2)
    if columns.shape[1] > columns.shape[2]:
        turn, columns = np.linalg.qr(columns)
        turned = turn.transpose(0, 2, 1) @ both
        outside = (both - turn @ turned).reshape(-1, both.shape[2])
        both, rest = turned, outside.T @ outside
    of_source = np.repeat(np.eye(len(widths)), widths, axis=0)
    return _Data(columns, of_source, both, rest, len(y) - fixed.shape[1])


class _State:
    """The model at given ratios (K,) of the random sources' variances to that of the residual.

    The residual's variance and the fixed effects are the best for these ratios. In the comments, W
    is V^-1 for a residual variance of 1, and P is W - W X (X'W X)^-1 X'W.
    """

    def __init__(self, data: _Data, ratios: Floats) -> None:
        self.data, self.ratios = data, ratios
        columns, both = data.columns, data.both
        inside = np.eye(columns.shape[1]) + (columns * (data.of_source @ ratios)) @ columns.mT
        self._weights = np.linalg.inv(inside)
        last = both.shape[2]
        weighed = (self._weights @ both).reshape(-1, last)
        products = both.reshape(-1, last).T @ weighed + data.rest
        root = np.linalg.cholesky(products[:-1, :-1])
        self.root: Floats = np.linalg.inv(root).T
        self.effects: Floats = self.root @ (self.root.T @ products[:-1, -1])
        contrast = np.append(-self.effects, 1.0)
        square = float(contrast @ products @ contrast)
        self.residual = max(square / data.free, LEAST_RESIDUAL)
        self._form = square / self.residual
        determinants = np.linalg.slogdet(inside)[1].sum() + 2 * np.log(np.diag(root)).sum()
        of_scale = data.free * np.log(2 * np.pi * self.residual)
        self.deviance = float(determinants + of_scale + self._form)

    @property
    def explains_all(self) -> bool:
        """Whether the residual is so small that rounding hides any further gain."""
        return self.residual < 100 * LEAST_RESIDUAL

    @property
    def tells_apart(self) -> bool:
        """Whether the scores can separate the sources from each other and from the residual."""
        nothing = np.zeros(len(self.ratios) + 1)
        return _least(self._moments[1], nothing, nothing) is not None

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return tr(P K), tr(P K P K), y'P K P y and y'P K P K P y for the K of all sources.

        K_k is Z_k Z_k'. The residual comes last, and its K is I.
        """
        data, own = self.data, self.data.of_source
        weighed = data.columns.mT @ self._weights
        among = weighed @ data.columns  # Z'W Z
        effects = weighed @ data.both  # Z'W X, Z'W y
        apart = effects[:, :, -1] - effects[:, :, :-1] @ self.effects  # Z'P y
        scaled = effects[:, :, :-1] @ self.root
        parts = [scaled[:, of > 0].reshape(-1, scaled.shape[2]) for of in own.T]
        squares = np.stack([(part.T @ part).ravel() for part in parts])
        shared = np.stack(
            [part.T @ apart[:, of > 0].ravel() for part, of in zip(parts, own.T, strict=True)]
        )

        traces = own.T @ (np.einsum("gll->l", among) - (scaled**2).sum(axis=(0, 2)))
        pairs = (among * (among - 2 * (scaled @ scaled.mT))).sum(axis=0)
        traces_of_pairs = own.T @ pairs @ own + squares @ squares.T
        forms = own.T @ (apart**2).sum(axis=0)
        pairs = (among * apart[:, :, None] * apart[:, None, :]).sum(axis=0)
        forms_of_pairs = own.T @ pairs @ own - shared @ shared.T
        unit = self.residual
        return (
            *self._with_residual(traces, traces_of_pairs, self.data.free),
            *self._with_residual(forms / unit, forms_of_pairs / unit, self._form),
        )

    def _with_residual(self, single: Floats, pairs: Floats, total: float) -> tuple[Floats, Floats]:
        """Add the residual's entries, which follow from P V P = P and I = V - sum of ratios * K.

        `total` is the entry for V itself.
        """
        across = single - pairs @ self.ratios
        own = total - single @ self.ratios
        whole = np.empty((len(single) + 1, len(single) + 1))
        whole[:-1, :-1], whole[-1, -1] = pairs, own - across @ self.ratios
        whole[:-1, -1] = whole[-1, :-1] = across
        return np.append(single, own), whole

    def targets(self) -> Iterator[tuple[Floats, float]]:
        """Yield the next ratios by Newton's and Fisher's steps, each with its predicted gain."""
        traces, expected, forms, observed = self._moments
        here = np.append(self.ratios, 1.0)
        bounds = np.zeros(len(here))
        bounds[-1] = max(LEAST_SHARE, LEAST_RESIDUAL / self.residual)
        # With large ratios the residual hardly matters, and its curvature may be almost 0.
        tie = 2 * LEAST_CURVATURE * np.diag(np.diag(expected))
        for curvature, linear in (
            (observed - expected / 2, 1.5 * forms - traces),
            (expected / 2 + tie, forms / 2 + tie @ here),
        ):
            there = _least(curvature, linear, bounds)
            if there is not None:
                ratios = there[:-1] / there[-1]
                ratios[ratios < LEAST_RATIO] = 0.0
                yield ratios, float((forms - traces) @ (there - here))


def _least(curvature: Floats, linear: Floats, bounds: Floats) -> Floats | None:
    """Return the x >= bounds that minimises x'C x / 2 - l'x, or None if C is not convex there.

    It tries every set of variables that may be above their bounds. There are only few such sets.
    """
    diagonal = np.diag(curvature)
    if not (diagonal > 0).all():
        return None
    scale = 1 / np.sqrt(diagonal)
    linear = (linear - curvature @ bounds) * scale
    curvature = curvature * np.outer(scale, scale)
    if not np.linalg.eigvalsh(curvature)[0] > LEAST_CURVATURE:
        return None
    best, least = np.zeros(len(linear)), 0.0
    for kept in product((True, False), repeat=len(linear)):
        x: Floats = np.zeros(len(linear))
        if all(kept):
            x[:] = np.linalg.solve(curvature, linear)
        else:
            of = np.flatnonzero(kept)
            x[of] = np.linalg.solve(curvature[np.ix_(of, of)], linear[of])
        value = -float(linear @ x) / 2
        if value < least and (x >= 0).all():
            best, least = x, value
            if all(kept):
                break
    return bounds + best * scale


def _peaks(starts: Sequence[_State]) -> list[_State]:
    """Return the maxima found from the starts. Raises ValueError if there are none."""
    peaks, failures = [], []
    for start in starts:
        try:
            peaks.append(_search(start))
        except ValueError as error:
            failures.append(error)
    if not peaks:
        raise failures[0]
    return peaks


def _search(state: _State) -> _State:
    for _ in range(MOST_STEPS):
        ahead = _step(state)
        if ahead is None:
            return state
        state = ahead
    if state.explains_all:
        return state
    raise ValueError("it does not converge")


def _step(state: _State) -> _State | None:
    """Return a better state, or None at a maximum. Raises ValueError if no step improves it."""
    promise = np.inf
    for there, promise in state.targets():
        if promise < NEAR:
            return None
        for halving in range(MOST_HALVINGS):
            ratios = state.ratios + (there - state.ratios) / 2**halving
            ahead = _State(state.data, ratios)
            if ahead.deviance < state.deviance:
                return ahead
    if promise < NEARLY or state.explains_all:
        return None
    raise ValueError("it does not converge")
