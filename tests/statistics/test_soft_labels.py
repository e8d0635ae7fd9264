import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.statistics import counts_of, dawid_skene, majority
from tests.statistics.cast import random_codes

pytestmark = pytest.mark.every_case


def labelled(seed, accuracies, units=400, k=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, units)
    wrong = (truth[:, None] + rng.integers(1, k, (units, len(accuracies)))) % k
    right = rng.random((units, len(accuracies))) < np.array(accuracies)
    return truth, np.where(right, truth[:, None], wrong)


def naive(codes, k, steps):
    """The two steps as the paper has them, label by label."""
    units, raters = codes.shape
    shares = counts_of(codes, k) / np.maximum(counts_of(codes, k).sum(axis=1, keepdims=True), 1)
    for _ in range(steps):
        prevalence = shares.sum(axis=0) / units
        errors = np.full((raters, k, k), 0.0)
        for u in range(units):
            for r in range(raters):
                if codes[u, r] >= 0:
                    errors[r, :, codes[u, r]] += shares[u]
        errors = errors / np.maximum(errors.sum(axis=2, keepdims=True), 1e-300)
        shares = np.tile(prevalence, (units, 1))
        for u in range(units):
            for r in range(raters):
                if codes[u, r] >= 0:
                    shares[u] *= errors[r, :, codes[u, r]]
            shares[u] /= shares[u].sum()
    return shares


@pytest.mark.parametrize("seed", range(3))
def test_soft_labels_match_the_algorithm_written_out(seed):
    codes = random_codes(seed, units=30, raters=4, k=3, gaps=0.1)
    codes = codes[(codes >= 0).any(axis=1)]
    made = dawid_skene(codes, 3, iterations=7, tolerance=0)
    assert made.shares == pytest.approx(naive(codes, 3, 7), abs=1e-6)
    assert (made.iterations, made.converged) == (7, False)


def test_a_reliable_rater_outweighs_two_poor_ones():
    truth, codes = labelled(0, [0.97, 0.45, 0.45])
    soft = (dawid_skene(codes, 3).labels == truth).mean()
    reference, _ = majority(codes)
    assert soft > 0.93
    assert soft > (reference == truth).mean() + 0.2


def test_it_recovers_how_reliable_raters_are():
    _, codes = labelled(1, [0.95, 0.8, 0.65, 0.8], units=3000)
    made = dawid_skene(codes, 3)
    assert np.diagonal(made.raters, axis1=1, axis2=2).mean(axis=1) == pytest.approx(
        [0.95, 0.8, 0.65, 0.8], abs=0.04
    )
    assert made.prevalence == pytest.approx([1 / 3] * 3, abs=0.04)
    assert made.converged


def test_perfect_agreement_gives_certain_labels():
    codes = np.repeat(np.arange(30) % 3, 4).reshape(30, 4)
    made = dawid_skene(codes, 3)
    assert made.shares.max(axis=1) == pytest.approx(1)
    assert (made.labels == codes[:, 0]).all()


def test_a_unit_without_labels_has_no_shares():
    codes = np.array([[0, 0], [1, 1], [-1, -1]])
    made = dawid_skene(codes, 2)
    assert np.isnan(made.shares[2]).all()
    assert made.labels.tolist() == [0, 1, -1]


def test_without_units_there_are_no_shares():
    made = dawid_skene(np.empty((0, 3), int), 2)
    assert made.shares.shape == (0, 2)
    assert made.labels.tolist() == []


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 100), st.permutations(range(4)), st.permutations(range(3)))
def test_neither_the_order_of_raters_nor_the_names_of_categories_matter(seed, raters, names):
    codes = random_codes(seed, units=25, raters=4, k=3, gaps=0.1)
    renamed = np.where(codes < 0, -1, np.array(names)[codes])[:, raters]
    ours, theirs = (dawid_skene(c, 3, iterations=10, tolerance=0) for c in (codes, renamed))
    assert theirs.shares[:, names] == pytest.approx(ours.shares, nan_ok=True, abs=1e-6)


def test_shares_are_nonnegative_and_sum_to_one():
    shares = dawid_skene(random_codes(5), 4).shares
    known = np.isfinite(shares).all(axis=1)
    assert shares[known].sum(axis=1) == pytest.approx(np.ones(known.sum()))
    assert shares[known].min() >= 0


def test_thousands_of_labels_per_unit_cause_no_underflow():
    # Two thousand raters agree on each unit: the likelihoods themselves are smaller than any float.
    codes = np.repeat(np.arange(4)[:, None] % 2, 2000, axis=1)
    codes[0, :1200] = 1
    made = dawid_skene(codes, 2)
    assert np.isfinite(made.shares).all()
    assert made.shares.sum(axis=1) == pytest.approx(np.ones(4))
