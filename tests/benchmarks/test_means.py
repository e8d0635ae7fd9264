"""The simulation of intervals of means, in a form that takes seconds."""

import numpy as np
import pytest

from benchmarks.means import (
    ONE,
    QUICK,
    TEN,
    UNEQUAL,
    WIDEST,
    Kind,
    Runs,
    _summary,
    kinds,
    lines,
    measure_kind,
    measure_means,
)

STUDIES = Runs(studies=300, draws=200)
WRONG = 3 * (0.925 * 0.075 / STUDIES.studies) ** 0.5
"""Three standard errors of coverage."""


@pytest.mark.parametrize(
    "kind",
    [
        Kind(10, ONE, 0.95, 0.0),
        Kind(20, TEN, 0.95, 0.5),
        Kind(20, UNEQUAL, 0.9, 0.2),
        Kind(50, TEN, 0.98, 0.2),
        Kind(50, UNEQUAL, 0.9, 0.5),
    ],
)
def test_intervals_contain_the_truth_as_often_as_stated_or_are_refused(kind: Kind) -> None:
    found = measure_kind(kind, STUDIES)
    assert found["share"]["given"] == 1
    assert found["share"]["held"] > 0.925 - WRONG
    for each in found.values():
        assert each["given"] < 0.1 or each["held"] > 0.925 - 3 * each["error"]


@pytest.mark.parametrize("mean", [0.5, 0.9])
@pytest.mark.parametrize("cells", [TEN, UNEQUAL])
def test_shares_of_twenty_queries_all_have_an_interval_hardly_wider_than_t(
    mean: float, cells: str
) -> None:
    found = measure_kind(Kind(20, cells, mean, 0.2), STUDIES)["share"]
    assert found["given"] == 1
    assert found["of_t"] <= WIDEST


def test_every_kind_of_study_is_simulated() -> None:
    assert len(list(kinds())) == 3 * 5 * 7
    said: list[str] = []
    figures = measure_means(Runs(studies=2, draws=20), said.append)
    assert len(said) == len(figures["kinds"]) == 105
    assert QUICK.studies < STUDIES.studies


def test_a_kind_counts_if_a_tenth_of_its_studies_has_an_interval() -> None:
    ends = np.full((100, 2), np.nan)
    ends[:9] = 1, 2
    assert (_summary(ends)["held"], _summary(ends)["low"]) == (0, False)
    ends[:10] = 1, 2
    assert (_summary(ends)["given"], _summary(ends)["low"]) == (0.1, True)
    ends[:] = -1, 1
    assert (_summary(ends)["held"], _summary(ends)["low"]) == (1, False)


def test_the_table_names_the_worst_kind() -> None:
    good = {
        "given": 1.0, "held": 0.95, "error": 0.01, "width": 0.1, "mean_width": 0.1, "low": False,
        "of_t": 1.1,
    }  # fmt: skip
    parts = [
        {"queries": 20, "cells": TEN, "mean": mean, "correlation": 0.2, "figures": {"share": each}}
        for mean, each in ((0.5, good), (0.7, {**good, "held": 0.8, "low": True, "of_t": 1.3}))
    ]
    said = lines({"kinds": parts})
    assert "0.800 ± 0.010 (ten, 0.7, 0.2)" in said
    assert "MISSED" in said
    assert "at most 1.30 times as wide as t (ten, 0.7, 0.2); bar 1.2: MISSED" in said
