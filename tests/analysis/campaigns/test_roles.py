"""Judges are compared with people on evaluation queries only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.campaigns.reports import campaign_report, contaminated_prompts
from annotation.models import Campaign
from judging.models import Judge, JudgeRun
from tandem.labels.selection import ReportOptions
from tandem.sections.methods import methods
from tests.cast import Line, campaign_of, load, run, write_lines

QUERIES = 20
TEXT = "It was opened in the year 1901 by the mayor, who made a speech of number {}."


def query(n: int) -> Line:
    return {
        "id": f"q{n}",
        "text": "Why?",
        "questions": [{"id": f"q{n}:{x}", "text": "When?"} for x in "ab"],
        "reports": [{"id": f"r{n}", "text": TEXT.format(n), "system": "one"}],
    }


@pytest.fixture
def campaign(db: None, tmp_path: Path) -> Campaign:
    """The judge agrees with people on all queries except those for evaluation."""
    load(tmp_path, [query(n) for n in range(QUERIES)])
    options = ("--option", "development=0.3", "--option", "audit=0.1")
    campaign = campaign_of("report-coverage", *options)
    roles = dict(campaign.query_samplings.values_list("query__key", "role"))
    lines = []
    for n in range(QUERIES):
        wrong = roles[f"q{n}"] == "evaluation"
        for place, unit in enumerate("ab"):
            people, judge = ("yes", "no")[place], ("yes", "no")[place ^ wrong]
            for rater, kind, value in (
                ("ann", "human", people),
                ("bo", "human", people),
                ("j", "judge", judge),
            ):
                lines.append(
                    {
                        "item": f"r{n}",
                        "unit": f"q{n}:{unit}",
                        "variable": "answerable",
                        "value": value,
                        "rater": rater,
                        "rater_kind": kind,
                    }
                )
    path = write_lines(tmp_path / "labels.jsonl", lines)
    run("import_labels", path, "--campaign", "c")
    return campaign


def report(campaign: Campaign, **choices: Any) -> Any:
    return campaign_report(campaign, ReportOptions(resamples=20, **choices))


def test_judges_are_compared_with_people_on_evaluation_queries_only(campaign: Campaign) -> None:
    made = report(campaign)
    block = made["variables"]["answerable"]
    assert block["judges"]["j"]["units"] == 2 * 12
    assert block["judges"]["j"]["agreement"]["percent"]["value"] == 0.0
    assert made["roles"] == {
        "development": 6,
        "evaluation": 12,
        "audit": 2,
        "compared": "evaluation",
    }


def test_agreement_among_people_counts_all_queries(campaign: Campaign) -> None:
    assert report(campaign)["variables"]["answerable"]["agreement"]["units"] == 2 * QUERIES


def test_estimates_from_people_and_judge_use_evaluation_queries_only(campaign: Campaign) -> None:
    scores = report(campaign)["scores"]["coverage"]
    estimate = scores["estimate"]["one"]
    assert estimate["humans"]["n"] == 12
    assert estimate["judge"]["n"] == 12
    assert estimate["prediction_powered"]["n"] == 12
    assert "people's own" in estimate["prediction_powered"]["reason"]
    assert scores["systems"]["one"]["ann"]["n"] == QUERIES
    assert scores["correlation"]["j"]["mean"]["spearman"]["n"] == 12


def test_each_split_is_a_stratum_of_its_own(campaign: Campaign) -> None:
    strata = report(campaign)["variables"]["answerable"]["strata"]["role"]
    percent = {
        role: of["judges"]["j"]["agreement"]["percent"]["value"] for role, of in strata.items()
    }
    assert percent == {"audit": 1.0, "development": 1.0, "evaluation": 0.0}


def test_choosing_a_split_compares_on_that_split(campaign: Campaign) -> None:
    made = report(campaign, strata=(("role", "development"),))
    judge_block = made["variables"]["answerable"]["judges"]["j"]
    assert (judge_block["units"], judge_block["agreement"]["percent"]["value"]) == (12, 1.0)
    assert made["roles"]["compared"] == "chosen"


def test_the_methods_state_which_splits_were_compared(campaign: Campaign) -> None:
    text = " ".join(methods(report(campaign)))
    assert "on the 12 items of evaluation queries only; 6 of development and 2 of audit" in text


def test_the_report_on_a_campaign_with_one_split_does_not_mention_splits(
    db: None, tmp_path: Path
) -> None:
    load(tmp_path, [query(n) for n in range(3)])
    assert report(campaign_of("report-coverage"))["roles"] is None


@pytest.mark.first_case
@pytest.mark.parametrize(("role", "warned"), [("development", 0), ("audit", 1), ("evaluation", 1)])
def test_a_prompt_may_quote_development_queries_only(
    campaign: Campaign, role: str, warned: int
) -> None:
    key = campaign.query_samplings.filter(role=role).values_list("query__key", flat=True)[0]
    # Another campaign over the batch has a different split.
    other = campaign_of("report-coverage", "--option", "development=0.5", name="other")
    other.query_samplings.update(role="evaluation")
    other.query_samplings.filter(query__key=key).update(role="development")
    rater = (
        campaign.items.filter(assignments__rater__name="j")[0]
        .assignments.get(rater__name="j")
        .rater
    )
    prompt = f"For example: {TEXT.format(key[1:])}\n---\n{{texts}}{{units}}{{answer}}"
    judge = Judge.objects.create(rater=rater, backend="lexical", prompt=prompt)
    JudgeRun.objects.create(campaign=campaign, judge=judge, prompt_sha256="0" * 64)
    assert len(contaminated_prompts(campaign, ["j"])) == warned
