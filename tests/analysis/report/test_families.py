"""How a judge treats answers of its own model family, in the report of a frame."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.labels.facts import Scale
from tandem.labels.frame import Families, Frame
from tandem.sections.families import NO_FAMILY, NO_ORDER, own_family
from tests.analysis.cast import JUDGE, RATING, fact, frame_of, sample_of

ITEMS = {"a": "llama", "b": "qwen"}


def frame(values: dict[str, tuple[str, ...]], variable: str = "rating", **scales: Scale) -> Frame:
    """The labels of raters on the answers a and b, of one unit each."""
    return frame_of(
        [
            fact(item, "u", rater, value, variable)
            for rater, column in values.items()
            for item, value in zip(ITEMS, column, strict=True)
        ],
        **scales,
    )


def judge_block(made: Frame, families: Families, variable: str = "rating") -> dict[str, Any]:
    sample = sample_of(made, variable)
    column = next(n for n, r in enumerate(sample.frame.raters) if r.name == JUDGE)
    found: dict[str, Any] = own_family(sample, column, families)
    return found


RATED = frame({"ada": ("3", "3"), "bram": ("4", "3"), JUDGE: ("5", "2")}, rating=RATING)


def test_a_judge_is_compared_with_peoples_mean_on_own_and_other_answers() -> None:
    # Own: 5 less 3.5. Others: 2 less 3.
    found = judge_block(RATED, Families(ITEMS, ITEMS, {JUDGE: "llama"}))["own_family"]
    assert found["family"] == "llama"
    assert found["own"]["value"] == pytest.approx(1.5)
    assert found["others"]["value"] == pytest.approx(-1)
    assert found["preference"]["value"] == pytest.approx(2.5)


def test_a_yes_counts_as_one() -> None:
    made = frame({"ada": ("no", "yes"), JUDGE: ("yes", "yes")}, "answerable")
    found = judge_block(made, Families(ITEMS, ITEMS, {JUDGE: "llama"}), "answerable")["own_family"]
    assert found["own"]["value"] == 1
    assert found["others"]["value"] == 0


def test_without_a_family_of_the_judge_the_preference_is_null_with_a_reason() -> None:
    found = judge_block(RATED, Families(ITEMS, ITEMS, {}))["own_family"]
    assert found["family"] is None
    assert {found[side]["value"] for side in ("own", "others", "preference")} == {None}
    assert found["own"]["reason"] == NO_FAMILY


def test_unordered_categories_have_no_preference() -> None:
    colours = Scale(("red", "blue"), "nominal")
    made = frame({"ada": ("red", "blue"), JUDGE: ("red", "red")}, "colour", colour=colours)
    found = judge_block(made, Families(ITEMS, ITEMS, {JUDGE: "llama"}), "colour")["own_family"]
    assert found["preference"]["reason"] == NO_ORDER


def test_there_is_no_block_if_no_answer_has_a_family() -> None:
    assert judge_block(RATED, Families({}, {}, {JUDGE: "llama"})) == {}


def test_the_family_is_that_of_the_items_answer_or_of_the_one_the_unit_names() -> None:
    families = Families({"a": "llama"}, {"a": "llama", "b/c": "qwen"}, {})
    assert families.of("a", "question", "q1") == "llama"
    assert families.of("q", "report", "b/c") == "qwen"
    assert families.of("q", "sentence", "b/c#2") == "qwen"
    assert families.of("q", "report-passage", "b/c/p/1") == "qwen"
    assert families.of("q", "passage", "p") == ""
    assert families.of("a/b/c", "pair", "a/b/c") == ""


def test_wins_of_the_own_answer_count_in_either_place_of_a_pair() -> None:
    answers = {"a/1": "llama", "b": "qwen", "c": "qwen"}
    places = {"a/1/b": ("first", "tie-good"), "b/a/1": ("second", "first"), "b/c": ("first",) * 2}
    rows = [
        fact(unit, unit, rater, value, "preferred", kind="pair")
        for unit, values in places.items()
        for rater, value in zip((JUDGE, "ada"), values, strict=True)
    ]
    scale = Scale(("first", "second", "tie-good", "tie-bad"), "nominal")
    made = frame_of(rows, preferred=scale)
    found = judge_block(made, Families({}, answers, {JUDGE: "llama"}), "preferred")["own_family"]
    # Its answer wins both times with the judge; with people it ties once and loses once.
    assert found["preference"]["value"] == pytest.approx(1 - 0.25)
    assert found["preference"]["n"] == 2
    assert found["own"]["value"] is None


def test_a_pair_without_an_own_answer_does_not_count() -> None:
    rows = [fact("q", "b/c", who, "first", "preferred", kind="pair") for who in ("ada", JUDGE)]
    made = frame_of(rows, preferred=Scale(("first", "second"), "nominal"))
    families = Families({}, {"b": "qwen", "c": "qwen"}, {JUDGE: "llama"})
    found = judge_block(made, families, "preferred")["own_family"]["preference"]
    assert (found["value"], found["n"]) == (None, 0)
