"""The lists of people: raters of a campaign, accounts, invitations and exclusions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from knox.models import AuthToken

from annotation.answers.submission import submit
from annotation.assignments.queue import may_take_items
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Decision, Membership, Rater, User, rater_of
from annotation.people.accounts import (
    CampaignRater,
    accounts,
    campaign_raters,
    change_role,
    current_exclusions,
    end_sessions,
    forget,
    invitations_of,
    rename,
    rename_rater,
    switch_off,
    switch_on,
    uses_account_name,
)
from annotation.people.invitations import invite
from annotation.people.membership import (
    PeopleError,
    add_member,
    end_membership,
    exclude,
    exclusion_reasons,
    has_decided,
    include,
    readable,
    set_pool,
    workable,
)
from audit.models import Event
from datasets.api_tokens import make_token
from datasets.models import Batch, Team, TeamMember
from tests.once import once
from tests.page_cast import Study, make_study, payload
from tests.team_cast import give_away, join_team, move_to_own_team, share_with

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@once
def study() -> Study:
    return make_study(reports=4)


@pytest.fixture
def other(study: Study) -> Campaign:
    return create_campaign(
        "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
    ).campaign


def rater(name: str, kind: str = "human") -> Rater:
    return Rater.objects.get_or_create(name=name, kind=kind)[0]


def row(campaign: Campaign, place: int, who: Rater, at: datetime = NOW, **changes: Any) -> None:
    given = {"item": campaign.items.get(position=place), "rater": who, "asked": [], **changes}
    made = Assignment.objects.create(**given)
    Assignment.objects.filter(pk=made.pk).update(created_at=at)


def wrong(act: Any) -> str:
    with pytest.raises(PeopleError) as found:
        act()
    return str(found.value)


class TestRaters:
    def test_people_come_before_judges_each_with_answered_and_reserved_items(
        self, study: Study, other: Campaign
    ) -> None:
        zoe, ann, judge = rater("zoe"), rater("ann"), rater("a judge", "judge")
        hours = [NOW + timedelta(hours=n) for n in range(4)]
        row(study.campaign, 0, zoe, status="done", slot=1)
        row(study.campaign, 1, zoe, status="done", slot=None)
        row(study.campaign, 2, zoe, hours[1], slot=1, held_until=hours[3])
        row(study.campaign, 3, zoe, hours[0], slot=1, held_until=hours[2])
        row(study.campaign, 0, ann, slot=None)
        row(study.campaign, 0, judge, status="done", slot=None)
        row(study.campaign, 0, rater("trial", "trial"), status="done", slot=None)
        row(other, 0, rater("bo"), status="done", slot=1)
        out = exclude(study.campaign, zoe, "too fast", study.rita)
        exclude(study.campaign, ann, "asleep")
        include(study.campaign, ann)
        assert campaign_raters(study.campaign) == [
            CampaignRater(ann.pk, "ann", "human", 0, 0, None, None, None),
            CampaignRater(zoe.pk, "zoe", "human", 2, 2, hours[0], hours[2], out),
            CampaignRater(judge.pk, "a judge", "judge", 1, 0, None, None, None),
        ]
        assert current_exclusions(study.campaign) == {zoe.pk: out}
        assert current_exclusions(other) == {}

    def test_an_exclusion_is_for_one_campaign_and_has_a_reason(
        self, study: Study, other: Campaign
    ) -> None:
        ann, judge = rater("ann"), rater("judge", "judge")
        for campaign in (study.campaign, other):
            row(campaign, 0, ann, status="done", slot=1)
        row(study.campaign, 0, judge, status="done", slot=None)
        made = exclude(study.campaign, ann, "  too \n fast ", study.rita)
        assert (made.reason, made.by, made.undone_at) == ("too fast", study.rita, None)
        assert exclude(study.campaign, ann, "too fast") == made
        exclude(other, ann, "x" * 500)
        again = exclude(study.campaign, ann, "asleep", study.root)
        assert again != made
        exclude(study.campaign, judge, "wrong prompt")
        assert exclusion_reasons("Pilot") == {"ann": "asleep", "judge": "wrong prompt"}
        assert list(exclusion_reasons("Pilot")) == ["ann", "judge"]
        assert exclusion_reasons("Other") == {"ann": "x" * 500}
        made.refresh_from_db()
        assert made.undone_by == study.root
        assert include(study.campaign, ann, study.rita)
        again.refresh_from_db()
        assert again.undone_by == study.rita
        assert not include(study.campaign, ann, study.root)
        assert exclusion_reasons("Other") == {"ann": "x" * 500}
        events = list(Event.objects.filter(event__startswith="exclusion").order_by("pk"))
        assert [each.event for each in events] == ["exclusion.made"] * 4 + ["exclusion.undone"]
        assert (events[0].before, bool(events[2].before)) == ("", True)
        assert events[2].before == events[0].after

    def test_references_and_missing_reasons_are_refused(self, study: Study) -> None:
        ann, gold = rater("ann"), rater("gold", "reference")
        row(study.campaign, 0, gold, status="done", slot=None)
        reason = "give a reason of 1 to 500 characters"
        assert wrong(lambda: exclude(study.campaign, ann, " \n ")) == reason
        assert wrong(lambda: exclude(study.campaign, ann, "x" * 501)) == reason
        assert wrong(lambda: exclude(study.campaign, gold, "x")) == (
            "gold is neither a person nor a judge of the study"
        )
        assert wrong(lambda: exclude(study.campaign, ann, "x")) == "ann was asked nothing in Pilot"


class TestAccounts:
    def test_accounts_are_listed_by_name_with_the_number_of_current_roles(
        self, study: Study, other: Campaign
    ) -> None:
        guest = User.objects.create(username="guest", is_guest=True)
        for campaign in (study.campaign, other):
            Membership.objects.create(campaign=campaign, user=study.ada)
        Membership.objects.create(campaign=other, user=study.ben, ended_at=NOW)
        Membership.objects.create(campaign=other, user=guest)
        found = [(each.username, vars(each)["campaigns"]) for each in accounts()]
        assert found == [("ada", 2), ("ben", 0), ("rita", 0), ("root", 0)]
        assert [(each, vars(each)["campaigns"]) for each in accounts(guests=True)] == [(guest, 1)]

    def test_invitations_are_shown_to_managers_of_the_campaign(
        self, study: Study, other: Campaign
    ) -> None:
        made = [
            invite("annotator", campaign, by=study.root).invitation
            for campaign in (study.campaign, other, None)
        ]
        give_away(other)
        assert set(invitations_of(study.root)) == set(made)
        assert list(invitations_of(study.rita)) == made[:1]
        assert not invitations_of(study.ada).exists()

    def test_ending_sessions_affects_one_account_with_its_tokens(self, study: Study) -> None:
        for user in (study.ada, study.ada, study.ben):
            make_token(user)
        end_sessions(study.ada)
        assert study.ada.sessions == 1
        counts = User.objects.order_by("username").values_list("sessions", flat=True)
        assert list(counts) == [1, 0, 0, 0]
        assert AuthToken.objects.get().user == study.ben
        end_sessions(study.rita)
        events = Event.objects.filter(event="account.sessions").order_by("pk")
        assert [each.facts for each in events] == [{"tokens": 2}, {"tokens": 0}]

    def test_switching_an_account_on_or_off_twice_changes_nothing(self, study: Study) -> None:
        assert not switch_on(study.ada)
        assert switch_off(study.ada)
        assert not switch_off(study.ada)
        assert User.objects.filter(is_active=False).get() == study.ada
        off = User.objects.get(pk=study.ben.pk)
        assert switch_off(off)
        assert switch_on(study.ada)
        assert study.ada.is_active
        assert User.objects.filter(is_active=False).get() == off

    def test_deleting_an_account_keeps_everything_of_others(self, study: Study) -> None:
        for user in (study.ada, study.ben):
            make_token(user)
        study.assignment(study.ben)
        rater_of(study.ada)
        assert forget(study.ada) is None
        assert Rater.objects.get().user == study.ben
        assert AuthToken.objects.get().user == study.ben
        assert Event.objects.get(event="account.forgotten").facts == {"labels_kept": False}
        User.objects.filter(pk=study.rita.pk).update(is_active=False)
        study.rita.refresh_from_db()
        assert forget(study.rita) is None

    def test_admins_are_locked_so_that_two_cannot_leave_at_once(self, study: Study) -> None:
        with CaptureQueriesContext(connection) as asked:
            switch_off(study.ada)
        admins = """WHERE "annotation_user"."role" = 'admin' ORDER BY "annotation_user"."id" ASC"""
        admins += " FOR UPDATE" if connection.features.has_select_for_update else ""
        assert [query["sql"] for query in asked if query["sql"].endswith(admins)]

    def test_the_only_admin_cannot_be_demoted_disabled_or_deleted(self, study: Study) -> None:
        for act, advice in (
            (lambda: change_role(study.root, "annotator"), "give another account the role first"),
            (lambda: switch_off(study.root), "make another admin first"),
            (lambda: forget(study.root), "make another admin first"),
        ):
            assert wrong(act) == f"root is the only admin; {advice}"
        assert wrong(lambda: change_role(study.ada, "boss")) == (
            "a role is one of annotator, researcher, admin; correct it"
        )

    def test_without_an_enabled_admin_other_accounts_can_still_be_changed(
        self, study: Study
    ) -> None:
        User.objects.filter(pk=study.root.pk).update(is_active=False)
        assert switch_off(study.ada)
        assert change_role(study.ben, "researcher")
        assert change_role(study.root, "annotator")

    def test_a_pseudonym_is_one_line_and_nobody_elses_name(self, study: Study) -> None:
        mine = rater_of(study.ada)
        assert rename_rater(mine, "x" * 150) == "x" * 150
        assert rename(study.ada, " Blue   heron ") == "Blue heron"
        mine.refresh_from_db()
        assert mine.name == "Blue heron"
        line = "a pseudonym is one line of up to 150 characters; change it"
        assert wrong(lambda: rename_rater(mine, "x" * 151)) == line
        assert wrong(lambda: rename_rater(mine, "Blue\nheron")) == line
        assert wrong(lambda: rename_rater(mine, "a\x00b")) == line
        assert wrong(lambda: rename_rater(mine, "BEN")) == (
            "this is the name of an account; choose another pseudonym"
        )
        assert wrong(lambda: rename(study.ben, "x")) == (
            "this account has no pseudonym until it takes its first item"
        )
        assert not uses_account_name(rater("nobody"))
        mine.name, mine.user = "ADA", study.ada
        assert uses_account_name(mine)


class TestRoleChanges:
    def test_a_lower_role_limits_the_accounts_campaign_roles_and_nobody_elses(
        self, study: Study, other: Campaign
    ) -> None:
        sam = User.objects.create(username="sam", role="researcher")
        third = create_campaign(
            "Third", "report-coverage", Batch.objects.get(), Design(), pool="open"
        ).campaign
        for campaign, user, role in (
            (study.campaign, study.rita, "researcher"),
            (other, study.rita, "adjudicator"),
            (study.campaign, sam, "researcher"),
        ):
            add_member(campaign, user, role)
        ended = Membership.objects.create(
            campaign=third, user=study.rita, role="researcher", ended_at=NOW
        )
        made = [invite("annotator", study.campaign, by=by).invitation for by in (study.rita, sam)]
        assert change_role(study.rita, "annotator")
        roles = Membership.objects.order_by("pk").values_list("user__username", "role", "ended_at")
        assert list(roles) == [
            ("rita", "annotator", None), ("rita", "adjudicator", None), ("sam", "researcher", None),
            ("rita", "researcher", ended.ended_at),
        ]  # fmt: skip
        for each in made:
            each.refresh_from_db()
        assert [each.state for each in made] == ["revoked", "open"]
        in_team = dict(TeamMember.objects.values_list("user__username", "role"))
        assert (in_team["rita"], in_team["sam"]) == ("member", "manager")

    def test_an_account_that_becomes_an_annotator_is_only_a_team_member(self, study: Study) -> None:
        join_team(study.rita, Team.objects.create(name="second"), "owner")
        change_role(study.rita, "annotator")
        assert set(study.rita.teams.values_list("role", flat=True)) == {"member"}

    def test_a_new_researcher_manages_the_only_team(self, study: Study) -> None:
        assert change_role(study.ada, "researcher")
        assert TeamMember.objects.get(user=study.ada).role == "manager"

    def test_a_new_admin_has_no_campaign_role_left(self, study: Study) -> None:
        for user in (study.ada, study.ben):
            add_member(study.campaign, user, "annotator")
        assert change_role(study.ada, "admin")
        assert Membership.objects.get(ended_at=None).user == study.ben

    def test_a_stale_request_sees_what_another_did_meanwhile(self, study: Study) -> None:
        stale = [User.objects.get(pk=study.ada.pk) for _ in range(2)]
        change_role(study.ada, "researcher")
        assert not change_role(stale[0], "researcher")
        switch_off(study.ada)
        assert not switch_off(stale[1])


class TestReadableCampaigns:
    def test_a_campaign_role_gives_access_to_that_campaign_only(
        self, study: Study, other: Campaign
    ) -> None:
        move_to_own_team(study.rita)
        assert not readable(study.rita).exists()
        Membership.objects.create(campaign=other, user=study.rita, role="researcher")
        assert list(readable(study.rita)) == [other]
        Membership.objects.update(ended_at=NOW)
        assert not readable(study.rita).exists()
        share_with(study.campaign, study.rita.teams.get().team)
        share_with(other, study.rita.teams.get().team)
        assert list(readable(study.rita)) == [study.campaign]

    def test_a_named_pool_is_readable_by_managers_and_teams_it_is_shared_with(
        self, study: Study, other: Campaign
    ) -> None:
        Campaign.objects.update(pool="named")
        sam = User.objects.create(username="sam", role="researcher")
        team = move_to_own_team(sam)
        join_team(sam, study.campaign.team, "member")
        assert not readable(sam).exists()
        share_with(other, team)
        assert list(readable(sam)) == [other]
        join_team(sam, study.campaign.team, "manager")
        assert set(readable(sam)) == {study.campaign, other}

    def test_impossible_campaign_roles_are_refused_with_a_reason(self, study: Study) -> None:
        Team.objects.create(name="second")
        assert wrong(lambda: add_member(study.campaign, study.root, "annotator")) == (
            "an admin reads every campaign and has no role in one; name another account"
        )
        assert wrong(lambda: add_member(study.campaign, study.ada, "researcher")) == (
            "an account with the role annotator cannot be researcher; change the account's role "
            "first"
        )
        Membership.objects.create(campaign=study.campaign, user=study.ada, role="adjudicator")
        made = add_member(study.campaign, study.rita, "annotator", study.root)
        again = add_member(study.campaign, study.rita, "researcher")
        assert made == again
        assert (again.by, again.ended_at, again.role) == (None, None, "researcher")
        events = Event.objects.filter(event="member.added").order_by("pk")
        assert [each.facts for each in events] == [
            {"was": None, "now": "annotator"}, {"was": "annotator", "now": "researcher"}
        ]  # fmt: skip


class TestTakingPart:
    def test_an_adjudicator_who_decided_may_not_label_in_that_campaign(
        self, study: Study, other: Campaign
    ) -> None:
        mine = study.assignment(study.ben)
        response = submit(mine, payload("no"), "page").response
        unit = mine.item.units.get(position=0)
        Decision.objects.create(response=response, unit=unit, by=rater_of(study.ada))
        assert [has_decided(u, study.campaign) for u in (study.ada, study.ben)] == [True, False]
        assert not has_decided(study.ada, other)
        assert set(workable(study.ben)) == {study.campaign, other}
        assert list(workable(study.ada)) == [other]
        may = [
            may_take_items(campaign, rater_of(user))
            for user in (study.ada, study.ben)
            for campaign in (study.campaign, other)
        ]
        assert may == [False, True, True, True]
        assert wrong(lambda: add_member(study.campaign, study.ada, "annotator")) == (
            "ada decided on disagreements here and has seen the labels of others; name another "
            "person"
        )
        assert add_member(study.campaign, study.ben, "annotator")
        assert add_member(study.campaign, study.ada, "adjudicator")

    def test_a_rater_without_an_account_takes_part_only_in_open_pools(
        self, study: Study, other: Campaign
    ) -> None:
        set_pool(other, "named")
        imported, gone = rater("imported"), Rater(pk=10**6)
        for each in (imported, gone):
            assert may_take_items(study.campaign, each)
            assert not may_take_items(other, each)

    def test_restricting_a_pool_is_one_event_and_releases_leases_of_non_members(
        self, study: Study, other: Campaign
    ) -> None:
        Membership.objects.create(campaign=other, user=study.ben)
        mine, bens = study.assignment(study.ada), study.assignment(study.ben)
        Membership.objects.create(campaign=study.campaign, user=study.ada)
        before = Event.objects.count()
        set_pool(study.campaign, "named", study.rita)
        assert Event.objects.count() == before + 1
        event = Event.objects.latest("pk")
        assert (event.event, event.facts["pool"]) == ("campaign.people", "named")
        states = [Assignment.objects.get(pk=each.pk).status for each in (mine, bens)]
        assert states == ["open", "cancelled"]
        set_pool(study.campaign, "named", study.rita)
        assert Event.objects.count() == before + 1, "nothing changed"

    def test_removing_a_person_locks_their_rater_row_first(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rater_of(study.ada)
        with CaptureQueriesContext(connection) as asked:
            end_membership(study.campaign, study.ada, study.root)
        mine = f'FROM "annotation_rater" WHERE "annotation_rater"."user_id" = {study.ada.pk}'
        assert [query["sql"] for query in asked if mine in query["sql"]]
        member = Membership.objects.get()
        assert (member.by, member.ended_at is None) == (study.root, False)
