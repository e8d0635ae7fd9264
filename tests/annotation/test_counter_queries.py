"""Pages query the counters correctly over rows in PostgreSQL's form."""

from __future__ import annotations

import pytest
from django.db.models import Q

from annotation.answers.submission import submit
from annotation.assignments.queue import (
    claim_slot,
    has_lost_access,
    has_reached_limit,
    may_take_items,
    next_assignment,
    order_for,
    reopen,
)
from annotation.audit_log import count_answers
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.counters import answers_by_rater, count_raters, numbers, raters_in, sum_counts
from annotation.models import Campaign, Item, Rater, Response, rater_of
from annotation.people.membership import end_membership
from audit.models import Event
from datasets.models import Batch
from tests.once import once
from tests.page_cast import Study, make_study, payload

pytestmark = pytest.mark.django_db
DONE, OPEN = "answers/study/done/placed", "answers/study/open/placed"


@once
def study() -> Study:
    return make_study(reports=3)


@pytest.fixture
def other(study: Study) -> Campaign:
    return create_campaign(
        "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
    ).campaign


def test_counts_by_rater_are_for_one_campaign(study: Study, other: Campaign) -> None:
    ada, ben = rater_of(study.ada), rater_of(study.ben)
    for user in (study.ada, study.ada, study.ben):
        submit(study.assignment(user), payload("no"), "page")
    study.assignment(study.ben)
    assert next_assignment(other, ada)
    assert answers_by_rater(study.campaign) == {ada.pk: {DONE: 2}, ben.pk: {DONE: 1, OPEN: 1}}
    assert answers_by_rater(other) == {ada.pk: {OPEN: 1}}
    assert set(raters_in(study.campaign.pk)) == {ada.pk, ben.pk}
    assert set(raters_in(other.pk)) == {ada.pk}
    assert set(raters_in(other.pk, study.campaign.pk)) == {ada.pk, ben.pk}
    assert set(raters_in()) == set()
    rows = Campaign.objects.annotate(
        done=sum_counts(DONE),
        all=sum_counts(DONE, OPEN),
        adas=sum_counts(DONE, OPEN, raters=Q(rater=ada.pk)),
        people=count_raters(DONE, OPEN, raters=Q(rater__kind="human")),
        at_work=count_raters(OPEN, raters=Q(rater__kind="human")),
        judges=count_raters(DONE, OPEN, raters=Q(rater__kind="judge")),
    ).values_list("name", "done", "all", "adas", "people", "at_work", "judges")
    assert set(rows) == {("Pilot", 3, 4, 2, 2, 1, 0), ("Other", 0, 1, 1, 1, 1, 0)}


def test_zero_counts_are_left_out(study: Study) -> None:
    held = study.assignment(study.ada)
    submit(held, payload("no"), "page")
    assert answers_by_rater(study.campaign) == {held.rater_id: {DONE: 1}}
    counts = numbers(study.campaign)
    assert counts == {
        "free/study": 3, "items/study": 3, "places/study": 6, "queries/evaluation/drawn": 1,
        "units/drawn": 9,
    }  # fmt: skip
    assert list(counts) == sorted(counts)
    held.delete()
    assert answers_by_rater(study.campaign) == {}
    assert set(raters_in(study.campaign.pk)) == set()


class TestCountsForTheTrail:
    def recorded(self) -> list[tuple[int | None, dict[str, int]]]:
        rows = Event.objects.filter(event="answers.counted").order_by("pk")
        return list(rows.values_list("campaign", "facts"))

    def test_new_answers_are_counted_by_campaign_and_channel(
        self, study: Study, other: Campaign
    ) -> None:
        def newest() -> int:
            return Response.objects.latest("pk").pk

        assert count_answers() == 0
        submit(study.assignment(study.ada), payload("no"), "page")
        submit(study.assignment(study.ben), payload("no"), "api")
        assert count_answers() == 1
        assert self.recorded() == [(study.campaign.pk, {"upto": newest(), "page": 1, "api": 1})]
        assert count_answers() == 0
        elsewhere = next_assignment(other, rater_of(study.ada))
        assert elsewhere is not None
        submit(elsewhere, payload("no"), "page")
        assert count_answers() == 1
        assert self.recorded()[1:] == [(other.pk, {"upto": newest(), "page": 1})]
        submit(study.assignment(study.ada), payload("no"), "page")
        assert count_answers() == 1
        facts = {"upto": newest(), "page": 2, "api": 1}
        assert self.recorded()[2:] == [(study.campaign.pk, facts)]


class TestSlots:
    def item(self, study: Study) -> Item:
        return study.campaign.items.get(position=0)

    def test_the_lowest_free_slot_is_claimed_up_to_the_quota(self, study: Study) -> None:
        mine, theirs = study.assignment(study.ada), study.assignment(study.ben)
        assert (mine.item, theirs.item, mine.slot, theirs.slot) == (
            self.item(study), self.item(study), 1, 2,
        )  # fmt: skip
        assert claim_slot(self.item(study)) is None
        mine.status, mine.slot = "cancelled", None
        mine.save()
        Item.objects.filter(pk=mine.item_id).update(taken=1)
        assert claim_slot(self.item(study)) == 1
        assert self.item(study).taken == 2

    def test_a_reclaimed_slot_is_open(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        study.campaign.hold_minutes = 5
        mine.item.campaign = study.campaign
        mine.status, mine.reason, mine.slot, mine.held_until = "cancelled", "expired", None, None
        mine.save()
        reopen(mine, 2)
        mine.refresh_from_db()
        assert (mine.status, mine.reason, mine.slot) == ("open", "", 2)
        assert mine.held_until is not None

    def test_a_removed_persons_answered_items_stay_as_they_are(self, study: Study) -> None:
        done = study.assignment(study.ada)
        submit(done, payload("no"), "page")
        done.refresh_from_db()
        begun = study.assignment(study.ada)
        assert may_take_items(study.campaign, done.rater)
        assert not has_lost_access(done)
        end_membership(study.campaign, study.ada)
        assert not may_take_items(study.campaign, done.rater)
        assert has_lost_access(done)
        assert not has_lost_access(begun)

    def test_without_a_limit_nobody_has_reached_it(self, study: Study) -> None:
        study.campaign.items_per_person = 0
        assert not has_reached_limit(study.campaign, Rater.objects.create(name="x"))

    def test_a_fixed_order_is_the_stored_order(self, study: Study) -> None:
        item = self.item(study)
        assert order_for(item, Rater(name="x")) == (["q:0", "q:1", "q:2"], [])
        item.campaign.options = {**item.campaign.options, "order": "random"}
        orders = [tuple(order_for(item, Rater(name=f"x{n}"))[0]) for n in range(9)]
        assert len(set(orders)) > 1
        assert {tuple(sorted(order)) for order in orders} == {("q:0", "q:1", "q:2")}
        assert orders[0] == tuple(order_for(item, Rater(name="x0"))[0])
