import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.statistics import (
    Span,
    agreement_estimates,
    character_f1,
    exact_f1,
    iou_f1,
    overlap_f1,
    span_agreement,
    token_codes,
)
from tandem.statistics.spans import SPAN_MEASURES, SpanPairs

pytestmark = pytest.mark.every_case

MEASURES = (exact_f1, overlap_f1, iou_f1, character_f1)


def span(start, end, label=""):
    return Span(((start, end),), label)


any_spans = st.lists(
    st.builds(
        lambda start, length, label: span(start, start + length, label),
        st.integers(0, 30),
        st.integers(1, 10),
        st.sampled_from("ab"),
    ),
    max_size=4,
)

# Spans 0-10 and 20-30 against 0-10, 25-40 and 50-52.
ONE = [span(0, 10), span(20, 30)]
OTHER = [span(0, 10), span(25, 40), span(50, 52)]


def test_all_measures_match_the_calculation_by_hand():
    # 2 and 3 spans. Exact: one of each matches: 2/5. Overlap: two of each match: 4/5.
    # IoU: 25-30 is 5 of 20 characters, too few; only 0-10 counts: 2/5.
    # Characters: 10 + 5 in common of 20 and 27: 30/47.
    assert exact_f1(ONE, OTHER) == pytest.approx(2 / 5)
    assert overlap_f1(ONE, OTHER) == pytest.approx(4 / 5)
    assert iou_f1(ONE, OTHER) == pytest.approx(2 / 5)
    assert character_f1(ONE, OTHER) == pytest.approx(30 / 47)


@pytest.mark.parametrize("measure", MEASURES)
def test_raters_who_both_marked_nothing_agree_fully(measure):
    assert measure([], []) == 1
    assert measure(ONE, []) == measure([], ONE) == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_spans_with_different_labels_do_not_match(measure):
    assert measure([span(0, 10, "a")], [span(0, 10, "b")]) == 0


def test_a_span_in_fragments_is_one_span():
    broken = Span(((0, 5), (10, 15)))
    assert exact_f1([broken], [broken]) == 1
    assert overlap_f1([broken], [span(12, 30)]) == 1
    assert overlap_f1([broken], [span(6, 9)]) == 0
    assert character_f1([broken], [span(0, 15)]) == pytest.approx(20 / 25)


@pytest.mark.parametrize("measure", MEASURES)
@given(one=any_spans, other=any_spans)
def test_measures_are_symmetric_and_between_0_and_1(measure, one, other):
    assert measure(one, other) == measure(other, one)
    assert 0 <= measure(one, other) <= 1
    assert measure(one, one) == 1


@given(one=any_spans, other=any_spans)
def test_a_stricter_measure_is_never_larger(one, other):
    assert exact_f1(one, other) <= iou_f1(one, other) <= overlap_f1(one, other)


def test_agreement_averages_over_pairs_and_then_over_documents():
    # Pairs of the first: 2/5, 0, 0. The second has one pair: 1. The third has none.
    each: list[list[list[Span] | None]] = [
        [ONE, OTHER, []],
        [ONE, ONE, None],
        [ONE, None, None],
    ]
    made = span_agreement(each, np.arange(3))
    assert made["exact_f1"].value == pytest.approx((2 / 15 + 1) / 2)
    assert made["exact_f1"].n == 2
    assert set(made) == {"exact_f1", "overlap_f1", "iou_f1", "character_f1"}


def test_the_interval_is_computed_over_queries():
    made = span_agreement([[ONE, OTHER], [ONE, ONE]] * 10, np.arange(20) // 2)
    # Every query has one text with 30/47 and one with 1.
    assert made["character_f1"].value == pytest.approx((30 / 47 + 1) / 2)
    assert "10 queries, effective size 20" in made["character_f1"].method


def test_a_token_is_in_every_span_that_it_overlaps():
    tokens = [(0, 3), (4, 9), (10, 12)]
    marked = [[span(2, 5)], [span(3, 4)], None, [span(0, 12, "other")]]
    assert token_codes(marked, tokens).T.tolist() == [[1, 1, 0], [0, 0, 0], [-1] * 3, [0, 0, 0]]
    assert token_codes(marked, tokens, "other").T.tolist()[3] == [1, 1, 1]


def test_no_raters_and_no_tokens_give_empty_codes():
    assert token_codes([], [(0, 1)]).shape == (1, 0)
    assert token_codes([[span(0, 1)]], []).shape == (0, 1)


def test_token_alpha_matches_the_calculation_by_hand():
    # Ten tokens; one rater marks the first two, the other the first three. Totals: 5 in, 15 out of
    # 20; unequal pairs within units 2; alpha = 1 - 19 * 2 / (400 - 25 - 225).
    tokens = [(at, at + 1) for at in range(10)]
    codes = token_codes([[span(0, 2)], [span(0, 3)]], tokens)
    made = agreement_estimates(codes, np.zeros(10, int), 2)["krippendorff_alpha"]
    assert made.value == pytest.approx(1 - 19 * 2 / 150)


@pytest.mark.parametrize("seed", range(4))
def test_the_fast_measures_equal_the_definitions(seed):
    rng = np.random.default_rng(seed)

    def marked():
        starts = rng.integers(0, 12, rng.integers(0, 3))
        return [Span(((int(s), int(s + rng.integers(1, 6))),), "ab"[s % 2]) for s in starts]

    documents = [[marked(), marked(), marked()] for _ in range(60)]
    pairs = SpanPairs.of(documents, one=1)
    expected = [
        [measure(document[1], document[n]) for measure in SPAN_MEASURES.values()]
        for document in documents
        for n in (0, 2)
    ]
    assert pairs.values == pytest.approx(np.array(expected))
    assert pairs.both_marked.tolist() == [
        bool(document[1]) and bool(document[n]) for document in documents for n in (0, 2)
    ]


def test_fragmented_spans_give_the_same_values_in_the_fast_measures():
    broken, whole = Span(((0, 4), (10, 14))), Span(((2, 12),))
    for one, other in (([broken], [whole]), ([whole], [broken]), ([broken], [broken])):
        made = SpanPairs.of([[one, other]]).values[0].tolist()
        assert made == pytest.approx([measure(one, other) for measure in MEASURES])
    twice = Span(((0, 4), (2, 6)))
    made = SpanPairs.of([[[twice], [Span(((0, 3), (3, 6)))]]]).values[0].tolist()
    assert made == pytest.approx(
        [measure([twice], [Span(((0, 3), (3, 6)))]) for measure in MEASURES]
    )


@pytest.mark.parametrize("other", [span(0, 8), span(0, 9), span(4, 8), span(0, 4, "b"), span(0, 4)])
def test_single_spans_give_the_same_values_in_the_fast_measures(other):
    made = SpanPairs.of([[[span(0, 4)], [other]]]).values[0].tolist()
    assert made == pytest.approx([measure([span(0, 4)], [other]) for measure in MEASURES])


def test_empty_spans_have_nothing_in_common():
    none = Span(((3, 3),))
    for pair in ([[none], [none]], [[none, none], [none, span(0, 3)]]):
        made = SpanPairs.of([pair]).values[0].tolist()
        assert made == pytest.approx([measure(*pair) for measure in MEASURES])
        assert made[1:3] == [0, 0]
