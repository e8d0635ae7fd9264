"""Which of two systems is better: valid at any look, alike in one look or many, and soon enough."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest
from scipy import stats

from tandem.statistics import Floats
from tandem.trust.better import (
    ALL_LABELLED,
    NO_DIFFERENCE,
    Difference,
    Side,
    not_worse_after,
    standings,
)
from tandem.trust.evidence import evidence_of_difference
from tests.trust.reference import reference

DELTA = 0.05


def differences(mean: float, queries: int, studies: int, seed: int = 0) -> Floats:
    """Return the differences of each query in each study, (studies, queries), sd .3."""
    return np.clip(np.random.default_rng(seed).normal(mean, 0.3, (studies, queries)), -1, 1)


def exactly(mean: float, queries: int, studies: int, seed: int = 0) -> Floats:
    """Return differences whose mean over all queries of a study is exactly this."""
    made = np.clip(differences(0, queries, studies, seed), -0.6, 0.6)
    return made - made.mean(axis=1, keepdims=True) + mean


def decided_after(values: Floats, queries: float) -> tuple[str | None, float]:
    (found,) = standings([Difference("A", "B", values, queries)], DELTA)
    return found.name, inf if found.after is None else found.after


def is_above(count: int, of: int, level: float) -> bool:
    """Whether a share is significantly above a level, at 1 %."""
    return bool(stats.binomtest(count, of, level, alternative="greater").pvalue < 0.01)


class TestEvidence:
    def test_after_one_query_it_is_the_mean_over_bets_as_by_hand(self) -> None:
        # Before the first query the null leaves a mean of 0, and B can lose 1: the factor of a bet
        # c is 1 + .999 c .4. Bets run from .01 to 1 in equal ratios.
        bets = [0.01 ** (1 - n / 39) for n in range(40)]
        by_hand = sum(1 + 0.999 * bet * 0.4 for bet in bets) / 40
        assert evidence_of_difference(np.array([0.4]), 10)[0] == pytest.approx(log(by_hand))

    def test_after_two_queries_the_first_counts_for_what_the_null_leaves(self) -> None:
        # The null: ten differences sum to 0 at most. After .4 the other nine have a mean of at most
        # -.4/9, against which .1 gains .1 + .4/9, and may lose 1 - .4/9.
        bets = [0.01 ** (1 - n / 39) for n in range(40)]
        second = (0.1 + 0.4 / 9) / (1 - 0.4 / 9)
        by_hand = sum((1 + 0.999 * c * 0.4) * (1 + 0.999 * c * second) for c in bets) / 40
        assert evidence_of_difference(np.array([0.4, 0.1]), 10)[1] == pytest.approx(log(by_hand))

    @pytest.mark.parametrize("seed", range(6))
    def test_both_directions_agree_with_the_reference(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        values, queries = random.uniform(-1, 1, 40), int(random.integers(40, 200))
        ours, theirs = Difference("A", "B", values, queries), reference()
        towards: dict[Side, Floats] = {"b": values, "a": -values}
        for side, towards_it in towards.items():
            np.testing.assert_allclose(
                ours.evidence(side),
                theirs.evidence_better(towards_it, queries),
                rtol=1e-9,
                atol=1e-9,
            )

    def test_studies_side_by_side_are_those_one_by_one(self) -> None:
        studies = differences(0.1, 30, 4)
        together = evidence_of_difference(studies, 50, 0.05)
        for each, of in zip(together, studies, strict=True):
            np.testing.assert_allclose(each, evidence_of_difference(of, 50, 0.05))

    def test_its_mean_over_all_orders_is_at_most_one_at_the_boundary(self) -> None:
        # All 24 orders of four differences whose mean is exactly minus the margin.
        from itertools import permutations

        for margin in (0.0, 0.2):
            values = np.array([0.5, -0.1, -0.6, 0.2]) - margin
            orders = np.array(list(permutations(values)))
            means = np.exp(evidence_of_difference(orders, 4, margin)).mean(axis=0)
            assert (means <= 1 + 1e-9).all()
            assert means[0] == pytest.approx(1)


class TestDecisions:
    def test_no_difference_is_rarely_decided_for_either_side(self) -> None:
        found = [decided_after(each, 100)[0] for each in exactly(0, 100, 400)]
        wrong = sum(name is not None for name in found)
        assert wrong / len(found) < 0.02  # .005 in the specification
        assert not is_above(wrong, len(found), DELTA)

    @pytest.mark.parametrize("shape", ["rare", "late", "two values"])
    def test_hard_populations_without_a_difference_are_not_decided_more_often(
        self, shape: str
    ) -> None:
        random, queries, studies = np.random.default_rng(5), 60, 300
        population: Floats = {
            "rare": np.r_[np.full(3, -0.95), np.full(57, 0.05)],
            "late": np.r_[np.full(30, 1.0), np.full(30, -1.0)],
            "two values": np.r_[np.full(20, 1.0), np.full(40, -0.5)],
        }[shape].astype(float)
        assert population.sum() == pytest.approx(0)
        found = (decided_after(random.permutation(population), queries) for _ in range(studies))
        assert not is_above(sum(name is not None for name, _ in found), studies, DELTA)

    @pytest.mark.parametrize(
        ("mean", "queries", "median"),
        [
            (0.2, 100, 34),
            (0.1, 100, 58),
            (0.05, 100, 88),
            (0.2, 300, 39),
            (0.1, 300, 85),
            (0.05, 300, 175),
        ],
    )
    def test_the_median_of_queries_to_a_decision(
        self, mean: float, queries: int, median: int
    ) -> None:
        found = [decided_after(each, queries) for each in differences(mean, queries, 160, seed=2)]
        assert np.median([after for _, after in found]) == pytest.approx(median, rel=0.15)
        assert sum(name == "A" for name, _ in found) <= 0.02 * len(found)

    def test_the_same_labels_give_the_same_in_one_look_or_many(self) -> None:
        values = differences(0.2, 100, 1)[0]
        name, after = decided_after(values, 100)
        looks = [decided_after(values[:n], 100) for n in range(1, 101)]
        assert {look for look in looks if look[0]} == {(name, after)}
        assert looks.index((name, after)) + 1 == after

    def test_arithmetic_decides_what_the_other_queries_cannot_change(self) -> None:
        # Two of three queries are won by B by .6: the third can take back 1 at most.
        (found,) = standings([Difference("A", "B", np.array([0.6, 0.6]), 3)], DELTA)
        assert (found.name, found.after, found.by) == ("B", 2, "counted")
        (found,) = standings([Difference("A", "B", np.array([0.5, 0.5]), 3)], DELTA)
        assert found.name is None

    def test_an_unanswered_query_is_the_worst_case_of_both_directions(self) -> None:
        late = Difference("A", "B", np.array([0.4, np.nan]), 10)
        worst: dict[Side, list[float]] = {"b": [0.4, -1], "a": [-0.4, -1]}
        for side, values in worst.items():
            np.testing.assert_allclose(
                late.evidence(side), evidence_of_difference(np.array(values), 10)
            )

    def test_a_difference_outside_the_range_is_refused(self) -> None:
        with pytest.raises(ValueError, match="scores are not in 0 to 1"):
            Difference("A", "B", np.array([1.5]), 10)


class TestSeveralPairs:
    def test_holm_asks_less_of_the_second_strongest(self) -> None:
        strong, weak = differences(0.3, 120, 1)[0], differences(0.1, 120, 1, seed=1)[0]
        pairs = [
            Difference("A", "B", strong, 120),
            Difference("A", "C", weak, 120),
            Difference("B", "C", np.zeros(120), 121),
        ]
        first, second, third = standings(pairs, DELTA)
        needed = [log(2 * left / DELTA) for left in (3, 2, 1)]
        assert first.after == 1 + int((pairs[0].evidence("b") >= needed[0]).argmax())
        reached = 1 + int((pairs[1].strongest["b"] >= needed[1]).argmax())
        assert second.after == max(first.after, reached)
        assert third.name is None
        assert third.needed == pytest.approx(log(2 / DELTA))

    def test_the_second_waits_for_the_strongest(self) -> None:
        # Alone, the second would be decided at the line of one pair.
        values = differences(0.2, 200, 1)[0]
        (alone,) = standings([Difference("A", "B", values, 200)], DELTA)
        both = standings(
            [Difference("A", "B", values, 200), Difference("A", "C", np.zeros(200), 201)], DELTA
        )
        assert alone.after is not None
        assert both[0].after is not None
        assert both[0].after > alone.after

    def test_queries_without_one_of_the_systems_keep_their_place_in_the_draw(self) -> None:
        values = differences(0.4, 60, 1)[0]
        (found,) = standings([Difference("A", "B", values[::2], 30, np.arange(1, 61, 2))], DELTA)
        (dense,) = standings([Difference("A", "B", values[::2], 30)], DELTA)
        assert dense.after is not None
        assert found.after == 2 * dense.after - 1

    def test_nothing_labelled_decides_nothing(self) -> None:
        (found,) = standings([Difference("A", "B", np.empty(0), 30)], DELTA)
        assert (found.name, found.after) == (None, None)
        assert standings([], DELTA) == []


class TestNotWorse:
    def test_a_margin_is_a_shift_of_the_differences(self) -> None:
        values = differences(0, 40, 1)[0] * 0.5
        shifted = evidence_of_difference(values, 80, 0.1)
        # The factors of .1 more, whose null is 0 and whose least value is -.9.
        before = np.r_[0, np.cumsum(values + 0.1)[:-1]]
        most = np.clip(-before / (80 - np.arange(40)), -0.9, 1.1)
        bets = np.exp(np.linspace(log(0.01), 0, 40))
        factors = 1 + 0.999 * bets * ((values + 0.1 - most) / (0.9 + most))[:, None]
        np.testing.assert_allclose(shifted, np.log(np.cumprod(factors, axis=0).mean(axis=1)))

    @pytest.mark.parametrize("margin", [0.05, 0.2])
    def test_worse_by_the_margin_is_rarely_accepted(self, margin: float) -> None:
        found = [
            not_worse_after(Difference("A", "B", each, 100), "b", margin, DELTA)
            for each in exactly(-margin, 100, 300, seed=3)
        ]
        assert not is_above(sum(after is not None for after in found), len(found), DELTA)

    def test_equal_systems_are_accepted_sooner_with_a_larger_margin(self) -> None:
        studies = differences(0, 300, 40, seed=4)

        def median(margin: float) -> float:
            after = (
                not_worse_after(Difference("A", "B", each, 300), "b", margin, DELTA)
                for each in studies
            )
            return float(np.median([inf if each is None else each for each in after]))

        assert median(0.3) < median(0.15) < median(0.1) < 300

    def test_without_a_margin_it_is_one_direction_at_the_whole_level(self) -> None:
        values = differences(0.2, 100, 1)[0]
        reached = np.exp(evidence_of_difference(values, 100)) >= 1 / DELTA
        after = not_worse_after(Difference("A", "B", values, 100), "b", 0, DELTA)
        assert after == 1 + int(reached.argmax())

    def test_a_stream_has_no_end_to_count_to(self) -> None:
        assert not_worse_after(Difference("A", "B", np.ones(3), inf), "b", 0.5, DELTA) is None
        assert not_worse_after(Difference("A", "B", np.ones(9), inf), "b", 0.5, DELTA) is not None

    def test_a_margin_outside_its_range_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"a margin of 1\.2"):
            not_worse_after(Difference("A", "B", np.ones(3), 9), "b", 1.2, DELTA)


class TestMoreQueries:
    def test_the_range_covers_what_then_happens(self) -> None:
        outside = undecided = 0
        for seed, values in enumerate(differences(0.15, 150, 50, seed=6)):
            (early,) = standings([Difference("A", "B", values[:20], 150)], DELTA)
            if early.name is None:
                undecided += 1
                more = early.more(seed, paths=60)
                really = decided_after(values, 150)[1] - 20
                low, high = (inf if n is None else n for n in (more.low, more.high))
                outside += not low <= really <= high
        assert undecided > 30
        # 10 % are outside in the mean.
        assert not is_above(outside, undecided, 0.1)

    def test_the_same_seed_gives_the_same_numbers(self) -> None:
        (found,) = standings([Difference("A", "B", differences(0.1, 30, 1)[0], 200)], DELTA)
        assert found.more(1) == found.more(1)
        assert found.more(1) != found.more(2)

    @pytest.mark.parametrize(
        ("values", "queries", "reason"),
        [
            (np.full(9, 0.1), 50, "fewer than 10 queries are labelled"),
            (np.zeros(20), 50, NO_DIFFERENCE),
            (np.tile([0.5, -0.5], 10), 20, ALL_LABELLED),
            (np.tile([0.5, -0.5], 100), inf, "likely more than 540"),
        ],
    )
    def test_no_number_has_a_reason(self, values: Floats, queries: float, reason: str) -> None:
        (found,) = standings([Difference("A", "B", values, queries)], DELTA)
        more = found.more()
        assert (more.median, more.reason) == (None, reason)

    def test_what_is_decided_needs_none(self) -> None:
        (found,) = standings([Difference("A", "B", np.full(20, 0.9), 50)], DELTA)
        assert found.more().median == 0
        assert exp(found.difference.evidence("b").max()) > 2 / DELTA
