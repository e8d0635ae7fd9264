"""An invitation admits one person, once, within seven days, with exactly the role that it names."""

from __future__ import annotations

import re
import threading
from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Invitation, Membership, User
from annotation.people import invitations
from annotation.people.accounts import change_role, switch_off
from annotation.people.invitations import (
    AccountError,
    NewInvitation,
    accept,
    accept_identity,
    digest_of,
    invitation_of,
    invite,
    join,
    revoke,
    revoke_all_of,
)
from annotation.people.membership import PeopleError
from annotation.people.teams import set_role
from audit.models import Event
from datasets.models import Team
from tests.api.cast import script_of
from tests.cast import run
from tests.page_cast import Study, client_of, make_study
from tests.team_cast import give_away, move_to_own_team

pytestmark = pytest.mark.django_db
GOOD = {"name": "eve", "password": "a-rather-long-word", "again": "a-rather-long-word"}


@pytest.fixture
def study() -> Study:
    return make_study()


def test_an_invitation_to_a_team_makes_a_member_on_pages_and_in_the_api(study: Study) -> None:
    team = Team.objects.create(name="Readers")
    mary = User.objects.create_user("mary", role="researcher")
    set_role(team, mary, "manager")
    asks = client_of(study.root).get(reverse("invite"))
    assert 'value="Readers"' in asks.content.decode()
    sent = {"role": "annotator", "campaign_role": "annotator", "team": "Readers"}
    shown = client_of(study.root).post(reverse("invite"), sent).content.decode()
    assert "a member of the team Readers" in shown
    found = re.search(r"/join/\?key=[\w-]+", shown)
    assert found
    Client().post(found[0], GOOD)
    eve = User.objects.get(username="eve")
    assert team.members.get(user=eve).role == "member"
    # A manager of the team invites to it, and nobody to a team of others.
    assert script_of(mary).post("invitations/", {"team": "Readers"}).json()["team"] == "Readers"
    others = Team.objects.exclude(pk=team.pk).first()
    assert others
    assert script_of(mary).post("invitations/", {"team": others.name}).status_code == 422
    late = invite("annotator", by=mary, team=team)
    set_role(team, study.ada, "member")
    team.members.filter(user=mary).delete()
    with pytest.raises(PeopleError, match="has left the team"):
        join(late.invitation, study.ada)


def test_a_person_who_joins_a_team_to_label_is_told_so_on_the_next_page(study: Study) -> None:
    team = Team.objects.create(name="Readers <1>")
    for client, sent in ((Client(), GOOD), (client_of(study.ada), {})):
        made = invite("annotator", by=study.root, team=team)
        page = client.post(door(made), sent, follow=True).content.decode()
        assert "You are now a member of the team <strong>Readers &lt;1&gt;</strong>." in page
        assert "You are now" not in client.get(reverse("work")).content.decode()


@pytest.mark.parametrize("joined", ["{team}", "0", "x", "9" * 40, "²"])
def test_an_address_names_no_team_that_the_person_is_not_in(study: Study, joined: str) -> None:
    team = Team.objects.create(name="Readers")
    page = client_of(study.ada).get(reverse("work"), {"joined": joined.format(team=team.pk)})
    assert page.status_code == 200
    assert "Readers" not in page.content.decode()


def door(made: NewInvitation) -> str:
    return f"{reverse('join')}?key={made.key}"


def end(made: NewInvitation) -> None:
    Invitation.objects.filter(pk=made.invitation.pk).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )


