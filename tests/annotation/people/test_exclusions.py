"""An excluded rater counts in no statistic; the report gives the reason; it can be undone."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches
from django.core.management import CommandError
from django.db import IntegrityError, transaction
from django.urls import reverse

from analysis.campaigns.cache import computed_report
from analysis.campaigns.reports import campaign_report
from annotation.answers.submission import submit
from annotation.exports import rows
from annotation.models import MAX_REASON, Exclusion, Rater, rater_of
from annotation.people import membership
from annotation.people.membership import PeopleError, exclude, exclusion_reasons, include
from tandem.formats import FORMATS
from tandem.labels.selection import ReportOptions
from tests.api.cast import assert_error, script_of
from tests.cast import run
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload

pytestmark = pytest.mark.django_db
WHY = "answered faster than one can read"
CHOICES = ReportOptions(resamples=20)


@once
def study() -> Study:
    """Ada and Ben agree on both reports, Rita says the opposite."""
    study = make_study(people=3)
    for user, code in ((study.ada, "no"), (study.ben, "no"), (study.rita, "invalid")):
        for _ in range(2):
            submit(study.assignment(user), payload(code), "page")
    return study


def report(study: Study) -> dict[str, Any]:
    return campaign_report(study.campaign, CHOICES)


def agreement(found: dict[str, Any]) -> Any:
    return found["variables"]["answerable"]["agreement"]


def test_excluded_raters_count_in_no_statistic(study: Study) -> None:
    before = agreement(report(study))
    assert len(before["pairs"]) == 3
    exclude(study.campaign, rater_of(study.rita), WHY, study.root)
    after = agreement(report(study))
    assert len(after["pairs"]) == 1
    assert after["pairs"][0]["percent"]["value"] == 1.0


def test_the_report_says_who_and_why_in_every_format(study: Study) -> None:
    exclude(study.campaign, rater_of(study.rita), WHY)
    found = report(study)
    name = rater_of(study.rita).name
    assert {r["name"]: r["excluded"] for r in found["raters"]}[name] == WHY
    assert sum(r["excluded"] is not None for r in found["raters"]) == 1
    for form in FORMATS.values():
        text = form.render(found)
        assert WHY in (text.decode() if isinstance(text, bytes) else text)


def test_an_exclusion_changes_no_labels(study: Study) -> None:
    before = list(rows.labels(study.campaign))
    exclude(study.campaign, rater_of(study.rita), WHY)
    assert list(rows.labels(study.campaign)) == before


def test_a_cached_report_is_not_reused_after_an_exclusion(study: Study) -> None:
    caches["reports"].clear()
    first = computed_report(study.campaign, CHOICES).report
    exclude(study.campaign, rater_of(study.rita), WHY)
    assert agreement(computed_report(study.campaign, CHOICES).report) != agreement(first)
    include(study.campaign, rater_of(study.rita))
    assert agreement(computed_report(study.campaign, CHOICES).report) == agreement(first)


def test_an_undone_exclusion_is_kept_as_a_record(study: Study) -> None:
    rita = rater_of(study.rita)
    exclude(study.campaign, rita, WHY, study.root)
    assert include(study.campaign, rita, study.root)
    assert exclusion_reasons("Pilot") == {}
    assert not include(study.campaign, rita)
    row = Exclusion.objects.get()
    assert (row.reason, row.by, row.undone_by) == (WHY, study.root, study.root)
    assert row.undone_at is not None


def test_a_new_reason_replaces_the_earlier_one(study: Study) -> None:
    rita = rater_of(study.rita)
    exclude(study.campaign, rita, WHY)
    assert exclude(study.campaign, rita, f"  {WHY}  ") == Exclusion.objects.get()
    exclude(study.campaign, rita, "asked to be left out")
    assert exclusion_reasons("Pilot") == {rita.name: "asked to be left out"}
    assert Exclusion.objects.count() == 2


def test_an_exclusion_applies_to_one_campaign(study: Study) -> None:
    exclude(study.campaign, rater_of(study.rita), WHY)
    assert exclusion_reasons("Another") == {}


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
def test_an_exclusion_requires_a_reason(study: Study, reason: str) -> None:
    with pytest.raises(PeopleError, match="reason"):
        exclude(study.campaign, rater_of(study.rita), reason)


@pytest.mark.every_case
@pytest.mark.parametrize(("length", "fits"), [(0, False), (1, True), (500, True), (501, False)])
def test_a_reason_has_1_to_500_characters(study: Study, length: int, fits: bool) -> None:
    assert MAX_REASON == 500
    rater, reason = rater_of(study.rita), "x" * length
    if not fits:
        with pytest.raises(PeopleError, match="1 to 500 characters"):
            exclude(study.campaign, rater, reason)
    else:
        assert exclude(study.campaign, rater, reason).reason == reason


def test_including_a_rater_again_leaves_other_exclusions_in_place(study: Study) -> None:
    for user in (study.rita, study.ben):
        exclude(study.campaign, rater_of(user), WHY)
    assert len(exclusion_reasons(study.campaign.name)) == 2
    assert include(study.campaign, rater_of(study.ben))
    assert not include(study.campaign, rater_of(study.ben))
    assert exclusion_reasons(study.campaign.name) == {rater_of(study.rita).name: WHY}


def test_the_second_of_two_simultaneous_exclusions_is_refused(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row of the first exclusion becomes visible only when the second one writes."""
    rater = rater_of(study.rita)
    exclude(study.campaign, rater, WHY)
    monkeypatch.setattr(membership, "include", lambda *_: False)
    with pytest.raises(PeopleError, match="just now; look again"):
        exclude(study.campaign, rater, "another reason")
    assert exclusion_reasons(study.campaign.name) == {rater.name: WHY}


