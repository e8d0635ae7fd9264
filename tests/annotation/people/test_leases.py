"""A lease reserves a slot for a time; then the slot becomes free, and late work is kept."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models.signals import post_init
from django.test import Client
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment, reclaim
from annotation.assignments.withdrawal import give_consent
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Assignment, Campaign, Draft, Rater, Response, rater_of
from annotation.people import leases
from annotation.people.leases import (
    Ended,
    extend,
    open_assignments,
    release,
    release_all,
    release_expired,
    set_lease,
)
from annotation.people.membership import end_membership, set_most_items
from annotation.progress.person import progress_here
from annotation.views import answers as saving
from datasets.models import Batch
from tests import forks
from tests.annotation.people.cast import assert_whole, run_out, take
from tests.api.cast import body, place, script_of
from tests.cast import ROOT, manage, run
from tests.databases import environment
from tests.once import once
from tests.page_cast import Study, answers, client_of, make_study, page, payload
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    """One slot for each item, with leases of an hour."""
    study = make_study(people=1)
    set_lease(study.campaign, 60)
    return study


def lost(study: Study) -> Assignment:
    """Release Ada's first item after its lease expired."""
    mine = study.assignment(study.ada)
    run_out(mine)
    assert release_expired(study.campaign) == 1
    mine.refresh_from_db()
    return mine


def send(client: Client, what: str, mine: Assignment, **more: Any) -> Any:
    form = answers("no", "no", "no", version=0, seen=0, **more)
    return client.post(page(what, mine), form)


