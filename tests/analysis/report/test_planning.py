"""How many more queries or raters a report asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.sections.agreement import agreement
from tandem.sections.judges import judges
from tandem.sections.planning import planning, planning_blocks, systems_planning
from tandem.sections.systems import scores, scores_of_items
from tandem.statistics import more_queries
from tests.analysis.cast import JUDGE, frame_of, sample_of, table

PEOPLE = ("Ada", "Bram", "Chidi")


def noisy(units: int, slips: float, seed: int = 1) -> dict[str, str]:
    """Three people and a judge who each err on a random share of units; two units per query."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 2, units)
    return {
        rater: "".join("yn"[int(each)] for each in truth ^ (draw.random(units) < slips))
        for rater in (*PEOPLE, JUDGE)
    }


def planned(rows: dict[str, str], width_wanted: float = 0.1) -> tuple[Any, Any]:
    """The plans, and the blocks for which they are made."""
    sample = sample_of(frame_of(table(rows)))
    compared = {"agreement": agreement(sample), "judges": judges(sample, 0.2)}
    return planning(sample, compared, width_wanted), compared


def width(estimate: Any) -> float:
    return float(estimate["high"] - estimate["low"])


class TestPlans:
    def test_the_queries_needed_follow_from_the_width_of_the_reports_interval(self) -> None:
        found, compared = planned(noisy(60, 0.15))
        of_people = compared["agreement"]["krippendorff_alpha"]
        of_judge = compared["judges"][JUDGE]["agreement"]["cohen_kappa"]
        for plan, shown in ((found["agreement"], of_people), (found["judges"][JUDGE], of_judge)):
            assert plan["interval_width"] == pytest.approx(width(shown))
            expected = more_queries(width(shown), 30, 0.1)
            assert plan["queries"] == {"needed": expected.needed, "more": expected.more}

    def test_more_raters_help_if_raters_err_independently(self) -> None:
        # With independent errors each further rater adds information.
        found, _ = planned(noisy(400, 0.3), width_wanted=0.08)
        raters = found["agreement"]["raters"]
        assert raters["needed"] > 3
        assert raters["more"] == raters["needed"] - 3

    def test_more_raters_do_not_help_if_raters_never_differ(self) -> None:
        same = noisy(60, 0.0)
        same[JUDGE] = noisy(60, 0.3, seed=2)[JUDGE]
        found, _ = planned(same)
        raters = found["judges"][JUDGE]["raters"]
        assert raters["needed"] is None
        assert raters["reason"].startswith(("more raters do not narrow it", "no number of raters"))

    def test_a_width_already_reached_needs_no_more_queries(self) -> None:
        found, _ = planned(noisy(200, 0.1), width_wanted=1.0)
        assert found["agreement"]["queries"] == {"needed": 100, "more": 0}
        assert found["agreement"]["raters"] == {"needed": 3, "more": 0}

    def test_one_label_per_unit_gives_no_plan_for_raters(self) -> None:
        rows = noisy(60, 0.2)
        found, _ = planned({"Ada": rows["Ada"], JUDGE: rows[JUDGE]})
        reason = found["judges"][JUDGE]["raters"]["reason"]
        assert reason == "one number of raters cannot tell what more of them would add"

    def test_too_few_queries_and_undefined_coefficients_give_reasons(self) -> None:
        few, _ = planned(noisy(10, 0.2))
        assert few["agreement"]["interval_width"] is None
        assert few["agreement"]["queries"]["reason"] == (
            "5 queries are too few to plan from, 10 are needed"
        )
        alike, _ = planned(dict.fromkeys((*PEOPLE, JUDGE), "y" * 40))
        assert alike["agreement"]["reason"] == "undefined: all labels are the same category"

    def test_the_same_labels_give_the_same_plans(self) -> None:
        assert planned(noisy(60, 0.2))[0] == planned(noisy(60, 0.2))[0]


def test_plans_for_systems_use_the_mean_of_people() -> None:
    frame = frame_of(table(noisy(60, 0.2), system="S"))
    shown = scores(frame, 100, 0, None)["coverage"]["systems"]
    plan = systems_planning(scores_of_items(frame)["coverage"], shown, 0.1)["systems"]["S"]
    mean = shown["S"]["mean"]
    assert list(plan) == ["mean"]
    assert plan["mean"]["interval_width"] == pytest.approx(width(mean))
    assert plan["mean"]["queries"]["needed"] == more_queries(width(mean), 30, 0.1).needed


def test_the_page_shows_plans_and_an_older_report_without_them_still_opens() -> None:
    found, compared = planned(noisy(60, 0.15))
    (block,) = planning_blocks({**compared, "planning": found})
    names = [str(row[0]) for row in block.tables[0].rows]
    assert names == ["Krippendorff's alpha of people", f"Cohen's kappa of {JUDGE}"]
    assert planning_blocks(compared) == []
