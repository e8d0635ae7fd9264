"""Consent: read before the first item, recorded, asked again, revoked, and exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.assignments.withdrawal import give_consent, revoke_consent
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design
from annotation.campaigns.settings import CampaignSettings
from annotation.exports.contents import exports_of
from annotation.integrity import CheckedCounts, violations
from annotation.models import Assignment, Campaign, Consent, Draft, Item, Response, rater_of
from annotation.people.consent import IntakeOwedError
from annotation.people.membership import PeopleError
from annotation.people.prolific import set_study
from audit.models import Event
from datasets.models import Job
from tests.annotation.people.cast import assert_whole
from tests.api.cast import assert_error, script_of
from tests.cast import exported, run
from tests.once import once
from tests.page_cast import Study, answers, client_of, make_study, page, payload

pytestmark = pytest.mark.django_db
TEXT = "# About this study\n\nYour labels are **published**."


@once
def study() -> Study:
    study = make_study(reports=2, people=1)
    change(study.campaign, CampaignSettings(consent=TEXT))
    return study


def before(study: Study) -> str:
    return reverse("before", args=[study.campaign.pk])


def agree(study: Study, client: Client, version: int = 1) -> Any:
    return client.post(before(study), {"version": version, "agree": "1"}, follow=True)


def answered(study: Study) -> Assignment:
    """Ada agrees, and answers an item."""
    give_consent(study.campaign, rater_of(study.ada), study.campaign.consent_version)
    mine = study.assignment(study.ada)
    submit(mine, payload("no"), "page")
    return mine


def labels(campaign: Campaign) -> int:
    return sum(1 for _ in exports_of(campaign)["labels"].lines(campaign))


def test_a_person_reads_the_text_and_agrees_before_the_first_item(
    study: Study, tmp_path: Path
) -> None:
    client = client_of(study.ada)
    taken = client.post(reverse("take-next", args=[study.campaign.pk]))
    assert taken["Location"] == before(study)
    shown = client.get(before(study)).content.decode()
    assert "<strong>published</strong>" in shown
    assert "left out of all reports and exports" in shown
    assert client.post(before(study), {"version": 1}).status_code == 422
    assert agree(study, client).resolver_match.url_name == "item"
    (line,) = exported(study.campaign.name, "consents")
    assert (line["rater"], line["version"]) == (rater_of(study.ada).name, 1)
    assert (line["text"], line["revoked_at"]) == (TEXT, None)
    table = tmp_path / "consents.parquet"
    asked = ("--campaign", "Pilot", "--what", "consents", "--format", "parquet")
    run("export", *asked, "--output", table)
    assert table.read_bytes().startswith(b"PAR1")
    assert Event.objects.filter(event="consent.given", campaign=study.campaign.pk).count() == 1


def test_a_new_consent_text_asks_again_and_loses_no_answer(study: Study) -> None:
    client = client_of(study.ada)
    agree(study, client)
    mine = study.assignment(study.ada)
    change(study.campaign, CampaignSettings(consent=TEXT + " And shared."))
    assert client.get(page("item", mine))["Location"] == before(study)
    sent = client.post(page("submit", mine), answers("no", "no", "no", version=0, seen=0))
    assert sent.json()["next"] == before(study)
    assert labels(study.campaign) == 3
    assert agree(study, client, 1).status_code == 422
    assert agree(study, client, 2).resolver_match.url_name == "item"
    change(study.campaign, CampaignSettings(consent=""))
    assert next_assignment(study.campaign, rater_of(study.ben)) is None


def test_a_consent_text_added_midway_keeps_an_answer_as_a_draft(study: Study) -> None:
    change(study.campaign, CampaignSettings(consent=""))
    mine, client = study.assignment(study.ada), client_of(study.ada)
    change(study.campaign, CampaignSettings(consent=TEXT))
    sent = client.post(page("submit", mine), answers("no", "no", "no", version=0, seen=0))
    assert "consent first" in sent.json()["problems"][0]["message"]
    assert Draft.objects.filter(assignment=mine).exists()
    assert not Response.objects.exists()


def test_revoked_answers_are_left_out_and_count_again_with_a_new_consent(study: Study) -> None:
    mine, client = answered(study), client_of(study.ada)
    address = reverse("own-consent", args=[study.campaign.pk])
    assert client.post(address).status_code == 422
    made = {"question": "q", "digest": "d", "state": "done", "result": {"file": "none"}}
    Job.objects.create(kind="export", options={"campaign": study.campaign.pk}, **made)
    content = client.post(address, {"revoke": "1"}, follow=True).content.decode()
    assert not Job.objects.exists()
    assert "You revoked your consent" in content
    assert labels(study.campaign) == 0
    assert not list(violations((), CheckedCounts()))
    assert_whole(study.campaign)
    assert client.post(page("draft", mine), answers("yes", version=0)).status_code == 404
    with pytest.raises(IntakeOwedError):
        study.assignment(study.ada)
    give_consent(study.campaign, rater_of(study.ben), 1)
    assert study.assignment(study.ben).item == mine.item
    assert labels(study.campaign) == 0
    give_consent(study.campaign, rater_of(study.ada), 1)
    mine.refresh_from_db()
    assert (mine.status, mine.slot) == ("done", None)
    assert labels(study.campaign) == 3
    assert not list(violations((), CheckedCounts()))
    assert_whole(study.campaign)


def test_revoked_answers_are_deleted_if_the_campaign_says_so(study: Study) -> None:
    change(study.campaign, CampaignSettings(revoked="delete"))
    answered(study)
    study.assignment(study.ada)
    name = rater_of(study.ada).name
    assert "1 answers are deleted" in run("consents", study.campaign.name, "--revoke", name)
    assert not Response.objects.exists()
    assert not Item.objects.filter(taken__gt=0).exists()
    assert Consent.objects.get().revoked_at is not None
    assert "revoked 2" in run("consents", study.campaign.name)
    with pytest.raises(CommandError, match="no consent to revoke"):
        run("consents", study.campaign.name, "--revoke", name)


def test_revoked_answers_cannot_be_imported_again(study: Study, tmp_path: Path) -> None:
    answered(study)
    lines = exported(study.campaign.name, "labels")
    revoke_consent(study.campaign, rater_of(study.ada))
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(CommandError, match="revoked their consent"):
        run("import_labels", file, "--campaign", study.campaign.name)


def test_an_api_token_is_refused_until_its_owner_consents(study: Study) -> None:
    ada, place = script_of(study.ada, "label"), f"campaigns/{study.campaign.pk}"
    refused = ada.post(f"{place}/next/")
    assert refused.status_code == 403
    assert before(study) in refused.json()["error"]
    shown = ada.get(f"{place}/intake/").json()
    assert (shown["text"], shown["version"], shown["agreed_version"]) == (TEXT, 1, None)
    assert_error(ada.put(f"{place}/consent/", {"version": 2}), 422)
    assert ada.put(f"{place}/consent/", {"version": 1}).json()["agreed_version"] == 1
    mine = ada.post(f"{place}/next/").json()["uid"]
    assert ada.put(f"{place}/consent/", {"version": None}).json()["revoked_at"]
    assert ada.get(f"assignments/{mine}/").status_code == 404
    ben = script_of(study.ben, "label")
    assert_error(ben.put(f"{place}/consent/", {"version": None}), 422)


def test_a_guest_from_prolific_is_asked_for_consent_too(study: Study) -> None:
    set_study(study.campaign, "study1", "C0DE", 2)
    asked = "PROLIFIC_PID=p1&STUDY_ID=study1&SESSION_ID=s1"
    guest = Client()
    came = guest.post(f"{reverse('prolific', args=[study.campaign.pk])}?{asked}")
    assert came["Location"] == before(study)
    assert agree(study, guest).resolver_match.url_name == "item"


def test_the_settings_hold_the_consent_text_and_what_happens_to_revoked_answers(
    study: Study, tmp_path: Path
) -> None:
    file = tmp_path / "consent.md"
    file.write_text("New text.\n")
    run("set_campaign", study.campaign.name, "--consent", file, "--revoked", "delete")
    study.campaign.refresh_from_db()
    assert (study.campaign.consent_version, study.campaign.revoked) == (2, "delete")
    run("set_campaign", study.campaign.name, "--consent", file)
    assert study.campaign.consent_texts.count() == 2
    rita = script_of(study.rita, "manage")
    changed = rita.post(f"campaigns/{study.campaign.pk}/terms/", {"consent": ""})
    assert changed.status_code == 200
    study.campaign.refresh_from_db()
    assert study.campaign.consent_version == 0
    with pytest.raises(PeopleError, match="changed since you read it"):
        give_consent(study.campaign, rater_of(study.ada), 1)


def test_revoking_also_removes_and_restores_copies_carried_to_another_campaign(
    study: Study,
) -> None:
    answered(study)
    batch, design = study.campaign.batch, Design(raters_per_item=1)
    later = create_campaign("Later", "report-coverage", batch, design, continues="Pilot").campaign
    assert labels(later) == 3
    revoke_consent(study.campaign, rater_of(study.ada))
    assert (labels(study.campaign), labels(later)) == (0, 0)
    assert not list(violations((), CheckedCounts()))
    assert_whole(later)
    give_consent(study.campaign, rater_of(study.ada), 1)
    assert (labels(study.campaign), labels(later)) == (3, 3)
    assert not list(violations((), CheckedCounts()))
    change(study.campaign, CampaignSettings(revoked="delete"))
    study.campaign.refresh_from_db()
    revoke_consent(study.campaign, rater_of(study.ada))
    assert not Response.objects.exists()
    assert_whole(later)
