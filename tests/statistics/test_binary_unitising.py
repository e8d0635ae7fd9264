"""The binary alpha for unitising: published, by hand, by definition, and by another library."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.crosscheck.process import run_libraries
from tandem.statistics import Span, binary_unitising_alpha, token_alpha
from tests.statistics.cast import covers, number

pytestmark = pytest.mark.every_case


def marked(*units):
    return [Span((unit,)) for unit in units]


def alpha(documents, lengths, clusters=None, **options):
    clusters = np.arange(len(documents)) if clusters is None else clusters
    return binary_unitising_alpha(documents, lengths, clusters, **options)


def by_definition(documents, lengths):
    """Alpha from all pairs of characters, without sums of lengths; for distinct units."""
    observed, labels = 0.0, []
    for n, (document, length) in enumerate(zip(documents, lengths, strict=True)):
        raters = [of for of in document if of is not None]
        if len(raters) < 2:
            continue
        segments = [segments_of(of, length, (n, r)) for r, of in enumerate(raters)]
        for (i, one), (j, other) in product(enumerate(segments), repeat=2):
            if i != j:
                differ = sum(a[0] and not b[0] for a, b in zip(one, other, strict=True))
                observed += differ / (len(raters) - 1)
        labels += [label for segment in segments for label in segment]
    meeting = [(a[0], b[0]) for a, b in product(labels, repeat=2) if a[1] != b[1]]
    expected = len(labels) * sum(a and not b for a, b in meeting) / len(meeting)
    return 1 - observed / expected if expected else None


def segments_of(of, length, rater):
    """Return of each character whether it is marked, and what it is part of: a gap has no parts."""
    found = [(False, (*rater, "gap", at)) for at in range(length)]
    for nth, span in enumerate(of):
        for start, end in span.fragments:
            for at in range(start, min(end, length)):
                found[at] = (True, (*rater, "unit", nth, start))
    return found


#: Krippendorff, Content Analysis, 2019, figure 12.11: length 60, the observers Alex, Paul and
#: Suzan, as the tests of the R package quallmer transcribe it. Its values do not matter here.
PUBLISHED = [
    marked((0, 7), (7, 13), (30, 32), (32, 37), (37, 44), (44, 60)),
    marked((0, 7), (7, 13), (13, 21), (32, 44)),
    marked((0, 7), (7, 13), (13, 21), (32, 37), (37, 41), (41, 44)),
]


def test_alpha_is_as_published():
    # Published as 0.413. N_0 = 71, N_1 = 109, o = 26, and the squared lengths add up to 911:
    # e = 180 * 71 * 109 / (180^2 - 71 - 911) = 44.338, so alpha is 0.4136. From the expected
    # coincidences at one decimal, 44.3, it is 0.4131.
    made = number(alpha([PUBLISHED], [60]).value)
    assert made == pytest.approx(0.413, abs=1e-3)
    assert made == pytest.approx(1 - 26 * (180**2 - 71 - 911) / (180 * 71 * 109))


def test_alpha_of_a_small_continuum_matches_the_calculation_by_hand():
    # Length 10; units 0-2 and 0-3: N_1 = 5, N_0 = 15, one character differs, squares 4 + 9.
    # e = 20 * 15 * 5 / (400 - 15 - 13) = 1500 / 372.
    made = alpha([[marked((0, 2)), marked((0, 3))]], [10])
    assert made.value == pytest.approx(1 - 372 / 1500)


def test_alpha_of_three_raters_weighs_pairs_by_the_number_of_raters():
    # Length 10; units 0-4, 2-6 and none. Characters 0, 1, 4, 5 are marked by one of three, 2 and 3
    # by two: each adds 1 * 2 / 2: o = 6. N_1 = 8, N_0 = 22, squares 32.
    made = alpha([[marked((0, 4)), marked((2, 6)), []]], [10])
    assert made.value == pytest.approx(1 - 6 * (900 - 22 - 32) / (30 * 22 * 8))


def test_texts_are_pooled_by_their_lengths_and_may_have_other_raters():
    # The small continuum, and a text of length 4 that two of three raters left unmarked and the
    # third did not read: N_1 = 5, N_0 = 15 + 8, N = 28.
    texts = [[marked((0, 2)), marked((0, 3)), None], [[], None, []]]
    made = alpha(texts, [10, 4])
    assert made.value == pytest.approx(1 - (784 - 23 - 13) / (28 * 23 * 5))
    assert made.n == 2


def test_texts_with_one_rater_do_not_count():
    texts = [[marked((0, 2)), marked((0, 3))], [marked((0, 4)), None], [None, None]]
    made = alpha(texts, [10, 10, 10])
    assert (made.value, made.n) == (alpha(texts[:1], [10]).value, 1)


def test_a_rater_who_marked_nothing_left_the_whole_text_unmarked():
    # N_1 = 5, N_0 = 15, all five characters differ; squares 25.
    made = alpha([[marked((0, 5)), []]], [10])
    assert made.value == pytest.approx(1 - 5 * (400 - 15 - 25) / (20 * 15 * 5))


def test_units_that_touch_are_two_and_units_that_overlap_are_one():
    other = marked((2, 9))
    two, one = [marked((0, 4), (4, 8)), other], [marked((0, 8)), other]
    assert number(alpha([two], [20]).value) < number(alpha([one], [20]).value)
    for units in (((0, 5), (4, 8)), ((4, 8), (0, 5)), ((0, 8), (2, 4)), ((0, 8), (0, 8))):
        assert alpha([[marked(*units), other]], [20]) == alpha([one], [20])


def test_fragments_of_a_span_are_units():
    other = marked((2, 9))
    broken, apart = [Span(((0, 3), (5, 8)))], marked((0, 3), (5, 8))
    assert alpha([[broken, other]], [20]) == alpha([[apart, other]], [20])


def test_labels_and_the_order_of_spans_and_raters_do_not_matter():
    labelled = [[Span((unit,), label) for label, s in zip("abcdef", of, strict=False)
                 for unit in s.fragments][::-1] for of in PUBLISHED[::-1]]  # fmt: skip
    assert alpha([labelled], [60]).value == pytest.approx(number(alpha([PUBLISHED], [60]).value))


def test_empty_spans_and_what_lies_beyond_the_text_are_ignored():
    plain = [marked((0, 5)), marked((3, 10))]
    odd = [marked((0, 5), (7, 7), (12, 15)), marked((3, 14))]
    assert alpha([odd], [10]) == alpha([plain], [10])


def test_equal_units_give_1_and_opposite_ones_less_than_0():
    assert alpha([[marked((2, 5), (7, 9))] * 3], [12]).value == 1
    assert -1 < number(alpha([[marked((0, 5)), marked((5, 10))]], [10]).value) < 0


units = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), max_size=3).map(
    lambda steps: marked(*_spread(steps))
)


def _spread(steps):
    """Return units of the given lengths after the given gaps, some beyond the end of a text."""
    at = 0
    for gap, length in steps:
        yield at + gap, at + gap + length
        at += gap + length


@settings(deadline=None)
@given(
    documents=st.lists(
        st.lists(st.one_of(st.none(), units), min_size=2, max_size=4), min_size=1, max_size=3
    ),
    lengths=st.lists(st.integers(0, 16), min_size=3, max_size=3),
)
def test_alpha_equals_that_of_all_pairs_of_characters(documents, lengths):
    lengths = lengths[: len(documents)]
    worked = sum(sum(m is not None for m in each) >= 2 for each in documents)
    made = alpha(documents, lengths, draws=0)
    assert made.n == worked
    expected = by_definition(documents, lengths) if _any_character(documents, lengths) else None
    assert made.value == (expected if expected is None else pytest.approx(expected))


def _any_character(documents, lengths):
    return any(
        length and sum(m is not None for m in each) >= 2
        for each, length in zip(documents, lengths, strict=True)
    )


def _random_text(rng, raters, longest):
    gaps = rng.integers(0, 6, (raters, 4)), rng.integers(1, longest + 1, (raters, 4))
    return [marked(*_spread(zip(*each, strict=True))) for each in zip(*gaps, strict=True)]


@pytest.fixture(scope="module")
def compared():
    """Texts with units of up to 1 or 5 characters, and the library's alpha of their characters."""
    rng = np.random.default_rng(0)
    texts = {longest: [_random_text(rng, 3, longest) for _ in range(6)] for longest in (1, 5)}
    codes = {
        longest: np.array([_inside(of, 40) for of in each]).transpose(0, 2, 1).reshape(-1, 3)
        for longest, each in texts.items()
    }
    arrays = {f"{name}/codes": each for name, each in codes.items()}
    tasks = [
        {"figure": "alpha", "matrix": str(name), "columns": [0, 1, 2], "level": "nominal"}
        for name in texts
    ]
    return texts, codes, dict(zip(texts, run_libraries(arrays, tasks)["values"], strict=True))


