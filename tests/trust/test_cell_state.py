"""Plans that draw cells: their draws, states, certificates and price."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import log

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks.trust import (
    DELTA,
    RISK,
    SHAPES,
    is_above,
    is_by_system_false,
    is_false_by_cells,
    labels_of_draws,
)
from tandem.trust import check_certificate
from tandem.trust.canonical import canonical, digest_of
from tandem.trust.cell_state import draws_of, state_after, walk_cells
from tandem.trust.certificate import Floor, verify
from tandem.trust.curve import INFORMATIVE, WEAK, certified_after
from tandem.trust.evidence import cells_without_error, evidence_of_cells
from tandem.trust.plan import Plan
from tandem.trust.price import Asked, Outlook, Pace, Price, outlook_sentences
from tandem.trust.state import WrongOrderError
from tandem.trust.systems import PART
from tandem.types import JSON
from tests.extent import Extent
from tests.trust.certified import issued_of_cells
from tests.trust.reference import reference
from tests.trust.test_certificate import assert_no_byte_changes


def plan(k: int = 3, queries: int = 100, risk: float = RISK, seed: str = "seed") -> Plan:
    random = np.random.default_rng(queries)
    size = np.maximum(1, np.round(random.lognormal(2.5, 1, queries))).astype(int)
    return Plan(size[:, None], size, risk, 0.04, seed, k)


def wrong_of(of: Plan, rate: float = 0.03) -> Callable[[int], int | None]:
    random = np.random.default_rng(3)
    return labels_of_draws(of, random.binomial(of.accepted[:, 0], rate), 300)


class TestTheState:
    def test_it_is_the_reference_on_the_reference_s_draws(self) -> None:
        of = plan()
        state = walk_cells(of, wrong_of(of))
        sizes, asked = of.accepted[:, 0], []
        for number, query in enumerate(state.queries, 1):
            drawn, cells = reference().drawn_cells(sizes, of.seed, 0, number, 3)
            assert drawn == query
            asked.append(len(cells))
        wrong = np.array([own[0] for own in state.labelled.values()], float)
        stated = reference().evidence_cells(wrong, np.array(asked, float), of.risk)
        assert state.evidence(0) == pytest.approx(stated, abs=1e-9)
        assert state.certified == (stated.max() >= log(1 / 0.04)) == 1
        assert state.decided_after == (len(stated),)
        assert len(set(state.queries)) < len(state.queries)

    def test_one_look_or_twenty_show_the_same(self) -> None:
        of = plan()
        known = wrong_of(of)
        last = walk_cells(of, known)
        for seen in range(0, 120, 6):
            look = walk_cells(of, lambda n, most=seen: known(n) if n <= most else None)  # type: ignore[misc]
            assert look.queries == last.queries[:seen]
            assert look.evidence(0).tolist() == last.evidence(0)[:seen].tolist()
            assert look.certified == (seen >= last.decided_after[0])
            assert look.bound() >= last.bound()

    def test_draws_begin_where_they_are_asked_to(self) -> None:
        of = plan()
        both = zip(range(20), draws_of(of), strict=False)
        assert [draw for _, draw in both][7] == next(draws_of(of, 8))

    def test_a_draw_without_labels_blocks_those_behind_it(self) -> None:
        of = plan()
        known = wrong_of(of)
        state = walk_cells(of, lambda number: None if number == 5 else known(number))
        assert list(state.labelled) == [1, 2, 3, 4]

    def test_the_likely_number_of_draws_certifies_if_errors_stay_as_frequent(self) -> None:
        of = plan()
        right = walk_cells(of, lambda number: 0 if number <= 10 else None)
        assert right.likely_more == cells_without_error(of.risk, of.delta) - 10
        assert walk_cells(of, lambda number: None).likely_more is None
        bad = walk_cells(of, lambda number: 1 if number <= 10 else None)
        assert bad.likely_more is None

    def test_it_cannot_be_met_where_most_cells_are_wrong(self) -> None:
        of = plan(k=1)
        bad = walk_cells(of, lambda number: int(number % 2) if number <= 60 else None)
        assert bad.cannot_be_met == "evidence"
        assert walk_cells(of, lambda number: None).cannot_be_met is None

    @pytest.mark.parametrize("k", [0, -1])
    def test_no_draw_is_without_cells(self, k: int) -> None:
        with pytest.raises(ValueError, match="at least one cell each"):
            plan(k)

    def test_several_cuts_are_refused(self) -> None:
        size = np.full(30, 4)
        with pytest.raises(ValueError, match="draws of cells are of one cut"):
            Plan(np.stack([size, 2 * size], axis=1), 2 * size, k=3)

    def test_another_order_and_labels_after_the_end_are_refused(self) -> None:
        of = plan()
        state = walk_cells(of, wrong_of(of))
        labelled = [(state.query_of(n), own) for n, own in state.labelled.items()]
        assert state_after(of, labelled).decided_after == state.decided_after
        with pytest.raises(WrongOrderError, match="before its turn"):
            state_after(of, labelled[1:])
        number = len(labelled) + 1
        more = [*labelled, (next(draws_of(of, number))[0], np.array([0]))]
        with pytest.raises(WrongOrderError, match="after the certificate"):
            state_after(of, more)


class TestFalseCertificates:
    @pytest.mark.every_case
    @pytest.mark.parametrize("k", [1, 3, pytest.param(5, marks=pytest.mark.long)])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_at_the_boundary_they_are_no_more_frequent_than_the_level(
        self, shape: str, k: int
    ) -> None:
        random, number = np.random.default_rng([SHAPES.index(shape), k]), 50
        if Extent.everything:
            number = 1_000
        for variation in (0.0, 1.0):
            false = sum(is_false_by_cells(random, 100, variation, shape, k) for _ in range(number))
            assert not is_above(false, number)

    @pytest.mark.every_case
    @pytest.mark.parametrize("shape", SHAPES)
    def test_bounds_by_system_are_false_in_no_more_studies_than_their_part(
        self, shape: str
    ) -> None:
        random = np.random.default_rng([SHAPES.index(shape), 12])
        number = 1_000 if Extent.everything else 40
        found = [
            is_by_system_false(random, 200, variation, shape, k=3)
            for variation in (0.0, 1.0)
            for _ in range(number // 2)
        ]
        for false in (sum(each) for each in zip(*found, strict=True)):
            assert binomtest(false, number, 0.8 * DELTA * PART, alternative="greater").pvalue > 0.01


Change = Callable[[JSON], object]
CHANGES: dict[str, Change] = {
    "fewer wrong cells": lambda d: [
        each.update(wrong=[0], by_system={"anna": [0], "bob": [0]})
        for each in d["predicate"]["draws"]
    ],
    "more wrong cells than asked": lambda d: d["predicate"]["draws"][0].update(wrong=[4]),
    "a draw left out": lambda d: d["predicate"]["draws"].pop(3),
    "a draw more": lambda d: d["predicate"]["draws"].append(d["predicate"]["draws"][0]),
    "other cells of each draw": lambda d: d["predicate"]["plan"].update(k=2),
    "whole queries": lambda d: d["predicate"]["plan"].pop("k"),
    "the other form": lambda d: d["predicate"]["plan"].update(form="whole"),
    "another seed": lambda d: d["predicate"]["plan"].update(seed="77"),
    "the whole level": lambda d: d["predicate"]["plan"].update(level=0.04),
    "a smaller bound": lambda d: d["predicate"]["systems"]["anna"].update(bound=0.01),
    "errors of a system that are none": lambda d: d["predicate"]["draws"][0].update(
        wrong=[0], by_system={"anna": [1], "bob": [0]}
    ),
}


class TestCertificates:
    @pytest.mark.parametrize("k", [1, 3, 50])
    def test_the_library_and_the_script_find_it_consistent(self, k: int) -> None:
        for by_system in (False, True):
            document = issued_of_cells(2, by_system, k)
            assert verify(document).wrong == []
            assert check_certificate.differences(json.loads(canonical(document))) == []
            queries, draws = (document["predicate"][name] for name in ("queries", "draws"))
            assert queries["labelled"] == len({each["query"] for each in draws}) < len(draws)

    @pytest.mark.every_case
    @pytest.mark.parametrize("what", CHANGES)
    def test_a_changed_one_is_refused_by_both(self, what: str) -> None:
        document = json.loads(canonical(issued_of_cells()))
        CHANGES[what](document)
        document["predicate"]["plan_sha256"] = digest_of(document["predicate"]["plan"])
        assert verify(document).verdict == "wrong"
        try:
            wrong = check_certificate.differences(document)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            wrong = [str(error)]
        assert wrong

    def test_one_byte_changed_is_refused(self) -> None:
        assert_no_byte_changes(canonical(issued_of_cells(2)))


class TestThePrice:
    def test_the_draws_without_a_wrong_cell(self) -> None:
        for risk, delta in ((0.1, 0.04), (0.05, 0.02), (0.5, 0.5), (0.001, 0.0001)):
            number = cells_without_error(risk, delta)
            right = np.zeros(number)
            reached = evidence_of_cells(right, right + 1, risk)
            assert reached[-1] >= log(1 / delta)
            assert number == 1 or reached[-2] < log(1 / delta)

    def test_the_simulated_number_is_that_of_the_plan_s_own_draws(self) -> None:
        of, random = plan(), np.random.default_rng(8)
        wrong = random.binomial(of.accepted[:, 0], 0.03)
        simulated = [certified_after(of, wrong, 300, random) or 300 for _ in range(150)]
        own = []
        for study in range(150):
            made = replace(of, seed=str(study))
            decided = walk_cells(made, labels_of_draws(made, wrong, 300)).decided_after
            own.append(decided[0] if decided else 300)
        error = np.sqrt((np.var(simulated) + np.var(own)) / 150)
        assert abs(np.mean(simulated) - np.mean(own)) < 3.5 * error

    def test_people_are_paid_for_whole_items_and_once(self) -> None:
        # Four draws of three cells in two items of five units; then the same again.
        asked = Asked(np.array([1, 2, 2, 2]), np.array([5, 10, 10, 10]), np.array([3, 5, 6, 8]))
        of = Outlook.of(plan(), [INFORMATIVE, WEAK], Floor(), Pace(3, 60), 5, asked)
        assert of.price(3) == of.price(400) == Price(2, 6, 0.1, None, None, "")
        words = " ".join(outlook_sentences(of))
        assert f"{cells_without_error(0.1, 0.04)} draws certify the first share: " in words
        assert "8 drawn cells in 2 items, which are asked whole: 10 units, 6 answers" in words
        assert "400 draws" in words
        assert canonical(of.as_json())
