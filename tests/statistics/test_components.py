"""Variance components, and the decisions based on them, match known designs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from benchmarks.coverage import coverage_of_components
from tandem.statistics import Components, Floats, Ints, decisions, variance_components

MOST_OF_QUERY = 60

Places = tuple[Ints, Ints, Ints]


def crossed(queries: int, systems: int, raters: int) -> Places:
    """Everybody scores every system on every query."""
    grid = np.meshgrid(range(queries), range(systems), range(raters), indexing="ij")
    query, system, rater = (of.ravel().astype(np.int64) for of in grid)
    return query, system, rater


def scores(places: Places, deviations: Mapping[str, float], seed: int = 1) -> Floats:
    """Scores made of independent effects with these standard deviations."""
    chance = np.random.default_rng(seed)
    query, system, rater = places
    sizes = [int(of.max()) + 1 for of in places]
    total = np.full(len(query), 0.5)
    for name, of, shape in (
        ("q", (query,), sizes[:1]),
        ("s", (system,), sizes[1:2]),
        ("r", (rater,), sizes[2:]),
        ("qs", (query, system), sizes[:2]),
        ("qr", (query, rater), [sizes[0], sizes[2]]),
        ("sr", (system, rater), sizes[1:]),
        ("e", (np.arange(len(query)),), [len(query)]),
    ):
        total += deviations.get(name, 0.0) * chance.normal(size=shape)[of]
    return total


def by_analysis_of_variance(y: Floats) -> dict[str, float]:
    """Expected mean squares of a crossed design (Q, S, R), solved (Brennan 2001, chapter 3)."""
    q, s, r = y.shape
    of_q, of_s, of_r = y.mean((1, 2)), y.mean((0, 2)), y.mean((0, 1))
    of_qs, of_qr, of_sr, mean = y.mean(2), y.mean(1), y.mean(0), y.mean()
    mean_q = s * r * ((of_q - mean) ** 2).sum() / (q - 1)
    mean_s = q * r * ((of_s - mean) ** 2).sum() / (s - 1)
    mean_r = q * s * ((of_r - mean) ** 2).sum() / (r - 1)
    qs = of_qs - of_q[:, None] - of_s + mean
    qr = of_qr - of_q[:, None] - of_r + mean
    sr = of_sr - of_s[:, None] - of_r + mean
    mean_qs = r * (qs**2).sum() / ((q - 1) * (s - 1))
    mean_qr = s * (qr**2).sum() / ((q - 1) * (r - 1))
    mean_sr = q * (sr**2).sum() / ((s - 1) * (r - 1))
    left = y - mean - (of_q - mean)[:, None, None] - (of_s - mean)[:, None] - (of_r - mean)
    left = left - qs[:, :, None] - qr[:, None, :] - sr
    rest = (left**2).sum() / ((q - 1) * (s - 1) * (r - 1))
    return {
        "query": (mean_q - mean_qs - mean_qr + rest) / (s * r),
        "system": (mean_s - mean_qs - mean_sr + rest) / (q * r),
        "rater": (mean_r - mean_qr - mean_sr + rest) / (q * s),
        "query:system": (mean_qs - rest) / r,
        "query:rater": (mean_qr - rest) / s,
        "system:rater": (mean_sr - rest) / q,
        "residual": rest,
    }


DEVIATIONS = {"q": 0.3, "s": 0.3, "r": 0.2, "qs": 0.2, "qr": 0.15, "sr": 0.15, "e": 0.1}


def test_components_of_a_balanced_design_match_the_analysis_of_variance() -> None:
    places = crossed(20, 4, 3)
    y = scores(places, DEVIATIONS, seed=3)
    found = variance_components(y, *places)
    expected = by_analysis_of_variance(y.reshape(20, 4, 3))
    assert min(expected.values()) > 0
    assert found.variances == pytest.approx(expected, rel=1e-6)
    assert (found.scores, found.queries, found.systems, found.raters) == (240, 20, 4, 3)
    assert found.per_item == 3
    assert found.reason is None


def test_components_of_two_raters_and_two_systems_match_the_calculation_by_hand() -> None:
    """Ten queries alternate between 0 and 1, one of two systems is 1 higher, and the rest is .2 up
    or down without an interaction of two sources: the residual is 1.6 / 27, the queries' component
    (10 / 9 - 1.6 / 27) / 4, and the systems' 1 / 2."""
    query, system, rater = places = crossed(10, 2, 2)
    left = 0.2 * (-1.0) ** (rater + system + query // 5)
    found = variance_components(query % 2 + system + left, *places).variances
    assert found["residual"] == pytest.approx(1.6 / 27, rel=1e-3)
    assert found["query"] == pytest.approx((10 / 9 - 1.6 / 27) / 4, rel=1e-3)
    assert found["system"] == pytest.approx(0.5, rel=1e-3)
    for source in ("rater", "query:system", "query:rater", "system:rater"):
        assert found[source] == pytest.approx(0, abs=1e-3)


def test_components_hardly_change_if_scores_are_missing_at_random() -> None:
    places = crossed(60, 5, 3)
    y = scores(places, DEVIATIONS, seed=5)
    some = y.copy()
    some[np.random.default_rng(2).random(len(y)) < 0.2] = np.nan
    whole, part = (variance_components(of, *places).variances for of in (y, some))
    for source in ("query", "query:system", "residual"):
        assert part[source] == pytest.approx(whole[source], rel=0.25)


def test_the_interaction_of_system_and_rater_is_dropped_if_they_are_not_crossed() -> None:
    query, system, rater = crossed(20, 3, 3)
    kept = (system + rater) % 3 != 2
    places = query[kept], system[kept], rater[kept]
    found = variance_components(scores(places, DEVIATIONS, seed=1), *places)
    assert "system:rater" in found.pooled
    assert set(found.variances) == {
        "query",
        "system",
        "rater",
        "query:system",
        "query:rater",
        "residual",
    }


def test_with_one_label_per_item_interactions_are_pooled_into_the_residual() -> None:
    query, system, rater = crossed(20, 3, 3)
    kept = (query + system) % 3 == rater
    places = query[kept], system[kept], rater[kept]
    found = variance_components(scores(places, DEVIATIONS), *places)
    assert set(found.pooled) == {"query:system", "query:rater"}
    (mean, *_) = decisions(found, 0.1)
    assert "no item has two raters" in (mean.plans["rater"].reason or "")


def test_a_negative_component_is_set_to_0() -> None:
    places = crossed(12, 3, 3)
    found = variance_components(scores(places, {"e": 1.0}, seed=2), *places)
    assert min(found.variances.values()) == 0


@pytest.mark.parametrize(
    ("places", "reason"),
    [
        (crossed(9, 3, 3), "9 queries are too few, 10 are needed"),
        (crossed(12, 1, 1), "nothing to tell apart"),
        (crossed(10, 20, 16), "20 systems by 16 raters are too many"),
    ],
)
def test_components_that_cannot_be_estimated_have_a_reason(places: Places, reason: str) -> None:
    found = variance_components(scores(places, {"e": 1.0}), *places)
    assert reason in (found.reason or "")
    assert found.variances == {}
    assert decisions(found, 0.1) == []


def test_equal_scores_have_no_components() -> None:
    places = crossed(12, 2, 2)
    assert variance_components(np.ones(48), *places).reason == "all scores are equal"


def test_many_queries_are_sampled_and_the_sample_is_always_the_same() -> None:
    places = crossed(400, 2, 2)
    y = scores(places, DEVIATIONS)
    found = variance_components(y, *places)
    assert found.queries == 300
    assert found == variance_components(y, *places)


HALVES = Components(
    scores=240, queries=20, systems=4, raters=3, per_item=3.0,
    variances={"query": 0.04, "system": 0.02, "rater": 0.003, "query:system": 0.02,
               "query:rater": 0.006, "system:rater": 0.0, "residual": 0.03},
)  # fmt: skip


def test_widths_of_intervals_match_the_calculation_by_hand() -> None:
    mean, difference, overall = decisions(HALVES, 0.2)
    # .04/20 + .003/3 + .02/20 + .006/60 + .03/60 = .0046
    assert mean.width == pytest.approx(2 * 1.959964 * 0.0046**0.5, rel=1e-6)
    # 2 (.02/20 + .03/60) = .003
    assert difference.width == pytest.approx(2 * 1.959964 * 0.003**0.5, rel=1e-6)
    # .04/20 + .02/4 + .003/3 + .02/80 + .006/60 + .03/240 = .008475
    assert overall.width == pytest.approx(2 * 1.959964 * 0.008475**0.5, rel=1e-6)


def test_the_numbers_needed_are_the_smallest_that_reach_the_width() -> None:
    mean, difference, _ = decisions(HALVES, 0.2)
    # Width .2 needs a variance of .0026031: .001 from raters remains, .072 shrinks with queries.
    assert (mean.plans["query"].needed, mean.plans["query"].more) == (45, 25)
    assert mean.plans["rater"].needed is None
    assert "any number of them would leave it 0.215 wide" in (mean.plans["rater"].reason or "")
    # 2 (.02 + .01) / n <= .0026031
    assert difference.plans["query"].needed == 24
    assert difference.plans["rater"].needed == 5


def test_sampling_from_queries_with_hundreds_of_scores_hardly_changes_components() -> None:
    places = [np.tile(of, 40) for of in crossed(12, 2, 3)]
    query, system, rater = places
    chance = np.random.default_rng(0)
    made = chance.normal(size=12)[query] + 0.5 * chance.normal(size=len(query))
    found = variance_components(made, query, system, rater)
    assert (len(made), found.scores) == (12 * 240, 12 * MOST_OF_QUERY)
    means = [made[query == each].mean() for each in range(12)]
    assert found.variances["query"] == pytest.approx(np.var(means, ddof=1), rel=0.1)
    assert found.variances["residual"] == pytest.approx(0.25, rel=0.1)
    assert found == variance_components(made, query, system, rater)


def test_a_crowd_of_raters_has_too_many_effects_to_fit() -> None:
    query, system, rater = crossed(10, 3, 40)
    found = variance_components(np.random.default_rng(0).normal(size=1200), query, system, rater)
    assert found.variances == {}
    assert found.reason == "3 systems by 40 raters are too many effects to fit"


def test_each_component_has_an_interval_by_the_jackknife_of_its_logarithm() -> None:
    places = crossed(20, 4, 3)
    y = scores(places, DEVIATIONS, seed=3)
    found = variance_components(y, *places)
    assert set(found.estimates) == set(found.variances)
    query = places[0]
    for name, made in found.estimates.items():
        logs = np.log(
            [by_analysis_of_variance(y[query != n].reshape(19, 4, 3))[name] for n in range(20)]
        )
        error = np.sqrt(19 / 20 * ((logs - logs.mean()) ** 2).sum())
        reach = np.exp(2.093024 * error)
        assert (made.low, made.high) == pytest.approx(
            (found.variances[name] / reach, found.variances[name] * reach), rel=1e-4
        )
        assert made.method == (
            "variance component; 95 % jackknife of the log variance over 20 queries"
        )


def test_a_component_of_0_has_no_interval_and_says_why() -> None:
    places = crossed(20, 4, 3)
    found = variance_components(scores(places, DEVIATIONS | {"qs": 0.0}, seed=4), *places)
    made = found.estimates["query:system"]
    assert (made.low, made.high) == (None, None)
    assert "no interval: the component is 0, or would be without some queries" in made.method


def test_below_ten_queries_there_are_neither_components_nor_intervals() -> None:
    places = crossed(9, 4, 3)
    found = variance_components(scores(places, DEVIATIONS), *places)
    assert (found.variances, found.estimates) == ({}, {})
    assert found.reason == "9 queries are too few, 10 are needed"


def test_many_queries_are_left_out_in_parts() -> None:
    places = crossed(70, 3, 2)
    made = variance_components(scores(places, DEVIATIONS), *places).estimates["residual"]
    assert made.low is not None
    assert made.method.endswith("over 70 queries in 30 parts")


def test_the_intervals_contain_the_truth() -> None:
    assert min(coverage_of_components(40, 12).values()) >= 0.85
