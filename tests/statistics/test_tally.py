import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tandem.statistics import Resamples, Tally, counts_of, kinds_of
from tandem.statistics.cluster_means import informative_of_each
from tandem.statistics.estimate import quantiles, unique_integers
from tests.statistics.cast import random_codes

QUERIES = np.repeat([7, 3, 5], 4)


def stacked(blocks):
    return np.concatenate(list(blocks))


def test_units_with_equal_counts_are_one_kind():
    rows, kinds = kinds_of(np.array([[2, 1], [0, 3], [2, 1], [3, 0], [0, 3]]))
    assert rows.tolist() == [[0, 3], [2, 1], [3, 0]]
    assert kinds.tolist() == [1, 0, 1, 2, 0]


@given(
    arrays(np.int64, st.tuples(st.integers(1, 30), st.integers(1, 5)), elements=st.integers(-2, 4))
)
def test_kinds_reproduce_the_rows_and_are_distinct(rows):
    different, kinds = kinds_of(rows)
    assert (different[kinds] == rows).all()
    assert len(np.unique(different, axis=0)) == len(different)


def test_many_columns_with_large_counts_do_not_overflow():
    rows = np.random.default_rng(0).integers(0, 1000, (50, 30))
    different, kinds = kinds_of(np.concatenate([rows, rows[::-1]]))
    assert len(different) == 50
    assert (different[kinds[:50]] == rows).all()


@given(arrays(np.int64, st.integers(0, 40), elements=st.integers(-(10**6), 10**6)))
def test_distinct_numbers_agree_with_numpy(numbers):
    ours, theirs = (
        unique_integers(numbers),
        np.unique(numbers, return_index=True, return_inverse=True),
    )
    assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))


def test_close_numbers_are_returned_in_order():
    numbers = np.array([12, 10, 12, 11, 10])
    values, first, kinds = unique_integers(numbers)
    assert (values.tolist(), first.tolist(), kinds.tolist()) == (
        [10, 11, 12],
        [1, 3, 0],
        [2, 0, 2, 1, 0],
    )


def test_a_tally_counts_the_kinds_of_each_query():
    tally = Tally.of(np.array([0, 0, 1, 2, 1, 1, 1, -1, 2, 2, 2, 2]), 3, QUERIES)
    # Query 3 has three units of kind 1 and one without a kind; 5 has four of kind 2; 7 the rest.
    assert tally.table.toarray().tolist() == [[0, 3, 0], [0, 0, 4], [2, 1, 1]]
    assert (tally.total.tolist(), tally.clusters) == ([2, 4, 5], 3)


@pytest.mark.parametrize("block", [1, 30])
def test_resampling_kinds_equals_resampling_units(monkeypatch, block):
    monkeypatch.setattr("tandem.statistics.tally.BLOCK", block)
    kinds = np.random.default_rng(0).integers(-1, 4, 12)
    resamples = Resamples.draw(QUERIES, 40, 9)
    of_units = resamples.weights() @ (kinds[:, None] == np.arange(4))
    tally = Tally.of(kinds, 4, QUERIES)
    assert (stacked(tally.resampled(40, 9)) == of_units).all()
    assert (stacked(tally.weigh(resamples)) == of_units).all()


def test_resamples_of_other_queries_are_refused():
    tally = Tally.of(np.zeros(12, int), 1, QUERIES)
    with pytest.raises(ValueError, match="other clusters"):
        list(tally.weigh(Resamples.draw(np.arange(4), 5, 0)))


def test_drawing_single_units_by_kind_has_the_right_distribution():
    kinds = np.array([0] * 60 + [1] * 30 + [-1] * 10)
    tally = Tally.of(kinds, 2, np.arange(100))
    weights = stacked(tally.resampled(20_000, 0))
    # Of 100 draws, those of kind 0 are binomial (100, 0.6): mean 60, variance 24.
    assert weights[:, 0].mean() == pytest.approx(60, abs=0.2)
    assert weights[:, 0].var() == pytest.approx(24, rel=0.05)
    assert weights[:, 1].var() == pytest.approx(21, rel=0.05)
    assert (weights.sum(axis=1) <= 100).all()
    assert (tally.total.tolist(), tally.clusters) == ([60, 30], 90)


def test_leaving_one_out_removes_each_cluster_once():
    kinds = np.array([0, 0, 1, 2, 1, 1, 1, -1, 2, 2, 2, 2])
    weights, times = zip(*Tally.of(kinds, 3, QUERIES).without_one(), strict=True)
    assert np.concatenate(weights).tolist() == [[2, 1, 5], [2, 4, 1], [0, 3, 4]]
    assert np.concatenate(times).tolist() == [1, 1, 1]


def test_leaving_out_one_unit_is_computed_once_for_all_units_of_its_kind():
    weights, times = next(Tally.of(np.array([0, 0, 0, 1]), 2, np.arange(4)).without_one())
    assert (weights.tolist(), times.tolist()) == ([[2, 1], [3, 0]], [3, 1])


def test_sums_of_numbers_are_tallied_by_query():
    tally = Tally.of_sums(np.arange(24.0).reshape(12, 2), QUERIES)
    assert tally.table.toarray().tolist() == [[44, 48], [76, 80], [12, 16]]


def test_a_dense_table_gives_the_same_as_a_sparse_one(monkeypatch):
    sums = np.random.default_rng(2).random((12, 6))
    filled = stacked(Tally.of_sums(sums, QUERIES).resampled(50, seed=3))
    monkeypatch.setattr("tandem.statistics.tally.FILLED", 2.0)
    sparse = stacked(Tally.of_sums(sums, QUERIES).resampled(50, seed=3))
    assert filled == pytest.approx(sparse)