def _inside(text, length):
    return [[int(label) for label, _ in segments_of(of, length, (0, 0))] for of in text]


def test_alpha_of_units_of_one_character_is_the_krippendorff_library_s_alpha_of_characters(
    compared,
):
    texts, _, library = compared
    # Units of one character that touch are apart, as are any two characters.
    assert alpha(texts[1], [40] * 6).value == pytest.approx(library[1])
    characters = [np.array([[at, at + 1] for at in range(40)])] * 6
    tokens = token_alpha(texts[1], characters, np.arange(6)).value
    assert alpha(texts[1], [40] * 6).value == pytest.approx(tokens)


def test_alpha_of_longer_units_differs_from_the_library_s_by_the_pairs_within_units(compared):
    # The library lets all N (N - 1) pairs of characters meet by chance, and unitising alpha
    # N^2 - N_0 - the sum of the squared lengths.
    texts, codes, library = compared
    total, outside = codes[5].size, int((codes[5] == 0).sum())
    squares = sum((b - a) ** 2 for each in texts[5] for of in each for s in of
                  for a, b in s.fragments)  # fmt: skip
    fewer = (total**2 - outside - squares) / (total**2 - total)
    made = alpha(texts[5], [40] * 6)
    assert 1 - number(made.value) == pytest.approx((1 - library[5]) * fewer)
    assert number(made.value) > library[5]


