"""What an account can access: its own work with neighbouring items, and nothing hidden from it."""

from __future__ import annotations

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from annotation.access import (
    Neighbours,
    ever_my_assignment,
    get_account,
    intake_campaigns,
    is_blind,
    managed_campaign,
    may_read,
    my_assignment,
    my_assignments,
    my_declined_assignments,
    my_expired_assignments,
    open_campaigns,
    readable_campaign,
    visible_accounts,
    visible_assignments,
    visible_campaigns,
    visible_items,
    visible_raters,
    with_neighbours,
)
from annotation.api import access as api
from annotation.api.access import batch_named, campaign_named, check_blind
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design
from annotation.campaigns.settings import CampaignSettings
from annotation.models import (
    CARRIED,
    REVOKED,
    Assignment,
    Campaign,
    Consent,
    ConsentText,
    Item,
    Rater,
    User,
    rater_of,
)
from annotation.people.consent import IntakeOwedError
from annotation.people.membership import end_membership
from datasets.access import NotManagedError
from datasets.api.base import BlindError, RefusedBodyError
from datasets.models import Batch
from tests.once import once
from tests.page_cast import Study, make_study
from tests.team_cast import give_away, join_team

pytestmark = pytest.mark.django_db

EXPIRED: dict[str, Any] = {"status": "cancelled", "reason": "expired"}
NOT_OF_PAGES: list[dict[str, Any]] = [{"replicate": 1}, {"scope": "q:0"}]
"""Repetitions and imports of parts."""
NOT_ON_SHOW = ["leased", "failed", "declined", "cancelled"]


@once
def study() -> Study:
    return make_study(reports=4, people=2)


@pytest.fixture
def other(study: Study) -> Campaign:
    return create_campaign(
        "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
    ).campaign


def items_of(campaign: Campaign) -> list[Item]:
    return list(campaign.items.order_by("position"))


def row(item: Item, rater: Rater | User, **changes: Any) -> Assignment:
    who = rater_of(rater) if isinstance(rater, User) else rater
    return Assignment.objects.create(item=item, rater=who, asked=[], **changes)


class TestCampaigns:
    def test_a_request_without_an_account_is_denied(self) -> None:
        request = RequestFactory().get("/")
        request.user = AnonymousUser()
        with pytest.raises(PermissionDenied):
            get_account(request)

    def test_researchers_read_campaigns_of_their_team_and_annotators_none(
        self, study: Study
    ) -> None:
        request = RequestFactory().get("/")
        request.user = study.rita
        assert readable_campaign(request, study.campaign.pk) == study.campaign
        give_away(study.campaign)
        for user in (study.rita, study.ada):
            request.user = user
            with pytest.raises(Http404):
                readable_campaign(request, study.campaign.pk)

    def test_an_open_campaign_with_a_free_slot_is_listed_by_name(
        self, study: Study, other: Campaign
    ) -> None:
        assert list(visible_campaigns(study.ada)) == [other, study.campaign]
        assert set(open_campaigns(study.ada)) == {other, study.campaign}
        other.items.update(taken=1)
        assert list(visible_campaigns(study.ada)) == [study.campaign]
        study.campaign.items.update(taken=1)
        assert list(visible_campaigns(study.ada)) == [study.campaign], "a second place is free"
        study.campaign.items.update(taken=2)
        assert list(visible_campaigns(study.ada)) == []

    def test_a_campaign_with_only_practice_left_is_listed_and_with_only_gold_is_not(
        self, study: Study
    ) -> None:
        for use, listed in (("gold", False), ("practice", True)):
            study.campaign.items.update(use=use)
            assert visible_campaigns(study.ada).exists() == listed, use

    def test_ones_own_work_keeps_a_campaign_listed_and_that_of_others_does_not(
        self, study: Study, other: Campaign
    ) -> None:
        row(items_of(study.campaign)[0], study.ada, status="done")
        Campaign.objects.update(is_open=False)
        assert list(visible_campaigns(study.ada)) == [study.campaign]
        assert list(visible_campaigns(study.ben)) == []
        assert list(open_campaigns(study.ada)) == []

    def test_a_campaign_all_of_whose_items_a_person_lost_is_not_listed(self, study: Study) -> None:
        for item in items_of(study.campaign):
            row(item, study.ada, **EXPIRED)
        assert list(visible_campaigns(study.ada)) == []
        assert list(visible_campaigns(study.ben)) == [study.campaign]

    def test_a_removed_person_is_offered_no_campaign(self, study: Study) -> None:
        end_membership(study.campaign, study.ada)
        assert list(visible_campaigns(study.ada)) == []

    def test_researchers_see_their_campaigns_by_name(self, study: Study, other: Campaign) -> None:
        study.campaign.items.update(taken=2)
        found = list(visible_campaigns(study.rita))
        assert found == [other, study.campaign]


