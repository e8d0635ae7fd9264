"""Soft labels beside the majority, in the report."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tandem.sections.soft_labels import soft_blocks, soft_labels
from tandem.statistics import dawid_skene
from tests.analysis.cast import JUDGE, frame_of, sample_of, table


def soft(rows: dict[str, str]) -> Any:
    return soft_labels(sample_of(frame_of(table(rows))))


def people(units: int = 400) -> dict[str, str]:
    """Ada and Dora are nearly always right; the other three err on a third or more."""
    draw = np.random.default_rng(3)
    truth = draw.integers(0, 2, units)
    slips = {"Ada": 0.02, "Dora": 0.05, "Bram": 0.35, "Chidi": 0.4, "Ebo": 0.4}
    rows = {n: "".join("yn"[v] for v in truth ^ (draw.random(units) < s)) for n, s in slips.items()}
    return {**rows, JUDGE: "".join("yn"[v] for v in truth)}


def test_a_judge_may_do_better_by_soft_labels_if_the_majority_errs() -> None:
    found = soft(people())
    assert found["units"] == 400
    assert found["differ"] > 10
    errors = {name: of["error_rate"] for name, of in found["raters"].items()}
    assert max(errors["Ada"], errors["Dora"]) < 0.1
    assert min(errors["Bram"], errors["Chidi"], errors["Ebo"]) > 0.3
    assert found["judges"][JUDGE]["percent"]["value"] > 0.9


def test_the_expected_accuracy_is_the_mean_probability_of_the_judges_labels() -> None:
    rows = people(60)
    found = soft(rows)["judges"][JUDGE]["expected_accuracy"]
    judge = np.array(["yn".index(code) for code in rows.pop(JUDGE)])
    codes = np.array([["yn".index(code) for code in column] for column in rows.values()]).T
    shares = dawid_skene(codes, 2).shares
    assert found["value"] == pytest.approx(shares[np.arange(60), judge].mean())
    assert found["n"] == 60


def test_soft_labels_equal_the_majority_if_all_agree() -> None:
    found = soft(dict.fromkeys(("Ada", "Bram", "Chidi", JUDGE), "yynn"))
    assert (found["differ"], found["ties"]) == (0, 0)
    assert found["judges"][JUDGE]["percent"]["value"] == 1


def test_two_people_are_too_few_to_estimate_errors() -> None:
    found = soft({"Ada": "yyny", "Bram": "ynny", JUDGE: "yyyy"})
    assert found == {
        "units": 0,
        "reason": "fewer than 3 people labelled, so their errors cannot be estimated",
    }
    assert soft_blocks({"soft_labels": found}) == soft_blocks({}) == []


def test_units_with_a_tie_have_a_soft_label_too() -> None:
    rows = {"Ada": "yyynnn" * 6 + "y", "Bram": "yyynnn" * 6 + "n", "Chidi": "yyynnn" * 6 + "."}
    found = soft(rows)
    assert (found["units"], found["ties"], found["differ"]) == (37, 1, 0)


def test_soft_labels_that_do_not_settle_are_null_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    early = partial(dawid_skene, iterations=2, tolerance=0)
    monkeypatch.setattr("tandem.sections.soft_labels.dawid_skene", early)
    found = soft(people(60))
    reason = "people's error rates and the labels did not settle within 2 steps"
    assert found == {"units": 0, "iterations": 2, "converged": False, "reason": reason}
    (block,) = soft_blocks({"soft_labels": found})
    assert block.tables == ()
    assert reason in block.about


def test_labels_that_settle_slowly_are_followed_to_the_end() -> None:
    # Three people who are hardly better than chance.
    draw = np.random.default_rng(5)
    truth = draw.integers(0, 2, 200)
    rows = {
        name: "".join("yn"[v] for v in np.where(draw.random(200) < 0.6, truth, 1 - truth))
        for name in ("Ada", "Bram", "Chidi")
    }
    found = soft(rows)
    assert found["converged"]
    assert found["iterations"] > 200