class TestLink:
    def test_only_the_digest_of_an_invitation_key_is_stored(self, study: Study) -> None:
        made = invite("annotator", study.campaign, by=study.root)
        row = Invitation.objects.values().get()
        assert row["digest"] == digest_of(made.key)
        assert made.key not in str(row)
        assert len(made.key) >= 43

    def test_opening_the_link_does_not_use_the_invitation(self, study: Study) -> None:
        made = invite("annotator", by=study.root)
        for _ in range(3):
            assert Client().get(door(made)).status_code == 200
        assert made.invitation.state == "open"

    def test_an_invitation_creates_the_intended_account(self, study: Study) -> None:
        made = invite("annotator", study.campaign, "adjudicator", by=study.root)
        client = Client()
        answer = client.post(door(made), GOOD)
        assert (answer.status_code, answer["Location"]) == (302, "/")
        eve = User.objects.get(username="eve")
        assert (eve.role, eve.is_guest, eve.check_password(GOOD["password"])) == (
            "annotator", False, True,
        )  # fmt: skip
        assert Membership.objects.get(user=eve).role == "adjudicator"
        assert client.get(reverse("work")).status_code == 200

    def test_the_page_says_what_an_invited_person_will_do(self, study: Study) -> None:
        name = f"<strong>{study.campaign.name}</strong>"
        for role, words in (
            ("annotator", f"You label texts in {name}."),
            ("adjudicator", f"In {name} you decide where others disagree."),
        ):
            made = invite("annotator", study.campaign, role, by=study.root)
            assert words in Client().get(door(made)).content.decode()
        mine = client_of(study.ada).get(door(made)).content.decode()
        assert "logged in as <strong>ada</strong>, and take part with this account" in mine

    def test_nobody_chooses_their_own_role(self, study: Study) -> None:
        made = invite("annotator", study.campaign, by=study.root)
        Client().post(door(made), {**GOOD, "role": "admin", "campaign_role": "researcher"})
        eve = User.objects.get(username="eve")
        assert (eve.role, eve.is_superuser, eve.memberships.get().role) == (
            "annotator", False, "annotator",
        )  # fmt: skip

    @pytest.mark.postgresql
    def test_an_invitation_works_once(self, study: Study) -> None:
        made = invite("annotator", by=study.root)
        assert Client().post(door(made), GOOD).status_code == 302
        again = Client().post(door(made), {**GOOD, "name": "mallory"})
        assert again.status_code == 410
        assert "This link was used" in again.content.decode()
        assert not User.objects.filter(username="mallory").exists()

    def test_an_expired_invitation_says_so(self, study: Study) -> None:
        made = invite("annotator", by=study.root)
        end(made)
        for answer in (Client().get(door(made)), Client().post(door(made), GOOD)):
            assert answer.status_code == 410
            assert "This link has expired" in answer.content.decode()
        assert not User.objects.filter(username="eve").exists()

    def test_a_revoked_invitation_says_so(self, study: Study) -> None:
        made = invite("annotator", by=study.root)
        assert revoke(made.invitation)
        answer = Client().post(door(made), GOOD)
        assert answer.status_code == 410
        assert "This link was revoked" in answer.content.decode()
        assert not revoke(made.invitation)

    @pytest.mark.every_case
    @pytest.mark.parametrize("key", ["", "x", "x" * 5000, "\x00", "🌉"])
    def test_a_made_up_invitation_key_is_refused(self, study: Study, key: str) -> None:
        assert Client().get(reverse("join"), {"key": key}).status_code == 404

    def test_invitation_keys_are_not_logged(
        self, study: Study, caplog: pytest.LogCaptureFixture
    ) -> None:
        made = invite("annotator", by=study.root)
        with caplog.at_level("INFO", "tandem.requests"):
            Client().get(door(made))
        assert caplog.records
        assert made.key not in "".join(str(vars(record)) for record in caplog.records)


class TestNameAndPassword:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"name": "ADA"}, "This name is taken"),
            ({"name": "a b"}, "valid username"),
            ({"name": ""}, "Choose a name"),
            ({"password": "short", "again": "short"}, "at least 12"),
            ({"password": "password1234", "again": "password1234"}, "too common"),
            ({"again": "another-long-word"}, "differ"),
        ],
    )
    def test_an_invalid_name_or_password_does_not_use_the_invitation(
        self, study: Study, wrong: dict[str, str], message: str
    ) -> None:
        made = invite("annotator", by=study.root)
        answer = Client().post(door(made), GOOD | wrong)
        assert answer.status_code == 422
        assert message in answer.content.decode()
        assert Client().post(door(made), GOOD).status_code == 302

    def test_a_password_is_never_shown_again(self, study: Study) -> None:
        made = invite("annotator", by=study.root)
        answer = Client().post(door(made), GOOD | {"name": ""})
        assert GOOD["password"] not in answer.content.decode()


