"""Evidence, draws, bounds and states agree with an independent implementation to 1e-9."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tandem.statistics import Ints
from tandem.trust import draws, evidence
from tandem.trust.plan import Plan, level
from tandem.trust.state import state_of
from tests.trust.populations import Population, population
from tests.trust.reference import reference

close = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)
SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_evidence_of_every_form(seed: int) -> None:
    ours, theirs, random = evidence, reference(), np.random.default_rng(seed)
    size = random.integers(1, 30, 40).astype(float)
    wrong = np.floor(size * random.random(40) * random.choice([0.1, 0.5, 1.0]))
    risk, total = (
        float(random.choice([0.05, 0.1, 0.3])),
        float(size.sum() * random.uniform(1.01, 4)),
    )
    asked = np.minimum(size, 3)
    difference = random.uniform(-1, 1, 40)
    pairs = [
        (
            ours.evidence_by_size(size, wrong, risk, total, 0, 0),
            theirs.evidence_whole(size, wrong, risk, total),
        ),
        (
            ours.evidence_by_size(
                size[9:], wrong[9:], risk, total, wrong[:9].sum(), size[:9].sum()
            ),
            theirs.evidence_whole(
                size[9:], wrong[9:], risk, total, wrong[:9].sum(), size[:9].sum()
            ),
        ),
        (
            ours.evidence_of_cells(np.minimum(wrong, asked), asked, risk),
            theirs.evidence_cells(np.minimum(wrong, asked), asked, risk),
        ),
        (
            ours.evidence_of_even(size, wrong, risk, total, 90, 30.0),
            theirs.evidence_even(size, wrong, risk, total, 90, 30.0),
        ),
        (ours.evidence_of_difference(difference, 90), theirs.evidence_better(difference, 90)),
    ]
    for mine, reference_value in pairs:
        close(mine, reference_value)
    mean = ours.null_means(size, wrong, risk, total)
    close(ours.evidence_of_excess(wrong / size, mean), theirs.refutation(wrong / size, mean))


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_and_numbers_of_a_plan(seed: int) -> None:
    theirs, random = reference(), np.random.default_rng(seed)
    sizes = random.integers(0, 12, 30)
    key, left = f"seed {seed} — ü", [q for q in range(30) if q % 4]
    as_dict = dict(enumerate(sizes.tolist()))
    assert draws.order_by_size(as_dict, left, key, 2) == theirs.order_whole(sizes, left, key, 2)
    for draw in range(20):
        mine = draws.draw_cells(sizes.tolist(), key, 1, draw, 3)
        assert mine == tuple(theirs.drawn_cells(sizes, key, 1, draw, 3))
    for risk, delta in ((0.1, 0.04), (0.05, 0.04), (0.2, 0.01)):
        assert evidence.fewest_draws(risk, delta) == theirs.fewest(risk, delta)
        some = sizes[sizes > 0].astype(float)
        total = float(some.sum()) * 1.5
        assert evidence.draws_without_error(some, risk, delta, total) == theirs.without_error(
            some, risk, delta, total
        )
    assert [level(0.05, k) for k in range(1, 6)] == [theirs.level(0.05, k) for k in range(1, 6)]


def _loop(theirs: Any, plan: Plan) -> Any:
    of = theirs.Plan(plan.accepted, plan.cells, e=plan.risk, delta=plan.delta, seed=plan.seed)
    return theirs.Loop(of)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loop_from_the_first_draw_to_the_last(seed: int) -> None:
    theirs, random = reference(), np.random.default_rng(seed)
    risk = float(random.choice([0.05, 0.1, 0.2, 0.4]))
    made = population(random, int(random.choice([20, 60, 120])), risk, seed=str(seed))
    loop = _loop(theirs, made.plan)
    labelled: list[tuple[int, Ints]] = []
    while (query := loop.next()) is not None:
        state = state_of(made.plan, labelled)
        assert state.to_draw()[0] == query
        loop.add(query, made.wrong[query])
        labelled.append((query, made.wrong[query]))
        state = state_of(made.plan, labelled)
        assert list(enumerate(state.decided_after)) == loop.history
        assert (state.cannot_be_met is not None) == bool(loop.cannot_be_met())
        assert state.share == pytest.approx(loop.share(), abs=1e-12)
        if state.certified < made.plan.cuts and state.phases[-1].drawn:
            close(state.evidence(state.certified), loop.evidence())
    assert not state_of(made.plan, labelled).to_draw()


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_at_some_looks(seed: int) -> None:
    theirs, random = reference(), np.random.default_rng(seed)
    made: Population = population(random, 60, seed=str(seed))
    loop, labelled = _loop(theirs, made.plan), []
    for turn in range(30):
        query = loop.next()
        if query is None:
            break
        loop.add(query, made.wrong[query])
        labelled.append((query, made.wrong[query]))
        state = state_of(made.plan, labelled)
        if turn % 5 == 0 and state.phases[-1].drawn and not loop.cut:
            bound = theirs.upper_bound(lambda e: loop.evidence(e=e), made.plan.delta)
            assert state.bound() == pytest.approx(bound, abs=1e-12)
