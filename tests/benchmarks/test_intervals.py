"""What the simulations of intervals and of the alternative test depend on, in seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.deciding import simulate_passing
from benchmarks.intervals import (
    FULL,
    Runs,
    ends_of,
    lines,
    measure_intervals,
    summary,
    true_values,
)
from benchmarks.simulated_studies import ITEMS, Cell, estimates_of, study_of
from tandem.statistics import Resamples, majority

TINY = Runs({10: 100}, draws=50, draws_far_out=60, truth=300)


def test_simulated_labels_have_the_requested_prevalence_and_correlation() -> None:
    study = study_of(Cell(20_000, 0.3, 0.1), np.random.default_rng(1))
    said = study.people[study.people >= 0]
    assert said.mean() == pytest.approx(0.1, abs=0.01)
    assert study.judge.mean() == pytest.approx(0.1, abs=0.01)
    assert (study.people < 0).mean() == pytest.approx(0.1, abs=0.005)
    # With one label for each unit, the correlation within units plays no part: the shares of a
    # query vary by p q (1 + 9 rho) / 10. The true label is given in .8 of cases, by a chance of the
    # query.
    judge = study.judge.reshape(-1, ITEMS)
    p, of_share = judge.mean(), judge.mean(axis=1).var()
    rho = (10 * of_share / (p * (1 - p)) - 1) / 9
    assert 0.1 < rho < 0.3
    none = study_of(Cell(20_000, 0.0, 0.1), np.random.default_rng(1)).judge.reshape(-1, ITEMS)
    assert 10 * none.mean(axis=1).var() / (none.mean() * (1 - none.mean())) == pytest.approx(
        1, abs=0.05
    )


def test_a_simulated_study_is_estimated_like_a_report() -> None:
    study = study_of(Cell(10, 0.1, 0.5), np.random.default_rng(0))
    drawn = Resamples.draw(study.clusters, 50, 0)
    found = estimates_of(study, drawn, Resamples.draw(np.arange(20), 50, 1).draws)
    people = {"percent", "fleiss_kappa", "krippendorff_alpha", "gwet_ac"}
    assert people | {"two people: cohen_kappa", "judge: roc_auc", "judge: pearson"} <= set(found)
    assert {"gap: cohen_kappa", "judge on yes: recall", "people and judge: ratio"} <= set(found)
    reference, _ = majority(study.people)
    there = reference >= 0
    assert found["judge: accuracy"].value == pytest.approx((reference == study.judge)[there].mean())


def test_the_true_value_is_computed_over_many_queries() -> None:
    truth = true_values(0.1, 0.5, 5_000)
    # The true label is given in .8 + .2 / 2 of cases, so that two people agree in .9 .9 + .1 .1.
    assert truth["percent"] == pytest.approx(0.82, abs=0.02)
    assert truth["people and judge: ratio"] == pytest.approx(0.5, abs=0.02)


def test_coverage_share_and_width_match_a_hand_calculation() -> None:
    ends = np.array([[0.0, 0.5], [0.4, 1.0], [0.6, 0.7], [np.nan, np.nan]])
    found = summary([{"x": ends[:2]}, {"x": ends[2:]}], {"x": 0.5})["x"]
    assert (found["given"], found["held"]) == (0.75, pytest.approx(2 / 3))
    assert found["width"] == pytest.approx(0.5)
    # Of three intervals .667 is not significantly below .925: the error is .152.
    assert found["error"] == pytest.approx(0.152, abs=0.001)
    assert found["low"] is True
    none = summary([{"x": ends[3:]}], {"x": 0.5})["x"]
    assert (none["given"], none["held"], none["low"]) == (0, None, False)


@pytest.mark.parametrize(("held", "low"), [(916, False), (911, False), (900, True)])
def test_coverage_misses_the_bar_only_if_significantly_below_it(held: int, low: bool) -> None:
    # Of 1,000 the error is .00833, so that .9113 is the least that is not significant.
    ends = np.tile([0.0, 1.0], (1000, 1))
    ends[held:] = [0.6, 1.0]
    assert summary([{"x": ends}], {"x": 0.5})["x"]["low"] is (low or held < 911.3)


def test_cells_with_few_informative_queries_get_more_resamples() -> None:
    assert FULL.draws_of(Cell(10, 0.1, 0.1)) == FULL.draws_of(Cell(20, 0.1, 0.1)) == 4_000
    assert FULL.draws_of(Cell(50, 0.1, 0.1)) == FULL.draws_of(Cell(10, 0.1, 0.3)) == 1_000


def test_a_stopped_run_continues_from_its_finished_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Cell] = []

    def ends(cell: Cell, block: int, draws: int) -> dict[str, Any]:
        asked.append(cell)
        assert draws == (60 if cell.prevalence < 0.2 else 50)
        return {name: np.tile([0.0, 1.0], (100, 1)) for name in true_values(0.0, 0.3, 300)}

    monkeypatch.setattr("benchmarks.intervals.ends_of", ends)
    kept: list[dict[str, Any]] = []

    def keep(figures: dict[str, Any]) -> None:
        kept.append({**figures, "cells": list(figures["cells"])})

    whole = measure_intervals(TINY, lambda _: None, keep, {})
    assert len(asked) == len(kept) == len(whole["cells"]) == 12
    asked.clear()
    assert measure_intervals(TINY, lambda _: None, keep, kept[4]) == whole
    assert len(asked) == 7
    # Cells of another plan are not used.
    asked.clear()
    measure_intervals(Runs({10: 200}, 50, 60, 300), lambda _: None, keep, whole)
    assert len(asked) == 24
    assert "holds" in lines(whole)


def test_equal_runs_give_equal_interval_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.intervals.TOGETHER", 20)
    cell = Cell(10, 0.5, 0.1)
    one, other = (ends_of(cell, 3, 20)["percent"] for _ in range(2))
    assert one.shape == (20, 2)
    assert np.array_equal(one, other, equal_nan=True)


def test_a_judge_that_loses_a_fifth_of_comparisons_fails_with_few_queries() -> None:
    made = simulate_passing(20)
    assert list(made.shares) == [10, 15, 20, 30]
    assert (made.shares[10], made.shares[15]) == (0, 0)
    assert made.error == pytest.approx(np.sqrt(0.05 * 0.95 / 20))
    assert len(made.lines()) == 4
