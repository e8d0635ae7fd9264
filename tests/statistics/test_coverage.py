"""Whether intervals contain the truth on queries whose items resemble each other. Exact rates need
more studies than a test has time for: `python -m benchmarks --only coverage`."""

import numpy as np
import pytest

from benchmarks.coverage import (
    ICCS,
    ITEMS,
    QUICK,
    chances,
    corrected_coverage,
    coverage,
    coverage_of_means,
    lines,
    measure_coverage,
)
from tandem.statistics import mean_by_cluster
from tests.statistics.cast import covers

pytestmark = pytest.mark.every_case

TRUTH = (0.5833, 0.5837)
"""Alpha and kappa of 60,000 queries with an icc of 0.2."""


@pytest.mark.parametrize("icc", ICCS)
def test_t_intervals_of_means_contain_the_truth_as_often_as_stated(icc):
    assert min(coverage_of_means(200, 20, icc)) >= 0.915


def test_intervals_that_take_items_as_queries_contain_the_truth_far_less_often():
    rng, held = np.random.default_rng(1), []
    for _ in range(100):
        yes = (rng.random((20, ITEMS)) < chances(rng, 20, 0.4, 0.3)).ravel().astype(float)
        held.append(covers(mean_by_cluster(yes, np.arange(20 * ITEMS)), 0.4))
    assert np.mean(held) < 0.75


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_bootstrap_intervals_of_coefficients_contain_the_truth_nearly_as_often(interval):
    # Intervals that take items as queries would contain it in 0.6 and 0.7 of the studies.
    assert min(coverage(100, 50, 0.2, interval, 200, TRUTH)) >= 0.85


def test_the_bias_of_a_lenient_judge_is_corrected():
    held, fooled = corrected_coverage(150)
    assert held >= 0.92
    assert fooled < 0.05


def test_the_simulation_reports_coverage_and_threshold_for_each_interval():
    figures = measure_coverage(QUICK)
    assert len(figures["intervals"]) == 2 * 2 * 2 * len(ICCS) + 2 * 2 * len(ICCS) + 2 + 3 * 4
    assert all(0 <= each["share"] <= 1 for each in figures["intervals"])
    one = {"of": "alpha", "share": 0.91, "least": 0.91}
    said = lines({"intervals": [one, {**one, "share": 0.9}, {**one, "least": None}]}).splitlines()
    assert [line.split()[-1] for line in said[1:]] == ["holds", "MISSED", "0.910"]
