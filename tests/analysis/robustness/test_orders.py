"""Pairs in both orders: how often a judge's verdict changes with the order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.campaigns.reports import campaign_report
from analysis.robustness.document import as_markdown
from analysis.robustness.sheet import sheet
from annotation.models import Campaign
from judging import library
from judging.backends.base import Request
from judging.models import Judge
from tandem.labels.selection import ReportOptions
from tests.judging.cast import campaign_of, judge, run_scripted

pytestmark = pytest.mark.django_db


def pairwise(**params: object) -> Judge:
    text = library.text_of("pairwise-preference")
    return judge("j", "openai", model="m", base_url="http://127.0.0.1:1", file=text, params=params)


@pytest.fixture
def pairs(tmp_path: Path) -> Campaign:
    return campaign_of(tmp_path, "answer-preference")


def orders(campaign: Campaign, rater: Judge) -> Any:
    return sheet(campaign, rater)["orders"]["preferred"]


def test_a_judge_that_prefers_a_position_reverses_every_verdict(pairs: Campaign) -> None:
    rater = pairwise()
    run_scripted(pairs, rater, lambda request: "[[A]]")
    found = orders(pairs, rater)
    assert (found["compared"], found["turned"]["value"]) == (2, 1)
    assert found["same_place"] == {"first": 2, "second": 0}
    assert "Both orders" in as_markdown(dict(sheet(pairs, rater)))
    report = campaign_report(pairs, ReportOptions(resamples=10))
    again = report["variables"]["preferred"]["judges"]["j"]["consistency"]
    assert (again["orders"]["n"], again["orders"]["value"]) == (2, 0)


def test_a_judge_that_prefers_an_answer_reverses_no_verdict(pairs: Campaign) -> None:
    def better(request: Request) -> str:
        return "[[A]]" if "Anna Lee" in request.facts.texts[0] else "[[B]]"

    rater = pairwise(samples=2, temperature=0.7)
    run_scripted(pairs, rater, better)
    found = orders(pairs, rater)
    assert (found["compared"], found["turned"]["value"]) == (4, 0)
    assert found["same_place"] == {"first": 0, "second": 0}


def test_a_pair_with_only_one_verdict_is_missing_with_its_reason(pairs: Campaign) -> None:
    rater = pairwise()
    run_scripted(pairs, rater, lambda request: "[[A]]" if request.sample == 0 else "no idea")
    found = orders(pairs, rater)
    assert (found["compared"], found["turned"]["value"]) == (0, None)
    assert sum(found["turned"]["missing"].values()) == 2
    assert found["turned"]["bounds"] == [0, 1]


def test_a_judge_asked_in_one_order_has_no_rate_of_reversals(pairs: Campaign) -> None:
    rater = judge()
    run_scripted(pairs, rater, lambda request: "{}")
    assert sheet(pairs, rater)["orders"] is None
