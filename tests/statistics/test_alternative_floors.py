"""The alternative test's floors, its reverse and its class-balanced form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.replacing import JUDGES, simulated
from tandem.statistics import (
    Answer,
    BalancedForm,
    Floor,
    Form,
    Ints,
    PlainForm,
    alt_test,
    answer_of,
    commonest_elsewhere,
    commonest_label,
    floors_of,
    permuted,
    way_to_people,
)
from tandem.statistics.alternative_floors import queries_to_decide
from tandem.statistics.alternative_losses import Losses, p_behind, p_worse, passing

pytestmark = pytest.mark.every_case


def plain(people: Ints, clusters: Ints, level: Any = "nominal", minimum: int = 30) -> PlainForm:
    values = np.arange(people.max() + 1, dtype=float)
    return PlainForm(people, clusters, level=level, values=values, minimum=minimum)


def losses_of(differences: list[float], bounding: bool = True) -> Losses:
    d = np.array([differences])
    n = np.array([float(d.shape[1])])
    sd = d.std(axis=1, ddof=1)[:, None]
    index = np.arange(d.shape[1])
    return Losses(d.mean(axis=1)[:, None], sd, n, n * bounding, (index,), (d[0],))


def answered(form: Form, people: Ints, judge: Ints, epsilon: float = 0.2) -> Answer:
    k = int(people.max()) + 1
    permutations = permuted(judge, np.arange(len(judge)))
    floors = floors_of(form, commonest_label(people, k), permutations)
    return answer_of(form, judge, floors, epsilon)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("per_query", [1, 5])
def test_the_plain_form_has_the_p_values_of_the_test_as_published(
    level: Any, per_query: int
) -> None:
    rng = np.random.default_rng(3)
    people, judge = rng.integers(0, 4, (150, 4)), rng.integers(0, 4, 150)
    people[rng.random(people.shape) < 0.3] = -1
    judge[::9] = -1
    clusters = rng.permutation(150) // per_query
    test = alt_test(people, judge, clusters, level=level, epsilon=0.3)
    reading = test.by_query if test.decides == "by_query" else test.items
    losses = plain(people, clusters, level).losses(judge[None])
    assert p_behind(losses, 0.3)[0] == pytest.approx([a.p_value for a in reading.annotators])
    assert bool(passing(losses, 0.3)[0]) is (test.passed is True)


def test_the_reverse_test_matches_the_calculation_by_hand() -> None:
    # Losses 1 1 0 1, mean .75, s = .5: t = (.75 - .2)/(.5/2) = 2.2 with 3 degrees of freedom. The
    # bound is (1.2/1.75)^4 = .2211, larger than P(t > 2.2) = .0575.
    losses = losses_of([1.0, 1, 0, 1])
    assert p_worse(losses, 0.2)[0, 0] == pytest.approx((1.2 / 1.75) ** 4)
    by_items = losses_of([1.0, 1, 0, 1], bounding=False)
    assert p_worse(by_items, 0.2)[0, 0] == pytest.approx(stats.t.sf(2.2, 3))
    assert p_worse(losses_of([0.1, 0.2, 0.1]), 0.2)[0, 0] > 0.5


def test_half_cannot_be_reached_only_if_more_than_half_are_rejected() -> None:
    # Of four people the judge reverses two and copies the other two, who agree with nobody else.
    clusters = np.repeat(np.arange(60), 2)
    people = np.zeros((120, 3), int)
    people[::2] = 1
    worse = answered(plain(people, clusters), people, 1 - people[:, 0])
    assert (worse.outcome, worse.beyond, worse.within) == ("shown-worse", 3, 0)
    two = people[:, :2].copy()
    two[:, 1] = np.where(np.arange(120) % 4 < 2, two[:, 1], 1 - two[:, 1])
    assert answered(plain(two, clusters), two, two[:, 0]).outcome == "shown"


def test_about_four_of_five_studies_with_the_queries_that_decide_are_decided() -> None:
    people, judge, clusters = simulated("worse", 30, 0.4, seed=1)
    form = plain(people, clusters)
    assert answered(form, people, judge).outcome == "not-shown"
    floors = floors_of(form, commonest_label(people, 2), permuted(judge, np.arange(len(judge))))
    needed = queries_to_decide(form, judge, floors, 0.2)
    assert needed is not None
    assert needed > 30
    # Studies of that size from the same queries.
    rng, size, decided = np.random.default_rng(5), len(judge) // 30, 0
    for _ in range(60):
        drawn = rng.integers(0, 30, needed)
        rows = (np.argsort(clusters, kind="stable").reshape(30, size)[drawn]).ravel()
        again = plain(people[rows], np.repeat(np.arange(needed), size))
        decided += answered(again, people[rows], judge[rows]).outcome != "not-shown"
    assert 0.6 <= decided / 60 <= 0.95


def test_no_number_of_queries_decides_about_a_judge_that_is_exactly_epsilon_behind() -> None:
    # On each query of five the judge loses one more than the annotators do.
    people = np.repeat(np.array([[1, 1, 1]] * 5), 30, axis=0)
    clusters = np.tile(np.arange(30), 5)
    judge = np.where(np.arange(150) < 30, 0, 1)
    form = plain(people, clusters)
    floors = floors_of(form, 1, permuted(judge, np.arange(150)))
    assert queries_to_decide(form, judge, floors[1:], 0.2) is None


def test_the_floor_at_an_epsilon_is_the_largest_multiple_at_which_it_does_not_pass() -> None:
    people, judge, clusters = simulated("as good", 60, 0.2, seed=1)
    form = plain(people, clusters)
    constant = Floor("commonest_label", form.losses(np.zeros((1, len(judge)), int)))
    at = constant.largest_failed(0.2)
    assert at is not None
    assert at < 0.2
    assert not constant.passes(at)
    assert constant.passes(at + 0.01)
    found = answered(form, people, judge)
    assert (found.epsilon, found.set_by) == (at, "commonest_label")


def test_permutations_keep_the_labels_and_do_not_depend_on_the_order_of_units() -> None:
    codes, order = np.array([0, 1, 1, -1, 2]), np.array([4, 2, 0, 1, 3])
    found = permuted(codes, order, permutations=50)
    assert (found[:, 3] == -1).all()
    assert (np.sort(found, axis=1) == np.sort(codes)).all()
    assert len(np.unique(found, axis=0)) > 5
    moved = np.array([3, 0, 4, 1, 2])
    again = permuted(codes[moved], np.argsort(moved)[order], permutations=50)
    assert (again == found[:, moved]).all()


def test_permuted_labels_pass_if_more_than_a_twentieth_of_them_do() -> None:
    # Ten raters with one annotator: one of them always ties, the others always lose.
    mean, sd = np.ones((20, 1)), np.zeros((20, 1))
    n = np.array([40.0])
    mean[0] = 0.0
    one = Floor("permuted_labels", Losses(mean, sd, n, n, (), ()), most=0.05)
    assert not one.passes(0.2)
    mean = mean.copy()
    mean[1] = 0.0
    assert Floor("permuted_labels", Losses(mean, sd, n, n, (), ()), most=0.05).passes(0.2)


def test_the_commonest_label_elsewhere_in_the_query_matches_the_count_by_hand() -> None:
    # Query 0 has units 0 0, 1 1 and 1 -; query 1 has one unit; label 1 is commonest overall.
    people = np.array([[0, 0], [1, 1], [1, -1], [1, 0]])
    found = commonest_elsewhere(people, np.array([0, 0, 0, 1]), 2)
    # Elsewhere: 1 1 1; 0 0 1; 0 0 1 1, a tie, so that the label commonest overall is taken; none.
    assert found.tolist() == [1, 0, 1, -1]


def test_the_class_balanced_loss_matches_the_calculation_by_hand() -> None:
    # Annotator 0 says 0 0 1, the other 0 1 1, the judge 0 0 0. Of the other's one 0, annotator 0
    # has 1 and the judge 1: 0. Of its two 1, annotator 0 has one and the judge none: 1/2.
    people = np.repeat(np.array([[0, 0], [0, 1], [1, 1]]), 12, axis=0)
    form = BalancedForm(people, np.arange(36), categories=2, minimum=1)
    losses = form.losses(np.zeros((1, 36), int))
    # The second annotator has both of 0's labels (the judge both), and all of 1's (the judge none).
    assert losses.mean[0].tolist() == pytest.approx([1 / 4, (-1 / 2 + 1) / 2])
    assert form.pooled == ()


def test_categories_with_fewer_than_ten_pairs_are_pooled_and_named() -> None:
    people = np.repeat(np.array([[0, 0], [1, 1], [2, 2], [3, 3]]), [40, 6, 5, 12], axis=0)
    form = BalancedForm(people, np.arange(63), categories=4)
    assert form.pooled == (1, 2)
    judge = np.where(people[:, 0] == 2, 0, people[:, 0])
    # Three groups; in the pooled one 5 of 11 are lost.
    assert form.losses(judge[None]).mean[0] == pytest.approx([5 / 11 / 3] * 2)


def test_the_standard_error_of_the_balanced_loss_is_that_of_a_mean_of_ratios() -> None:
    people, judge, clusters = simulated("as good", 30, 0.2, seed=4)
    form = BalancedForm(people, clusters, categories=2)
    losses = form.losses(judge[None])
    # The jackknife over queries estimates the same standard error.
    left = [
        BalancedForm(people[clusters != q], clusters[clusters != q], categories=2)
        .losses(judge[None, clusters != q])
        .mean[0]
        for q in range(30)
    ]
    jackknife = np.sqrt(29 / 30 * ((left - np.mean(left, axis=0)) ** 2).sum(axis=0))
    assert losses.sd[0] / np.sqrt(30) == pytest.approx(jackknife, rel=0.1)


def test_every_constant_judge_loses_the_same_in_the_class_balanced_form() -> None:
    # The mean recall of an annotator, less one half.
    people, _, clusters = simulated("as good", 60, 0.1, seed=2)
    form = BalancedForm(people, clusters, categories=2)
    constants = np.stack([np.zeros(len(people), int), np.ones(len(people), int)])
    no, yes = form.losses(constants).mean
    assert no == pytest.approx(yes)
    assert (no > 0.05).all()


@pytest.mark.parametrize("judge", ["constant", "coin", "reversing"])
def test_a_judge_that_does_not_read_is_not_shown_in_the_class_balanced_form_either(
    judge: str,
) -> None:
    # Where permutations set epsilon, a coin is shown in a twentieth of the studies.
    shown = 0
    for seed in range(8):
        people, codes, clusters = simulated(judge, 60, 0.1, seed)
        form = BalancedForm(people, clusters, categories=2)
        shown += answered(form, people, codes, epsilon=0.4).outcome == "shown"
    assert shown <= 2


def test_the_way_from_the_floor_to_people_has_the_interval_of_fieller() -> None:
    rng = np.random.default_rng(0)
    judge, floor = rng.normal(0.1, 0.2, 40), rng.normal(0.4, 0.2, 40)
    found = way_to_people(losses_of(judge.tolist()), losses_of(floor.tolist()))
    assert found.value == pytest.approx(1 - judge.mean() / floor.mean())
    assert found.low is not None
    assert found.high is not None
    for end in (found.low, found.high):
        # At an end, the mean of d_judge - r d_floor differs from 0 at exactly the level .05.
        p = stats.ttest_1samp(judge - (1 - end) * floor, 0).pvalue
        assert p == pytest.approx(0.05, abs=1e-9)


def test_the_way_of_a_judge_that_is_the_floor_has_no_interval() -> None:
    """An interval without width would claim to know the share exactly."""
    losses = np.random.default_rng(0).normal(0.4, 0.2, 40)
    nearly = losses.copy()
    nearly[:4] += 0.3
    for judge, differing in ((losses, 0), (nearly, 4)):
        found = way_to_people(losses_of(judge.tolist()), losses_of(losses.tolist()))
        assert found.value == pytest.approx(1 - judge.mean() / losses.mean())
        assert found.low is None
        assert f"differ on {differing} of 40 queries" in found.method


def test_there_is_no_way_from_a_floor_that_is_as_close_as_people() -> None:
    rng = np.random.default_rng(0)
    near = losses_of(rng.normal(0.01, 0.2, 40).tolist())
    found = way_to_people(near, near)
    assert found.value is None
    assert "as close to people" in str(found.reason)


@pytest.mark.parametrize("judge", ["constant", "coin", "reversing"])
def test_a_judge_that_does_not_read_is_not_shown(judge: str) -> None:
    shown = 0
    for queries, prevalence in ((40, 0.1), (60, 0.2), (60, 0.3)):
        for seed in range(6):
            people, codes, clusters = simulated(judge, queries, prevalence, seed)
            shown += answered(plain(people, clusters), people, codes).outcome == "shown"
    assert shown <= (2 if judge == "coin" else 0)


def test_a_judge_as_good_as_people_is_shown_at_an_epsilon_that_no_floor_passes() -> None:
    shown = 0
    for prevalence in (0.1, 0.2, 0.3):
        for seed in range(8):
            people, codes, clusters = simulated("as good", 60, prevalence, seed)
            form = plain(people, clusters)
            permutations = permuted(codes, np.arange(len(codes)))
            floors = floors_of(form, commonest_label(people, 2), permutations)
            found = answer_of(form, codes, floors, 0.2)
            shown += found.outcome == "shown"
            assert not any(floor.passes(found.epsilon or 0.0) for floor in floors)
    assert shown >= 0.8 * 24


def test_a_reversing_judge_is_shown_worse_and_a_copy_of_a_person_is_shown() -> None:
    outcomes = {
        judge: answered(plain(people, clusters), people, codes).outcome
        for judge in JUDGES
        for people, codes, clusters in [simulated(judge, 60, 0.3, seed=0)]
    }
    assert (outcomes["reversing"], outcomes["copying"]) == ("shown-worse", "shown")
