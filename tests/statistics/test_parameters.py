"""Parameters of the statistics have their documented defaults, and share their limits."""

import inspect
import pkgutil
from collections import defaultdict
from importlib import import_module

import numpy as np
import pytest

import tandem.scores
import tandem.statistics
from tandem.scores import MEASURES
from tandem.scores.agreement import orderings
from tandem.scores.base import Pooled, estimate
from tandem.statistics import (
    Span,
    accuracy,
    agreement_estimates,
    alignment_estimates,
    alternative,
    binary_unitising_alpha,
    ceiling_estimates,
    cluster_means,
    correlation,
    correlation_estimates,
    curves,
    pair_estimates,
    paired,
    planning,
    resampling,
    system_rank_correlation,
    table_estimates,
    tally,
    threshold_sweep,
    unitising_alpha,
)
from tandem.statistics.curves import calibration
from tandem.statistics.spans import token_alpha

pytestmark = pytest.mark.every_case

EVERYWHERE = {
    "seed": {0},
    "interval": {"bca"},
    "level": {0.95, "nominal"},
    "q": {0.05},
    "minimum": {30},
    "epsilons": {(0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)},
    "epsilon": {0.2},
    "annotators": {3},
    "categories": {3},
    "accuracy": {0.85},
    "trials": {600},
    "bins": {10},
    "resamples": {10_000},
    "iterations": {2_000},
    "tolerance": {1e-8},
}


def defaults():
    found = defaultdict(set)
    for package in (tandem.statistics, tandem.scores):
        for each in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            module = import_module(each.name)
            for function in filter(inspect.isfunction, vars(module).values()):
                if function.__module__ == module.__name__:
                    for one in inspect.signature(function).parameters.values():
                        if one.name in EVERYWHERE and one.default not in (one.empty, None):
                            found[one.name].add(one.default)
    return found


def test_defaults_are_the_same_in_every_function():
    assert defaults() == EVERYWHERE


def test_the_limits_are_those_in_the_documentation():
    assert (resampling.MINIMUM_CLUSTERS, resampling.MAXIMUM_UNDEFINED) == (10, 0.05)
    assert (resampling.RESAMPLES, resampling.RESAMPLES_OF_FEW, resampling.FEW) == (2000, 10_000, 30)
    assert (resampling.FEWEST_DIFFERING, resampling.FEWEST_INFORMATIVE) == (5, 5)
    assert cluster_means.SEVERAL == 2
    assert (paired.EXACT_UP_TO, paired.ENUMERATED_UP_TO) == (200, 13)
    assert (correlation.MAXIMUM_POINTS, correlation.MAXIMUM_IN_CLUSTERS) == (3000, 10_000)
    assert (curves.MOST_POINTS, curves.MOST_LEVELS) == (50, 500)
    assert (planning.MOST, alternative.FEW) == (1_000_000, 30)


def test_weights_take_no_more_memory_than_their_comments_say():
    eight = 8  # bytes of a float
    assert (tally.BLOCK * eight, tally.MOST_FULL * eight) == (16_000_000, 80_000_000)
    assert resampling.AT_ONCE * eight == 64_000_000


CODES = np.random.default_rng(0).integers(-1, 3, (24, 3))
SCORES = np.random.default_rng(1).random((24, 8))
QUERIES = np.arange(24) // 2
YES = (SCORES[:, 1] > 0.4).astype(np.int64)
SPANS = [[[Span(((n, n + 5),))], [Span(((n + n % 3, n + 6),))]] for n in range(24)]
WORDS = [np.array([[start, start + 3] for start in range(0, 40, 4)])] * 24
ONE, OTHER = np.maximum(CODES[:, 0], 0), np.maximum(CODES[:, 1], 0)
SUMS = np.stack([np.round(SCORES[:, 0] * 5), np.full(24, 5.0)], axis=1)

RESAMPLED = {
    "agreement": lambda **o: agreement_estimates(CODES, QUERIES, 3, names=["percent"], **o),
    "pair": lambda **o: pair_estimates(ONE, OTHER, QUERIES, 3, **o),
    "alignment": lambda **o: alignment_estimates(ONE, OTHER, QUERIES, 3, **o).overall,
    "table": lambda **o: table_estimates(
        ONE, OTHER, QUERIES, 3, {"accuracy": (accuracy, "accuracy", "none")}, **o
    ),
    "ceiling": lambda **o: ceiling_estimates(CODES, QUERIES, 3, **o),
    "calibration": lambda **o: calibration(SCORES[:, 0], YES, QUERIES, 1, **o),
    "correlation": lambda **o: correlation_estimates(SCORES[:, 0], SCORES[:, 1], QUERIES, **o),
    "curve": lambda **o: threshold_sweep(SCORES[:, 0].round(1), YES, QUERIES, **o).recall,
    "systems": lambda **o: system_rank_correlation(SCORES, SCORES[:, ::-1] ** 2, **o),
    "tokens": lambda **o: token_alpha(SPANS, WORDS, QUERIES, **o),
    "unitising": lambda **o: unitising_alpha(SPANS, [40] * 24, QUERIES, **o),
    "binary unitising": lambda **o: binary_unitising_alpha(SPANS, [40] * 24, QUERIES, **o),
}
OF_MEASURES = {
    "orderings": lambda **o: orderings({"one": SCORES, "other": SCORES[:, ::-1] ** 2}, **o),
    "pooled": lambda **o: estimate(
        MEASURES["F+A"], Pooled(SUMS, lambda w: w[..., 0] / w[..., 1]), QUERIES, **o
    ),
}
BASIC = {"draws": 10_000, "seed": 0}


@pytest.mark.parametrize("name", RESAMPLED | OF_MEASURES)
def test_by_default_few_queries_get_ten_thousand_resamples_with_seed_0(name):
    function = (RESAMPLED | OF_MEASURES)[name]
    asked = BASIC | ({"interval": "bca"} if name in RESAMPLED else {})
    assert function() == function(**asked)
    assert function(draws=50, seed=1) != function(draws=50)
