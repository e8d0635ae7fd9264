"""A server's tokens of an answer: their locations, and what is stored of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from judging.backends.logprobs import (
    STORED_KEY,
    NoLikelihoodError,
    is_stored,
    locate_tokens,
    parse_token,
    tokens_as_json,
    unplaced_as_json,
)

pytestmark = pytest.mark.every_case


def tokens_of(*words: str) -> dict[str, Any]:
    return {"content": [{"token": word, "logprob": -0.5} for word in words]}


def starts(text: str, logprobs: Any) -> list[tuple[int, str]]:
    return [(start, entry["token"]) for start, _, entry in locate_tokens(text, logprobs)]


@pytest.mark.parametrize(
    ("text", "words", "placed"),
    [
        ("abc", ["ab", "c"], [(0, "ab"), (2, "c")]),
        ("abc", ["so ", "ab", "c", "</s>"], [(-3, "so "), (0, "ab"), (2, "c"), (3, "</s>")]),
        ("éa", ["é", "a"], [(0, "é"), (2, "a")]),
        # The last occurrence is the answer; the same words before it are reasoning.
        ("ab", ["ab", ".", "ab"], [(-3, "ab"), (-1, "."), (0, "ab")]),
        # A character that was split into tokens is skipped with all its bytes.
        ("é!", ["\ufffd", "\ufffd", "!"], [(2, "!")]),
        ("a🌉b", ["a", "\ufffd", "\ufffd", "b"], [(0, "a"), (5, "b")]),
        ("a🌉b", ["a", "", "b"], [(0, "a"), (5, "b")]),
        ("éb", ["\ufffd", "b", "</s>"], [(2, "b")]),
    ],
)
def test_a_token_is_located_by_its_bytes(
    text: str, words: Sequence[str], placed: list[tuple[int, str]]
) -> None:
    assert starts(text, tokens_of(*words)) == placed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abc", ["ab", "d"]),
        ("éé!", ["\ufffd", "!"]),
        ("éa🌉!", ["\ufffd", "a", "!"]),
        ("éa🌉é!", ["\ufffd", "a", "\ufffd", "!"]),
    ],
)
def test_only_as_much_text_is_skipped_as_there_were_broken_tokens(
    text: str, words: Sequence[str]
) -> None:
    with pytest.raises(NoLikelihoodError, match="do not make up the answer"):
        locate_tokens(text, tokens_of(*words))


@pytest.mark.parametrize("raw", [[300], [-1], ["a"], [None], "ab", 7, None])
def test_invalid_bytes_are_replaced_by_those_of_the_token_text(raw: Any) -> None:
    entry = {"token": "é", "logprob": -0.5, "bytes": raw}
    assert locate_tokens("éa", {"content": [entry, {"token": "a"}]}) == [
        (0, "é".encode(), entry),
        (2, b"a", {"token": "a"}),
    ]


@pytest.mark.parametrize(
    ("logprob", "number", "stored"),
    [
        (-0.5, -0.5, -0.5),
        (-3, -3.0, -3.0),
        (0.0, 0.0, 0.0),
        (0.25, 0.0, 0.0),
        (-1e9, -1e9, -1e9),
        (-1.5e9, -1.5e9, -1e9),
        (-math.inf, -math.inf, -1e9),
        (math.nan, None, None),
        (None, None, None),
        ("-0.5", None, None),
        (10**400, None, None),
    ],
)
def test_a_log_probability_is_at_most_0_and_stored_as_a_finite_number(
    logprob: Any, number: float | None, stored: float | None
) -> None:
    top = {"token": "no", "logprob": logprob}
    entry = {"token": "yes", "logprob": logprob, "top_logprobs": [top]}
    token = parse_token(b"yes", entry)
    assert [word for word, _ in token.listed] == ["yes", "no"]
    for found in (token.logprob, *(each for _, each in token.listed)):
        assert math.isnan(found) if number is None else found == number
    (plain,) = tokens_as_json([(4, b"yes", entry)])[STORED_KEY]
    assert plain == {
        "start": 4, "token": "yes", "logprob": stored,
        "top_logprobs": [{"token": "no", "logprob": stored}],
    }  # fmt: skip
    json.dumps(plain, allow_nan=False)


@pytest.mark.parametrize("odd", ["no", {"token": 3}, {}, None, ["no"]])
def test_malformed_alternatives_are_left_out(odd: Any) -> None:
    top = {"token": "no", "logprob": -2.0, "bytes": [110, 111]}
    entry = {"token": "yes", "logprob": -0.5, "top_logprobs": [odd, top]}
    assert parse_token(b"yes", entry).listed == (("yes", -0.5), ("no", -2.0))
    (plain,) = tokens_as_json([(0, b"yes", entry)])[STORED_KEY]
    assert plain["top_logprobs"] == [{"token": "no", "logprob": -2.0}]


@pytest.mark.parametrize("tops", [None, {}, "no", 7])
def test_a_token_without_alternatives_lists_itself(tops: Any) -> None:
    entry = {"token": "yes", "logprob": -0.5, "top_logprobs": tops}
    assert parse_token(b"yes", entry).listed == (("yes", -0.5),)
    assert tokens_as_json([(0, b"yes", entry)])[STORED_KEY][0]["top_logprobs"] == []


def test_a_token_that_is_listed_twice_has_its_first_number() -> None:
    tops = [{"token": "yes", "logprob": -9.0}, {"token": "no", "logprob": -2.0},
            {"token": "no", "logprob": -1.0}]  # fmt: skip
    entry = {"token": "yes", "logprob": -0.5, "top_logprobs": tops}
    assert parse_token(b"yes", entry).listed == (("yes", -0.5), ("no", -2.0))


def test_stored_tokens_are_read_back_at_their_locations() -> None:
    bridge = "🌉".encode()
    content = [{"token": "\ufffd", "logprob": -0.5, "bytes": list(bridge[:2])},
               {"token": "\ufffd", "logprob": -0.5, "bytes": list(bridge[2:])},
               {"token": "a", "logprob": -0.5, "bytes": [97], "more": 1}]  # fmt: skip
    came = locate_tokens("🌉a", {"content": content})
    stored = tokens_as_json(came)
    assert is_stored(stored)
    assert not is_stored({"content": content})
    assert not is_stored([STORED_KEY])
    assert [(start, raw) for start, raw, _ in locate_tokens("other", stored)] == [
        (0, bridge[:2]), (2, bridge[2:]), (4, b"a"),
    ]  # fmt: skip
    assert stored[STORED_KEY][2] == {"start": 4, "token": "a", "logprob": -0.5, "top_logprobs": []}


def test_stored_unlocated_tokens_repeat_the_reason() -> None:
    stored = unplaced_as_json(NoLikelihoodError("the server's tokens cannot be read"))
    assert is_stored(stored)
    with pytest.raises(NoLikelihoodError, match="the server's tokens cannot be read"):
        locate_tokens("abc", stored)
