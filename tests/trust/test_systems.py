"""Bounds by system come from the same draws, share a part of the level, and hold together."""

from __future__ import annotations

from collections.abc import Callable
from math import log, log1p

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks.trust import SHAPES, is_by_system_false
from tandem.statistics import Floats
from tandem.trust.certificate import CertificateError, certificate
from tandem.trust.curve import simulated
from tandem.trust.evidence import (
    RISKS,
    evidence_by_size,
    evidence_of_cells,
    evidence_of_even,
    risk_bound,
)
from tandem.trust.plan import level, plan_of
from tandem.trust.systems import PART, Systems, split
from tests.extent import Extent
from tests.trust.certified import commitment_by_system, labels, made


@pytest.mark.parametrize("number", [1, 2, 5])
def test_the_levels_add_up_to_that_of_the_plan(number: int) -> None:
    of_statement, each = split(0.05, number, PART, 6)
    assert of_statement + 6 * each == pytest.approx(level(0.05, number))
    assert split(0.05, number) == (level(0.05, number), 0)


def by_hand(sizes: Floats, wrong: Floats, risk: float, of_all: float, own: float) -> float:
    """The most evidence against a part's risk, if a third of each query's cells belong to it."""
    logs, best, seen, gone = [0.0] * 40, -np.inf, 0.0, 0.0
    for size, errors in zip(sizes, wrong, strict=True):
        mean = min((risk * own - seen) / (of_all - gone), 1 / 3)
        for n in range(40):
            bet = 0.999 * (0.5 + 0.5 * (n + 0.5) / 40)
            logs[n] += log1p(bet * (mean - errors / size) / max(1 / 3 - mean, 1e-12))
        best = max(best, log(sum(np.exp(logs)) / 40))
        seen, gone = seen + errors, gone + size
    return float(best)


def test_the_bound_of_a_system_by_hand() -> None:
    of = made()
    plan, _ = commitment_by_system(of)
    accepted = 3 * (of.plan.accepted // 3)
    document = plan | {"accepted": accepted.tolist()}
    own = {"anna": (accepted // 3).tolist(), "bob": (accepted // 3).tolist()}
    document["by_system"] = plan["by_system"] | {"accepted": own}
    wrong = np.minimum(of.wrong, accepted // 3)
    state = simulated(plan_of(document), wrong, 40)
    systems = Systems.of(document)
    assert systems is not None
    none, all_of = 0 * wrong, wrong
    errors = [np.stack([all_of[query], none[query]]) for query in state.labelled]
    phase = state.phases[0]
    drawn = list(phase.drawn)
    sizes, total = accepted[drawn, 0].astype(float), float(accepted[:, 0].sum())
    found = systems.bounds(state, errors, 0)
    for name, bad in (("anna", all_of), ("bob", none)):
        reached = [
            by_hand(sizes, bad[drawn, 0].astype(float), float(risk), total, total / 3)
            >= log(1 / systems.level)
            for risk in RISKS
        ]
        assert found[name] == pytest.approx(RISKS[reached.index(True)])
    assert found["bob"] < found["anna"] < 0.5  # type: ignore[operator]


def test_a_system_without_cells_in_a_cut_has_no_bound() -> None:
    of = made()
    plan, _ = commitment_by_system(of)
    plan["by_system"]["accepted"]["bob"] = (0 * of.plan.accepted).tolist()
    state, systems = simulated(plan_of(plan), 0 * of.wrong, 30), Systems.of(plan)
    assert systems is not None
    errors = [np.zeros((2, of.plan.cuts), int)] * 30
    assert systems.bounds(state, errors, 0)["bob"] is None
    # Nothing was drawn for the last cut, where at most all unlabelled cells are wrong.
    counted = systems.bounds(state, errors, 2)["anna"]
    own = systems.accepted["anna"][:, 2]
    assert counted == pytest.approx(1 - own[list(state.labelled)].sum() / own.sum())


def test_the_largest_share_of_a_system_makes_its_bound_narrower() -> None:
    size, wrong = np.full(40, 10.0), np.tile([1.0, 0, 0, 0], 10)

    def bound(most: float) -> float:
        return risk_bound(
            lambda risk: evidence_by_size(size, wrong, risk / 2, 2e3, largest=most), 0.01
        )

    assert bound(0.5) < 0.7 * bound(1)


def linear(evidence: Callable[[float], Floats], delta: float) -> float:
    """The bound by trying each risk in turn."""
    found = (r for r in RISKS if evidence(float(r)).max(initial=-np.inf) >= log(1 / delta))
    return float(next(found, 1.0))


@pytest.mark.parametrize("seed", range(30))
def test_halving_finds_the_bound_that_trying_each_risk_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    size = random.integers(1, 20, 30).astype(float)
    wrong = np.floor(size * random.beta(0.3, random.choice([0.5, 3, 9]), 30))
    total, drawn = size.sum() + random.integers(1, 200), random.integers(1, 30)
    size, wrong = size[:drawn], wrong[:drawn]
    forms: list[Callable[[float], Floats]] = [
        lambda risk: evidence_by_size(size, wrong, risk, total),
        lambda risk: evidence_of_cells(wrong, size, risk),
        lambda risk: evidence_of_even(size, wrong, risk, total, 31, 20.0),
    ]
    for evidence in forms:
        for delta in (0.3, 0.04):
            assert risk_bound(evidence, delta) == linear(evidence, delta)


@pytest.mark.every_case
@pytest.mark.parametrize("shape", SHAPES)
def test_some_bound_is_false_in_no_more_studies_than_their_part_of_the_level(shape: str) -> None:
    random = np.random.default_rng([SHAPES.index(shape), 11])
    number = 2_000 if Extent.everything else 60
    found = [is_by_system_false(random, 100, variation, shape) for variation in (0.0, 1.0)
             for _ in range(number // 2)]  # fmt: skip
    of_statement, of_bounds = (sum(each) for each in zip(*found, strict=True))
    for false in (of_statement, of_bounds):
        assert binomtest(false, number, 0.04 * PART, alternative="greater").pvalue >= 0.01
    either = sum(map(any, found))
    assert binomtest(either, number, 0.04, alternative="greater").pvalue >= 0.01


def test_errors_of_systems_that_do_not_add_up_are_refused() -> None:
    of = made()
    plan, wrong = commitment_by_system(of)
    drawn = labels(plan, of.wrong)
    looks = [{"at": "2026-11-09T10:00:00+00:00", "labelled": len(drawn)}]
    own = [np.stack([wrong["anna"][query], wrong["bob"][query]]) for query, _ in drawn]

    def issue() -> object:
        return certificate(plan, drawn, looks, "2026-11-10T09:00:00+00:00", by_system=own)

    assert issue()
    own[0] = own[0] + [[0, 0, 50], [0, 0, 0]]
    with pytest.raises(CertificateError, match="a system has more wrong cells in query"):
        issue()
    first = next(n for n, (_, errors) in enumerate(drawn) if errors[2])
    own[0] = np.stack([wrong["anna"][drawn[0][0]], wrong["bob"][drawn[0][0]]])
    of_system = [np.array(plan["by_system"]["accepted"][name]) for name in ("anna", "bob")]
    own[first] = np.stack([each[drawn[first][0]] for each in of_system])
    with pytest.raises(CertificateError, match="do not add up"):
        issue()