class TestExistingAccounts:
    def test_an_existing_account_takes_part_by_the_same_link(self, study: Study) -> None:
        made = invite("annotator", study.campaign, by=study.rita)
        client = client_of(study.ada)
        assert "Take part as ada" in client.get(door(made)).content.decode()
        assert client.post(door(made)).status_code == 302
        assert Membership.objects.get().user == study.ada
        assert Invitation.objects.get().used_by == study.ada

    def test_an_existing_account_keeps_its_role(self, study: Study) -> None:
        made = invite("researcher", study.campaign, "researcher", by=study.root)
        answer = client_of(study.ada).post(door(made))
        assert answer.status_code == 409
        assert "cannot be researcher" in answer.content.decode()
        assert User.objects.get(pk=study.ada.pk).role == "annotator"
        assert Invitation.objects.get().state == "open"


class TestInvitingPeople:
    def test_invitations_end_with_the_inviters_role(self, study: Study) -> None:
        first = invite("annotator", study.campaign, by=study.rita)
        change_role(study.rita, "annotator")
        second = invite("admin", by=User.objects.create(username="r2", role="admin"))
        switch_off(User.objects.get(username="r2"))
        for made in (first, second):
            made.invitation.refresh_from_db()
            assert made.invitation.state == "revoked"

    def test_only_ones_own_open_invitations_end_with_the_role(self, study: Study) -> None:
        used, open_one = (invite("annotator", study.campaign, by=study.rita) for _ in range(2))
        other = invite("annotator", study.campaign, by=study.root)
        accept(used.invitation, "eve", GOOD["password"])
        revoke_all_of(study.rita)
        ended = {row.pk for row in Invitation.objects.exclude(revoked_at=None)}
        assert ended == {open_one.invitation.pk}
        assert not revoke(used.invitation)
        assert revoke(other.invitation)
        assert not revoke(other.invitation)


