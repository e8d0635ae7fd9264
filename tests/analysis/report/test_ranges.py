"""Every number of a report and both ends of its interval are within the statistic's range."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.statistics import Estimate, correlation_estimates
from tests.cast import write_lines

JSON = dict[str, Any]
SHARES = ("percent", "share", "accuracy", "precision", "recall", "f1", "specificity", "roc_auc",
          "average_precision", "brier", "expected_calibration_error", "coverage", "systems",
          "majority", "humans", "judge", "prediction_powered", "kept", "false_positive_rate",
          "expected_accuracy", "balanced_accuracy")  # fmt: skip
COEFFICIENTS = ("kappa", "alpha", "gwet", "spearman", "kendall", "pearson")
SCALE = 5.0


def estimates(of: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JSON]]:
    """Yield every estimate of a report."""
    if isinstance(of, dict):
        if {"value", "low", "high", "method"} <= of.keys():
            yield path, of
        for key, each in of.items():
            yield from estimates(each, (*path, key))
    elif isinstance(of, list):
        for n, each in enumerate(of):
            yield from estimates(each, (*path, str(n)))


def range_of(path: tuple[str, ...]) -> tuple[float, float]:
    """The range of a statistic, by its name or that of the block around it."""
    if {"gap", "judge_minus_floor", "equivalence"} & set(path):
        return -2.0, 2.0
    for name in reversed(path):
        if name == "way":  # A share of the distance between two others.
            return -inf, inf
        if name == "mean_absolute_error":
            return 0.0, SCALE
        if name in ("difference", "direction") or any(word in name for word in COEFFICIENTS):
            return -1.0, 1.0
        if any(word in name for word in SHARES):
            return 0.0, 1.0
    return -inf, inf


def labels(chance: random.Random, queries: int, slip: float, flat: bool) -> Iterator[JSON]:
    """Three people and a judge who nearly always agree, so that intervals lie at an end.

    If there are many queries, people label only a part; `flat` gives all units one label.
    """
    for n in range(queries * 6):
        query, unit = divmod(n, 6)
        place = {
            "item": f"q{query}/{unit // 3}",
            "unit": f"u{unit % 3}",
            "query": f"q{query}",
            "kind": "question",
            "system": ("bm25", "dense")[unit // 3],
        }
        truth = 5 if flat or chance.random() < 0.9 else chance.randrange(6)
        for rater in ("Ada", "Bram", "Chidi", "model"):
            rating = chance.randrange(6) if chance.random() < slip else truth
            kind = "judge" if rater == "model" else "human"
            who = {**place, "rater": rater, "rater_kind": kind}
            score = {"score": (rating + 0.5) / 6} if rater == "model" else {}
            yield who | score | {"variable": "answerable", "value": ("no", "yes")[rating > 2]}
            yield who | {"variable": "rating", "value": str(rating)}


@pytest.mark.first_case
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("slip", "flat"), [(0.0, True), (0.0, False), (0.02, False), (0.4, False)])
def test_no_number_of_a_report_leaves_the_range_of_its_statistic(
    tmp_path: Path, seed: int, slip: float, flat: bool
) -> None:
    path = tmp_path / "labels.jsonl"
    write_lines(path, labels(random.Random(seed), 10 + seed, slip, flat))
    levels: Any = {"answerable": "nominal", "rating": "ordinal"}
    report = json.loads(json.dumps(labels_report([path], levels, ReportOptions(resamples=40))))
    held: set[str] = set()
    assert list(outside(report, held)) == []
    if slip > 0.1:  # with fewer errors, too few queries vary for an interval
        assert held >= {"percent", "fleiss_kappa", "krippendorff_alpha", "pearson", "mean"}


def outside(report: JSON, held: set[str]) -> Iterator[str]:
    """The numbers outside their range; `held` receives the names of statistics with an interval."""
    for path, each in estimates(report):
        least, most = range_of(path)
        ends = [each[key] for key in ("value", "low", "high") if each[key] is not None]
        held |= {path[-1]} if isfinite(most) and each["low"] is not None else set()
        if any(not least <= end <= most for end in ends):
            yield f"{'/'.join(path)}: {ends} not in [{least}, {most}]"


def test_scores_that_differ_by_rounding_alone_correlate_as_equal_ones() -> None:
    """Thirds are not exact: twelve equal scores have an undefined correlation, not a random one."""
    equal = np.array([0.1 + 0.2, 0.3] * 6)
    other = np.arange(12.0)
    for found in correlation_estimates(equal, other, np.arange(12), draws=50).values():
        assert found.value is None
        assert found.reason == "one of the two scores is constant"


class TestWithin:
    def test_a_value_outside_its_range_by_rounding_is_corrected_silently(self) -> None:
        made = Estimate(1.0, 0.5, 1.0 + 1e-12, 5, "kappa")
        assert made.within(-1, 1) == Estimate(1.0, 0.5, 1.0, 5, "kappa")

    def test_a_value_further_outside_its_range_is_cut_with_a_note(self) -> None:
        made = Estimate(1.0, 0.5, 1.014, 5, "Pearson's correlation")
        assert made.within(-1, 1).method == "Pearson's correlation; cut at -1 and 1"