def read(tally):
    """Everything that statistics read from a tally; floats as bytes, for an exact comparison."""
    left_out, times = map(stacked, zip(*tally.without_one(), strict=True))
    weights = [stacked(tally.resampled(9, 1)), stacked(tally.of_clusters().resampled(9, 1))]
    if len(tally.times) == 8:
        weights.append(stacked(tally.weigh(Resamples.draw(np.arange(8), 9, 1))))
    figures = [tally.total, tally.sizes, left_out, times, *weights]
    informative = informative_of_each(tally, np.arange(tally.cells.shape[1]) % 3)
    counts = tally.clusters, tally.differing, informative
    return [each.astype(float).tobytes("A") for each in figures], counts


@pytest.mark.every_case
@pytest.mark.parametrize("clusters", [np.arange(40) % 8, np.arange(40)], ids=["shared", "alone"])
@pytest.mark.parametrize("kinds", [5, 60], ids=["filled", "sparse"])
def test_a_small_table_gives_exactly_the_numbers_of_a_sparse_one(monkeypatch, clusters, kinds):
    of_units = np.random.default_rng(4).integers(-1, kinds, 40)
    small = Tally.of(of_units, kinds, clusters)
    assert isinstance(small.cells, np.ndarray)
    monkeypatch.setattr("tandem.statistics.tally.SMALL", 0)
    large = Tally.of(of_units, kinds, clusters)
    assert not isinstance(large.cells, np.ndarray)
    assert read(small) == read(large)
    assert (small.table != large.table).nnz == 0


@given(
    arrays(float, st.integers(1, 40), elements=st.floats(-9, 9) | st.sampled_from([0.0, 0.5, 2.0])),
    arrays(float, 2, elements=st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])),
)
def test_quantiles_are_exactly_those_of_numpy(values, shares):
    assert quantiles(values, shares).tolist() == np.quantile(values, shares).tolist()


def test_equal_seeds_give_equal_resamples_and_other_seeds_others():
    counts = counts_of(random_codes(0), 4)
    rows, kinds = kinds_of(counts)
    tally = Tally.of(kinds, len(rows), np.arange(40) % 8)
    assert (stacked(tally.resampled(9, 1)) == stacked(tally.resampled(9, 1))).all()
    assert (stacked(tally.resampled(9, 1)) != stacked(tally.resampled(9, 2))).any()


@pytest.mark.parametrize(("block", "sizes"), [(9, [3, 3, 1]), (6, [2, 2, 2, 1]), (2, [1] * 7)])
def test_weights_are_created_one_block_at_a_time(monkeypatch, block, sizes):
    monkeypatch.setattr("tandem.statistics.tally.BLOCK", block)
    tally = Tally.of(np.array([0, 0, 1, 2, 1, 1, 1, -1, 2, 2, 2, 2]), 3, QUERIES)
    drawn = Resamples.draw(QUERIES, 7, 0)
    assert [len(each) for each in tally.resampled(7, 0)] == sizes
    assert [len(each) for each in tally.weigh(drawn)] == sizes
    one_less = [len(each) for each, _ in tally.without_one()]
    assert one_less == {9: [3], 6: [2, 1], 2: [1, 1, 1]}[block]


def test_the_size_of_a_block_is_set_by_kinds_if_they_outnumber_queries(monkeypatch):
    monkeypatch.setattr("tandem.statistics.tally.BLOCK", 10)
    tally = Tally.of(np.arange(12) % 5, 5, QUERIES)
    assert [len(each) for each in tally.resampled(5, 0)] == [2, 2, 1]
    assert [len(each) for each in tally.weigh(Resamples.draw(QUERIES, 5, 0))] == [2, 2, 1]
    assert [len(each) for each, _ in tally.without_one()] == [2, 1]


def test_a_tally_without_kinds_has_blocks_without_columns():
    tally = Tally.of(np.full(12, -1), 0, QUERIES)
    assert [each.shape for each in tally.resampled(2, 0)] == [(2, 0)]
    assert [each.shape for each in tally.weigh(Resamples.draw(QUERIES, 2, 0))] == [(2, 0)]
    assert [each.shape for each, _ in tally.without_one()] == [(3, 0)]


def test_a_table_is_dense_if_it_is_small_and_three_tenths_are_filled(monkeypatch):
    filled = Tally.of(np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]), 10, QUERIES)
    assert filled.table.nnz == 9
    assert filled._full is not None
    sparse = Tally.of(np.array([0, 0, 0, 0, 1, 2, 0, 1, 2, 0, 1, 2]), 10, QUERIES)
    assert sparse._full is None
    monkeypatch.setattr("tandem.statistics.tally.MOST_FULL", 29)
    assert Tally.of(np.arange(12) % 3, 10, QUERIES)._full is None
    monkeypatch.setattr("tandem.statistics.tally.MOST_FULL", 30)
    assert Tally.of(np.arange(12) % 3, 10, QUERIES)._full is not None


def test_numbers_far_apart_need_no_large_table():
    numbers = np.array([10**15, 0, -(10**15), 0])
    values, first, kinds = unique_integers(numbers)
    assert (values.tolist(), first.tolist(), kinds.tolist()) == (
        [-(10**15), 0, 10**15],
        [2, 1, 0],
        [2, 1, 0, 1],
    )


def test_rows_with_very_large_numbers_are_distinguished(monkeypatch):
    monkeypatch.setattr("tandem.statistics.tally.MOST_CODES", 2**62)
    ends = np.array([[0] * 4, [2**31 - 1] * 4])
    between = np.column_stack([np.arange(20), np.arange(20)[::-1], np.full((20, 2), 7)])
    rows = np.concatenate([ends, between])
    different, kinds = kinds_of(rows)
    assert len(different) == 22
    assert (different[kinds] == rows).all()
