"""What a function does where it is not told otherwise, and where the limits of all of them lie."""

import inspect
import pkgutil
from collections import defaultdict
from importlib import import_module

import pytest

import analysis.measures
import analysis.statistics
from analysis.statistics import (
    alternative_sensitivity,
    bootstrap,
    correlations,
    curves,
    intervals,
    paired,
    planning,
    rank,
    tally,
)

pytestmark = pytest.mark.every_case

EVERYWHERE = {
    "draws": {2000},
    "seed": {0},
    "interval": {"percentile"},
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
    "resamples": {10_000, 2000},
    "iterations": {200},
    "tolerance": {1e-8},
    "shift": {0.0},
}


def defaults():
    found = defaultdict(set)
    for package in (analysis.statistics, analysis.measures):
        for each in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            module = import_module(each.name)
            for function in filter(inspect.isfunction, vars(module).values()):
                if function.__module__ == module.__name__:
                    for one in inspect.signature(function).parameters.values():
                        if one.name in EVERYWHERE and one.default not in (one.empty, None):
                            found[one.name].add(one.default)
    return found


def test_what_is_not_said_is_the_same_in_every_function():
    assert defaults() == EVERYWHERE


def test_the_limits_are_those_that_the_documentation_names():
    assert (bootstrap.MINIMUM_CLUSTERS, bootstrap.MAXIMUM_UNDEFINED) == (10, 0.05)
    assert (intervals.RESAMPLES, intervals.BCA_BELOW) == (2000, 30)
    assert (paired.EXACT_UP_TO, paired.ENUMERATED_UP_TO) == (200, 13)
    assert (rank.MAXIMUM_POINTS, correlations.MAXIMUM_IN_CLUSTERS) == (3000, 10_000)
    assert (curves.MOST_POINTS, curves.MOST_LEVELS) == (50, 500)
    assert (planning.MOST, alternative_sensitivity.FEW) == (1_000_000, 30)


def test_weights_take_no_more_memory_than_their_comments_say():
    eight = 8  # bytes of a float
    assert (bootstrap.BLOCK * eight, tally.BLOCK * eight) == (16_000_000, 16_000_000)
    assert (intervals.AT_ONCE * eight, tally.MOST_FULL * eight) == (64_000_000, 80_000_000)