class TestUse:
    def test_an_existing_account_uses_up_an_invitation_too(self, study: Study) -> None:
        made = invite("annotator", study.campaign, by=study.root).invitation
        join(made, study.ada)
        made.refresh_from_db()
        assert (made.used_by, made.used_at is None) == (study.ada, False)
        with pytest.raises(PeopleError, match="used or revoked"):
            join(made, study.ben)
        assert not Membership.objects.filter(user=study.ben).exists()

    def test_an_invitation_without_a_campaign_is_for_a_new_account(self, study: Study) -> None:
        made = invite("annotator", by=study.root).invitation
        with pytest.raises(PeopleError, match="for a new account"):
            join(made, study.ada)
        made.refresh_from_db()
        assert made.used_at is None

    def test_an_invitation_is_valid_until_its_last_moment(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = invite("annotator", study.campaign, by=study.root).invitation
        monkeypatch.setattr(timezone, "now", lambda: made.expires_at)
        with pytest.raises(PeopleError, match="used or revoked"):
            join(made, study.ada)
        last = made.expires_at - timedelta(microseconds=1)
        monkeypatch.setattr(timezone, "now", lambda: last)
        join(made, study.ada)
        assert Membership.objects.get().user == study.ada

    def test_a_name_taken_meanwhile_does_not_use_up_the_invitation(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = invite("annotator", study.campaign, by=study.root).invitation
        monkeypatch.setattr(invitations, "_check_account", lambda user, password: None)
        with pytest.raises(AccountError, match="This name is taken"):
            accept(made, "ada", GOOD["password"])
        made.refresh_from_db()
        assert made.used_at is None
        assert not Membership.objects.exists()

    @pytest.mark.every_case
    @pytest.mark.parametrize(("name", "password"), [("a b/", "short"), ("ADA", "12345678")])
    def test_problems_with_name_and_password_are_reported_together(
        self, study: Study, name: str, password: str
    ) -> None:
        made = invite("annotator", study.campaign, by=study.root).invitation
        with pytest.raises(AccountError) as wrong:
            accept(made, name, password)
        assert set(wrong.value.problems) == {"name", "password"}

    def test_a_revoked_invitation_is_not_used(self, study: Study) -> None:
        made = invite("annotator", study.campaign, by=study.rita).invitation
        revoke(made)
        made.refresh_from_db()
        at = made.revoked_at
        revoke_all_of(study.rita)
        made.refresh_from_db()
        assert made.revoked_at == at
        with pytest.raises(PeopleError, match="this link was used or revoked just now"):
            join(made, study.ada)

    def test_all_account_problems_make_one_line_for_commands(self) -> None:
        error = AccountError({"name": ["Too long.", "Taken."], "password": ["Too short."]})
        assert str(error) == "Too long. Taken. Too short."
        assert error.problems == {"name": ["Too long.", "Taken."], "password": ["Too short."]}

    def test_a_campaign_role_above_the_account_role_is_refused(self, study: Study) -> None:
        with pytest.raises(PeopleError, match="cannot be researcher"):
            invite("annotator", study.campaign, "researcher", by=study.root)

    def test_a_note_is_one_line_of_at_most_150_characters(self, study: Study) -> None:
        made = invite("annotator", note=" a \n b" + "x" * 200, by=study.root).invitation
        assert made.note == ("a b" + "x" * 200)[:150]


class TestStoredInvitation:
    def test_an_invitation_is_found_by_keys_of_up_to_200_characters(self, study: Study) -> None:
        made = [invite("annotator").invitation for _ in range(2)]
        for each, length in zip(made, (200, 201), strict=True):
            Invitation.objects.filter(pk=each.pk).update(digest=digest_of("x" * length))
        assert invitation_of("x" * 200) == made[0]
        assert invitation_of("x" * 201) is None
        assert invitation_of("") is None
        assert invitation_of("x") is None

    def test_an_invitation_stores_all_its_details_for_a_week(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = timezone.now()
        monkeypatch.setattr(timezone, "now", lambda: now)
        made = invite("researcher", study.campaign, "adjudicator", "a", study.root).invitation
        stored = Invitation.objects.get()
        assert stored == made
        details = (stored.role, stored.campaign, stored.campaign_role, stored.note, stored.by)
        assert details == ("researcher", study.campaign, "adjudicator", "a", study.root)
        assert (stored.expires_at, stored.team) == (now + timedelta(days=7), None)
        plain = invite("annotator", study.campaign).invitation
        assert (plain.campaign_role, plain.note, plain.by) == ("annotator", "", None)

    def test_inviting_beyond_ones_rights_is_refused(self, study: Study) -> None:
        others = Team.objects.create(name="others")
        mine = study.campaign.team
        more = "a researcher invites annotators to a campaign or a team; ask an admin for more"
        for role, campaign, team, why in (
            ("researcher", study.campaign, None, more),
            ("annotator", None, None, more),
            ("annotator", None, others, "this team is not yours; name another"),
            ("annotator", study.campaign, others, "this team is not yours; name another"),
        ):
            with pytest.raises(PeopleError) as wrong:
                invite(role, campaign, by=study.rita, team=team)
            assert str(wrong.value) == why
        assert invite("annotator", by=study.rita, team=mine).invitation.team == mine
        give_away(study.campaign)
        with pytest.raises(PeopleError) as wrong:
            invite("annotator", study.campaign, by=study.rita, team=mine)
        assert str(wrong.value) == "this campaign is not yours; name another"
        assert invite("admin", by=study.root, team=others)

    def test_a_team_member_keeps_their_role_and_gets_the_one_in_the_campaign(
        self, study: Study
    ) -> None:
        team = study.campaign.team
        made = invite("annotator", study.campaign, "adjudicator", by=study.root, team=team)
        join(made.invitation, study.rita)
        assert team.members.get(user=study.rita).role == "owner"
        member = Membership.objects.get()
        assert (member.user, member.role, member.by) == (study.rita, "adjudicator", study.root)

    def test_a_person_of_the_identity_provider_gets_an_account_without_a_password(
        self, study: Study
    ) -> None:
        made = invite("annotator", study.campaign, by=study.root).invitation
        eve = accept_identity(made, "eve")
        stored = User.objects.get(username="eve")
        assert (stored, stored.role, stored.has_usable_password()) == (eve, "annotator", False)
        assert Membership.objects.get().user == eve
        made.refresh_from_db()
        assert made.used_by == eve
        event = Event.objects.get(event="invitation.used")
        assert (event.who, event.facts) == (eve.pk, {"new_account": True})
        with pytest.raises(PeopleError, match="this link was used or revoked just now"):
            accept_identity(made, "adam")
        assert not User.objects.filter(username="adam").exists()

    def test_the_refusal_names_an_inviter_who_has_left(self, study: Study) -> None:
        team = study.campaign.team
        to_team = invite("annotator", by=study.rita, team=team).invitation
        to_campaign = invite("annotator", study.campaign, by=study.rita).invitation
        move_to_own_team(study.rita)
        for made, what in ((to_team, "team"), (to_campaign, "campaign")):
            with pytest.raises(PeopleError) as wrong:
                join(made, study.ada)
            assert str(wrong.value) == (
                f"the person who created this link has left the {what}; ask for a new one"
            )


class TestDatabase:
    @pytest.mark.postgresql
    def test_the_database_refuses_a_used_and_revoked_invitation(self, study: Study) -> None:
        made = invite("annotator", by=study.root).invitation
        now = timezone.now()
        with pytest.raises(IntegrityError), transaction.atomic():
            Invitation.objects.filter(pk=made.pk).update(used_at=now, revoked_at=now)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_one_of_simultaneous_users_of_an_invitation_gets_in() -> None:
    root = User.objects.create(username="root", role="admin")
    made = invite("annotator", by=root)
    barrier, said = threading.Barrier(6), list[str]()

    def come(name: str) -> None:
        barrier.wait()
        try:
            accept(made.invitation, name, "a-rather-long-word")
            said.append("in")
        except PeopleError as error:
            said.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=come, args=(f"eve{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said.count("in") == 1
    assert all("ask for a new one" in each for each in said if each != "in")
    assert User.objects.filter(username__startswith="eve").count() == 1


class TestCommand:
    def test_the_command_prints_a_working_link(self, study: Study) -> None:
        out = run("invite", "--campaign", "Pilot", "--site", "https://x.example/", "--note", "Eve")
        link = out.strip()
        assert re.fullmatch(r"https://x\.example/join/\?key=[\w-]{43}", link)
        assert Client().post(link.removeprefix("https://x.example"), GOOD).status_code == 302
        assert run("invite", "--list").startswith(f"{Invitation.objects.get().pk}: used, annotator")

    def test_the_command_revokes_an_invitation_once(self, study: Study) -> None:
        run("invite", "--role", "researcher")
        number = Invitation.objects.get().pk
        run("invite", "--revoke", number)
        with pytest.raises(CommandError, match="is revoked"):
            run("invite", "--revoke", number)
        with pytest.raises(CommandError, match="no invitation"):
            run("invite", "--revoke", 10**6)


class TestRateLimits:
    def test_guesses_of_account_names_through_a_link_are_limited(self, study: Study) -> None:
        made = invite("annotator", by=study.root)
        tries = [Client().post(door(made), {**GOOD, "name": "ada"}) for _ in range(21)]
        assert [answer.status_code for answer in tries] == [422] * 20 + [429]
        assert int(tries[-1]["Retry-After"]) <= 3600
        assert Client().post(door(made), GOOD, REMOTE_ADDR="10.0.0.2").status_code == 302

    def test_an_account_may_invite_sixty_people_an_hour(self, study: Study) -> None:
        here, rita = reverse("campaign-invite", args=[study.campaign.pk]), client_of(study.rita)
        sent = {"campaign_role": "annotator", "note": ""}
        assert {rita.post(here, sent).status_code for _ in range(30)} == {200}
        script = script_of(study.rita)
        body = {"campaign": study.campaign.pk}
        assert {script.post("invitations/", body).status_code for _ in range(30)} == {201}
        assert rita.post(here, sent).status_code == 429
        assert script.post("invitations/", body).status_code == 429
        assert Invitation.objects.count() == 60