class TestPeople:
    def test_only_admins_see_accounts_by_name(self, study: Study) -> None:
        names = [user.username for user in visible_accounts(study.root)]
        assert names == ["ada", "ben", "rita", "root"]
        for user in (study.ada, study.rita):
            assert not visible_accounts(user).exists()

    def test_raters_of_a_campaign_are_listed_once_without_trials(
        self, study: Study, other: Campaign
    ) -> None:
        first, second, *_ = items_of(study.campaign)
        trial = Rater.objects.create(name="trial", kind=Rater.Kind.TRIAL)
        judge = Rater.objects.create(name="judge", kind=Rater.Kind.JUDGE)
        for item in (first, second):
            row(item, study.ada)
        row(first, trial)
        row(second, judge)
        row(items_of(other)[0], study.ben)
        assert sorted(visible_raters(study.campaign).values_list("pk", flat=True)) == sorted(
            [rater_of(study.ada).pk, judge.pk]
        )
        assert [each.rater.name for each in visible_assignments(study.campaign)] == [
            rater_of(study.ada).name, rater_of(study.ada).name, "judge",
        ]  # fmt: skip


class TestItems:
    def numbers(self, study: Study) -> list[int]:
        return [vars(item)["units_total"] for item in visible_items(study.campaign)]

    def test_items_are_in_order_with_their_number_of_units(self, study: Study) -> None:
        first, *_, last = items_of(study.campaign)
        last.units.get(position=0).delete()
        first.units.all().delete()
        assert self.numbers(study) == [0, 3, 3, 2]
        Item.objects.filter(pk=first.pk).update(position=9)
        assert self.numbers(study) == [3, 3, 2, 0]

    def test_assignments_are_ordered_by_item_and_then_by_creation(self, study: Study) -> None:
        first, second, *_ = items_of(study.campaign)
        late, early, next_one = (
            row(second, study.ada), row(first, study.ben), row(first, study.ada)
        )  # fmt: skip
        assert list(visible_assignments(study.campaign)) == [early, next_one, late]


class TestOwnAssignments:
    @pytest.mark.every_case
    @pytest.mark.parametrize("changes", NOT_OF_PAGES)
    def test_repetitions_and_parts_of_an_item_are_on_no_page(
        self, study: Study, changes: dict[str, Any]
    ) -> None:
        item = items_of(study.campaign)[0]
        mine = row(item, study.ada, **changes)
        assert not my_assignments(study.ada).exists()
        for find in (my_assignment, ever_my_assignment, with_neighbours):
            with pytest.raises(Http404):
                find(study.ada, mine.uid)
        Assignment.objects.filter(pk=mine.pk).update(**EXPIRED)
        assert not my_expired_assignments(study.ada).exists()

    @pytest.mark.every_case
    @pytest.mark.parametrize("status", NOT_ON_SHOW)
    def test_a_released_assignment_is_found_only_for_late_work_of_its_owner(
        self, study: Study, status: str
    ) -> None:
        mine = row(items_of(study.campaign)[0], study.ada, status=status)
        assert not my_assignments(study.ada).exists()
        for find in (my_assignment, with_neighbours):
            with pytest.raises(Http404):
                find(study.ada, mine.uid)
        assert ever_my_assignment(study.ada, mine.uid) == mine
        with pytest.raises(Http404):
            ever_my_assignment(study.ben, mine.uid)

    @pytest.mark.parametrize("status", ["open", "done"])
    def test_open_and_done_assignments_belong_to_their_owner_only(
        self, study: Study, status: str
    ) -> None:
        mine = row(items_of(study.campaign)[0], study.ada, status=status)
        assert list(my_assignments(study.ada)) == [mine]
        assert my_assignment(study.ada, mine.uid) == mine
        for user in (study.ben, study.rita, study.root):
            with pytest.raises(Http404):
                my_assignment(user, mine.uid)
        with pytest.raises(Http404):
            my_assignment(study.ada, uuid.uuid4())

    def test_a_late_answer_may_reclaim_only_ones_own_expired_assignment(self, study: Study) -> None:
        first, second, third, fourth = items_of(study.campaign)
        mine = row(first, study.ada, **EXPIRED)
        row(second, study.ada)
        row(third, study.ada, status="cancelled", reason="freed")
        row(fourth, study.ben, **EXPIRED)
        assert list(my_expired_assignments(study.ada)) == [mine]

    def test_declined_items_are_ones_own_without_repetitions_or_parts(self, study: Study) -> None:
        first, second, third, fourth = items_of(study.campaign)
        mine = row(first, study.ada, status="declined")
        row(first, study.ben, status="declined")
        row(second, study.ada, status="done")
        row(third, study.ada, status="declined", replicate=1)
        row(fourth, study.ada, status="declined", scope="q:0")
        assert list(my_declined_assignments(study.ada)) == [mine]

    def test_an_assignment_with_revoked_answers_cannot_be_found(self, study: Study) -> None:
        first, second, *_ = items_of(study.campaign)
        freed = row(first, study.ada, status="cancelled", reason="freed")
        revoked = row(second, study.ada, status="cancelled", reason=REVOKED)
        assert ever_my_assignment(study.ada, freed.uid) == freed
        with pytest.raises(Http404):
            ever_my_assignment(study.ada, revoked.uid)

    def test_a_carried_over_part_does_not_prevent_answering_the_rest(self, study: Study) -> None:
        for item in items_of(study.campaign):
            row(item, study.ada, status="done", scope=CARRIED)
        assert list(visible_campaigns(study.ada)) == [study.campaign]

    def test_an_open_item_hides_others_labels_only_in_its_open_campaign(
        self, study: Study, other: Campaign
    ) -> None:
        mine = row(items_of(study.campaign)[0], study.ada)
        assert is_blind(study.ada, study.campaign)
        assert not is_blind(study.ben, study.campaign)
        assert not is_blind(study.ada, other)
        study.campaign.is_open = False
        assert not is_blind(study.ada, study.campaign)
        study.campaign.is_open = True
        Assignment.objects.filter(pk=mine.pk).update(status="done")
        assert not is_blind(study.ada, study.campaign)

    def test_an_open_item_hides_others_labels_after_the_deadline_too(self, study: Study) -> None:
        """It can still be sent if the deadline moves, so its owner must not have seen answers."""
        row(items_of(study.campaign)[0], study.ada)
        study.campaign.deadline = timezone.now() - timedelta(days=1)
        assert not study.campaign.takes_answers
        assert is_blind(study.ada, study.campaign)


