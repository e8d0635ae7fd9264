"""Batches can be derived on a page and by the API, and a batch's page shows its lineage."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from analysis.campaigns.cache import computed_report
from annotation.derivation.service import DerivationRequest, carry_out, check_campaigns, question
from annotation.models import Campaign, User
from datasets.derivation import DerivationError
from datasets.models import Batch
from tandem.labels.selection import ReportOptions
from tests.annotation.derivation.cast import batch, campaign, derive, label
from tests.api.cast import script_of
from tests.cast import run
from tests.team_cast import move_to_own_team

pytestmark = pytest.mark.django_db
YES, NO = {"grounded": "yes", "key": "agree"}, {"grounded": "no"}
UNITS = {f"q{q}k{n}": [YES, YES, YES if n else NO] for q in (1, 2) for n in range(4)}


@pytest.fixture
def source(tmp_path: Path) -> Batch:
    made = batch(tmp_path)
    campaign("key-point-verification")
    label(tmp_path, UNITS | {"q1k1": [NO, NO, YES]})
    return made


@pytest.fixture
def rita() -> User:
    return User.objects.create_user("rita", role=User.Role.RESEARCHER)


def test_a_rule_is_chosen_previewed_and_carried_out(
    source: Batch, rita: User, client: Client
) -> None:
    client.force_login(rita)
    page = reverse("batch-derive", args=[source.pk])
    rules = client.get(page).content.decode()
    assert "Verified key points" in rules
    assert "typed queries (question-typing)" in rules
    form = client.get(page, {"rule": "verified-key-points"}).content.decode()
    assert 'value="verify"' in form
    sent = {
        "rule": "verified-key-points",
        "name": "points",
        "campaigns": ["verify"],
        "decided_by": "adjudicated",
        "ties": "refuse",
        "set_key": "agree",
    }
    preview = client.post(page, sent | {"preview": "1"})
    assert preview.status_code == 200
    assert "1 left out: not grounded" in preview.content.decode()
    assert not Batch.objects.filter(name="points").exists()
    made = client.post(page, sent)
    points = Batch.objects.get(name="points")
    assert made["Location"] == reverse("batch", args=[points.pk])
    assert points.lineage.by == rita
    assert client.post(page, sent).status_code == 409
    unanimous = client.post(page, sent | {"name": "x", "decided_by": "unanimous"})
    assert unanimous.status_code == 409
    assert "raters differ on 3 key points" in unanimous.content.decode()


def test_a_rule_for_all_protocols_says_what_each_campaign_asks(
    source: Batch, rita: User, client: Client
) -> None:
    client.force_login(rita)
    page = reverse("batch-derive", args=[source.pk])
    form = client.get(page, {"rule": "by-codes"}).content.decode()
    assert "verify asks grounded (yes, no); key (agree, neutral, disagree)." in form
    sent = {"rule": "by-codes", "name": "points", "campaigns": ["verify"], "preview": "1"}
    missing = client.post(page, sent)
    assert missing.status_code == 422
    preview = client.post(page, sent | {"set_keep": "grounded=yes", "set_units": "all"})
    assert "1 left out: not grounded=yes" in preview.content.decode()


def test_a_campaign_that_does_not_fit_is_refused_before_a_job_is_asked_for(source: Batch) -> None:
    derivation = DerivationRequest(batch=source, name="points", rule="verified-key-points")
    check_campaigns(replace(derivation, campaigns=["verify"]))
    for campaigns in ((), ("verifi",)):
        with pytest.raises(DerivationError):
            check_campaigns(replace(derivation, campaigns=campaigns))


def test_a_job_reads_only_campaigns_that_its_person_may_read(source: Batch, rita: User) -> None:
    olga = User.objects.create_user("olga", role=User.Role.RESEARCHER)
    move_to_own_team(olga)
    for user, why in ((rita, ""), (olga, "there is no campaign 'verify' of this batch")):
        derivation = DerivationRequest(
            batch=source, name="points", rule="verified-key-points", campaigns=["verify"], by=user
        )
        done = carry_out(question(derivation, dry_run=True), lambda *_: None)
        result = json.loads(b"".join(done.pieces))
        assert result.get("refused", "").startswith(why), user
        assert ("refused" in result) == bool(why), user


def test_a_batch_page_shows_its_lineage_and_whether_it_is_behind(
    source: Batch, rita: User, client: Client, tmp_path: Path
) -> None:
    derive("points", "verified-key-points", campaign="verify")
    points = Batch.objects.get(name="points")
    client.force_login(rita)
    page = reverse("batch", args=[points.pk])
    content = client.get(page).content.decode()
    assert "Derived by verified-key-points (version 1) from verify" in content
    assert "b.jsonl" in content
    assert "is behind" not in content
    out = client.get(reverse("batch-left-out", args=[points.pk])).content.decode()
    assert "q1k1" in out
    label(tmp_path, {"q2k3": [NO]}, people=("ada",))
    behind = client.get(page)
    assert "is behind: 1 unit has other labels" in behind.content.decode()
    again = client.get(behind.context["ancestors"][0]["again"]).content.decode()
    assert "checked" in again


def test_the_api_derives_a_batch_and_returns_its_lineage(source: Batch, rita: User) -> None:
    call = script_of(rita)
    path = f"/api/v1/batches/{source.pk}/derive/"
    body = {"name": "points", "rule": "verified-key-points", "campaigns": ["verify"]}
    dry = call.post(path, body | {"dry_run": True})
    assert (dry.status_code, dry.json()["batch"]) == (200, None)
    made = call.post(path, body)
    assert made.status_code == 201
    assert made.json()["dropped"] == {"key points": {"not grounded": 1}}
    tree = call.get(f"/api/v1/batches/{made.json()['batch']['id']}/lineage/").json()
    assert (tree["rule"], tree["behind"], tree["source"]["batch"]) == (
        "verified-key-points",
        0,
        "b",
    )
    out = call.get(f"/api/v1/batches/{made.json()['batch']['id']}/left-out/").json()
    assert [row["key"] for row in out["results"]] == ["q1k1"]
    tied = call.post(path, body | {"name": "x", "decided_by": "unanimous"})
    assert tied.status_code == 409
    wrong = call.post(path, body | {"name": "y", "options": {"kei": "agree"}})
    assert wrong.status_code == 422


def test_reports_over_a_batch_that_is_behind_say_so(source: Batch, tmp_path: Path) -> None:
    derive("points", "verified-key-points", campaign="verify")
    arguments = ("--protocol", "key-point-recall", "--batch", "points")
    run("create_campaign", "recall", *arguments)
    given = {"q1k2": [{"entailed": "no", "failure": "missing"}]}
    label(tmp_path, given, "recall", {"q1k2": "q1r"}, ("ada",))
    recall = Campaign.objects.get(name="recall")
    assert computed_report(recall, ReportOptions(resamples=20)).report["warnings"] is not None
    label(tmp_path, {"q2k3": [NO]}, people=("ada",))
    report = computed_report(recall, ReportOptions(resamples=20)).report
    warnings = [each["text"] for each in report["warnings"] if each["code"] == "batch_behind"]
    assert warnings == [
        "Batch points is behind: 1 unit has other labels than when it was derived. Figures are "
        "about the batch as it was."
    ]
    for form in ("json", "md", "latex"):
        words = run("measures", "--campaign", "recall", "--format", form, "--resamples", "20")
        assert "Batch points is behind" in words
        words = run("report", "--campaign", "recall", "--format", form, "--resamples", "20")
        assert "Batch points is behind" in words