def test_only_raters_of_the_campaign_can_be_excluded(study: Study) -> None:
    with pytest.raises(PeopleError, match="asked nothing"):
        exclude(study.campaign, Rater.objects.create(name="stranger"), WHY)
    with pytest.raises(PeopleError, match="neither"):
        exclude(study.campaign, Rater.objects.create(name="ref", kind="reference"), WHY)


def test_the_database_refuses_a_second_active_exclusion(study: Study) -> None:
    row = exclude(study.campaign, rater_of(study.rita), WHY)
    with pytest.raises(IntegrityError), transaction.atomic():
        Exclusion.objects.create(campaign=study.campaign, rater=row.rater, reason="again")


def test_a_researcher_excludes_a_rater_on_the_page(study: Study) -> None:
    rita = client_of(study.rita)
    where = reverse("campaign-people-change", args=[study.campaign.pk])
    ben = rater_of(study.ben)
    empty = rita.post(where, {"order": "exclude", "rater": ben.pk, "reason": ""})
    assert empty.status_code == 422
    assert rita.post(where, {"order": "exclude", "rater": ben.pk, "reason": WHY}).status_code == 302
    shown = rita.get(reverse("campaign-people", args=[study.campaign.pk])).content.decode()
    assert WHY in shown
    assert "Include again" in shown
    rita.post(where, {"order": "include", "rater": ben.pk})
    assert exclusion_reasons("Pilot") == {}


def test_the_api_excludes_a_rater(study: Study) -> None:
    script, ben = script_of(study.rita), rater_of(study.ben)
    path = f"campaigns/{study.campaign.pk}/raters/{ben.pk}/exclusion/"
    raters = script.put(path, {"reason": WHY}).json()["raters"]
    assert {each["name"]: each["excluded"] for each in raters}[ben.name] == WHY
    assert script.put(path, {"reason": None}).status_code == 200
    assert exclusion_reasons("Pilot") == {}
    assert_error(script.put(path, {"reason": "x" * 501}), 400)
    foreign = Rater.objects.create(name="stranger").pk
    other = f"campaigns/{study.campaign.pk}/raters/{foreign}/exclusion/"
    assert_error(script.put(other, {"reason": WHY}), 404)


def test_the_command_excludes_and_includes_a_rater_by_name(study: Study) -> None:
    name = rater_of(study.rita).name
    with pytest.raises(CommandError, match="reason"):
        run("campaign_people", "Pilot", "--exclude", name)
    run("campaign_people", "Pilot", "--exclude", name, "--reason", WHY)
    assert f"excluded: {WHY}" in run("campaign_people", "Pilot")
    assert run("campaign_people", "Pilot", "--include", name).endswith("counts again in Pilot.\n")