class TestManaging:
    def asked_by(self, user: User) -> Any:
        request = RequestFactory().get("/")
        request.user = user
        return request

    @pytest.mark.first_case
    @pytest.mark.parametrize("lock", [False, True])
    def test_a_person_who_may_only_read_a_campaign_cannot_change_it(
        self, study: Study, other: Campaign, lock: bool
    ) -> None:
        rita, pk = self.asked_by(study.rita), study.campaign.pk
        with CaptureQueriesContext(connection) as unlocked:
            assert managed_campaign(rita, pk) == study.campaign
        with CaptureQueriesContext(connection) as asked:
            assert managed_campaign(rita, pk, lock) == study.campaign
        assert len(asked) == len(unlocked) + lock
        join_team(study.rita, role="member")
        join_team(study.rita, give_away(other), "owner")
        assert managed_campaign(rita, other.pk, lock) == other
        assert readable_campaign(rita, pk) == study.campaign
        with pytest.raises(NotManagedError):
            managed_campaign(rita, pk, lock)
        with pytest.raises(Http404):
            managed_campaign(self.asked_by(study.ada), pk, lock)

    def test_others_answers_are_readable_for_readers_without_an_open_item(
        self, study: Study, other: Campaign
    ) -> None:
        mine = row(items_of(study.campaign)[0], study.rita)
        assert not may_read(study.rita, study.campaign.pk)
        assert may_read(study.rita, other.pk)
        assert may_read(study.root, study.campaign.pk)
        assert not may_read(study.ada, other.pk)
        Assignment.objects.filter(pk=mine.pk).update(status="done")
        assert may_read(study.rita, study.campaign.pk)
        give_away(study.campaign)
        assert not may_read(study.rita, study.campaign.pk)

    def test_an_unreadable_object_named_in_an_api_body_is_refused_by_name(
        self, study: Study, other: Campaign
    ) -> None:
        assert campaign_named(study.rita, other.pk, "not done") == other
        give_away(other)
        with pytest.raises(RefusedBodyError) as wrong:
            campaign_named(study.rita, other.pk, "not done")
        assert "not done" in str(wrong.value.detail)
        assert batch_named(study.rita, "harbour") == study.campaign.batch
        for user, name in ((study.rita, "other"), (study.ada, "harbour")):
            with pytest.raises(ValidationError, match="is not a loaded batch; see the list of"):
                batch_named(user, name)
        row(items_of(study.campaign)[0], study.rita)
        with pytest.raises(BlindError, match="you have an open item in this campaign; answer it"):
            check_blind(study.rita, study.campaign)
        assert check_blind(study.root, study.campaign) is None  # type: ignore[func-returns-value]