class TestLeaseLength:
    def test_a_lease_lasts_as_long_as_the_campaign_sets(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        assert mine.held_until is not None
        left = mine.held_until - timezone.now()
        assert timedelta(minutes=59) < left <= timedelta(minutes=60)

    def test_a_lease_without_an_end_never_expires(self, study: Study) -> None:
        set_lease(study.campaign, None)
        assert study.assignment(study.ada).held_until is None
        assert release_expired(study.campaign) == 0

    def test_a_draft_renews_the_lease(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        run_out(mine)
        assert send(client_of(study.ada), "draft", mine).status_code == 200
        assert release_expired(study.campaign) == 0
        mine.refresh_from_db()
        assert mine.status == "open"

    def test_a_new_lease_length_applies_to_current_leases(self, study: Study) -> None:
        set_lease(study.campaign, None)
        mine = study.assignment(study.ada)
        set_lease(study.campaign, 30)
        mine.refresh_from_db()
        assert mine.held_until is not None

    def test_a_renewed_lease_is_not_released(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ada saves a draft between the look-up of expired leases and their release."""
        mine, over = study.assignment(study.ada), leases._expired

        def rows(**given: Any) -> Any:
            found = over.rows(**given)
            extend(mine)
            if until_now:
                Assignment.objects.filter(pk=mine.pk).update(held_until=given["now"])
            return found

        monkeypatch.setattr(leases, "_expired", SimpleNamespace(rows=rows))
        run_out(mine)
        until_now = False
        assert release_expired(study.campaign) == 0
        run_out(mine)
        until_now = True
        assert release_expired(study.campaign) == 0
        mine.refresh_from_db()
        assert (mine.status, mine.slot) == ("open", 1)
        assert_whole(study.campaign)

    def test_a_lease_is_valid_until_its_last_moment(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mine = study.assignment(study.ada)
        last = mine.held_until
        assert last is not None
        monkeypatch.setattr(timezone, "now", lambda: last)
        assert release_expired(study.campaign) == 0
        monkeypatch.setattr(timezone, "now", lambda: last + timedelta(microseconds=1))
        assert release_expired(study.campaign) == 1

    def test_leases_of_other_campaigns_are_not_released(self, study: Study) -> None:
        run_out(study.assignment(study.ada))
        other = create_campaign(
            "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
        ).campaign
        set_lease(other, 60)
        assert release_expired(other) == 0
        assert release_expired(study.campaign) == 1

    def test_an_answered_assignment_is_never_released(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        run_out(mine)
        submit(mine, payload("no"), "page")
        mine.refresh_from_db()
        assert mine.held_until is None
        assert not release(mine, Ended.FREED)
        assert release_expired(study.campaign) == 0
        assert_whole(study.campaign)


class TestReleasedSlots:
    def test_a_released_slot_goes_to_another_person(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        assert study.assignment(study.ben).item != mine.item
        run_out(mine)
        release_all(study.ben, Ended.FREED)
        other = study.assignment(study.rita)
        assert (other.item, other.slot) == (mine.item, 1)
        assert_whole(study.campaign)

    def test_a_person_may_reclaim_an_expired_lease(self, study: Study) -> None:
        mine = lost(study)
        again = study.assignment(study.ada)
        assert again.pk == mine.pk
        assert (again.status, again.slot, again.reason) == ("open", 1, "")
        assert again.held_until
        assert_whole(study.campaign)

    def test_progress_counts_an_expired_item_as_left(self, study: Study) -> None:
        before = progress_here(study.ada, study.campaign).left
        lost(study)
        assert progress_here(study.ada, study.campaign).left == before

    def test_a_person_who_leaves_one_campaign_keeps_leases_in_another(self, study: Study) -> None:
        other = create_campaign(
            "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
        ).campaign
        mine, there = study.assignment(study.ada), next_assignment(other, rater_of(study.ada))
        assert there is not None
        end_membership(study.campaign, study.ada)
        assert list(open_assignments(study.campaign)) == []
        assert open_assignments(other).get() == there
        mine.refresh_from_db()
        assert mine.reason == "freed"

    def test_a_new_lease_length_changes_no_other_campaign(self, study: Study) -> None:
        other = create_campaign(
            "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
        ).campaign
        there = next_assignment(other, rater_of(study.ada))
        assert there is not None
        submit(study.assignment(study.ben), payload("no"), "page")
        set_lease(study.campaign, 30)
        there.refresh_from_db()
        assert there.held_until is None
        assert Assignment.objects.get(status="done").held_until is None


class TestLateWork:
    def test_a_late_answer_counts_if_a_slot_is_free(self, study: Study) -> None:
        mine = lost(study)
        assert send(client_of(study.ada), "submit", mine).status_code == 200
        assert Response.objects.get().assignment == mine
        assert_whole(study.campaign)

    def test_a_late_answer_is_kept_as_a_draft_if_no_slot_is_free(self, study: Study) -> None:
        mine = lost(study)
        assert study.assignment(study.ben).item == mine.item
        answer = send(client_of(study.ada), "submit", mine)
        assert answer.status_code == 422
        assert "no longer reserved for you" in answer.json()["problems"][0]["message"]
        assert Draft.objects.get().assignment == mine
        assert not Response.objects.exists()
        assert_whole(study.campaign)

    def test_a_lease_that_expires_during_a_save_gives_no_answer_beyond_the_quota(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between check and writing, the lease expires and Ben takes the slot."""
        mine, client = study.assignment(study.ada), client_of(study.ada)
        whole = saving.prepare

        def slow(*args: Any, **kwargs: Any) -> Any:
            monkeypatch.setattr(saving, "prepare", whole)
            run_out(mine)
            assert study.assignment(study.ben).item == mine.item
            return whole(*args, **kwargs)

        monkeypatch.setattr(saving, "prepare", slow)
        assert send(client, "submit", mine).status_code == 422
        assert not Response.objects.exists()
        assert Draft.objects.get().assignment == mine
        assert_whole(study.campaign)

    def test_a_late_draft_reclaims_the_slot(self, study: Study) -> None:
        mine = lost(study)
        assert send(client_of(study.ada), "draft", mine).status_code == 200
        assert open_assignments(study.campaign).get().pk == mine.pk

    def test_a_removed_person_cannot_reclaim_a_slot(self, study: Study) -> None:
        mine = lost(study)
        end_membership(study.campaign, study.ada)
        assert not reclaim(mine)

    def test_a_person_who_owes_consent_cannot_reclaim_a_slot(self, study: Study) -> None:
        mine = lost(study)
        change(study.campaign, CampaignSettings(consent="Your answers are published."))
        mine = Assignment.objects.get(pk=mine.pk)
        assert not reclaim(mine)
        give_consent(study.campaign, mine.rater, 1)
        assert reclaim(mine)

    def test_reclaiming_reads_and_locks_no_other_raters_row(self, study: Study) -> None:
        mine = lost(study)
        rater_of(study.ben)
        read: set[str] = set()

        def seen(instance: Rater, **more: Any) -> None:
            read.add(instance.name)

        post_init.connect(seen, sender=Rater)
        try:
            assert reclaim(mine)
        finally:
            post_init.disconnect(seen, sender=Rater)
        assert read <= {mine.rater.name}

    def test_one_of_two_simultaneous_late_saves_reclaims_the_slot(self, study: Study) -> None:
        """The second save still reads an expired lease, and so does another item."""
        mine = lost(study)
        study.campaign.items.update(quota=2)
        seen_before = Assignment.objects.get(pk=mine.pk)
        assert reclaim(mine)
        other = study.campaign.items.exclude(pk=mine.item_id).get()
        Assignment.objects.create(
            item=other, rater=mine.rater, asked=["q:0"], status="cancelled", reason="expired"
        )
        assert not reclaim(seen_before)
        assert_whole(study.campaign)

    def test_a_closed_campaign_allows_no_reclaiming(self, study: Study) -> None:
        mine = lost(study)
        Campaign.objects.update(is_open=False)
        mine.item.campaign.refresh_from_db()
        assert not reclaim(mine)

    def test_reclaiming_cannot_exceed_the_limit_of_items(self, study: Study) -> None:
        set_most_items(study.campaign, 1)
        mine = lost(study)
        set_lease(study.campaign, None)
        Assignment.objects.filter(pk=mine.pk).update(reason="freed")
        submit(study.assignment(study.ada), payload("no"), "page")
        Assignment.objects.filter(pk=mine.pk).update(reason="expired")
        mine.refresh_from_db()
        assert not reclaim(mine)

    def test_a_late_answer_by_the_api_counts(self, study: Study) -> None:
        mine = lost(study)
        sent = script_of(study.ada).put(place(mine, "response/"), body("no", "no", "no"))
        assert sent.status_code == 201
        assert_whole(study.campaign)


@pytest.mark.postgresql
@pytest.mark.processes
def test_a_crowd_with_expiring_leases_neither_loses_nor_duplicates_slots(house: Path) -> None:
    """Eight people take, lose and answer at once; each item ends with exactly its answers."""
    manage(house, "create_campaign", "held", "--protocol", "report-coverage", "--batch", "b",
           "--pool", "open", "--raters-per-item", 3)  # fmt: skip
    done = forks.run(
        [sys.executable, "-m", "tests.annotation.people.losers", "held", "8"],
        cwd=ROOT, env=environment(house), timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["taken"] == [3] * 6
    assert result["slots"] == result["pairs"] == 18
    assert result["lost"] > 0


def test_the_command_releases_leases_by_the_raters_name(study: Study) -> None:
    study.assignment(study.ada)
    said = run("campaign_people", "Pilot", "--free", study.ada.rater.name)
    assert said == f"Freed 1 leases of {study.ada.rater.name}.\n"
    assert take(study, study.ben)