def test_the_length_of_a_text_takes_neither_time_nor_memory():
    trillion = 10**12
    text = [marked((0, trillion // 2)), marked((0, trillion // 4))]
    made = alpha([text] * 1000, [trillion] * 1000)
    # N_1 = 3/8, o = 1/8 of the characters; no unit is a notable part of 1,000 texts.
    assert made.value == pytest.approx(1 - (1 / 8) / (3 / 8 * 5 / 8), abs=1e-3)


def test_the_interval_is_bootstrapped_over_queries():
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(30):
        at = int(rng.integers(0, 60))
        texts.append([marked((at, at + 20)), marked((at + int(rng.integers(0, 8)), at + 22))])
    made = alpha(texts, [100] * 30, np.arange(30) // 2, draws=200)
    assert covers(made, number(made.value))
    assert "15 queries" in made.method


def test_a_query_is_informative_if_it_has_two_units_or_two_gaps_if_these_are_rarer():
    agreed = [[marked((n, n + 9)), marked((n, n + 8))] for n in range(1, 5)]
    # Each slip is one unit of many characters, and each omission one gap.
    slips = [[marked((5, 7 + n)), []] for n in range(8)]
    omissions = [[marked((0, 5), (7 + n, 99)), marked((0, 99))] for n in range(8)]
    whole = [[marked((0, 5), (9 + n, 99)), marked((0, 4), (9, 99))] for n in range(4)]
    for texts in (agreed + slips, whole + omissions):
        made = alpha(texts, [99] * 12)
        assert (made.low, made.high) == (None, None)
        assert "4 of 12 queries hold enough of the rarer labels" in made.method


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([[[], []]] * 12, "no rater marked anything"),
        ([[marked((0, 10)), marked((0, 4), (4, 10))]], "everything is marked"),
        ([[marked((0, 2))]], "fewer than two raters"),
        ([[marked((0, 2)), None]], "fewer than two raters"),
        ([], "fewer than two raters"),
    ],
)
def test_an_undefined_alpha_has_a_reason(texts, reason):
    made = alpha(texts, [10] * len(texts), draws=20)
    assert (made.value, made.low, made.reason) == (None, None, reason)
