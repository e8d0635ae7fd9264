import numpy as np
import pytest

from tandem.statistics import Span, unitising_alpha
from tests.statistics.cast import covers, number

pytestmark = pytest.mark.every_case


def marked(*units, label=""):
    return [Span((unit,), label) for unit in units]


#: Krippendorff, Content Analysis, 2004, page 254: length 300, categories c and k, two observers.
C = marked((75, 145), (220, 250), label="c"), marked((70, 150), (205, 225), (250, 270), label="c")
KK = marked((30, 90), (150, 200), label="k"), marked((30, 90), (150, 200), label="k")
ALONE = np.array([0])


def alpha(documents, lengths, clusters=None, **options):
    clusters = np.arange(len(documents)) if clusters is None else clusters
    return unitising_alpha(documents, lengths, clusters, **options)


def test_alpha_of_one_category_is_as_published():
    assert alpha([C], [300]).value == pytest.approx(0.7286, abs=1e-4)


def test_alpha_of_a_category_on_which_all_agree_is_1_as_published():
    assert alpha([KK], [300]).value == pytest.approx(1)


def test_alpha_of_both_categories_is_as_published():
    together = [C[0] + KK[0], C[1] + KK[1]]
    assert alpha([together], [300]).value == pytest.approx(0.8591, abs=5e-4)


def test_alpha_of_a_small_continuum_matches_the_calculation_by_hand():
    # Length 10; units 0-2 and 0-3, gaps 8 and 7. Observed: (0 + 1) * 2 / (2 * 1 * 100) = 0.01.
    # Expected: unit of 2: (2-1)/3 * (16 - 12 + 2) = 2, gaps 4 * (7 + 6) = 52; unit of 3:
    # 1/3 * (54 - 27 + 3) = 10, gaps 9 * (6 + 5) = 99: sum 163. Denominator: 20 * 19 - 2 - 6 = 372.
    # (2/10) * 163 / 372 = 0.0876344; alpha = 1 - 0.01/0.0876344.
    made = alpha([[marked((0, 2)), marked((0, 3))]], [10])
    assert made.value == pytest.approx(1 - 0.01 / (0.2 * 163 / 372))


def test_units_that_do_not_overlap_give_an_alpha_below_zero():
    made = alpha([[marked((0, 5)), marked((50, 55))]], [60])
    assert number(made.value) < 0


def test_alpha_is_higher_the_closer_the_ends_of_the_units():
    values = [
        number(alpha([[marked((10, 20)), marked((10, end))]], [100]).value)
        for end in (20, 22, 25, 30)
    ]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(1)


def test_the_order_of_raters_does_not_matter():
    three = [marked((0, 9)), marked((1, 8), (20, 30)), marked((2, 10))]
    assert alpha([three], [50]).value == pytest.approx(alpha([three[::-1]], [50]).value)


def test_adjacent_units_of_a_rater_are_merged():
    joined, apart = marked((0, 10)), marked((0, 4), (4, 10))
    other = marked((2, 9))
    assert alpha([[apart, other]], [40]).value == alpha([[joined, other]], [40]).value


def test_several_texts_form_one_continuum_but_gaps_end_with_each_text():
    # Two texts of length 10, each like the small example: observed 2 * 0.01 * 100 / 400 = 0.005.
    # Units 2 3 2 3, N = 4, gaps 8 7 8 7. Unit of 2: 3/3 * 6 + 4 * 2 * 13 = 110; of 3:
    # 30 + 9 * 2 * 11 = 228: sum 676. Denominator: 40 * 39 - 16 = 1544. (2/20) * 676/1544.
    texts = [[marked((0, 2)), marked((0, 3))]] * 2
    assert alpha(texts, [10, 10]).value == pytest.approx(1 - 0.005 / (0.1 * 676 / 1544))


@pytest.mark.parametrize("seed", range(5))
def test_expected_disagreement_is_the_sum_over_pairs_of_a_unit_and_a_gap(seed):
    # Four texts of length 60 in which one of two raters marked units, so that these are all of the
    # observed disagreement, and the other left one gap.
    rng = np.random.default_rng(seed)
    ends = [np.sort(rng.choice(np.arange(1, 60), 6, replace=False)) for _ in range(4)]
    units = [int(b - a) for at in ends for a, b in at.reshape(-1, 2)]
    gaps = [60] * 4 + [int(gap) for at in ends for gap in np.diff([0, *at, 60])[::2]]
    free = sum(unit**2 * (gap - unit + 1) for unit in units for gap in gaps if gap >= unit)
    cubes = sum((len(units) - 1) / 3 * (2 * n**3 - 3 * n**2 + n) for n in units)
    pairs = 480 * 479 - sum(n * (n - 1) for n in units)
    expected = 2 / 240 * (free + cubes) / pairs
    observed = sum(n**2 for n in units) / 240**2
    texts = [[marked(*at.reshape(-1, 2).tolist()), []] for at in ends]
    assert alpha(texts, [60] * 4).value == pytest.approx(1 - observed / expected)


def test_texts_that_some_rater_did_not_work_on_are_left_out():
    made = alpha([list(C), [C[0], None]], [300, 300])
    assert (made.value, made.n) == (alpha([C], [300]).value, 1)


def test_the_interval_is_bootstrapped_over_queries():
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(30):
        at = int(rng.integers(0, 60))
        texts.append([marked((at, at + 20)), marked((at + int(rng.integers(0, 8)), at + 22))])
    made = alpha(texts, [100] * 30, np.arange(30) // 2, draws=200)
    assert covers(made, number(made.value))
    assert "15 queries" in made.method
    doubled = alpha(texts * 2, [100] * 60, np.tile(np.arange(30), 2), draws=10)
    assert doubled.value == pytest.approx(number(made.value), abs=0.02)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([[[], []]], "no rater marked anything"),
        ([[marked((0, 2))]], "fewer than two raters"),
        ([], "fewer than two raters"),
    ],
)
def test_an_undefined_alpha_has_a_reason(texts, reason):
    made = alpha(texts, [10] * len(texts))
    assert (made.value, made.reason) == (None, reason)


def test_alpha_is_undefined_if_nobody_marked_anything_in_many_texts():
    made = alpha([[[], []]] * 12, [10] * 12, draws=20)
    assert (made.value, made.n, made.reason) == (None, 12, "no rater marked anything")
