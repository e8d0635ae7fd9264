"""Intervals over queries and raters, as a choice of a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management.base import CommandError
from django.http import QueryDict

from analysis.forms import ReportForm
from tandem.labels.selection import AvailableValues
from tandem.sections.methods import methods
from tests.cast import run, write_lines

JSON = dict[str, Any]
PEOPLE = ("Ada", "Bram", "Carl", "Dora")
#: How often each person, and the judge, gives the wrong label.
SLIPS = {"Ada": 0.05, "Bram": 0.1, "Carl": 0.2, "Dora": 0.3, "J": 0.25}


def labels(tmp_path: Path, people: tuple[str, ...] = PEOPLE, queries: int = 12) -> Path:
    draw = np.random.default_rng(5)
    right = draw.random(5 * queries) < 0.5
    said = {name: right ^ (draw.random(5 * queries) < slips) for name, slips in SLIPS.items()}
    return write_lines(tmp_path / "labels.jsonl", [
        {"item": f"i{n}", "unit": f"u{n}", "query": f"q{n // 5}", "variable": "answerable",
         "value": "yes" if said[rater][n] else "no", "rater": rater,
         "rater_kind": "judge" if rater == "J" else "human"}
        for rater in (*people, "J")
        for n in range(5 * queries)
    ])  # fmt: skip


def report(path: Path, *more: str) -> JSON:
    found: JSON = json.loads(run("report", "--labels", str(path), "--resamples", "300", *more))
    return found


def two_way(path: Path, *more: str) -> tuple[JSON, JSON]:
    of = report(path, "--bootstrap", "two-way", *more)["variables"]["answerable"]
    return of["agreement"], of["judges"]["J"]


def test_intervals_of_agreement_resample_raters_too(tmp_path: Path) -> None:
    people, judge = two_way(labels(tmp_path))
    blocks = [
        (people, "fleiss_kappa"),
        (people, "krippendorff_alpha"),
        (people, "percent"),
        (judge["agreement"], "cohen_kappa"),
        (judge["human_ceiling"], "cohen_kappa"),
        (judge["gap"], "cohen_kappa"),
        (judge["gap"], "percent"),
    ]
    for block, name in blocks:
        assert (
            "95 % two-way bootstrap of 12 queries and 4 raters, 300 resamples"
            in (block[name]["method"])
        ), name
        assert block[name]["low"] <= block[name]["high"]
    # Of a pair of two people only the queries can be resampled.
    assert "two-way" not in people["pairs"][0]["cohen_kappa"]["method"]


def test_values_stay_the_same_and_only_intervals_change(tmp_path: Path) -> None:
    path = labels(tmp_path)
    people, _ = two_way(path)
    alone = report(path)["variables"]["answerable"]["agreement"]
    assert people["fleiss_kappa"]["value"] == alone["fleiss_kappa"]["value"]
    assert people["fleiss_kappa"]["low"] < alone["fleiss_kappa"]["low"]
    assert "two-way" not in alone["fleiss_kappa"]["method"]


def test_two_raters_are_too_few_to_resample(tmp_path: Path) -> None:
    people, _ = two_way(labels(tmp_path, ("Ada", "Bram")))
    assert people["fleiss_kappa"]["value"] is not None
    assert people["fleiss_kappa"]["low"] is None
    assert "no interval: 2 raters, at least 3 are needed" in people["fleiss_kappa"]["method"]


def test_fewer_than_ten_queries_give_no_interval(tmp_path: Path) -> None:
    people, _ = two_way(labels(tmp_path, queries=9))
    assert "9 queries, at least 10 are needed" in people["fleiss_kappa"]["method"]


def test_the_report_states_the_option_and_for_which_raters_it_holds(tmp_path: Path) -> None:
    made = report(labels(tmp_path), "--bootstrap", "two-way")
    assert made["choices"]["bootstrap"] == "two-way"
    text = " ".join(methods(made))
    assert "two-way bootstrap of whole queries and raters, 300 resamples" in text
    assert "hold for other raters of this kind, too, if only roughly with few raters" in text
    assert "(Owen 2007)" in text
    plain = " ".join(methods(report(labels(tmp_path))))
    assert "intervals hold for these raters" in plain
    assert "Owen" not in plain


def test_the_choice_is_part_of_the_pages_address() -> None:
    form = ReportForm(QueryDict("bootstrap=two-way"), AvailableValues())
    assert form.is_valid(), form.problems()
    assert form.options.bootstrap == "two-way"
    assert ReportForm(QueryDict(""), AvailableValues()).is_valid()
    wrong = ReportForm(QueryDict("bootstrap=raters"), AvailableValues())
    assert wrong.problems() == ["Resample must be queries or two-way."]


def test_the_command_refuses_any_other_choice(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="bootstrap"):
        report(labels(tmp_path), "--bootstrap", "raters")
