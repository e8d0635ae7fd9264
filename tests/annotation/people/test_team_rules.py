"""The rules of teams one by one: names, roles, the last owner, sharing, moving, and their words."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Membership, User, rater_of
from annotation.people.teams import (
    check_lets_in,
    create_team,
    hand_over,
    history,
    leave,
    move,
    rename_team,
    set_role,
    share,
    thing_named,
    trim_roles,
    without_a_team,
)
from audit.models import Event
from audit.recording import record
from datasets.access import (
    NotManagedError,
    TeamError,
    describe_owner,
    kinds,
    managed_teams,
    manages,
    several_for,
    shares_of,
    team_choice,
    team_for,
    team_named,
    there_are_several,
    visible_batch,
    visible_batches,
    visible_teams,
)
from datasets.models import Batch, Team, TeamMember
from tests.databases import rolling_back
from tests.page_cast import Study, make_study
from tests.team_cast import join_team, move_to_own_team, share_with

pytestmark = pytest.mark.django_db
ONE_LINE = "a team's name is one line of 1 to 150 characters; choose another"
ASK_AN_OWNER = "only an owner or an admin makes somebody an owner; ask one of them"
MAIN_ALREADY = "it belongs to main already; name another team"


@pytest.fixture
def study() -> Study:
    """Rita owns the only team, in which Ada and Ben label."""
    return make_study(reports=3)


@pytest.fixture
def main(study: Study) -> Team:
    return study.campaign.team


@pytest.fixture
def sam(study: Study) -> User:
    """Another researcher, who manages the team."""
    return User.objects.create(username="sam", role="researcher")


@pytest.fixture
def olga(study: Study) -> User:
    """The owner of another team."""
    olga = User.objects.create(username="olga", role="researcher")
    move_to_own_team(olga, name="bridges")
    return olga


@pytest.fixture
def bridges(olga: User) -> Team:
    return olga.teams.get().team


def roles(team: Team) -> dict[str, str]:
    return dict(team.members.values_list("user__username", "role"))


def events_called(event: str) -> list[tuple[Any, ...]]:
    rows = Event.objects.filter(event=event).order_by("pk")
    return [(each.object_kind, each.object_id, each.facts) for each in rows]


class TestNames:
    def test_a_team_name_is_one_line_and_unique(self, main: Team) -> None:
        made = create_team("  two   words ")
        assert made.name == "two words"
        assert create_team("x" * 150).name == "x" * 150
        for name in ("", "  ", "x" * 151, "two\nwords", "a\x00b", "a\u200eb"):
            with pytest.raises(TeamError) as wrong:
                create_team(name)
            assert str(wrong.value) == ONE_LINE
        with pytest.raises(TeamError, match="a team 'main' exists; choose another name"):
            create_team(" main ")
        assert events_called("team.made")[0] == ("team", str(made.pk), {})

    def test_a_team_keeps_its_name_or_gets_a_new_one(self, main: Team) -> None:
        other = create_team("other")
        rename_team(main, "main")
        with pytest.raises(TeamError, match="a team 'main' exists"):
            rename_team(other, "main")
        rename_team(main, " first ")
        assert main.name == "first"
        assert set(Team.objects.values_list("name", flat=True)) == {"first", "other"}
        first, second = Event.objects.filter(event="team.renamed").order_by("pk")
        assert first.before == first.after == second.before != second.after


class TestAddingMembers:
    def test_commands_admins_and_owners_give_every_role(
        self, study: Study, main: Team, bridges: Team
    ) -> None:
        for by in (None, study.root, study.rita):
            check_lets_in(main, by, "owner")
            check_lets_in(main, by)
        with pytest.raises(NotManagedError):
            check_lets_in(bridges, study.rita)

    def test_managers_cannot_make_owners_and_members_cannot_add_anybody(
        self, main: Team, sam: User
    ) -> None:
        check_lets_in(main, sam, "manager")
        with pytest.raises(TeamError) as wrong:
            check_lets_in(main, sam, "owner")
        assert str(wrong.value) == ASK_AN_OWNER
        join_team(sam, main, "member")
        with pytest.raises(NotManagedError):
            check_lets_in(main, sam)

    def test_impossible_team_roles_are_refused_with_a_reason(
        self, study: Study, main: Team
    ) -> None:
        guest = User.objects.create(username="guest", is_guest=True)
        off = User.objects.create(username="off", is_active=False)
        for user, role, why in (
            (study.ada, "boss", "a role in a team is one of owner, manager, member; correct it"),
            (guest, "member", "a guest takes part in one campaign only; invite the person instead"),
            (off, "member", "account off is disabled; enable it first"),
            (study.ada, "manager",
             "account ada labels only, and can be member; change its role first"),
        ):  # fmt: skip
            with pytest.raises(TeamError) as wrong:
                set_role(main, user, role)
            assert str(wrong.value) == why
        with pytest.raises(NotManagedError):
            set_role(main, study.ben, "member", study.ada)

    def test_a_role_change_is_recorded_with_both_roles_and_an_unchanged_role_is_not(
        self, study: Study, main: Team, bridges: Team
    ) -> None:
        set_role(bridges, study.ada, "member")
        set_role(bridges, study.ada, "member")
        set_role(bridges, study.rita, "member", study.root)
        made = set_role(bridges, study.rita, "owner", study.root)
        assert (made.team, made.user, made.role) == (bridges, study.rita, "owner")
        assert roles(bridges) == {"ada": "member", "olga": "owner", "rita": "owner"}
        ada, rita = str(study.ada.pk), str(study.rita.pk)
        assert events_called("team.member") == [
            ("account", ada, {"team": bridges.pk, "was": None, "now": "member"}),
            ("account", rita, {"team": bridges.pk, "was": None, "now": "member"}),
            ("account", rita, {"team": bridges.pk, "was": "member", "now": "owner"}),
        ]
        assert roles(main)["rita"] == "owner"


class TestLastOwner:
    ONLY = "the only owner of main is rita; make another account its owner first"

    def test_disabled_owners_and_owners_of_other_teams_do_not_count(
        self, study: Study, main: Team, sam: User, bridges: Team
    ) -> None:
        join_team(study.rita, bridges, "owner")
        join_team(sam, main, "owner")
        User.objects.filter(pk=sam.pk).update(is_active=False)
        for act in (
            lambda: leave(main, study.rita, study.rita),
            lambda: leave(main, study.rita, study.root),
            lambda: set_role(main, study.rita, "manager", study.rita),
            lambda: set_role(main, study.rita, "member"),
        ):
            with pytest.raises(TeamError) as wrong:
                act()
            assert str(wrong.value) == self.ONLY
        User.objects.filter(pk=sam.pk).update(is_active=True)
        with rolling_back():
            leave(main, study.rita, study.rita)
        set_role(main, study.rita, "manager", sam)
        assert roles(main)["rita"] == "manager"

    def test_managers_cannot_change_an_owner(
        self, study: Study, main: Team, sam: User, bridges: Team
    ) -> None:
        join_team(sam, bridges, "owner")
        other = User.objects.create(username="other", role="researcher")
        join_team(other, main, "owner")
        for act in (
            lambda: leave(main, other, sam),
            lambda: set_role(main, other, "member", sam),
        ):
            with pytest.raises(TeamError) as wrong:
                act()
            assert str(wrong.value) == (
                "only an owner or an admin changes an owner's role; ask one of them"
            )
        set_role(main, other, "owner", study.root)
        leave(main, other, study.root)
        assert "other" not in roles(main)

    def test_an_owner_who_hands_over_becomes_a_manager(
        self, study: Study, main: Team, sam: User
    ) -> None:
        hand_over(main, study.rita, study.rita)
        assert roles(main)["rita"] == "owner"
        with pytest.raises(TeamError, match="only an owner or an admin makes"):
            hand_over(main, study.rita, sam)
        hand_over(main, sam, study.rita)
        assert (roles(main)["sam"], roles(main)["rita"]) == ("owner", "manager")
        hand_over(main, study.rita, study.root)
        assert (roles(main)["sam"], roles(main)["rita"]) == ("owner", "owner")
        assert "root" not in roles(main)


class TestLeaving:
    def test_leaving_releases_leases_in_the_teams_open_pools(
        self, study: Study, main: Team, bridges: Team
    ) -> None:
        def another(name: str, **changes: Any) -> Campaign:
            made = create_campaign(name, "report-coverage", Batch.objects.get(), Design()).campaign
            Campaign.objects.filter(pk=made.pk).update(**changes)
            return made

        there = [study.campaign, another("member"), another("named", pool="named"),
                 another("elsewhere", team=bridges)]  # fmt: skip
        Membership.objects.create(campaign=there[1], user=study.ada, role="annotator")
        for each in there:
            item = each.items.get(position=0)
            row = Assignment(item=item, rater=rater_of(study.ada), asked=["q:0"], slot=1)
            row.save()
            each.items.filter(pk=item.pk).update(taken=1)
        bens = study.assignment(study.ben)
        leave(main, study.ada, study.ada)
        rows = Assignment.objects.filter(rater__user=study.ada)
        assert dict(rows.values_list("item__campaign__name", "status")) == {
            "Pilot": "cancelled", "member": "open", "named": "open", "elsewhere": "open",
        }  # fmt: skip
        assert rows.get(status="cancelled").reason == "freed"
        assert Assignment.objects.get(pk=bens.pk).status == "open"
        assert roles(main) == {"ben": "member", "rita": "owner"}
        assert events_called("team.left") == [
            ("account", str(study.ada.pk), {"team": main.pk, "was": "member"})
        ]

    def test_an_account_outside_a_team_cannot_leave_it(self, study: Study, bridges: Team) -> None:
        with pytest.raises(TeamError) as wrong:
            leave(bridges, study.ada)
        assert str(wrong.value) == "account ada is not in team bridges; see its members"

    def test_members_are_removed_by_those_who_may_add_them(
        self, study: Study, main: Team, sam: User, olga: User
    ) -> None:
        for by in (study.ben, olga):
            with pytest.raises(NotManagedError):
                leave(main, study.ada, by)
        leave(main, study.ada, sam)
        leave(main, study.ben)
        assert roles(main) == {"rita": "owner", "sam": "manager"}

    def test_an_account_that_becomes_an_annotator_is_a_member_in_all_teams(
        self, study: Study, main: Team, sam: User, bridges: Team
    ) -> None:
        join_team(sam, bridges, "owner")
        trim_roles(sam)
        assert (roles(main)["sam"], roles(bridges)["sam"]) == ("manager", "owner")
        sam.role = "annotator"
        trim_roles(sam)
        assert (roles(main)["sam"], roles(bridges)["sam"]) == ("member", "member")
        assert roles(main)["rita"] == "owner"

    def test_accounts_without_a_team_are_listed_by_name(self, study: Study) -> None:
        TeamMember.objects.all().delete()
        User.objects.create(username="guest", is_guest=True)
        User.objects.create(username="off", is_active=False)
        TeamMember.objects.filter(user__username="off").delete()
        assert [each.username for each in without_a_team()] == ["ada", "ben", "rita"]
        join_team(study.ben, study.campaign.team)
        assert [each.username for each in without_a_team()] == ["ada", "rita"]


class TestSharing:
    def test_shareable_objects_are_found_by_kind_and_name(self, study: Study) -> None:
        assert sorted(kinds()) == ["batch", "campaign", "judge", "key"]
        assert thing_named("campaign", "Pilot") == study.campaign
        assert thing_named("batch", "harbour") == study.campaign.batch
        with pytest.raises(TeamError, match="'ship' is not one of batch, campaign, judge, key;"):
            thing_named("ship", "Pilot")
        with pytest.raises(TeamError, match="there is no batch 'Pilot'; correct the name"):
            thing_named("batch", "Pilot")

    def test_a_share_is_given_changed_and_taken_back(
        self, study: Study, main: Team, bridges: Team
    ) -> None:
        batch, third = study.campaign.batch, create_team("third")
        share_with(batch, third)
        share(batch, bridges, "read", study.root)
        share(batch, bridges, "manage", study.rita)
        rows = shares_of(Batch).objects.values_list("team__name", "right", "by__username")
        assert set(rows) == {("third", "read", None), ("bridges", "manage", "rita")}
        share(batch, bridges, None)
        assert [row[0] for row in rows.all()] == ["third"]
        pk = str(batch.pk)
        assert events_called("team.shared") == [
            ("batch", pk, {"team": bridges.pk, "right": right}) for right in ("read", "manage")
        ]
        assert events_called("team.unshared") == [("batch", pk, {"team": bridges.pk})]
        for team, right, why in (
            (main, "read", MAIN_ALREADY),
            (bridges, "own", "a right is one of read, manage; correct it"),
            (bridges, None, "it is not shared with bridges; nothing was changed"),
        ):
            with pytest.raises(TeamError) as wrong:
                share(batch, team, right)
            assert str(wrong.value) == why
        assert Event.objects.filter(event__startswith="team.sha").count() == 2

    def test_sharing_a_campaign_is_recorded_in_its_own_trail(
        self, study: Study, bridges: Team
    ) -> None:
        share(study.campaign, bridges, "read")
        share(study.campaign.batch, bridges, "read")
        found = Event.objects.filter(event="team.shared").order_by("pk")
        assert [each.campaign for each in found] == [study.campaign.pk, None]


class TestMoving:
    def test_a_moved_batch_belongs_to_the_new_team_only(
        self, study: Study, main: Team, bridges: Team
    ) -> None:
        batch, third = study.campaign.batch, create_team("third")
        other = Batch.objects.create(name="other", format="native", digest="1" * 64, team=main)
        share_with(batch, bridges, "manage")
        share_with(batch, third)
        share_with(other, bridges)
        with pytest.raises(TeamError) as wrong:
            move(batch, main)
        assert str(wrong.value) == MAIN_ALREADY
        assert move(batch, bridges) == []
        assert batch.team == Batch.objects.get(pk=batch.pk).team == bridges
        assert Batch.objects.get(pk=other.pk).team == main
        left = shares_of(Batch).objects.values_list("of", "team__name")
        assert set(left) == {(batch.pk, "third"), (other.pk, "bridges")}
        facts = {"team": bridges.pk, "was": main.pk}
        assert events_called("team.moved") == [("batch", str(batch.pk), facts)]

    def test_people_who_may_still_work_in_a_moved_campaign_keep_their_leases(
        self, study: Study, olga: User, bridges: Team
    ) -> None:
        mine, bens, ritas = (study.assignment(u) for u in (study.ada, study.ben, study.rita))
        Membership.objects.create(campaign=study.campaign, user=study.ben, role="annotator")
        join_team(study.rita, bridges)
        share_with(study.campaign.batch, bridges)
        assert move(study.campaign, bridges) == [
            "Released 1 reserved slot from people outside bridges."
        ]
        states = [Assignment.objects.get(pk=each.pk).status for each in (mine, bens, ritas)]
        assert states == ["cancelled", "open", "open"]

    def test_moving_a_named_pool_keeps_only_its_members_leases(
        self, study: Study, bridges: Team
    ) -> None:
        Batch.objects.create(name="other", format="native", digest="1" * 64, team=bridges)
        mine, bens, ritas = (study.assignment(u) for u in (study.ada, study.ben, study.rita))
        Campaign.objects.update(pool="named")
        study.campaign.refresh_from_db()
        for user, changes in (
            (study.ada, {"role": "annotator"}),
            (study.ben, {"role": "annotator", "ended_at": timezone.now()}),
            (study.rita, {"role": "adjudicator"}),
        ):
            Membership.objects.create(campaign=study.campaign, user=user, **changes)
            join_team(user, bridges)
        assert move(study.campaign, bridges, study.root) == [
            "Batch 'harbour' is shared with bridges, to read.",
            "Released 2 reserved slots from people outside bridges.",
        ]
        states = [Assignment.objects.get(pk=each.pk).status for each in (mine, bens, ritas)]
        assert states == ["open", "cancelled", "cancelled"]
        given = shares_of(Batch).objects.get()
        assert (given.team, given.right, given.by) == (bridges, "read", study.root)


def test_the_history_lists_owners_shares_and_moves(study: Study, main: Team, bridges: Team) -> None:
    batch = study.campaign.batch
    record("team.given", of=batch, team=main.pk, maker=study.rita.pk)
    record("team.given", of=("batch", 10**6), team=10**6)
    share(study.campaign, bridges, "manage")
    share(study.campaign, bridges, None)
    record("team.left", of=batch, team=main.pk)
    move(batch, bridges)
    found = list(history())
    assert [each.line for each in found] == [
        "batch harbour: given to main at the upgrade, as rita created it",
        "batch number 1000000: given to a team that is gone at the upgrade, "
        "as nobody is named as its creator",
        "campaign Pilot: shared with bridges, to manage",
        "campaign Pilot: no longer shared with bridges",
        "batch harbour: moved to bridges",
    ]
    assert [each.event.event for each in found][-1] == "team.moved"


class TestChoiceOfTeam:
    def test_teams_are_mentioned_only_if_there_are_several(self, study: Study, main: Team) -> None:
        assert not there_are_several()
        assert describe_owner(study.campaign) == ""
        assert team_named(None) == team_named("") == team_named("main") == main
        assert not several_for("request 1")
        create_team("second")
        assert not several_for("request 1"), "asked once for each request"
        assert several_for("request 2")
        assert several_for("")
        assert there_are_several()
        assert describe_owner(study.campaign) == "Team main."
        study.campaign.made_by = study.rita
        assert describe_owner(study.campaign) == "Team main, created by rita."
        for name, why in (
            (None, "say for which team, by --team: main, second"),
            ("third", "there is no team 'third'; there are main, second"),
        ):
            with pytest.raises(TeamError) as wrong:
                team_named(name)
            assert str(wrong.value) == why
        assert team_named("second").name == "second"

    def test_the_default_team_is_that_of_the_source_or_the_only_managed_one(
        self, study: Study, main: Team, olga: User, bridges: Team
    ) -> None:
        assert team_for(olga) == team_for(olga, like=main) == bridges
        join_team(olga, main, "manager")
        assert team_for(olga, like=main) == main
        assert team_for(olga, "bridges", like=main) == bridges
        for name, why in (
            ("third", "'third' is not a team that you manage; see the list of teams"),
            (None, "say for which team: bridges, main"),
        ):
            with pytest.raises(TeamError) as wrong:
                team_for(olga, name)
            assert str(wrong.value) == why
        with pytest.raises(TeamError) as wrong:
            team_for(study.ada)
        assert str(wrong.value) == "you manage no team; ask the owner of a team, or an admin"
        TeamMember.objects.all().delete()
        with pytest.raises(TeamError, match="you manage no team"):
            team_for(olga)
        with pytest.raises(TeamError, match="say for which team: bridges, main"):
            team_for(study.root)

    def test_the_first_admin_of_a_new_site_creates_its_first_team(self) -> None:
        root = User.objects.create(username="root", role="admin")
        assert not Team.objects.exists()
        assert team_for(root).name == "main"

    def test_pages_offer_a_choice_of_team_only_if_there_is_one(
        self, study: Study, main: Team, olga: User, bridges: Team
    ) -> None:
        assert team_choice(olga) == {"team_choices": [], "team_chosen": ""}
        assert team_choice(study.root, "main") == {
            "team_choices": ["bridges", "main"], "team_chosen": "main"
        }  # fmt: skip

    def test_managed_and_visible_teams_depend_on_roles(
        self, study: Study, main: Team, sam: User, olga: User, bridges: Team
    ) -> None:
        guest = User.objects.create(username="guest", role="researcher", is_guest=True)
        join_team(guest, main, "manager")
        join_team(olga, main, "member")
        see = {u: set(visible_teams(u)) for u in (study.ada, study.rita, olga, study.root)}
        assert list(see.values()) == [{main}, {main}, {main, bridges}, {main, bridges}]
        people = (study.ada, study.rita, sam, olga, guest, study.root)
        managed = [set(managed_teams(user)) for user in people]
        assert managed == [set(), {main}, {main}, {bridges}, set(), {main, bridges}]


class TestBatches:
    def test_reading_and_managing_a_batch_depend_on_team_role_and_shares(
        self, study: Study, main: Team, sam: User, olga: User, bridges: Team
    ) -> None:
        batch = study.campaign.batch
        join_team(sam, main, "member")
        guest = User.objects.create(username="guest", role="researcher", is_guest=True)
        join_team(guest, main, "owner")
        own = Batch.objects.create(name="own", format="native", digest="1" * 64, team=bridges)
        people = (study.ada, study.rita, sam, olga, guest, study.root)

        def rights() -> list[tuple[bool, bool]]:
            return [(batch in visible_batches(u), manages(u, batch)) for u in people]

        mine = [(False, False), (True, True), (True, False)]
        assert rights() == [*mine, (False, False), (False, False), (True, True)]
        share_with(batch, bridges)
        assert rights()[3] == (True, False)
        shares_of(Batch).objects.update(right="manage")
        assert rights()[3] == (True, True)
        join_team(olga, bridges, "member")
        assert rights()[3] == (True, False)
        assert rights()[:3] == mine
        assert visible_batch(olga, batch.pk) == batch
        assert list(visible_batches(olga)) == [batch, own]

    def test_a_person_who_reads_a_campaign_reads_its_batch(self, study: Study, olga: User) -> None:
        assert not visible_batches(olga).exists()
        Membership.objects.create(campaign=study.campaign, user=olga, role="researcher")
        assert list(visible_batches(olga)) == [study.campaign.batch]

    def test_batches_are_listed_by_name(self, study: Study) -> None:
        Batch.objects.create(name="abc", format="native", digest="1" * 64)
        for user in (study.rita, study.root):
            assert [each.name for each in visible_batches(user)] == ["abc", "harbour"]
