"""Ordered answers: the units on which the judge is above people, and below them."""

from __future__ import annotations

import numpy as np

from analysis.disagreements.choose import Choice, choose_units
from analysis.disagreements.votes import VoteTable

# Codes of Ada and a judge on five units, by index; the judge has no label on the last one.
ADA, JUDGE = (1, 0, 2, 1, 0), (2, 0, 1, 0)


def table() -> VoteTable:
    none = np.zeros(5, int)
    labels = [(unit, 0, code) for unit, code in enumerate(ADA)]
    labels += [(unit, 1, code) for unit, code in enumerate(JUDGE)]
    at, raters, codes = np.array(labels).T
    return VoteTable(
        units=np.arange(5),
        queries=none,
        decided=none.astype(bool),
        at=at,
        raters=raters,
        codes=codes,
        versions=np.zeros(len(labels), int),
        scores=np.full(len(labels), np.nan),
        values=("10", "2", "9"),
        escapes=frozenset(),
        names=("ada", "judge"),
        people=1,
        guidelines=("",),
        strata={},
    )


def units(show: str, codes: tuple[str, ...] = ("2", "9", "10")) -> list[int]:
    choice = Choice(show, "judge", sort="order", codes=codes)  # type: ignore[arg-type]
    return choose_units(table(), choice).tolist()


def test_above_and_below_follow_the_rank_of_codes_and_not_their_spelling() -> None:
    assert units("above") == [0, 3]
    assert units("below") == [2]
    assert sorted(units("above") + units("below")) == units("judge")


def test_a_code_without_a_rank_is_neither_above_nor_below() -> None:
    assert units("above", ("2", "9")) == [0]
    assert units("below", ("2", "9")) == [2]
