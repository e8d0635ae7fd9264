"""Changes of leases, and campaigns that open and close: by whom, and all or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.answers.locks import lock_assignments, lock_rows
from annotation.assignments import queue
from annotation.assignments.queue import next_assignment, reclaim
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.changes import change, open_now
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Assignment, Campaign, Draft, Item, Response, User, rater_of
from annotation.people import leases
from annotation.people.leases import (
    Ended,
    extend,
    free,
    open_assignments,
    release,
    release_others,
    set_lease,
)
from audit.models import Event
from datasets.models import Batch
from tests.annotation.people.cast import assert_whole, run_out
from tests.once import once
from tests.page_cast import Study, make_study

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    study = make_study(people=2)
    set_lease(study.campaign, 60)
    return study


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("broken")


class TestAllOrNothing:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "action",
        [
            lambda study, mine: release(mine, Ended.FREED),
            lambda study, mine: leases.release_all(study.ada, Ended.LEFT),
            lambda study, mine: release_others(User.objects.none(), study.campaign),
            lambda study, mine: leases.release_expired(study.campaign),
        ],
    )
    def test_a_slot_is_released_with_its_items_count_or_not_at_all(
        self, study: Study, monkeypatch: pytest.MonkeyPatch, action: Callable[..., Any]
    ) -> None:
        mine = study.assignment(study.ada)
        run_out(mine)
        monkeypatch.setattr(leases, "Item", SimpleNamespace(objects=SimpleNamespace(filter=broken)))
        with pytest.raises(RuntimeError):
            action(study, mine)
        assert open_assignments(study.campaign).get() == mine
        assert_whole(study.campaign)

    def test_several_slots_are_released_all_or_none(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mine = study.assignment(study.ada)
        study.assignment(study.ben)
        one, released = leases.release, []

        def twice(each: Assignment, why: Ended) -> bool:
            released.append(each)
            return one(each, why) if len(released) % 2 else broken()

        monkeypatch.setattr(leases, "release", twice)
        with pytest.raises(RuntimeError):
            release_others(User.objects.none(), study.campaign)
        assert open_assignments(study.campaign).count() == 2
        other = create_campaign(
            "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
        ).campaign
        assert next_assignment(other, mine.rater)
        with pytest.raises(RuntimeError):
            leases.release_all(study.ada, Ended.LEFT)
        assert (open_assignments(study.campaign).count(), open_assignments(other).count()) == (2, 1)

    def test_slots_are_released_with_their_event_or_not_at_all(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mine = study.assignment(study.ada)
        monkeypatch.setattr(leases, "record", broken)
        with pytest.raises(RuntimeError):
            free(study.campaign, mine.rater_id)
        assert open_assignments(study.campaign).get() == mine

    def test_a_lease_length_is_set_with_the_current_leases_or_not_at_all(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(leases, "open_assignments", broken)
        with pytest.raises(RuntimeError):
            set_lease(study.campaign, 30)
        assert Campaign.objects.get().hold_minutes == 60

    def test_an_expired_slot_is_reclaimed_completely_or_not_at_all(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mine = study.assignment(study.ada)
        assert release(mine, Ended.EXPIRED)
        mine.refresh_from_db()
        monkeypatch.setattr(queue, "reopen", broken)
        with pytest.raises(RuntimeError):
            reclaim(mine)
        assert_whole(study.campaign)
        assert not open_assignments(study.campaign).exists()


class TestRelease:
    def test_only_people_outside_the_given_ones_lose_their_slots(self, study: Study) -> None:
        other = create_campaign(
            "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
        ).campaign
        mine, bens = study.assignment(study.ada), study.assignment(study.ben)
        there = next_assignment(other, rater_of(study.ben))
        machine = study.campaign.items.exclude(pk=mine.item_id).get()
        alone = Assignment.objects.create(
            item=machine, rater=make_nobody(), asked=[], slot=2, held_until=timezone.now()
        )
        Item.objects.filter(pk=machine.pk).update(taken=1)
        users = User.objects.filter(pk=study.ada.pk)
        assert release_others(users, study.campaign) == 1
        assert set(open_assignments(study.campaign)) == {mine, alone}
        assert open_assignments(other).get() == there
        bens.refresh_from_db()
        state = (bens.status, bens.reason, bens.slot, bens.held_until)
        assert state == ("cancelled", "expired", None, None)
        assert_whole(study.campaign)

    def test_released_slots_are_recorded_once(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        assert free(study.campaign, mine.rater_id) == 1
        assert free(study.campaign, mine.rater_id) == 0
        event = Event.objects.get(event="places.freed")
        assert (event.campaign, event.object_id) == (study.campaign.pk, str(mine.rater_id))
        assert event.facts["places"] == 1

    def test_only_an_open_assignments_lease_is_extended(self, study: Study) -> None:
        mine, bens = study.assignment(study.ada), study.assignment(study.ben)
        long_ago = timezone.now() - timedelta(hours=1)
        Assignment.objects.update(held_until=long_ago)
        extend(mine)
        mine.refresh_from_db()
        bens.refresh_from_db()
        assert mine.held_until is not None
        assert timedelta(minutes=59) < mine.held_until - timezone.now() <= timedelta(minutes=60)
        assert bens.held_until == long_ago
        for changed in ({"status": "done"}, {"status": "open", "slot": None}):
            Assignment.objects.filter(pk=mine.pk).update(**changed, held_until=long_ago)
            extend(mine)
            mine.refresh_from_db()
            assert mine.held_until == long_ago
            assert mine not in open_assignments(study.campaign)
            assert not release(mine, Ended.FREED)

    def test_only_expired_leases_are_loaded(self, study: Study) -> None:
        def over() -> list[tuple[int, int]]:
            found = leases._expired.rows(campaign=study.campaign.pk, now=timezone.now())
            return [(pk, item) for pk, item in found]

        mine, bens = study.assignment(study.ada), study.assignment(study.ben)
        assert over() == []
        run_out(bens)
        assert over() == [(bens.pk, bens.item_id)]
        run_out(mine)
        assert over() == [(mine.pk, mine.item_id), (bens.pk, bens.item_id)]

    def test_without_a_lease_length_nothing_expires_or_is_extended(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        run_out(mine)
        before = Assignment.objects.get(pk=mine.pk).held_until
        Campaign.objects.update(hold_minutes=None)
        mine = Assignment.objects.get(pk=mine.pk)
        assert leases.lease_end(mine.item.campaign) is None
        assert leases.release_expired(mine.item.campaign) == 0
        extend(mine)
        assert Assignment.objects.get(pk=mine.pk).held_until == before


def make_nobody() -> Any:
    from annotation.models import Rater

    return Rater.objects.create(name="imported")


class TestLocks:
    """Several slots are always locked in the same order, which prevents deadlocks."""

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "action",
        [
            lambda study: lock_rows([9, 8]),
            lambda study: lock_assignments({9: None, 8: None}),
            lambda study: leases.release_all(study.ada, Ended.LEFT),
            lambda study: free(study.campaign, 1),
        ],
    )
    def test_assignments_are_locked_in_the_order_of_their_ids(
        self, study: Study, action: Callable[[Study], object]
    ) -> None:
        study.assignment(study.ada)
        with CaptureQueriesContext(connection) as asked:
            action(study)
        locking = [
            each["sql"]
            for each in asked.captured_queries
            if each["sql"].startswith("SELECT") and "ORDER BY" in each["sql"]
        ]
        assert locking
        assert re.search(r"ORDER BY (1|\"annotation_assignment\"\.\"id\") ASC", locking[0])


class TestReclaiming:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("stored", "seen", "taken"),
        [
            ({}, {}, True),
            ({"reason": "freed"}, {"reason": "freed"}, False),
            ({"reason": "freed"}, {}, False),
            ({"status": "open"}, {}, False),
            ({}, {"status": "open"}, False),
        ],
    )
    def test_only_an_expired_assignment_is_reclaimed(
        self, study: Study, stored: dict[str, str], seen: dict[str, str], taken: bool
    ) -> None:
        mine = study.assignment(study.ada)
        release(mine, Ended.EXPIRED)
        mine.refresh_from_db()
        Assignment.objects.filter(pk=mine.pk).update(**stored)
        for name, value in seen.items():
            setattr(mine, name, value)
        assert reclaim(mine) == taken
        assert (Item.objects.get(pk=mine.item_id).taken == 1) == taken

    def test_a_full_item_allows_no_reclaiming(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        release(mine, Ended.EXPIRED)
        mine.refresh_from_db()
        Item.objects.filter(pk=mine.item_id).update(quota=0)
        assert not reclaim(mine)
        assert Assignment.objects.get(pk=mine.pk).status == "cancelled"


def test_locked_assignments_come_with_current_and_already_sent_answers(study: Study) -> None:
    mine, bens = study.assignment(study.ada), study.assignment(study.ben)
    plain = lock_assignments({mine.pk: None, bens.pk: "k"})
    assert plain == lock_rows([mine.pk, bens.pk])
    assert plain[mine.pk][:3] == ("open", mine.lease, mine.seconds)
    old, now = (
        Response.objects.create(
            assignment=mine, revision=n, current=n == 2, payload={}, door="page", key=f"k{n}"
        )
        for n in (1, 2)
    )
    draft = Draft.objects.create(assignment=bens, payload={})
    found = lock_assignments({mine.pk: "k1", bens.pk: None})
    assert (found[mine.pk].current, found[mine.pk].sent, found[mine.pk].draft) == (now, old, None)
    assert (found[bens.pk].current, found[bens.pk].sent, found[bens.pk].draft) == (
        None, None, draft,
    )  # fmt: skip
    assert lock_assignments({mine.pk: "k2"})[mine.pk].sent == now
    assert lock_assignments({mine.pk: "other"})[mine.pk].sent is None
    crossed = lock_assignments({mine.pk: None, bens.pk: "k1"})
    assert (crossed[mine.pk].sent, crossed[bens.pk].sent) == (None, None)
    Response.objects.filter(pk=now.pk).delete()
    only = lock_assignments({mine.pk: "k1"})[mine.pk]
    assert (only.current, only.sent) == (None, old)


class TestOpening:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("is_open", "hours", "takes"),
        [(True, None, True), (True, 1, True), (True, -1, False), (False, None, False),
         (False, 1, False), (False, -1, False)],
    )  # fmt: skip
    def test_a_campaign_is_open_until_it_is_closed_or_past_its_deadline(
        self, study: Study, is_open: bool, hours: int | None, takes: bool
    ) -> None:
        due = None if hours is None else timezone.now() + timedelta(hours=hours)
        Campaign.objects.update(is_open=is_open, deadline=due)
        assert Campaign.objects.filter(open_now()).exists() == takes
        assert Item.objects.filter(open_now("campaign")).exists() == takes

    def test_settings_sent_with_a_refused_opening_are_not_stored(self, study: Study) -> None:
        Campaign.objects.update(is_open=False, deadline=timezone.now() - timedelta(hours=1))
        with pytest.raises(DesignError, match="its deadline is past"):
            change(study.campaign, CampaignSettings(language="de"), is_open=True)
        stored = Campaign.objects.get()
        assert (stored.is_open, stored.language) == (False, Campaign(name="x").language)
        assert not Event.objects.filter(event__startswith="campaign.o").exists()
        change(study.campaign, CampaignSettings(removed=("deadline",), language="de"), is_open=True)
        assert (study.campaign.is_open, study.campaign.language) == (True, "de")

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("terms", "is_open", "event", "facts"),
        [
            (CampaignSettings(), False, "campaign.closed", {}),
            (CampaignSettings(language="de"), False, "campaign.closed", {"language": "changed"}),
            (CampaignSettings(language="de", gold_every=3), None, "campaign.terms",
             {"language": "changed", "gold_every": "changed"}),
            (CampaignSettings(), True, None, {}),
            (CampaignSettings(), None, None, {}),
        ],
    )  # fmt: skip
    def test_one_change_is_one_event(
        self, study: Study, terms: CampaignSettings, is_open: bool | None, event: str | None,
        facts: dict[str, str],
    ) -> None:  # fmt: skip
        before = set(Event.objects.values_list("pk", flat=True))
        change(study.campaign, terms, is_open)
        new = list(Event.objects.exclude(pk__in=before))
        events = [(each.event, each.campaign, each.facts) for each in new]
        assert events == ([(event, study.campaign.pk, facts)] if event else [])
        for stored in new:
            assert stored.before != stored.after
            assert stored.object_id == str(study.campaign.pk)

    def test_closing_and_reopening_are_separate_events(self, study: Study) -> None:
        change(study.campaign, CampaignSettings(), is_open=False)
        change(study.campaign, CampaignSettings(), is_open=True)
        kinds = Event.objects.filter(event__in=("campaign.closed", "campaign.opened"))
        assert list(kinds.order_by("pk").values_list("event", flat=True)) == [
            "campaign.closed", "campaign.opened",
        ]  # fmt: skip
        closed, opened = kinds.order_by("pk")
        assert (closed.before, closed.after) == (opened.after, opened.before)

    def test_an_archived_campaign_is_closed_until_it_is_opened(self, study: Study) -> None:
        def state() -> tuple[bool, bool]:
            return study.campaign.is_open, study.campaign.is_archived

        change(study.campaign, CampaignSettings(), is_archived=True)
        assert state() == (False, True)
        change(study.campaign, CampaignSettings(), is_archived=False)
        assert state() == (False, False)
        change(study.campaign, CampaignSettings(), is_archived=True)
        change(study.campaign, CampaignSettings(), is_open=True)
        assert state() == (True, False)
        with pytest.raises(DesignError, match="an archived campaign is closed"):
            change(study.campaign, CampaignSettings(), is_open=True, is_archived=True)
        events = Event.objects.filter(campaign=study.campaign.pk, event__startswith="campaign.")
        assert list(events.order_by("pk").values_list("event", flat=True))[-4:] == [
            "campaign.archived", "campaign.restored", "campaign.archived", "campaign.opened",
        ]  # fmt: skip
