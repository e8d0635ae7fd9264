"""The floor of truth: what a faultless judge would get wrong, since people err, too."""

from __future__ import annotations

import json
from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from tandem.statistics import Ints, counts_of
from tandem.trust.floor import BY_CHANCE, floor_of_truth, majority_error

CRUX = Path(__file__).parents[3] / "shared" / "data" / "crux" / "annotations"


def votes(*cells: str) -> Ints:
    """Count votes such as `yyn` by category: y, n, then m."""
    return np.array([[cell.count(code) for code in "ynm"] for cell in cells])


def test_three_votes_on_two_categories_give_the_closed_form() -> None:
    # 3 of 8 cells are split: s = 3/8, so q = (1 - √(1 - 4 · 3/8 / 3)) / 2 = (1 - √½) / 2 = .1464,
    # and 3q² - 2q³ = .0581.
    counts = votes("yyy", "yyy", "nnn", "nnn", "nnn", "yyn", "ynn", "nny")[:, :2]
    q = (1 - sqrt(0.5)) / 2
    assert floor_of_truth(counts).value == pytest.approx(3 * q**2 - 2 * q**3)
    assert floor_of_truth(counts).value == pytest.approx(0.0581, abs=5e-5)


def test_two_votes_that_differ_decide_nothing() -> None:
    # 1 of 4 pairs differs: A = 3/4, p = (1 + √(2 · 3/4 - 1)) / 2 = .8536; both are right with p².
    found = floor_of_truth(votes("yy", "yy", "nn", "yn")[:, :2])
    p = (1 + sqrt(0.5)) / 2
    assert found.value == pytest.approx(1 - p**2)


def test_one_vote_is_wrong_as_often_as_a_person_is() -> None:
    # As above, with four more cells of one vote each, which err with 1 - p.
    found = floor_of_truth(votes("yy", "yy", "nn", "yn", "y", "y", "n", "n")[:, :2])
    p = (1 + sqrt(0.5)) / 2
    assert found.value == pytest.approx((4 * (1 - p**2) + 4 * (1 - p)) / 8)
    assert found.n == 8


@pytest.mark.parametrize(("n", "k"), [(1, 2), (3, 2), (4, 2), (5, 2), (3, 3), (4, 4), (5, 3)])
def test_the_error_of_a_majority_is_that_of_all_its_outcomes(n: int, k: int) -> None:
    p, error = 0.7, 0.0
    chances = [p, *[(1 - p) / (k - 1)] * (k - 1)]
    for outcome in product(range(k), repeat=n):
        counts = np.bincount(outcome, minlength=k)
        if counts[0] <= counts[1:].max():
            error += float(np.prod([chances[vote] for vote in outcome]))
    assert majority_error(p, n, k) == pytest.approx(error, abs=1e-12)


def test_a_crowd_has_nearly_no_error_and_does_not_overflow() -> None:
    assert majority_error(0.8, 5_000, 3) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        (votes("y", "n")[:, :2], "no two people share a unit"),
        (votes("yn", "ny", "yy")[:, :2], BY_CHANCE),
        (votes("yy", "yy")[:, :1], "only one category is in use"),
    ],
)
def test_votes_that_say_nothing_about_people_give_a_reason(counts: Ints, why: str) -> None:
    assert (floor_of_truth(counts).value, floor_of_truth(counts).reason) == (None, why)


def test_the_floor_of_the_crux_study_is_above_5_percent() -> None:
    if not CRUX.is_dir():
        pytest.skip("the data of the CRUX study are not there")
    columns = []
    for number in (1, 2, 3):
        text = (CRUX / f"annotator{number}" / "qlabels.jsonl").read_text("utf-8")
        lines = sorted((json.loads(x) for x in text.split("\n") if x), key=lambda x: str(x["id"]))
        columns.append([label for line in lines for label in line["answerability"]])
    codes = np.array(columns).T
    # -2 marks questions that were not asked.
    codes = codes[(codes >= 0).all(axis=1)]
    assert len(codes) == 435
    assert floor_of_truth(counts_of(codes, 2)).value == pytest.approx(0.054, abs=5e-4)
