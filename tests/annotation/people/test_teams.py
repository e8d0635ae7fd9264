"""Teams: their members, what these may do, and a site with a single team."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.assignments.queue import next_assignment
from annotation.models import Assignment, Campaign, User, rater_of
from annotation.people import teams
from annotation.people.invitations import invite
from annotation.people.membership import (
    add_member,
    end_membership,
    find_readable,
    manageable,
    may_manage,
    readable,
    set_pool,
    workable,
)
from annotation.people.teams import (
    OWNERS,
    create_team,
    leave,
    move,
    set_role,
    share,
    tell_after_upgrade,
)
from audit.models import Event
from audit.recording import record
from datasets.access import visible_batches
from datasets.models import Batch, Team, TeamMember
from judging.judges import Definition, define
from judging.models import Judge
from tests.api.cast import script_of
from tests.cast import run
from tests.once import once
from tests.page_cast import Study, client_of, make_study
from tests.team_cast import join_team, move_to_own_team

pytestmark = pytest.mark.django_db
VARYING = r'key=[\w-]+|nonce=\S+|name="csrfmiddlewaretoken" value="\w+"|hx-headers=\S+ \S+'


@once
def study() -> Study:
    return make_study()


def role_of(user: User) -> str:
    return TeamMember.objects.get(user=user).role


class TestSiteWithOneTeam:
    def test_with_one_team_everybody_is_in_it_and_the_first_researcher_owns_it(
        self, study: Study
    ) -> None:
        second = User.objects.create(username="sam", role="researcher")
        roles = [role_of(user) for user in (study.rita, second, study.ada)]
        assert roles == ["owner", "manager", "member"]
        assert not TeamMember.objects.filter(user=study.root).exists()
        assert study.campaign.team == study.campaign.batch.team == Team.objects.get()

    @pytest.mark.parametrize("user", ["rita", "root"])
    def test_with_one_team_no_page_mentions_teams(self, study: Study, user: str) -> None:
        client, pk = client_of(getattr(study, user)), study.campaign.pk
        pages = [reverse(name) for name in ("campaigns", "batches", "judges", "judge-new",
                                            "upload-new", "campaign-new")]  # fmt: skip
        pages += [reverse("campaign", args=[pk]), reverse("campaign-people", args=[pk])]
        pages += [f"{reverse('campaign-new')}?protocol=report-coverage&batch=harbour"]
        for page in pages:
            content = client.get(page).content.decode()
            assert not re.search(r"\bteams?\b", content, re.IGNORECASE), page

    def test_with_one_team_api_and_commands_mention_no_teams(self, study: Study) -> None:
        script = script_of(study.rita)
        assert "owner" not in script.get("batches/").json()["results"][0]
        assert "owner" not in script.get("campaigns/").json()["results"][0]["study"]
        run(
            "create_campaign",
            "c",
            "--pool",
            "open",
            "--protocol",
            "report-coverage",
            "--batch",
            "harbour",
        )
        assert Campaign.objects.get(name="c").team == Team.objects.get()


class TestSeveralTeams:
    @pytest.fixture
    def olga(self, study: Study) -> User:
        olga = User.objects.create(username="olga", role="researcher")
        move_to_own_team(olga, name="bridges")
        return olga

    def test_with_several_teams_a_new_account_is_in_none(self, olga: User) -> None:
        assert not User.objects.create(username="eve").teams.exists()
        assert list(teams.without_a_team().values_list("username", flat=True)) == ["eve"]

    def test_an_open_pool_is_open_to_the_team_only(self, study: Study, olga: User) -> None:
        other = User.objects.create(username="eve")
        join_team(other, olga.teams.get().team)
        for user in (other, olga):
            assert study.campaign not in workable(user)
            assert next_assignment(study.campaign, rater_of(user)) is None
        assert study.campaign in workable(study.ada)
        add_member(study.campaign, other, "annotator")
        assert next_assignment(study.campaign, rater_of(other)) is not None

    @pytest.mark.parametrize("pool", ["open", "named"])
    def test_a_campaign_can_be_opened_by_exactly_those_who_see_it_in_lists(
        self, study: Study, olga: User, pool: str
    ) -> None:
        set_pool(study.campaign, pool)
        users = {"rita": study.rita, "root": study.root, "ada": study.ada, "olga": olga}
        for role in ("member", "manager"):
            users[role] = User.objects.create(username=role, role="researcher")
            join_team(users[role], study.campaign.team, role)
        users["named"] = User.objects.create(username="named", role="researcher")
        add_member(study.campaign, users["named"], "researcher")
        users["ended"] = User.objects.create(username="ended", role="researcher")
        join_team(users["ended"], study.campaign.team, "manager")
        add_member(study.campaign, users["ended"], "researcher")
        end_membership(study.campaign, users["ended"])
        for right in ("read", "manage"):
            users[right] = User.objects.create(username=right, role="researcher")
            team = move_to_own_team(users[right], name=right)
            share(study.campaign, team, right, study.rita)
        users["guest"] = User.objects.create(username="guest", role="researcher", is_guest=True)
        join_team(users["guest"], study.campaign.team)
        pk, rights = study.campaign.pk, {}
        for name, user in users.items():
            found, manages = find_readable(user, pk), may_manage(user, pk)
            assert (found is not None) == (study.campaign in readable(user)), name
            assert manages == (study.campaign in manageable(user)), name
            assert find_readable(user, pk + 1) is None
            assert not may_manage(user, pk + 1)
            rights[name] = "manages" if manages else "reads" if found else ""
        expected = dict.fromkeys(("rita", "root", "manager", "manage"), "manages")
        expected |= dict.fromkeys(("named", "read"), "reads")
        expected |= {"member": "reads" if pool == "open" else ""}
        assert {name: right for name, right in rights.items() if right} == {
            name: right for name, right in expected.items() if right
        }

    def test_opening_a_campaign_loads_its_related_objects_at_once(self, study: Study) -> None:
        (found,) = Campaign.objects.select_related("batch", "practice_of", "team", "made_by")
        for user in (study.rita, study.root):
            opened = find_readable(user, found.pk)
            assert opened == found
            with CaptureQueriesContext(connection) as queries:
                assert (opened.batch, opened.team) == (found.batch, found.team)
                assert (opened.practice_of, opened.made_by) == (None, None)
                assert {f.attname: getattr(opened, f.attname) for f in Campaign._meta.fields} == {
                    f.attname: getattr(found, f.attname) for f in Campaign._meta.fields
                }
            assert len(queries) == 0

    def test_everything_has_an_owner_on_pages_and_in_the_api(
        self, study: Study, olga: User
    ) -> None:
        Batch.objects.update(made_by=study.rita)
        rita = client_of(study.rita)
        for name, args in (("batches", []), ("batch", [study.campaign.batch_id])):
            assert "main, created by rita" in rita.get(reverse(name, args=args)).content.decode()
        assert ">Teams</a>" in rita.get(reverse("campaigns")).content.decode()
        (batch,) = script_of(study.rita).get("batches/").json()["results"]
        assert batch["owner"] == {"team": "main", "by": "rita"}
        (campaign,) = script_of(study.rita).get("campaigns/").json()["results"]
        assert campaign["study"]["owner"] == {"team": "main", "by": None}

    def test_a_form_offers_the_teams_that_one_manages(self, study: Study, olga: User) -> None:
        join_team(olga, study.campaign.team, "manager")
        form = client_of(olga).get(reverse("judge-new")).content.decode()
        assert 'name="team"' in form

    def test_a_command_requires_a_team_if_there_are_several(self, study: Study, olga: User) -> None:
        new = (
            "create_campaign",
            "c",
            "--pool",
            "open",
            "--protocol",
            "report-coverage",
            "--batch",
            "harbour",
        )
        for command in (new, ("create_judge", "w", "--backend", "lexical")):
            with pytest.raises(CommandError, match="Say for which team, by --team: bridges, main"):
                run(*command)
        with pytest.raises(CommandError, match="belongs to another team than bridges"):
            run(*new, "--team", "bridges")
        run(*new, "--team", "main")
        with pytest.raises(CommandError, match=r"There is no team 'mian'; did you mean 'main'\?$"):
            run("create_judge", "w", "--backend", "lexical", "--team", "mian")


class TestMembers:
    @pytest.fixture
    def sam(self, study: Study) -> User:
        return User.objects.create(username="sam", role="researcher")

    def test_leaving_a_team_ends_no_other_membership(self, study: Study, sam: User) -> None:
        create_team("bridges", owner=sam)
        leave(study.campaign.team, sam, sam)
        assert [each.team.name for each in sam.teams.all()] == ["bridges"]

    def test_people_are_managed_on_the_teams_page(
        self, study: Study, sam: User, client: Client
    ) -> None:
        eve = User.objects.create(username="eve")
        TeamMember.objects.filter(user=eve).delete()
        client.force_login(study.rita)
        team = study.campaign.team
        page, change = (reverse(name, args=[team.pk]) for name in ("team", "team-change"))
        client.post(change, {"order": "add", "account": "eve", "role": "member"})
        assert role_of(eve) == "member"
        wrong = client.post(change, {"order": "add", "account": "nobody", "role": "member"})
        assert "No account has this name" in wrong.content.decode()
        response = client.post(change, {"order": "leave"})
        assert response.status_code == 409
        assert "The only owner of main is rita" in response.content.decode()
        member = TeamMember.objects.get(user=sam).pk
        client.post(change, {"order": "hand-over", "member": member})
        assert role_of(sam) == "owner"
        assert client.post(change, {"order": "leave"})["Location"] == reverse("teams")
        assert client.get(page).status_code == 404

    def test_adding_a_person_outside_the_team_gives_a_link_whether_or_not_they_exist(
        self, study: Study
    ) -> None:
        eve, team = User.objects.create(username="eve-lyn"), study.campaign.team
        move_to_own_team(eve, name="bridges")
        rita = client_of(study.rita)
        for where in (
            reverse("team-change", args=[team.pk]),
            reverse("campaign-people-change", args=[study.campaign.pk]),
        ):
            role = "member" if "teams" in where else "annotator"
            pages = []
            for name in ("eve-lyn", "no-body"):
                answer = rita.post(where, {"order": "add", "account": name, "role": role})
                text = answer.content.decode().replace(name, "NAME")
                pages.append((answer.status_code, re.sub(VARYING, "", text)))
            assert pages[0] == pages[1]
            assert pages[0][0] == 200
            assert "Link created" in pages[0][1]
        assert set(eve.teams.values_list("team__name", flat=True)) == {"bridges"}
        assert not eve.memberships.exists()

    def test_accepting_the_link_makes_a_member(self, study: Study) -> None:
        eve, team = User.objects.create(username="eve"), study.campaign.team
        move_to_own_team(eve, name="bridges")
        given = {"order": "add", "account": "eve", "role": "member"}
        page = client_of(study.rita).post(reverse("team-change", args=[team.pk]), given)
        link = re.search(r"/join/\?key=[\w-]+", page.content.decode())
        assert link is not None
        accepting = client_of(eve)
        assert "Take part as eve" in accepting.get(link[0]).content.decode()
        assert accepting.post(link[0]).status_code == 302
        assert team.members.get(user=eve).role == "member"
        # Now they see each other.
        given = {"order": "add", "account": "eve", "role": "owner"}
        response = client_of(study.rita).post(reverse("team-change", args=[team.pk]), given)
        assert "labels only" in response.content.decode()

    @pytest.mark.parametrize(("role", "told"), [("member", False), ("manager", True)])
    def test_a_link_says_that_it_makes_a_member_if_more_was_asked_for(
        self, study: Study, role: str, told: bool
    ) -> None:
        team = study.campaign.team
        move_to_own_team(User.objects.create(username="eve"), name="bridges")
        given = {"order": "add", "account": "eve", "role": role}
        page = client_of(study.rita).post(reverse("team-change", args=[team.pk]), given)
        assert (f"Not {role} yet: a link makes a member only." in page.content.decode()) is told

    def test_the_api_answers_alike_for_unknown_and_outside_people_and_admins_add_anybody(
        self, study: Study
    ) -> None:
        eve, team = User.objects.create(username="eve"), study.campaign.team
        move_to_own_team(eve, name="bridges")
        script = script_of(study.rita)
        answers = [
            script.put(path, {"name": name, "role": role})
            for path, role in (
                (f"teams/{team.pk}/members/", "member"),
                (f"campaigns/{study.campaign.pk}/members/", "annotator"),
            )
            for name in ("eve", "nobody")
        ]
        assert [answer.status_code for answer in answers] == [422] * 4
        replies = [answer.json() for answer in answers]
        assert replies[0] == replies[1]
        assert replies[2] == replies[3]
        change = reverse("team-change", args=[team.pk])
        client_of(study.root).post(change, {"order": "add", "account": "eve", "role": "member"})
        assert team.members.filter(user=eve).exists()

    def test_a_manager_sees_and_revokes_the_links_of_a_team(self, study: Study) -> None:
        stranger, team = (
            User.objects.create(username="olga", role="researcher"),
            study.campaign.team,
        )
        move_to_own_team(stranger, name="bridges")
        rita, page = client_of(study.rita), reverse("team", args=[team.pk])
        invite("annotator", team=team, note="for eve", by=study.rita)
        assert "for eve" in rita.get(page).content.decode()
        assert script_of(stranger).get("invitations/").json()["count"] == 0
        (invitation,) = script_of(study.rita).get("invitations/").json()["results"]
        revoke = reverse("invitation-revoke", args=[invitation["id"]])
        assert client_of(stranger).post(revoke, {"from": "team"}).status_code == 404
        assert rita.post(revoke, {"from": "team"})["Location"] == page
        assert script_of(study.rita).get("invitations/").json()["results"][0]["state"] == "revoked"

    def test_a_person_who_joins_by_a_link_is_told_the_team_and_led_there(
        self, study: Study
    ) -> None:
        stranger, team = (
            User.objects.create(username="olga", role="researcher"),
            study.campaign.team,
        )
        move_to_own_team(stranger, name="bridges")
        key = invite("annotator", team=team, by=study.rita).key
        link = f"{reverse('join')}?key={key}"
        promise = f"You become a member of the team <strong>{team.name}</strong>."
        assert promise in Client().get(link).content.decode()
        answer = client_of(stranger).post(link)
        assert answer["Location"] == reverse("team", args=[team.pk])

    def test_no_page_offers_what_is_refused(self, study: Study, sam: User) -> None:
        team = study.campaign.team
        set_role(team, sam, "manager", study.rita)
        page = reverse("team", args=[team.pk])
        removed = 'Remove<span class="sr">: rita'
        assert removed not in client_of(sam).get(page).content.decode()
        set_role(team, sam, "owner", study.rita)
        assert removed in client_of(sam).get(page).content.decode()

    def test_only_an_admin_creates_a_team(self, study: Study) -> None:
        assert client_of(study.rita).post(reverse("teams"), {"name": "x"}).status_code == 403
        client_of(study.root).post(reverse("teams"), {"name": "bridges"})
        assert Team.objects.filter(name="bridges").exists()
        response = client_of(study.root).post(reverse("teams"), {"name": "bridges"})
        assert (
            "A team &#x27;bridges&#x27; exists; choose another name." in response.content.decode()
        )


class TestSharingAndMoving:
    @pytest.fixture
    def olga(self, study: Study) -> User:
        olga = User.objects.create(username="olga", role="researcher")
        move_to_own_team(olga, name="bridges")
        return olga

    @pytest.mark.postgresql
    def test_a_moved_object_belongs_to_the_other_team_with_its_batch(
        self, study: Study, olga: User
    ) -> None:
        mine, team = study.assignment(study.ada), olga.teams.get().team
        consequences = move(study.campaign, team)
        assert consequences == [
            "Batch 'harbour' is shared with bridges, to read.",
            "Released 1 reserved slot from people outside bridges.",
        ]
        assert Assignment.objects.get(pk=mine.pk).status == "cancelled"
        assert study.campaign in manageable(olga)
        assert study.campaign not in readable(study.rita)
        assert list(visible_batches(olga)) == [study.campaign.batch]

    def test_a_shared_batch_takes_campaigns_of_the_other_team(
        self, study: Study, olga: User
    ) -> None:
        new = {"name": "c", "protocol": "report-coverage", "batch": "harbour"}
        assert script_of(olga).post("campaigns/", new).status_code == 400
        share(study.campaign.batch, olga.teams.get().team, "read", study.root)
        assert script_of(olga).post("campaigns/", new).status_code == 201
        assert Campaign.objects.get(name="c").team.name == "bridges"
        assert study.campaign not in readable(olga)

    def test_a_judge_is_moved_with_its_variants(self, study: Study, olga: User) -> None:
        team, was = olga.teams.get().team, study.campaign.team
        base, variant, other = (
            define(Definition(name, "openai", name, "http://127.0.0.1:8000", ""), team=was)[0]
            for name in ("base", "variant", "other")
        )
        Judge.objects.filter(pk=variant.pk).update(base=base)
        move(base, team)
        assert set(Judge.objects.filter(team=team)) == {base, variant}
        assert Judge.objects.get(pk=other.pk).team == was

    def test_a_team_created_for_a_person_is_owned_by_them(self, study: Study) -> None:
        made = create_team("new", study.rita)
        assert TeamMember.objects.get(team=made).role == "owner"
        assert not TeamMember.objects.filter(team=create_team("empty")).exists()

    def test_the_upgrade_reports_how_many_objects_went_to_how_many_teams(
        self, study: Study
    ) -> None:
        out, plan = io.StringIO(), [(SimpleNamespace(name=OWNERS), False)]
        tell_after_upgrade(plan, stdout=out)
        assert out.getvalue() == "", "an upgrade without anything to give says nothing"
        teams = (study.campaign.team, Team.objects.create(name="second"))
        for team in (*teams, teams[0]):
            record("team.given", of=study.campaign.batch, team=team.pk)
        for silent in ((None, 1), (plan, 0), ([(plan[0][0], True)], 1)):
            tell_after_upgrade(*silent, stdout=out)
        assert out.getvalue() == ""
        tell_after_upgrade(plan, stdout=out)
        assert "3 batches, campaigns and judges were given to 2 teams;" in out.getvalue()

    def test_commands_share_move_and_list_what_belongs_to_whom(
        self, study: Study, olga: User
    ) -> None:
        run("team", "share", "batch", "harbour", "--with", "bridges")
        run("team", "move", "campaign", "Pilot", "--to", "bridges")
        output = run("team", "history")
        assert "batch harbour: shared with bridges, to read" in output
        assert "campaign Pilot: moved to bridges" in output
        assert "bridges: 1 campaign\n  olga, owner" in run("team", "list")
        with pytest.raises(
            CommandError, match=r"There is no campaign 'Pilto'; did you mean 'Pilot'\?$"
        ):
            run("team", "move", "campaign", "Pilto", "--to", "main")
        with pytest.raises(CommandError, match="Only an admin may move; olga is not an admin"):
            run("team", "move", "campaign", "Pilot", "--to", "main", "--by", "olga")
        with pytest.raises(CommandError, match="Write it as: team add TEAM ACCOUNT"):
            run("team", "add", "bridges")
        assert "\nTeam bridges.\n" in run("show_campaign", "Pilot")
        assert run("batch_lineage", "harbour").startswith("Team main")
        assert "\nteams: bridges (owner)\n" in run("person", "olga")
        run("team", "add", "bridges", "rita", "--as", "manager", "--by", "olga")
        assert study.campaign in manageable(study.rita)


def test_changes_to_a_running_campaign_are_listed_on_its_page(study: Study) -> None:
    client, page = client_of(study.rita), reverse("campaign-settings", args=[study.campaign.pk])
    assert "Changed since it opened" not in client.get(page).content.decode()
    script_of(study.rita).post(f"campaigns/{study.campaign.pk}/terms/", {"language": "de"})
    script_of(study.rita).put(
        f"campaigns/{study.campaign.pk}/members/", {"name": "ada", "role": "annotator"}
    )
    content = client.get(page).content.decode()
    assert "Changed since it opened" in content
    assert re.search(r"rita: Deadline, guideline, language or another setting changed", content)
    assert "rita: Member given a role, an annotator" in content
    assert Event.objects.filter(event="campaign.terms", who=study.rita.pk).count() == 1
