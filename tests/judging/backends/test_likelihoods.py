"""How likely each code was at its location: what is listed, masked or unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from judging.backends.logprobs import (
    Likelihoods,
    LocatedToken,
    NoLikelihoodError,
    likelihoods_at,
    locate_tokens,
    tokens_at,
)
from tests.judging.answers.test_logprobs import Piece, entry, logprobs_of

pytestmark = pytest.mark.every_case

YES_NO = ("yes", "no")
TIES = ("first", "second", "tie-good", "tie-bad")
BEFORE = '{"grounded": "'


def placed(*pieces: Piece) -> tuple[str, list[LocatedToken]]:
    text = "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)
    return text, locate_tokens(text, logprobs_of(*pieces))


def likely(code: str, *pieces: Piece, codes: tuple[str, ...] = YES_NO) -> Likelihoods:
    """The likelihoods of the code at the end of the text."""
    text, tokens = placed(*pieces)
    at = text.rindex(code)
    return likelihoods_at(text, tokens, (at, at + len(code)), codes)


def test_the_mass_is_the_sum_over_all_codes_and_at_most_1() -> None:
    alone = Likelihoods({"a": 0.25, "b": 0.5})
    assert (alone.mass, alone.bounded, alone.joint, alone.masked) == (
        0.75,
        frozenset(),
        None,
        False,
    )
    together = {frozenset({"c", "d"}): 0.25, frozenset({"e", "f"}): 0.125}
    assert Likelihoods({"a": 0.25, "b": 0.5}, frozenset("b"), together).mass == 0.625
    assert Likelihoods({"a": 0.75, "b": 0.5}).mass == 1.0


@pytest.mark.parametrize(
    ("shares", "masked"),
    [
        ({"yes": 0.5, "no": 0.25, "The": 0.125}, False),
        ({"yes": 0.5, "no": 0.25, "The": 0.0}, True),
        ({"yes": 0.75, "no": 0.25}, True),
        ({"yes": 0.75, "no": 0.2499}, False),
        ({"yes": 1.0}, False),
    ],
)
def test_the_mass_is_hidden_if_only_codes_are_listed(
    shares: Mapping[str, float], masked: bool
) -> None:
    found = likely("yes", BEFORE, ("yes", shares), '"}')
    assert found.masked is masked
    assert found.codes["yes"] == pytest.approx(shares["yes"])


@pytest.mark.parametrize(("logprob", "masked"), [(-999.0, False), (-1000.0, True)])
def test_a_token_with_a_log_probability_of_minus_1000_counts_as_masked(
    logprob: float, masked: bool
) -> None:
    text, tokens = placed(BEFORE, ("yes", {"yes": 0.5, "no": 0.25}), '"}')
    tokens[1][2]["top_logprobs"].insert(1, {"token": "The", "logprob": logprob})
    at = len(BEFORE)
    assert likelihoods_at(text, tokens, (at, at + 3), YES_NO).masked is masked


def test_a_code_with_a_single_continuation_does_not_hide_the_mass() -> None:
    found = likely(
        "tie-good",
        BEFORE, ("tie", {"tie": 0.5, "first": 0.25, "The": 0.125}),
        ("-good", {"-good": 0.75, "-bad": 0.25}), '"}',
        codes=TIES,
    )  # fmt: skip
    assert not found.masked
    assert found.codes == pytest.approx(
        {"first": 0.25, "tie-good": 0.375, "tie-bad": 0.125, "second": 0.125}
    )
    assert found.bounded == {"second"}
    assert found.mass == pytest.approx(0.75)


def test_codes_that_begin_alike_have_a_joint_probability_and_no_bound() -> None:
    shares = {"first": 0.5, "tie": 0.125, "tie-": 0.125, "second": 0.125}
    found = likely("first", BEFORE, ("first", shares), '"}', codes=TIES)
    assert found.codes == pytest.approx({"first": 0.5, "second": 0.125})
    assert found.joint == {frozenset({"tie-good", "tie-bad"}): pytest.approx(0.25)}
    assert found.bounded == frozenset()
    assert found.mass == pytest.approx(0.875)


def test_alternatives_without_a_log_probability_are_skipped() -> None:
    text, tokens = placed(BEFORE, ("yes", {"yes": 0.5, "no": 0.25}), '"}')
    tops = tokens[1][2]["top_logprobs"]
    tops.insert(1, {"token": "The", "logprob": None})
    at = len(BEFORE)
    found = likelihoods_at(text, tokens, (at, at + 3), YES_NO)
    assert (found.codes, found.masked) == (pytest.approx({"yes": 0.5, "no": 0.25}), False)
    tops[2]["logprob"] = None
    found = likelihoods_at(text, tokens, (at, at + 3), YES_NO)
    assert (found.codes["yes"], found.bounded) == (pytest.approx(0.5), {"no"})


@pytest.mark.parametrize(
    ("shares", "bound"),
    [
        ({"yes": 0.5, "The": 0.25}, 0.25),
        ({"yes": 0.5, "The": 0.375}, 0.125),
        ({"yes": 0.5, "The": 0.25, "A": 0.0625}, 0.0625),
        ({"yes": 0.5, "The": 0.5}, 0.0),
        ({"yes": 0.75, "The": 0.75}, 0.0),
    ],
)
def test_an_unlisted_code_is_bounded_by_the_least_listed_and_the_remaining_probability(
    shares: Mapping[str, float], bound: float
) -> None:
    found = likely("yes", BEFORE, ("yes", shares), '"}')
    assert found.codes == pytest.approx({"yes": shares["yes"], "no": bound})
    assert found.bounded == {"no"}


def test_a_bound_at_a_later_token_is_multiplied_by_the_probability_of_the_path() -> None:
    found = likely(
        "tie-good",
        BEFORE, ("tie", {"tie": 0.5, "first": 0.25, "second": 0.125}),
        ("-good", {"-good": 0.5, "-x": 0.25}), '"}',
        codes=TIES,
    )  # fmt: skip
    assert found.codes["tie-bad"] == pytest.approx(0.5 * 0.25)
    assert found.bounded == {"tie-bad"}


@pytest.mark.parametrize(
    ("pieces", "codes", "joint"),
    [
        # Within quotation marks, another mark ends an empty word and begins no code.
        ((BEFORE, ("yes", {"yes": 0.5, "no": 0.25, '"': 0.125}), '"}'),
         {"yes": 0.5, "no": 0.25}, 0),
        # A token that includes the quotation mark may be the mark alone; then any code may follow.
        (('{"grounded": ', ('"yes', {'"yes': 0.5, '"no': 0.25, '"': 0.125}), '"}'),
         {"yes": 0.5, "no": 0.25}, 0.125),
        (('{"grounded":', (' "yes', {' "yes': 0.5, ' "no': 0.25, ' "': 0.125}), '"}'),
         {"yes": 0.5, "no": 0.25}, 0.125),
        # A blank alone begins no code.
        (('{"grounded":', (' "yes', {' "yes': 0.5, ' "no': 0.25, ' ': 0.125}), '"}'),
         {"yes": 0.5, "no": 0.25}, 0),
    ],
)  # fmt: skip
def test_a_lone_quotation_mark_begins_a_code_only_at_the_codes_own_mark(
    pieces: tuple[Piece, ...], codes: Mapping[str, float], joint: float
) -> None:
    found = likely("yes", *pieces)
    assert found.codes == pytest.approx(codes)
    assert found.joint == ({frozenset(YES_NO): pytest.approx(joint)} if joint else {})


@pytest.mark.parametrize("end", list(" \t\r\n,}]"))
def test_an_unquoted_number_ends_with_its_json_member(end: str) -> None:
    shares = {"1": 0.5, "10": 0.25, f"1{end}": 0.125}
    text, tokens = placed('{"rating": ', ("1", shares), (end, {end: 0.75, "0": 0.25}), "x")
    at = text.index("1")
    found = likelihoods_at(text, tokens, (at, at + 1), ("1", "10"))
    assert found.codes == pytest.approx({"1": 0.5 * 0.75 + 0.125, "10": 0.25 + 0.5 * 0.25})


@pytest.mark.parametrize("mark", list(" \t\r\n\"':,{"))
def test_blanks_and_marks_before_a_code_do_not_change_it(mark: str) -> None:
    shares = {"yes": 0.5, "no": 0.125, f"{mark}no": 0.125, "The": 0.125}
    found = likely("yes", BEFORE, ("yes", shares), '"}')
    assert found.codes == pytest.approx({"yes": 0.5, "no": 0.25})


def test_a_blank_inside_a_code_counts() -> None:
    codes = ("a b", "ab")
    text, tokens = placed(BEFORE, ("a", {"a": 1.0}), (" b", {" b": 0.75, "b": 0.25}), '"}')
    at = len(BEFORE)
    found = likelihoods_at(text, tokens, (at, at + 3), codes)
    assert found.codes == pytest.approx({"a b": 0.75, "ab": 0.25})


@pytest.mark.parametrize("spelled", ["YES", "ye", "yess"])
def test_a_code_in_another_spelling_is_reported(spelled: str) -> None:
    text, tokens = placed(BEFORE, (spelled, {spelled: 0.5, "no": 0.25}), '"}')
    at = len(BEFORE)
    with pytest.raises(NoLikelihoodError, match="the code is written in another spelling"):
        likelihoods_at(text, tokens, (at, at + len(spelled)), YES_NO)


def test_tokens_that_end_inside_the_code_are_reported() -> None:
    codes = ("yes", "yet", "no")
    text, tokens = placed(BEFORE, ("ye", {"ye": 0.5, "no": 0.25}), ("s", {"s": 0.5}), '"}')
    at = len(BEFORE)
    assert likelihoods_at(text, tokens, (at, at + 3), codes).codes["yes"] == pytest.approx(0.25)
    with pytest.raises(NoLikelihoodError, match="the server's tokens end inside the code"):
        likelihoods_at(text, tokens[:2], (at, at + 3), codes)


def test_a_token_that_ends_inside_a_character_is_reported() -> None:
    raw = "né".encode()
    content = [entry(BEFORE, 1.0), entry("n\ufffd", 0.5, raw[:2]), entry("\ufffd", 0.5, raw[2:])]
    text = BEFORE + 'né"}'
    tokens = locate_tokens(text, {"content": [*content, entry('"}', 1.0)]})
    at = len(BEFORE)
    with pytest.raises(NoLikelihoodError, match="ends inside a character of the code"):
        likelihoods_at(text, tokens, (at, at + 2), ("né", "no", "ni"))


def test_the_deciding_tokens_run_from_the_codes_first_to_where_it_is_unambiguous() -> None:
    text, tokens = placed(
        BEFORE, ("tie", {"tie": 0.5, "first": 0.25}), ("-good", {"-good": 0.5}), '"', "}"
    )
    at = len(BEFORE)
    span = (at, at + len("tie-good"))
    assert tokens_at(text, tokens, span, TIES) == tokens[1:3]
    assert tokens_at(text, tokens, span, ("tie-good", "no")) == tokens[1:2]
    assert tokens_at(text, tokens[:2], span, TIES) == tokens[1:2]
    assert tokens_at(text, tokens, span, ("other",)) == []


def test_the_probability_of_a_code_is_the_product_along_its_tokens() -> None:
    codes = ("abcd", "abce", "x")
    pieces: list[Piece] = [(letter, {letter: 0.5, "z": 0.25}) for letter in "abc"]
    text, tokens = placed(BEFORE, *pieces, ("d", {"d": 0.5, "e": 0.25}), '"}')
    at = len(BEFORE)
    found = likelihoods_at(text, tokens, (at, at + 4), codes)
    assert found.codes == pytest.approx({"abcd": 0.0625, "abce": 0.03125, "x": 0.25})
    assert math.isclose(found.mass, 0.09375)
