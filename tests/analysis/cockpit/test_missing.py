"""A tile says why a figure is missing from the labels as they are now, whatever the last report."""

from __future__ import annotations

import pytest
from django.db.models import F

from analysis.attention import facts_of
from analysis.cockpit import missing as of_missing
from analysis.cockpit.tiles import missing_of, tiles_of
from annotation.models import Campaign, Label, Rater, User
from datasets.models import Job
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
FEWEST = 30


@pytest.fixture
def rita() -> User:
    return User.objects.create(username="rita", role="researcher")


def of_judge(campaign: Campaign) -> int:
    return Label.objects.filter(response__assignment__rater__kind="judge").count()


def report_without_judges(campaign: Campaign, rita: User) -> None:
    """The last report is from before the judge's run."""
    judge = Rater.objects.get(name="model-x")
    exclusion = campaign.exclusions.create(rater=judge, reason="its run is to come")
    client_of(rita).get(f"/campaigns/{campaign.pk}/?now=1")
    exclusion.delete()


def test_after_a_judges_run_its_tile_waits_for_a_report_instead_of_claiming_too_few(
    labelled: Campaign, rita: User
) -> None:
    assert of_judge(labelled) > FEWEST
    report_without_judges(labelled, rita)
    (facts,) = facts_of([labelled.pk])
    assert facts.report is not None
    assert facts.report["variables"][0]["judges"] == []
    assert tiles_of(facts, False).missing.judge == "Not computed yet."
    assert tiles_of(facts, False, is_computing=True).missing.judge == "Being computed …"
    first = client_of(rita).get(f"/campaigns/{labelled.pk}/").content.decode()
    judges = client_of(rita).get(f"/campaigns/{labelled.pk}/judges/").content.decode()
    for page in (first, judges):
        assert "Not computed yet." in page
        assert "ewer than" not in page
        assert "Too few" not in page


def test_a_page_without_a_figure_that_is_due_asks_for_it_at_once(
    labelled: Campaign, rita: User
) -> None:
    """A report that took long would otherwise rest ten times as long."""
    report_without_judges(labelled, rita)
    Job.objects.update(started_at="2000-01-01T00:00Z")
    client_of(rita).get(f"/campaigns/{labelled.pk}/", headers=HTMX)
    (facts,) = facts_of([labelled.pk])
    assert [each["name"] for each in (facts.report or {})["variables"][0]["judges"]] == ["model-x"]


def test_with_too_few_labels_the_count_is_of_now(
    labelled: Campaign, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = Label.objects.filter(response__assignment__rater__name="model-x").values("unit")
    monkeypatch.setattr(of_missing, "FEWEST_UNITS", 1000)
    report_without_judges(labelled, rita)
    (facts,) = facts_of([labelled.pk])
    live = missing_of(facts, False)
    assert not live.is_current
    monkeypatch.setattr(of_missing, "FIRST_ITEMS", 1)
    in_steps = missing_of(facts, False)
    assert (in_steps.judge, in_steps.people) == (live.judge, live.people)
    number = int(live.judge.partition(" ")[0])
    assert FEWEST < number <= units.distinct().count()
    assert live.judge.endswith("questions have labels from both people and a judge. "
                               f"From {FEWEST} on, the figure is here.")  # fmt: skip
    assert live.of_judge("nobody").startswith("No question has labels from both")
    assert live.people.split(" ", 1)[1].startswith("shared questions so far.")

    Job.objects.update(started_at=F("ended_at"))
    client_of(rita).get(f"/campaigns/{labelled.pk}/?now=1")
    (facts,) = facts_of([labelled.pk])
    known = missing_of(facts, False)
    assert known.is_current
    in_report = (facts.report or {})["variables"][0]["judges"][0]["units"]
    assert known.judge.startswith(f"{in_report} questions have labels from both")


def test_a_reason_of_an_older_report_is_not_repeated(labelled: Campaign, rita: User) -> None:
    client_of(rita).get(f"/campaigns/{labelled.pk}/?now=1")
    (facts,) = facts_of([labelled.pk])
    nothing = {"value": {"value": None}, "reason": "no unit has a label of the judge"}
    assert missing_of(facts, False).fresh(nothing, "value") == nothing
    labelled.exclusions.create(rater=Rater.objects.get(name="ada"), reason="a mistake")
    (facts,) = facts_of([labelled.pk])
    assert missing_of(facts, False).fresh(nothing, "value")["reason"] == "Not computed yet"
    known = {**nothing, "value": {"value": 0.4}}
    assert missing_of(facts, False).fresh(known, "value") == known
