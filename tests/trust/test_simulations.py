"""Simulated studies: certificates are false no more often than the level, and as many as stated."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
from scipy import stats

from benchmarks.trust import (
    CUTS,
    DELTA,
    LEAST_ERROR,
    PUBLISHED,
    RISK,
    SHAPES,
    TABLE,
    cells_certify,
    is_above,
    is_false,
    is_false_cell_by_cell,
    shares_certified,
    sizes,
    wrong_at_boundary,
)
from tandem.statistics import Ints
from tandem.trust.curve import INFORMATIVE, WEAK, simulated
from tandem.trust.evidence import evidence_by_size, evidence_of_even
from tandem.trust.plan import Plan
from tandem.trust.state import state_of
from tests.extent import Extent
from tests.trust.populations import population


def studies(usually: int, with_all: int) -> int:
    return with_all if Extent.everything else usually


@pytest.mark.parametrize("shape", SHAPES)
class TestThePopulations:
    def test_their_risk_is_exactly_the_plan_s(self, shape: str) -> None:
        random = np.random.default_rng(3)
        for variation in (0, 1):
            size = sizes(random, 200, variation)
            wrong = wrong_at_boundary(random, size, shape, RISK)
            assert (wrong <= size).all()
            assert wrong.sum() - 1 < RISK * size.sum() <= wrong.sum() + 1e-9

    def test_errors_come_by_query_where_they_shall(self, shape: str) -> None:
        random = np.random.default_rng(4)
        size = sizes(random, 400, 0)
        share = wrong_at_boundary(random, size, shape, RISK) / size
        alike = float(share.var() / (RISK * (1 - RISK)))
        stated = {"independent": 1 / 15, "correlation .2": 0.25, "correlation .5": 0.53}
        assert alike == pytest.approx(stated.get(shape, 1), abs=0.1)


class TestFalseCertificates:
    @pytest.mark.every_case
    @pytest.mark.parametrize("queries", [100, pytest.param(200, marks=pytest.mark.long)])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_at_the_boundary_they_are_no_more_frequent_than_the_level(
        self, shape: str, queries: int
    ) -> None:
        for variation in (0.0, 1.0):
            random = np.random.default_rng([SHAPES.index(shape), queries, 7])
            number = studies(80, 3_000)
            false = sum(is_false(random, queries, variation, shape) for _ in range(number))
            assert not is_above(false, number)

    @pytest.mark.parametrize("shape", SHAPES)
    def test_a_later_cut_at_the_boundary_is_no_easier(self, shape: str) -> None:
        # Two of three cells are surely right; the errors are among the others.
        random, number, false = np.random.default_rng(8), studies(60, 1_000), 0
        for study in range(number):
            size = sizes(random, 200, 1)
            plan = Plan(np.stack([2 * size, 3 * size], axis=1), 3 * size, RISK, DELTA, str(study))
            wrong = wrong_at_boundary(random, size, shape, 3 * RISK)
            state = simulated(plan, np.stack([0 * wrong, wrong], axis=1), 150)
            assert state.certified
            false += state.certified == 2
        assert not is_above(false, number)

    @pytest.mark.parametrize(
        ("shape", "least"), [("correlation .2", 0.07), ("whole queries", 0.19), ("largest", 0.19)]
    )
    def test_the_rule_that_tests_cells_is_false_far_above_the_level(
        self, shape: str, least: float
    ) -> None:
        for variation in (0.0, 1.0):
            random = np.random.default_rng(9)
            number = studies(200, 3_000)
            made = (is_false_cell_by_cell(random, 200, variation, shape) for _ in range(number))
            false = sum(made)
            assert stats.binomtest(false, number, least, alternative="less").pvalue > 0.01
            assert shape == "correlation .2" or is_above(false, number)

    def test_its_bound_by_hand(self) -> None:
        # Without an error among n cells it is 1 - .05^(1/n): .098 of 29 cells, .101 of 28.
        certified = [cells_certify(np.array([[n]]), np.array([[0]]), 0.1, 0.05) for n in (28, 29)]
        assert certified == [0, 1]

    def test_it_is_right_where_cells_are_independent(self) -> None:
        random, number = np.random.default_rng(9), studies(200, 3_000)
        made = (is_false_cell_by_cell(random, 200, 0, "independent") for _ in range(number))
        assert not is_above(sum(made), number)

    def test_even_draws_have_a_form_of_their_own_where_the_largest_queries_are_wrong(self) -> None:
        random, number = np.random.default_rng(10), studies(200, 3_000)
        false = {"even": 0, "by size": 0}
        for _ in range(number):
            size = sizes(random, 100, 1)
            wrong = wrong_at_boundary(random, size, "largest", RISK).astype(float)
            drawn = random.permutation(100)[:50]
            cells, total = size.astype(float), float(size.sum())
            even = evidence_of_even(cells[drawn], wrong[drawn], RISK, total, 100, cells.max())
            by_size = evidence_by_size(cells[drawn], wrong[drawn], RISK, total)
            false["even"] += bool(even.max() >= log(1 / DELTA))
            false["by size"] += bool(by_size.max() >= log(1 / DELTA))
        assert not is_above(false["even"], number)
        assert false["by size"] / number > 0.3


class TestYields:
    @pytest.mark.parametrize("cuts", CUTS)
    @pytest.mark.parametrize(("queries", "variation"), TABLE)
    def test_they_are_those_of_the_specification(
        self, queries: int, variation: float, cuts: str
    ) -> None:
        stated = TABLE[queries, variation][list(CUTS).index(cuts)]
        number = studies(50, 400)
        found = shares_certified(INFORMATIVE, queries, variation, CUTS[cuts], number)
        error = found.std(axis=0) * np.sqrt(1 / number + 1 / PUBLISHED)
        apart = np.abs(found.mean(axis=0) - stated) / np.maximum(error, LEAST_ERROR)
        # Of 32 figures one or two are beyond two errors, and one beyond three in a tenth of runs.
        assert (apart < 3).all()

    def test_a_weak_judge_is_certified_for_little(self) -> None:
        few, many = (shares_certified(WEAK, 200, 0, cuts, 40)[:, -1] for cuts in CUTS.values())
        assert few.mean() < 0.2
        assert 0.1 < many.mean() < 0.35


def test_one_look_or_twenty_show_the_same() -> None:
    made = population(np.random.default_rng(5), 120)
    last = simulated(made.plan, made.wrong, 100)
    labelled: list[tuple[int, Ints]] = list(last.labelled.items())
    assert last.certified
    for n in range(5, 101, 5):
        look = state_of(made.plan, labelled[:n])
        assert look.decided_after == tuple(each for each in last.decided_after if each <= n)
        for cut in range(look.certified):
            assert look.evidence(cut).tolist() == last.evidence(cut).tolist()
    assert look.phases == last.phases


def test_another_seed_draws_other_queries() -> None:
    made = population(np.random.default_rng(5), 120)
    other = replace(made.plan, seed="another")
    assert state_of(other, []).to_draw() != state_of(made.plan, []).to_draw()
