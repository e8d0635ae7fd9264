"""A campaign's estimates from people and judge wait until people have finished the sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.campaigns.people_sample import people_sample
from analysis.campaigns.reports import campaign_report
from analysis.evaluation.build import stored_sample
from annotation.models import Assignment, Campaign, Rater
from annotation.people.membership import exclude
from tandem.labels.selection import ReportOptions
from tests.cast import Line, campaign_of, load, run, write_lines

QUERIES, UNITS = 40, ("a", "b")
Labels = list[Line]


def query(n: int) -> Line:
    return {
        "id": f"q{n:02}",
        "text": "Why?",
        "questions": [{"id": f"q{n:02}:{unit}", "text": "When?"} for unit in UNITS],
        "reports": [{"id": f"r{n:02}", "text": "It was opened.", "system": "one"}],
    }


def label(name: str, unit: str, rater: str, yes: bool) -> Line:
    return {
        "item": f"r{name[1:]}",
        "unit": f"{name}:{unit}",
        "variable": "answerable",
        "value": "yes" if yes else "no",
        "rater": rater,
        "rater_kind": "judge" if rater == "j" else "human",
    }


@pytest.fixture
def campaign(db: None, tmp_path: Path) -> Campaign:
    """Two people are asked about half of the queries; Ann has finished, and the judge has all."""
    load(tmp_path, [query(n) for n in range(QUERIES)])
    made = campaign_of("report-coverage", "--raters-per-item", "2", "--human-share", "0.5")
    add(tmp_path, of_person(made, "ann"))
    add(tmp_path, [label(f"q{n:02}", u, "j", n % 3 > 0) for n in range(QUERIES) for u in UNITS])
    return made


def drawn(campaign: Campaign) -> list[str]:
    rows = campaign.query_samplings.filter(drawn=True)
    return sorted(rows.values_list("query__key", flat=True))


def of_person(campaign: Campaign, rater: str) -> Labels:
    names = drawn(campaign)
    return [
        label(q, u, rater, (n + (u == "a")) % 3 > 0) for n, q in enumerate(names) for u in UNITS
    ]


def add(tmp_path: Path, labels: Labels) -> None:
    run("import_labels", write_lines(tmp_path / "l.jsonl", labels), "--campaign", "c")


def estimate(campaign: Campaign) -> Any:
    report = campaign_report(campaign, ReportOptions(resamples=20))
    return report["scores"]["coverage"]["estimate"]["one"]


def unfinished(campaign: Campaign) -> set[str]:
    sample = people_sample(campaign)
    assert sample is not None
    assert sample.drawn == set(drawn(campaign))
    assert stored_sample(campaign).unfinished == sample.unfinished
    return set(sample.unfinished)


def test_a_query_that_one_of_two_people_answered_is_not_finished(campaign: Campaign) -> None:
    assert unfinished(campaign) == set(drawn(campaign))
    found = estimate(campaign)["prediction_powered"]
    assert (found["value"], found["outstanding"]) == (None, QUERIES // 2)
    assert found["bounds"] == [0.0, 1.0]


def test_there_is_an_estimate_once_every_vote_is_in(campaign: Campaign, tmp_path: Path) -> None:
    of_bo = of_person(campaign, "bo")
    add(tmp_path, of_bo[:-2])
    assert unfinished(campaign) == {drawn(campaign)[-1]}
    of = estimate(campaign)
    assert of["prediction_powered"]["outstanding"] == of["fixed_collection"]["outstanding"] == 1
    low, high = of["fixed_collection"]["bounds"]
    assert high - low == pytest.approx(1 / (QUERIES // 2))
    bounds = {name: of[name]["bounds"] for name in ("prediction_powered", "fixed_collection")}
    assert "people have not finished 1 of the 20 queries" in of["fixed_collection"]["reason"]
    # Half of an item is no vote.
    add(tmp_path, of_bo[-2:-1])
    assert unfinished(campaign) == {drawn(campaign)[-1]}
    add(tmp_path, of_bo[-2:])
    assert unfinished(campaign) == set()
    of = estimate(campaign)
    for name in ("prediction_powered", "fixed_collection"):
        assert (of[name]["n"], "outstanding" in of[name]) == (QUERIES // 2, False)
        assert bounds[name][0] <= of[name]["value"] <= bounds[name][1]


def test_a_vote_declined_with_a_reason_counts(campaign: Campaign, tmp_path: Path) -> None:
    add(tmp_path, of_person(campaign, "bo")[:-2])
    item = campaign.items.get(query__key=drawn(campaign)[-1])
    asked = [unit.name for unit in item.units.all()]
    declined = Assignment.objects.create(
        item=item, rater=Rater.objects.get(name="bo"), asked=asked, status="declined"
    )
    assert unfinished(campaign) == {drawn(campaign)[-1]}
    declined.reason = "ambiguous"
    declined.save()
    assert unfinished(campaign) == set()


def test_votes_of_an_excluded_person_do_not_count(campaign: Campaign, tmp_path: Path) -> None:
    add(tmp_path, of_person(campaign, "bo"))
    assert unfinished(campaign) == set()
    exclude(campaign, Rater.objects.get(name="bo"), "answered at random")
    assert unfinished(campaign) == set(drawn(campaign))


def test_a_campaign_that_asks_people_all_queries_has_no_sample(db: None, tmp_path: Path) -> None:
    load(tmp_path, [query(n) for n in range(3)])
    assert people_sample(campaign_of("report-coverage")) is None
