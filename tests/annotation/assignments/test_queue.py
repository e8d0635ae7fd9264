"""Who gets which slot next: which items count as taken, waiting or free, and which limits apply."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.assignments import queue
from annotation.assignments.queue import (
    claim_slot,
    free_items,
    has_lost_access,
    has_reached_limit,
    may_take_items,
    next_assignment,
    reclaim,
    reopen,
)
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import CARRIED, Assignment, Campaign, Item, Rater, rater_of
from annotation.people.leases import set_lease
from annotation.people.membership import end_membership, set_pool
from datasets.db.prepared import Call, Row
from datasets.models import Batch
from tests.databases import rolling_back
from tests.once import once
from tests.page_cast import Study, make_study

pytestmark = pytest.mark.django_db
BACK: dict[str, Any] = {"status": "cancelled", "reason": "expired", "slot": None}


@once
def study() -> Study:
    return make_study(reports=3, people=2)


@pytest.fixture
def other(study: Study) -> Campaign:
    return create_campaign(
        "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
    ).campaign


def row(item: Item, rater: Rater, **changes: Any) -> Assignment:
    return Assignment.objects.create(item=item, rater=rater, asked=[], **changes)


def items_of(campaign: Campaign) -> list[Item]:
    return list(campaign.items.order_by("position"))


def test_a_new_assignment_has_slot_lease_and_order(study: Study) -> None:
    first, *_ = items_of(study.campaign)
    Assignment.objects.all().delete()
    mine = next_assignment(study.campaign, rater_of(study.ada))
    assert mine is not None
    stored = Assignment.objects.get()
    for each in (mine, stored):
        columns = (each.item, each.rater, each.slot, each.status, each.reason, each.scope)
        assert columns == (first, rater_of(study.ada), 1, "open", "", "")
        assert (each.replicate, each.attempts, each.held_until) == (0, 0, None)
        assert (each.asked, each.shown) == (["q:0", "q:1", "q:2"], [])
    assert [item.taken for item in items_of(study.campaign)] == [1, 0, 0]


def test_only_an_expired_lease_makes_an_item_available_again(study: Study) -> None:
    ada, (first, second, third) = rater_of(study.ada), items_of(study.campaign)
    table: list[tuple[dict[str, Any], list[Item]]] = [
        (BACK, [first, second, third]),
        (BACK | {"reason": "freed"}, [second, third]),
        (BACK | {"reason": "left"}, [second, third]),
        (BACK | {"status": "failed"}, [second, third]),
        ({"status": "done", "slot": 1}, [second, third]),
        ({"status": "done", "slot": None}, [second, third]),
        ({"status": "done", "slot": None, "scope": CARRIED}, [first, second, third]),
    ]
    for changes, left in table:
        with rolling_back():
            row(first, ada, **changes)
            assert list(free_items(study.campaign, ada)) == left, changes
            assert list(free_items(study.campaign, rater_of(study.ben))) == [first, second, third]
            taken = next_assignment(study.campaign, ada)
            assert taken is not None
            assert taken.item == left[0], changes
            assert (taken.status, taken.reason, taken.slot) == ("open", "", 1)


def test_only_expired_assignments_are_reopened(study: Study) -> None:
    ada, (first, second, third) = rater_of(study.ada), items_of(study.campaign)
    kept = [row(second, ada, status="done", slot=1), row(first, ada, scope=CARRIED, status="done"),
            row(first, rater_of(study.ben), **BACK)]  # fmt: skip
    expired = row(first, ada, **BACK)
    assert next_assignment(study.campaign, ada) == expired
    assert [Assignment.objects.get(pk=each.pk).status for each in kept] == [
        "done", "done", "cancelled"
    ]  # fmt: skip
    Assignment.objects.filter(pk=expired.pk).update(status="done")
    found = next_assignment(study.campaign, ada)
    assert found is not None
    assert found.item == third


def test_only_items_of_the_campaign_with_a_free_slot_are_free(
    study: Study, other: Campaign
) -> None:
    ada, items = rater_of(study.ada), items_of(study.campaign)
    for taken, quota, is_free in ((0, 1, True), (1, 2, True), (1, 1, False), (0, 0, False)):
        with rolling_back():
            Item.objects.filter(pk=items[0].pk).update(taken=taken, quota=quota)
            assert list(free_items(study.campaign, ada)) == items[0 if is_free else 1 :]
            found = next_assignment(study.campaign, ada)
            assert found is not None
            assert found.item == items[0 if is_free else 1]
    Item.objects.filter(campaign=study.campaign).update(quota=0)
    assert next_assignment(study.campaign, ada) is None
    there = next_assignment(other, ada)
    assert there is not None
    assert there.item == items_of(other)[0]


def test_gold_and_practice_items_are_not_given_in_turn(study: Study) -> None:
    ada, (first, second, third) = rater_of(study.ada), items_of(study.campaign)
    for item, use in ((first, "gold"), (second, "practice")):
        Item.objects.filter(pk=item.pk).update(use=use)
    found = next_assignment(study.campaign, ada)
    assert found is not None
    assert found.item == third


def test_waiting_items_keep_their_order(study: Study, other: Campaign) -> None:
    ada, (first, second, third) = rater_of(study.ada), items_of(study.campaign)
    row(items_of(other)[0], ada, slot=1)
    row(first, rater_of(study.ben), slot=1)
    row(first, ada, status="done", slot=2)
    later = row(third, ada, slot=1)
    sooner = row(second, ada, slot=1)
    assert next_assignment(study.campaign, ada) == sooner
    Assignment.objects.filter(pk=sooner.pk).update(slot=None)
    assert next_assignment(study.campaign, ada) == later
    assert [item.taken for item in items_of(study.campaign)] == [0, 0, 0]


def test_finding_the_next_item_reads_a_single_one(study: Study) -> None:
    ada = rater_of(study.ada)
    with CaptureQueriesContext(connection) as asked:
        assert next_assignment(study.campaign, ada) == next_assignment(study.campaign, ada)
    ends = [query["sql"].rpartition("ORDER BY")[2] for query in asked if "LIMIT" in query["sql"]]
    # Where statements are sent together, free items are looked up along with waiting ones.
    looks = 4 if connection.features.has_select_for_update else 3
    assert [end.split("LIMIT")[1].strip() for end in ends] == ["1"] * looks


def test_a_person_at_the_limit_still_gets_their_open_item(study: Study) -> None:
    study.campaign.items_per_person = 1
    study.campaign.save()
    ada = rater_of(study.ada)
    mine = next_assignment(study.campaign, ada)
    assert mine is not None
    assert next_assignment(study.campaign, ada) == mine
    Assignment.objects.update(status="done")
    assert next_assignment(study.campaign, ada) is None


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({"status": "open", "slot": 1}, True),
        ({"status": "done", "slot": 1}, True),
        ({"status": "open", "slot": None}, False),
        ({"status": "done", "slot": None}, False),
        ({"status": "failed", "slot": 1}, False),
        (BACK, False),
    ],
)
def test_the_limit_of_items_counts_slots(
    study: Study, changes: dict[str, Any], counts: bool
) -> None:
    ada, (first, second, third) = rater_of(study.ada), items_of(study.campaign)
    study.campaign.items_per_person = 2
    row(first, ada, slot=1, status="done")
    row(third, rater_of(study.ben), slot=1)
    assert not has_reached_limit(study.campaign, ada)
    row(second, ada, **changes)
    assert has_reached_limit(study.campaign, ada) == counts
    for limit, enough in ((1, True), (3, False), (0, False), (None, False)):
        study.campaign.items_per_person = limit
        assert has_reached_limit(study.campaign, ada) == enough


def test_items_of_another_campaign_do_not_count_towards_the_limit(
    study: Study, other: Campaign
) -> None:
    ada = rater_of(study.ada)
    study.campaign.items_per_person = 1
    row(items_of(other)[0], ada, slot=1)
    assert not has_reached_limit(study.campaign, ada)


def test_the_lowest_slot_that_is_free_is_claimed(study: Study) -> None:
    first, second, _ = items_of(study.campaign)
    Item.objects.filter(pk=first.pk).update(quota=5, taken=2)
    row(first, rater_of(study.ada), slot=1)
    row(first, rater_of(study.ben), slot=3)
    row(first, rater_of(study.rita), **BACK)
    row(second, rater_of(study.ada), slot=2)
    assert claim_slot(first) == 2
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.taken, second.taken) == (3, 0)
    row(first, rater_of(study.root), slot=2)
    assert claim_slot(first) == 4


def test_a_reclaimed_slot_gets_the_campaigns_lease(study: Study) -> None:
    first, *_ = items_of(study.campaign)
    for minutes in (None, 5):
        with rolling_back():
            set_lease(study.campaign, minutes)
            mine = row(first, rater_of(study.ada), **BACK, held_until=timezone.now())
            mine.item = Item.objects.get(pk=first.pk)
            assert reopen(mine, 2) is mine
            stored = Assignment.objects.get(pk=mine.pk)
            assert (stored.status, stored.reason, stored.slot) == ("open", "", 2)
            if minutes is None:
                assert stored.held_until is None
            else:
                assert stored.held_until is not None
                left = stored.held_until - timezone.now()
                assert timedelta(minutes=4) < left <= timedelta(minutes=5)


def test_losing_a_slot_to_another_person_tries_the_next_item(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, (first, second, _) = rater_of(study.ada), items_of(study.campaign)
    claim, races = queue.claim_slot, []

    def beaten(item: Item) -> int | None:
        races.append(item)
        if item == first:
            Item.objects.filter(pk=item.pk).update(quota=0)
        return claim(item)

    monkeypatch.setattr(queue, "claim_slot", beaten)
    for before in ({}, BACK):
        with rolling_back():
            if before:
                row(first, ada, **before)
            races.clear()
            found = next_assignment(study.campaign, ada)
            assert found is not None
            assert (found.item, races) == (second, [first, second])
            assert Assignment.objects.filter(item=first, status="open").count() == 0


def test_a_late_person_reclaims_an_expired_item_if_still_allowed(
    study: Study, other: Campaign
) -> None:
    ada, (first, second, _) = rater_of(study.ada), items_of(study.campaign)
    for changes, taken in (
        ({}, True),
        ({"reason": "freed"}, False),
        ({"status": "failed"}, False),
        ({"status": "open", "slot": 1, "reason": ""}, False),
    ):
        with rolling_back():
            mine = row(first, ada, **{**BACK, **changes})
            before = Assignment.objects.values().get(pk=mine.pk)
            assert reclaim(mine) is taken
            if taken:
                stored = Assignment.objects.get(pk=mine.pk)
                assert (stored.status, stored.reason, stored.slot) == ("open", "", 1)
                assert Item.objects.get(pk=first.pk).taken == 1
            else:
                assert Assignment.objects.values().get(pk=mine.pk) == before
    mine = row(first, ada, **BACK)
    stale = Assignment.objects.select_related("item__campaign").get(pk=mine.pk)
    Assignment.objects.filter(pk=mine.pk).update(reason="freed")
    assert not reclaim(stale), "another request has changed it meanwhile"
    Assignment.objects.filter(pk=mine.pk).update(**BACK)
    with rolling_back():
        Item.objects.update(quota=0)
        assert not reclaim(stale)
    with rolling_back():
        end_membership(study.campaign, study.ada)
        assert not reclaim(stale)
    with rolling_back():
        row(second, ada, status="done", slot=1)
        stale.item.campaign.items_per_person = 1
        assert not reclaim(stale)
        stale.item.campaign.items_per_person = 2
        assert reclaim(stale)
    stale = Assignment.objects.select_related("item__campaign").get(pk=mine.pk)
    stale.item.campaign.is_open = False
    assert not reclaim(stale)


def test_an_item_that_cannot_be_assigned_keeps_its_slot_free(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def run(self, row: Assignment) -> None:
            raise OSError("no space left")

    monkeypatch.setattr(queue, "_assign", Full())
    with pytest.raises(OSError, match="no space left"):
        next_assignment(study.campaign, rater_of(study.ada))
    assert [item.taken for item in items_of(study.campaign)] == [0, 0, 0]


@pytest.mark.parametrize("locks", [True, False])
def test_simultaneous_clicks_of_one_person_are_serialised(
    study: Study, monkeypatch: pytest.MonkeyPatch, locks: bool
) -> None:
    ada, locked, lock = rater_of(study.ada), list[int](), queue._lock

    class Lock:
        def call(self, rater: int) -> Call[list[Row]]:
            locked.append(rater)
            return lock.call(rater=rater)

    rater_of(study.ben)
    with transaction.atomic():
        assert [pk for (pk,) in lock.rows(rater=ada.pk)] == [ada.pk]
    features = SimpleNamespace(has_select_for_update=locks)
    monkeypatch.setattr(queue, "connection", SimpleNamespace(features=features))
    monkeypatch.setattr(queue, "_lock", Lock())
    assert next_assignment(study.campaign, ada)
    assert locked == [ada.pk] * locks


def test_a_permitted_person_may_take_items(study: Study, other: Campaign) -> None:
    ada, imported = rater_of(study.ada), Rater.objects.create(name="imported")
    done = row(items_of(study.campaign)[0], ada, slot=1, status="done")
    assert may_take_items(study.campaign, ada)
    assert may_take_items(study.campaign, imported)
    set_pool(study.campaign, Campaign.Pool.NAMED)
    assert not may_take_items(study.campaign, ada)
    assert not may_take_items(study.campaign, imported)
    assert may_take_items(other, ada)
    assert next_assignment(study.campaign, ada) is None
    assert has_lost_access(Assignment.objects.get(pk=done.pk))
    set_pool(study.campaign, Campaign.Pool.OPEN)
    assert not has_lost_access(Assignment.objects.get(pk=done.pk))
    end_membership(study.campaign, study.ada)
    assert has_lost_access(Assignment.objects.get(pk=done.pk))
    for status in ("open", "cancelled", "failed"):
        done.status = status
        assert not has_lost_access(done)