class TestApi:
    @pytest.fixture
    def ada(self, study: Study) -> Any:
        request = RequestFactory().get("/")
        request.user = study.ada
        return request

    def test_an_assignment_is_loaded_with_its_related_objects(self, study: Study, ada: Any) -> None:
        row(items_of(study.campaign)[1], study.ada)
        mine = row(items_of(study.campaign)[0], study.ada)
        others = row(items_of(study.campaign)[0], study.ben)
        for find in (api.my_assignment, api.my_assignment_to_answer):
            found = find(ada, mine.uid)
            assert found == mine
            with CaptureQueriesContext(connection) as more:
                assert (found.item.campaign, found.item.query.key) == (study.campaign, "q")
                assert found.rater.user_id == study.ada.pk
            assert len(more) == 0
            with pytest.raises(Http404):
                find(ada, others.uid)

    def test_an_expired_assignment_is_reclaimed_if_a_slot_is_free(
        self, study: Study, ada: Any
    ) -> None:
        first, second, *_ = items_of(study.campaign)
        row(second, study.ada, **EXPIRED)
        mine = row(first, study.ada, **EXPIRED)
        Item.objects.update(quota=0)
        with pytest.raises(RefusedBodyError) as wrong:
            api.my_assignment_to_answer(ada, mine.uid)
        assert "another person has it now; take the next one" in str(wrong.value.detail)
        Item.objects.update(quota=1)
        assert api.my_assignment_to_answer(ada, mine.uid) == mine
        assert Assignment.objects.get(status="open") == mine

    @pytest.mark.parametrize("late", [False, True])
    def test_a_person_who_has_not_consented_is_asked_first(
        self, study: Study, ada: Any, late: bool
    ) -> None:
        change(study.campaign, CampaignSettings(consent="x"))
        mine = row(items_of(study.campaign)[0], study.ada, **(EXPIRED if late else {}))
        with pytest.raises(IntakeOwedError):
            api.my_assignment_to_answer(ada, mine.uid)
        Campaign.objects.update(is_open=False)
        if not late:
            assert api.my_assignment(ada, mine.uid) == mine


class TestIntake:
    def test_intake_is_shown_for_open_campaigns_and_those_one_consented_to(
        self, study: Study, other: Campaign
    ) -> None:
        assert set(intake_campaigns(study.ada)) == {study.campaign, other}
        Campaign.objects.update(is_open=False)
        assert not intake_campaigns(study.ada).exists()
        text = ConsentText.objects.create(campaign=other, version=1, text="x")
        for user in (study.ada, study.rita):
            Consent.objects.create(text=text, rater=rater_of(user))
        assert list(intake_campaigns(study.ada)) == [other]
        assert not intake_campaigns(study.ben).exists()


class TestNeighbours:
    def test_neighbours_are_the_nearest_in_the_order_of_assignment(self, study: Study) -> None:
        # Assigned from the last item to the first.
        rows = [row(item, study.ada) for item in items_of(study.campaign)[::-1]]
        uids = [None, *(each.uid for each in rows), None]
        for n, each in enumerate(rows):
            found, beside = with_neighbours(study.ada, each.uid)
            assert found == each
            assert beside == Neighbours(uids[n], uids[n + 2], n + 1)

    def test_each_neighbour_query_is_limited_to_one_row_for_postgresql(self, study: Study) -> None:
        rows = [row(item, study.ada) for item in items_of(study.campaign)]
        with CaptureQueriesContext(connection) as queries:
            with_neighbours(study.ada, rows[2].uid)
        assert re.findall(r"LIMIT (\d+)", queries[-1]["sql"]) == ["1"] * 2

    def test_neighbours_are_ones_own_shown_items_of_the_same_campaign(
        self, study: Study, other: Campaign
    ) -> None:
        first, second, third, fourth = items_of(study.campaign)
        elsewhere, later, *_ = items_of(other)
        row(elsewhere, study.ada)
        row(first, study.ben)
        row(first, study.ada, replicate=1)
        row(second, study.ada, status="cancelled")
        mine = row(third, study.ada)
        row(fourth, study.ben)
        row(fourth, study.ada, scope="q:0")
        row(later, study.ada)
        assert with_neighbours(study.ada, mine.uid)[1] == Neighbours(None, None, 1)
