"""Changes to sealed objects from outside Tandem are found, and its own changes are not."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.integrity import CheckedCounts
from annotation.models import Assignment, Campaign, Exclusion, Label, Response, User
from annotation.people.accounts import change_role, forget
from annotation.people.membership import exclude, include
from audit.append_only import create_statements, drop_statements
from audit.models import Event, Fingerprint
from audit.sealed import sealing
from audit.seals import find_broken_seals, seal
from judging.invariants import violations
from judging.models import Judge, JudgeRun
from tests.annotation.adjudication.cast import Dispute, decided, make_dispute
from tests.databases import rolled_back
from tests.judging.cast import judge, run_scripted, yes
from tests.page_cast import answers, client_of, page

pytestmark = pytest.mark.django_db


@dataclass
class Cast:
    there: Dispute
    ada: Assignment
    run: JudgeRun

    @property
    def campaign(self) -> Campaign:
        return self.there.study.campaign


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cast]:
    with rolled_back(django_db_blocker):
        there = make_dispute()
        asked = judge("asked")
        run_of_judge = run_scripted(there.study.campaign, asked, yes)[0]
        ada = Assignment.objects.get(item=there.item, rater__user=there.study.ada)
        exclude(there.study.campaign, ada.rater, "too fast", there.dora)
        assert seal()
        assert found() == []
        yield Cast(there, ada, run_of_judge)


@pytest.fixture
def cast(made: Cast, db: None) -> Cast:
    return deepcopy(made)


def found() -> list[str]:
    """The violations of the checks of seals and digests."""
    names = ("sealed", "digests", "audit")
    return [str(v) for v in violations(CheckedCounts()) if v.check in names]


def sql(statement: str, *values: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount != 0


CHANGES = {
    "seconds": ("UPDATE annotation_assignment SET seconds = 9999 WHERE id = %s", "ada"),
    "missing": ("UPDATE annotation_assignment SET missing = '{\"a\": {}}' WHERE id = %s", "ada"),
    "assisted_by": ("UPDATE annotation_assignment SET assisted_by = 'x' WHERE id = %s", "ada"),
    "asked": ("UPDATE annotation_assignment SET asked = '[\"q:0\"]' WHERE id = %s", "ada"),
    "shown": ("UPDATE annotation_assignment SET shown = '[\"q:9\"]' WHERE id = %s", "ada"),
    "assignment__created_at": (
        "UPDATE annotation_assignment SET created_at = '2020-01-01 00:00:00+00:00' WHERE id = %s",
        "ada",
    ),
    "created_at": (
        "UPDATE annotation_response SET created_at = '2020-01-01 00:00:00+00:00' "
        "WHERE assignment_id = %s",
        "ada",
    ),
    "exposed": ("UPDATE annotation_response SET exposed = NULL WHERE assignment_id = %s", "ada"),
    "basis": ("UPDATE annotation_response SET basis = 'x' WHERE assignment_id = %s", "ada"),
    "key": ("UPDATE annotation_response SET key = 'x' WHERE assignment_id = %s", "ada"),
    "door": ("UPDATE annotation_response SET door = 'page' WHERE assignment_id = %s", "ada"),
    "labels.score": (
        "UPDATE annotation_label SET score = 0.9 WHERE response_id IN "
        "(SELECT id FROM annotation_response WHERE assignment_id = %s)",
        "ada",
    ),
    "labels.meta": (
        "UPDATE annotation_label SET meta = '{\"a\": 1}' WHERE response_id IN "
        "(SELECT id FROM annotation_response WHERE assignment_id = %s)",
        "ada",
    ),
    "probability": (
        "UPDATE annotation_item SET probability = 0.5 WHERE campaign_id = %s",
        "campaign",
    ),
    "use": ("UPDATE annotation_item SET use = 'gold' WHERE campaign_id = %s", "campaign"),
    "words": ("UPDATE annotation_item SET words = 1 WHERE campaign_id = %s", "campaign"),
    "samples.seed": (
        "UPDATE annotation_unitdraw SET seed = 8 WHERE item_id IN "
        "(SELECT id FROM annotation_item WHERE campaign_id = %s)",
        "campaign",
    ),
    "seed": ("UPDATE annotation_campaign SET seed = 99 WHERE id = %s", "campaign"),
    "overlap": ("UPDATE annotation_campaign SET overlap = 0.1 WHERE id = %s", "campaign"),
    "human_share": ("UPDATE annotation_campaign SET human_share = 0.1 WHERE id = %s", "campaign"),
    "deadline": (
        "UPDATE annotation_campaign SET deadline = '2020-01-01 00:00:00+00:00' WHERE id = %s",
        "campaign",
    ),
    "pay": ("UPDATE annotation_campaign SET pay = '99 EUR per hour' WHERE id = %s", "campaign"),
    "options": ("UPDATE annotation_campaign SET options = '{\"a\": 1}' WHERE id = %s", "campaign"),
    "qualify": ("UPDATE annotation_campaign SET qualify = 0.1 WHERE id = %s", "campaign"),
    "completion": ("UPDATE judging_judgecall SET completion = 'no' WHERE run_id = %s", "run"),
    "cost": ("UPDATE judging_judgecall SET cost = 0 WHERE run_id = %s", "run"),
    "usage": ("UPDATE judging_judgecall SET usage = '{\"a\": 1}' WHERE run_id = %s", "run"),
    "reuse": ("UPDATE judging_judgerun SET reuse = 'all' WHERE id = %s", "run"),
    "prompt": (
        "UPDATE judging_judge SET prompt = 'Say yes.' WHERE id IN "
        "(SELECT judge_id FROM judging_judgerun WHERE id = %s)",
        "run",
    ),
    "params": (
        "UPDATE judging_judge SET params = '{\"a\": 1}' WHERE id IN "
        "(SELECT judge_id FROM judging_judgerun WHERE id = %s)",
        "run",
    ),
    "role": ("UPDATE annotation_user SET role = 'admin' WHERE id = %s", "user"),
    "is_superuser": ("UPDATE annotation_user SET is_superuser = TRUE WHERE id = %s", "user"),
    "user": (
        "UPDATE annotation_rater SET user_id = NULL WHERE user_id = %s",
        "user",
    ),
    "reason": ("UPDATE annotation_exclusion SET reason = 'x' WHERE campaign_id = %s", "campaign"),
    "drawn": ("UPDATE annotation_querydraw SET drawn = FALSE WHERE campaign_id = %s", "campaign"),
    "digest": ("UPDATE datasets_batch SET digest = 'x' WHERE id = %s", "batch"),
}


def keys(cast: Cast) -> dict[str, int]:
    campaign = cast.campaign
    return {
        "ada": cast.ada.pk,
        "campaign": campaign.pk,
        "batch": campaign.batch_id,
        "run": cast.run.pk,
        "user": cast.there.study.ada.pk,
    }


@pytest.mark.every_case
@pytest.mark.parametrize("column", CHANGES)
def test_a_column_changed_by_sql_is_found_and_named(cast: Cast, column: str) -> None:
    statement, key = CHANGES[column]
    sql(statement, keys(cast)[key])
    wrong = [line for line in found() if line.startswith("sealed: ")]
    # Where a value cannot even be read, other checks stop, which is a line of its own.
    named = [line for line in wrong if "from what was sealed" in line]
    assert named
    assert all(column in line.split(": ")[-1] for line in named)


def test_the_message_names_the_answer_and_the_column(cast: Cast) -> None:
    sql("UPDATE annotation_assignment SET seconds = 9999 WHERE id = %s", cast.ada.pk)
    (violation,) = [v for v in violations(CheckedCounts()) if v.check == "sealed"]
    place = f"campaign Pilot, rater {cast.ada.rater.name}, item {cast.ada.item.key}, revision 1"
    assert violation.wrong.startswith(f"{place}, answer ")
    assert "assignment__seconds differs from what was sealed on 20" in violation.wrong
    assert violation.where["column"] == "assignment__seconds"
    assert violation.where["table"] == Response._meta.db_table


DELETIONS = {
    "exclusion": "DELETE FROM annotation_exclusion",
    "call": "DELETE FROM judging_judgecall",
    "member": "DELETE FROM annotation_membership",
}


@pytest.mark.every_case
@pytest.mark.parametrize("kind", DELETIONS)
def test_a_deleted_row_is_found(cast: Cast, kind: str) -> None:
    sql(DELETIONS[kind])
    assert any(
        line.startswith(f"sealed: {kind} ") and "was deleted, but no event" in line
        for line in found()
    )


def test_an_added_exclusion_is_found(cast: Cast) -> None:
    ben = Assignment.objects.get(item=cast.there.item, rater__user=cast.there.study.ben).rater
    Exclusion.objects.create(campaign=cast.campaign, rater=ben, reason="planted")
    (line,) = found()
    assert "was added, but no event of the audit trail tells of it" in line
    assert ben.name in line
    seal()
    assert found() == [line]


def test_a_label_added_to_a_sealed_answer_is_found(cast: Cast) -> None:
    label = Label.objects.filter(response__assignment=cast.ada)[0]
    Label.objects.create(response=label.response, unit=label.unit, variable="planted", value="yes")
    assert any(line.startswith("sealed: ") and "labels." in line for line in found())


@pytest.mark.postgresql
def test_a_new_seal_does_not_cover_up_a_change(cast: Cast) -> None:
    sql("UPDATE annotation_campaign SET seed = 99 WHERE id = %s", cast.campaign.pk)
    change(cast.campaign, CampaignSettings(qualify=0.5))
    seal()
    (line,) = found()
    assert line.startswith("sealed: campaign Pilot: seed differs")


def test_an_event_of_another_campaign_explains_nothing(cast: Cast) -> None:
    sql("UPDATE annotation_campaign SET qualify = 0.9 WHERE id = %s", cast.campaign.pk)
    Event.objects.create(event="campaign.terms", campaign=10**6, object_kind="campaign",
                         object_id=str(10**6))  # fmt: skip
    assert len(found()) == 1


@pytest.mark.postgresql
def test_legitimate_changes_are_explained_before_and_after_the_next_seal(cast: Cast) -> None:
    sent = client_of(cast.there.study.ada).post(
        page("submit", cast.ada), answers("yes", "yes", "invalid", seen=1, seconds=12.5)
    )
    assert sent.json()["revision"] == 2
    change(
        cast.campaign,
        CampaignSettings(pay="14 EUR per hour", deadline=datetime(2040, 1, 1, tzinfo=UTC)),
    )
    change(cast.campaign, CampaignSettings(guideline="Read it twice."), is_open=False)
    include(cast.campaign, cast.ada.rater, cast.there.dora)
    tie, split, _ = cast.there.units
    decided(cast.there, tie)
    decided(cast.there, split, "no")
    decided(cast.there, split, "yes", seen=1)
    assert found() == []
    assert seal()
    assert found() == []
    change_role(cast.there.dora, User.Role.ADMIN)
    forget(cast.there.study.ada)
    assert found() == []
    seal()
    assert found() == []


@pytest.mark.postgresql
def test_a_legitimately_changed_column_is_sealed_again(cast: Cast) -> None:
    change(cast.campaign, CampaignSettings(pay="14 EUR per hour"))
    seal()
    sql("UPDATE annotation_campaign SET pay = '99 EUR per hour' WHERE id = %s", cast.campaign.pk)
    (line,) = found()
    assert line.startswith("sealed: campaign Pilot: pay differs")


def _thief(statement: str) -> None:
    with connection.cursor() as cursor:
        for each in drop_statements(connection.vendor):
            cursor.execute(each)
        cursor.execute(statement)
        for each in create_statements(connection.vendor):
            cursor.execute(each)


@pytest.mark.postgresql
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM audit_fingerprint WHERE kind = 'answer'",
        "UPDATE audit_fingerprint SET digest = 'x' WHERE kind = 'campaign'",
        "UPDATE audit_fingerprint SET at = '2020-01-01 00:00:00+00:00'",
    ],
)
def test_a_changed_fingerprint_breaks_its_seal(cast: Cast, statement: str) -> None:
    _thief(statement)
    assert "seal 1 of the site covers other states than those stored now" in list(
        find_broken_seals()
    )


@pytest.mark.postgresql
def test_a_planted_fingerprint_explains_nothing(cast: Cast) -> None:
    sql("UPDATE annotation_campaign SET seed = 99 WHERE id = %s", cast.campaign.pk)
    kind = sealing.KINDS["campaign"]
    state = sealing.states(kind, [cast.campaign.pk])[cast.campaign.pk]
    Fingerprint.objects.create(
        kind="campaign", object_id=cast.campaign.pk, digest=state.digest(), scope=state.scope,
        columns={name: each[:8] for name, each in state.columns.items()},
        event=Event.objects.latest("pk").pk,
    )  # fmt: skip
    assert any(line.startswith("sealed: campaign Pilot: seed differs") for line in found())
    seal()
    assert any(line.startswith("sealed: campaign Pilot: seed differs") for line in found())


@pytest.mark.postgresql
def test_a_text_that_differs_from_its_stored_digest_is_found_without_a_seal(cast: Cast) -> None:
    Judge.objects.filter(runs=cast.run).update(prompt="Say yes.")
    _thief("DELETE FROM audit_fingerprint")
    _thief("DELETE FROM audit_seal")
    lines = [line for line in found() if line.startswith("digests: ")]
    (line,) = lines
    assert line.startswith("digests: judge asked, judge ")
    assert line.endswith("its prompt has another digest than prompt_sha256 says")


@pytest.mark.once
def test_a_second_sealer_stores_nothing_in_the_range_of_the_first(cast: Cast) -> None:
    change_role(cast.there.dora, User.Role.ADMIN)
    there = Fingerprint.objects.count()
    with sealing.only_sealer() as first, sealing.only_sealer() as second:
        assert (first, second) == (True, False)
        assert seal() == []
        assert Fingerprint.objects.count() == there
    assert seal()
    assert found() == []


def test_a_site_that_is_older_than_the_seals_of_states_is_sealed_as_found(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Migrated after its first events, as an upgraded site is."""
    _thief("DELETE FROM audit_fingerprint")
    _thief("DELETE FROM audit_seal")
    monkeypatch.setattr(sealing, "_applied", lambda: datetime(2999, 1, 1, tzinfo=UTC))
    assert found() == []
    assert seal()
    seen = CheckedCounts()
    assert [v for v in violations(seen) if v.check == "sealed"] == []
    assert seen.sealed == seen.as_found > 10
    Response.objects.filter(assignment=cast.ada).update(exposed=None)
    assert len(found()) == 1


def test_the_check_says_how_many_objects_are_as_found(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    _thief("DELETE FROM audit_fingerprint")
    _thief("DELETE FROM audit_seal")
    monkeypatch.setattr(sealing, "_applied", lambda: datetime(2999, 1, 1, tzinfo=UTC))
    seal()
    out = io.StringIO()
    with suppress(CommandError):  # the cast has rows that other checks do not like
        call_command("check_invariants", stdout=out)
    number = Fingerprint.objects.count()
    assert f"{number} of {number} sealed objects were sealed as found" in out.getvalue()


def test_a_changed_manifest_of_a_run_is_found(cast: Cast) -> None:
    run = JudgeRun.objects.get(pk=cast.run.pk)
    run.manifest["judge"] = {"model": "another"}
    JudgeRun.objects.filter(pk=run.pk).update(manifest=run.manifest)
    (line,) = found()
    assert line.startswith("digests: campaign Pilot, judge asked, judge run ")
