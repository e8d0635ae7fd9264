"""Before a label is paid, a plan says what it can reach and what that costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.trust.canonical import canonical
from tandem.trust.certificate import Floor
from tandem.trust.curve import (
    INFORMATIVE,
    WEAK,
    DevelopmentErrors,
    Scenario,
    curve,
    share_after,
    simulated,
)
from tandem.trust.plan import CutTable, Plan
from tandem.trust.price import Outlook, Pace, Price, outlook_sentences

PACE = Pace(people=3, seconds=120, hourly=12, currency="EUR", queries_per_day=10)


def plan(queries: int = 200, cells: int = 15, risk: float = 0.1) -> Plan:
    query = np.repeat(np.arange(queries), cells)
    score = np.random.default_rng(1).random(len(query))
    table = CutTable.of(score, query, queries)
    return Plan(table.accepted, np.full(queries, cells), risk)


def test_a_price_is_people_times_seconds_times_wage() -> None:
    # 50 queries, three people, two minutes each: 150 answers, 5 hours, 60 EUR, at ten a day 5 days.
    assert Price.of(50, PACE) == Price(50, 150, 5.0, 5, 60.0, "EUR")
    assert Price.of(50, PACE).words == (
        "150 answers from people, 5.0 hours of them, 5 days at their pace, 60.00 EUR"
    )
    assert Price.of(50, Pace(3)).words == "150 answers from people"
    assert Price.of(50, Pace(3)).money is None


class TestTheCurve:
    def test_it_is_the_mean_over_studies_and_rises(self) -> None:
        points = curve(plan(), INFORMATIVE, studies=20)
        shares = [point.share for point in points]
        assert [point.labelled for point in points] == [25, 50, 75, 100, 150, 200]
        assert shares == sorted(shares)
        assert all(point.low <= point.high for point in points)
        # .48 and .66 after 100 and 150 queries in the specification.
        assert shares[3] == pytest.approx(0.48, abs=0.12)
        assert shares[4] == pytest.approx(0.66, abs=0.12)

    def test_a_weak_judge_is_certified_for_less(self) -> None:
        informative, weak = (curve(plan(), each, studies=15) for each in (INFORMATIVE, WEAK))
        assert weak[4].share < 0.5 * informative[4].share

    def test_a_faultless_judge_is_certified_for_all(self) -> None:
        faultless = Scenario("a faultless judge", -50, 0, 0)
        assert curve(plan(), faultless, studies=3)[-1].low == pytest.approx(0.9)

    def test_the_same_seed_gives_the_same(self) -> None:
        one, same, other = (curve(plan(), INFORMATIVE, studies=5, seed=n) for n in (1, 1, 2))
        assert one == same != other

    def test_a_scenario_is_as_wrong_as_its_formula_says(self) -> None:
        of, random = plan(400), np.random.default_rng(2)
        wrong = sum(INFORMATIVE.draw(of, random).sum(axis=0) for _ in range(20)) / 20
        place, difficulty = np.random.default_rng(3).random(400_000), random.normal(size=400_000)
        chance = INFORMATIVE.chance(place, difficulty)
        expected = [chance[place > 1 - share].mean() for share in (0.5, 0.7, 0.9)]
        assert wrong / of.totals == pytest.approx(expected, abs=0.01)

    def test_development_labels_give_the_judge_s_own_errors(self) -> None:
        of = plan()
        seen = of.accepted[:40]
        right = DevelopmentErrors(seen, 0 * seen)
        # Whole queries wrong, a quarter of them.
        bad = DevelopmentErrors(seen, seen * (np.arange(40) % 4 == 0)[:, None])
        assert curve(of, right, studies=5)[3].share > 0.6
        assert curve(of, bad, studies=5)[3].share == 0
        random = np.random.default_rng(0)
        rate = sum(bad.draw(of, random)[:, 0].sum() for _ in range(20)) / 20 / of.totals[0]
        assert rate == pytest.approx(0.25, abs=0.04)

    def test_the_share_after_some_labels_is_that_of_a_study_that_stops_there(self) -> None:
        of, random = plan(), np.random.default_rng(4)
        wrong = INFORMATIVE.draw(of, random)
        whole = simulated(of, wrong, 200)
        for n in (40, 80, 120):
            assert share_after(whole, n) == simulated(of, wrong, n).share


class TestTheOutlook:
    def test_the_numbers_without_a_wrong_cell_by_hand(self) -> None:
        found = Outlook.of(plan(), [], Floor(), PACE)
        # ln .04 / ln .9 = 30.6; without replacement from equal queries it takes some more.
        assert found.fewest == 31
        assert found.without_error is not None
        assert found.at_best is not None
        assert 31 <= found.at_best <= found.without_error <= 45

    def test_the_document_has_numbers_alone(self) -> None:
        found = Outlook.of(plan(), [INFORMATIVE], Floor(0.03, None), PACE, studies=4).as_json()
        assert canonical(found)
        (curve_of,) = found["curves"]
        assert curve_of["errors"] == INFORMATIVE.words
        assert curve_of["points"][1]["price"]["money"] == 60.0

    def test_the_sentences(self) -> None:
        found = Outlook.of(plan(), [INFORMATIVE, WEAK], Floor(0.054, None), PACE, studies=10)
        words = list(outlook_sentences(found))
        assert words[0].startswith("Without one wrong cell, ")
        assert "a draw by size needs about 31 queries" in words[0]
        assert (
            words[2] == "A judge without fault would be wrong on about 5.4 %, since people err too."
        )
        assert any(line.startswith("100 queries: ") and "EUR" in line for line in words)

    def test_a_floor_above_the_risk_says_that_nobody_can_be_certified(self) -> None:
        found = Outlook.of(plan(risk=0.05), [], Floor(0.054, None), PACE)
        assert not found.can_be_met
        assert "nobody can be certified for 5 %" in " ".join(outlook_sentences(found))

    def test_too_few_queries_are_said_to_be_too_few(self) -> None:
        found = Outlook.of(plan(), [], Floor(), PACE)
        points = {WEAK.words: curve(plan(40), WEAK, labelled=(10, 20), studies=4)}
        found = replace(found, without_error=None, curves=points)
        words = list(outlook_sentences(found))
        assert words[0] == (
            "Even without one wrong cell, these queries do not suffice: it takes about 31 queries."
        )
        assert (
            words[1]
            == "The floor of truth is not known: nobody measured how often people are wrong."
        )
        assert "would certify nothing in 100 % of simulated studies" in words[2]
