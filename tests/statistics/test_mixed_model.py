"""The fit of a mixed model against statsmodels, its formula written out, and analysis of variance.

statsmodels stops its search short of the optimum, so its variances are only close.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

from tandem.statistics import Floats, Ints, mixed_model
from tandem.statistics.mixed_model import MixedModel, fit_mixed_model

Design = tuple[Floats, Ints, Floats, Mapping[str, Floats]]
SOURCES = ("query", "query:system", "query:rater")


def design(
    deviations: tuple[float, ...],
    sizes: tuple[int, int, int] = (10, 3, 3),
    missing: float = 0.0,
    seed: int = 0,
) -> Design:
    """Scores of each system on each query by each rater, made of effects with these deviations.

    `deviations` has one entry per source; the last entry is the residual's.
    """
    chance = np.random.default_rng(seed)
    grid = np.meshgrid(*map(range, sizes), indexing="ij")
    query, system, rater = (of.ravel().astype(np.int64) for of in grid)
    *others, residual = deviations
    y = 1.0 + 0.3 * system - 0.2 * rater + residual * chance.normal(size=len(query))
    random: dict[str, Floats] = {}
    for name, deviation, of in zip(SOURCES, others, (0 * query, system, rater), strict=False):
        y += deviation * chance.normal(size=(sizes[0], int(of.max()) + 1))[query, of]
        random[name] = np.eye(int(of.max()) + 1)[of]
    fixed = np.concatenate([np.eye(sizes[1])[system], np.eye(sizes[2])[rater][:, 1:]], axis=1)
    kept = np.flatnonzero(chance.random(len(query)) >= missing)
    kept = chance.permutation(kept) if missing else kept
    return y[kept], query[kept], fixed[kept], {name: of[kept] for name, of in random.items()}


def restricted(scores: Design, variances: Mapping[str, float], residual: float) -> float:
    """The restricted log-likelihood, from the covariances of all scores in one matrix."""
    y, query, fixed, random = scores
    same = query[:, None] == query
    v = residual * np.eye(len(y)) + sum(
        variances[name] * same * (of @ of.T) for name, of in random.items()
    )
    inverse = np.linalg.inv(v)
    information = fixed.T @ inverse @ fixed
    left = y - fixed @ np.linalg.solve(information, fixed.T @ inverse @ y)
    parts = (
        (len(y) - fixed.shape[1]) * np.log(2 * np.pi)
        + np.linalg.slogdet(v)[1]
        + np.linalg.slogdet(information)[1]
        + left @ inverse @ left
    )
    return float(-parts / 2)


def by_statsmodels(scores: Design) -> tuple[dict[str, float], float, float]:
    """The variances, that of the residual, and the restricted log-likelihood."""
    y, query, fixed, random = scores
    groups = [query == each for each in np.unique(query)]
    matrices = [[columns[of] for of in groups] for columns in random.values()]
    names = [[list(map(str, range(each.shape[1]))) for each in of] for of in matrices]
    order = np.argsort(query, kind="stable")
    model = MixedLM(
        y[order], fixed[order], groups=query[order], exog_vc=VCSpec(list(random), names, matrices)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # statsmodels warns of a variance of 0
        fit = model.fit(reml=True)
    return dict(zip(random, map(float, fit.vcomp), strict=True)), float(fit.scale), float(fit.llf)


DESIGNS = {
    "one source": design((0.6, 0.5), missing=0.3, seed=1),
    "two sources": design((0.6, 0.5, 0.4), missing=0.3, seed=1),
    "three sources": design((0.6, 0.5, 0.6, 0.4), missing=0.2, seed=1),
    "queries of many scores": design((0.6, 0.5, 0.6, 0.4), (10, 4, 3), missing=0.1, seed=1),
    "nothing of one source": design((0.0, 0.5), missing=0.3, seed=2),
    "nothing of the second": design((0.6, 0.0, 0.4), missing=0.3, seed=1),
    "nothing but noise": design((0.0, 0.0, 0.0, 1.0), missing=0.2, seed=2),
}
INSIDE = [name for name in DESIGNS if not name.startswith("nothing")]
each_design = pytest.mark.parametrize("scores", DESIGNS.values(), ids=DESIGNS)


@pytest.mark.every_case
@pytest.mark.parametrize("name", INSIDE)
def test_variances_above_0_are_close_to_those_of_statsmodels(name: str) -> None:
    fit = fit_mixed_model(*DESIGNS[name])
    variances, residual, likelihood = by_statsmodels(DESIGNS[name])
    assert min(fit.variances.values()) > 0
    assert fit.variances == pytest.approx(variances, rel=1e-2)
    assert fit.residual == pytest.approx(residual, rel=1e-2)
    assert fit.likelihood == pytest.approx(likelihood, abs=1e-4)


@each_design
def test_the_likelihood_is_not_below_that_of_statsmodels(scores: Design) -> None:
    assert fit_mixed_model(*scores).likelihood >= by_statsmodels(scores)[2] - 1e-9


@each_design
def test_the_likelihood_matches_the_full_covariance_matrix_written_out(scores: Design) -> None:
    fit = fit_mixed_model(*scores)
    written_out = restricted(scores, fit.variances, fit.residual)
    assert fit.likelihood == pytest.approx(written_out, abs=1e-8)


@each_design
def test_no_other_variances_nearby_are_more_likely(scores: Design) -> None:
    fit = fit_mixed_model(*scores)
    best = restricted(scores, fit.variances, fit.residual)
    for name in fit.variances:
        for change in (-1e-3, 1e-3):
            other = fit.variances[name] + change * fit.residual
            if other >= 0:
                changed = {**fit.variances, name: other}
                assert restricted(scores, changed, fit.residual) < best


@pytest.mark.parametrize("name", [name for name in DESIGNS if name not in INSIDE])
def test_a_variance_at_the_boundary_is_exactly_0(name: str) -> None:
    assert min(fit_mixed_model(*DESIGNS[name]).variances.values()) == 0.0


def test_fixed_effects_and_their_errors_match_generalised_least_squares() -> None:
    y, query, fixed, random = scores = DESIGNS["three sources"]
    fit = fit_mixed_model(*scores)
    v = fit.residual * np.eye(len(y)) + sum(
        fit.variances[name] * (query[:, None] == query) * (of @ of.T) for name, of in random.items()
    )
    error = np.linalg.inv(fixed.T @ np.linalg.solve(v, fixed))
    assert fit.error == pytest.approx(error, rel=1e-8)
    assert fit.effects == pytest.approx(error @ fixed.T @ np.linalg.solve(v, y), rel=1e-8)


def test_variances_of_a_balanced_design_match_the_analysis_of_variance() -> None:
    """Five scores of each query: between and within are the mean squares."""
    y, query, _, random = design((0.6, 0.5), (20, 5, 1), seed=1)
    fit = fit_mixed_model(y, query, np.ones((100, 1)), random)
    table = y.reshape(20, 5)
    between, within = 5 * table.mean(axis=1).var(ddof=1), table.var(axis=1, ddof=1).mean()
    assert fit.residual == pytest.approx(within, rel=1e-7)
    assert fit.variances["query"] == pytest.approx((between - within) / 5, rel=1e-7)
    assert fit.effects == pytest.approx([y.mean()])
    assert fit.error[0, 0] == pytest.approx(between / 100, rel=1e-7)


def test_if_queries_explain_every_score_the_residual_is_about_0() -> None:
    y, query, _, random = design((0.6, 0.0), (20, 5, 1))
    y = y.reshape(20, 5)[:, :1].repeat(5, axis=1).ravel()
    fit = fit_mixed_model(y, query, np.ones((100, 1)), random)
    assert fit.variances["query"] == pytest.approx(y[::5].var(ddof=1), rel=1e-5)
    assert fit.residual == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("seed", [778, 1498, 2457])
def test_the_fit_is_at_the_highest_of_several_peaks_of_the_likelihood(seed: int) -> None:
    chance = np.random.default_rng(seed)
    query = np.repeat(np.arange(10), chance.integers(1, 4, size=10))
    y = chance.normal(size=len(query))
    fixed = np.stack([np.ones(len(query)), chance.normal(size=len(query))], axis=1)
    scores: Design = (y, query, fixed, {"query": np.ones((len(query), 1))})
    found = fit_mixed_model(*scores)

    def profile(ratio: float) -> float:
        """The highest likelihood at this ratio of the queries' variance to the residual's."""
        return max(
            restricted(scores, {"query": ratio * of}, of) for of in np.geomspace(0.03, 3, 30)
        )

    assert found.likelihood >= max(map(profile, [0.0, *np.geomspace(0.01, 100, 15)]))


def test_scaling_and_shifting_the_scores_does_not_matter() -> None:
    y, *_ = scores = DESIGNS["three sources"]
    one, other = fit_mixed_model(*scores), fit_mixed_model(1e6 * y + 1e9, *scores[1:])
    assert [other.variances[name] / 1e12 for name in one.variances] == pytest.approx(
        list(one.variances.values()), rel=1e-5
    )
    assert other.residual / 1e12 == pytest.approx(one.residual, rel=1e-5)


def test_a_model_that_cannot_be_fitted_raises_an_error_with_the_reason() -> None:
    y, query, fixed, random = design((0.6, 0.5))
    with pytest.raises(ValueError, match="the fixed effects leave nothing"):
        fit_mixed_model(fixed[:, 0].copy(), query, fixed, random)
    with pytest.raises(ValueError, match="cannot tell its sources apart"):
        fit_mixed_model(y, query, fixed, {**random, "the same": random["query"]})


def test_the_same_scores_have_the_same_fit() -> None:
    one, other = (fit_mixed_model(*DESIGNS["nothing but noise"]) for _ in range(2))
    assert isinstance(one, MixedModel)
    assert (one.variances, one.residual) == (other.variances, other.residual)


@pytest.mark.parametrize("failing", [1, 3])
def test_a_failing_start_of_the_search_is_skipped_unless_all_fail(
    monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    scores, search, begun = design((0.5, 0.4)), mixed_model._search, list[mixed_model._State]()
    whole = fit_mixed_model(*scores)

    def sometimes(state: mixed_model._State) -> mixed_model._State:
        begun.append(state)
        if len(begun) <= failing:
            raise ValueError("it does not converge")
        return search(state)

    monkeypatch.setattr(mixed_model, "_search", sometimes)
    if failing == len(mixed_model.STARTS):
        with pytest.raises(ValueError, match="does not converge"):
            fit_mixed_model(*scores)
    else:
        assert fit_mixed_model(*scores).likelihood == pytest.approx(whole.likelihood, abs=1e-8)
    assert len(begun) == len(mixed_model.STARTS)
