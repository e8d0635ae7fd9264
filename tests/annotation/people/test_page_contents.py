"""What the pages of people, invitations and a campaign's people show, and where they lead."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import (
    Assignment,
    Campaign,
    Exclusion,
    Invitation,
    LogInCount,
    Membership,
    Participant,
    Rater,
    User,
    rater_of,
)
from annotation.people.accounts import LONGEST
from annotation.people.invitations import invitation_of, invite
from annotation.people.login_limits import digest_of
from annotation.people.membership import exclude
from annotation.people.prolific import Arrival, enter, set_study
from annotation.views import campaign_people, people
from datasets.models import Batch
from tests.once import once
from tests.page_cast import PASSWORD, Study, client_of, make_study
from tests.team_cast import give_away, join_team

pytestmark = pytest.mark.django_db
NOW = timezone.now()
OWN = "You cannot change your own account; ask another admin."


@once
def study() -> Study:
    return make_study(reports=3)


@pytest.fixture
def other(study: Study) -> Campaign:
    return create_campaign("Another", "report-coverage", Batch.objects.get(), Design()).campaign


@pytest.fixture
def root(study: Study) -> Client:
    return client_of(study.root)


@pytest.fixture
def rita(study: Study) -> Client:
    return client_of(study.rita)


def row(campaign: Campaign, place: int, who: Rater, **changes: Any) -> None:
    item = campaign.items.get(position=place)
    Assignment.objects.create(item=item, rater=who, asked=[], **changes)


def guesses(name: str, wrong: int, kind: str = "address") -> None:
    now = timezone.now()
    LogInCount.objects.create(
        kind=kind, account=digest_of(name), source=kind, wrong=wrong, since=now, last_at=now
    )


class TestPeopleList:
    def test_accounts_with_blocked_or_slowed_log_in_are_marked(
        self, study: Study, root: Client, settings: Settings
    ) -> None:
        settings.LOGIN_TRIES = {**settings.LOGIN_TRIES, "address": 2, "account": 3}
        guesses("ada", 2)
        guesses("ben", 1)
        guesses("rita", 3, "account")
        for n in range(2):
            User.objects.create(username=f"guest-{n}", is_guest=True)
        shown = root.get(reverse("people")).context
        assert [each.username for each in shown["page"]] == ["ada", "ben", "rita", "root"]
        assert shown["closed"] == {study.ada.pk, study.rita.pk}
        assert (shown["guests"], shown["number_of_guests"]) == (False, 2)
        guests = root.get(reverse("people"), {"guests": "1"}).context
        assert [each.username for each in guests["page"]] == ["guest-0", "guest-1"]
        assert guests["guests"] is True
        assert root.get(reverse("people"), {"guests": "2"}).context["guests"] is False

    def test_the_list_has_fifty_people_per_page_and_the_fifty_newest_invitations(
        self, study: Study, root: Client
    ) -> None:
        User.objects.bulk_create(User(username=f"z{n:02}") for n in range(48))
        made = [invite("annotator").invitation for _ in range(51)]
        shown = root.get(reverse("people")).context
        assert len(shown["page"]) == 50
        assert set(shown["invitations"]) == set(made[1:])
        second = root.get(reverse("people"), {"page": "2"}).context
        assert [each.username for each in second["page"]] == ["z46", "z47"]


class TestPersonPage:
    def test_the_page_shows_roles_and_work_by_campaign(
        self, study: Study, other: Campaign, root: Client
    ) -> None:
        mine, bens = rater_of(study.ada), rater_of(study.ben)
        row(study.campaign, 0, mine, status="done", slot=1)
        row(study.campaign, 1, mine, slot=1)
        row(study.campaign, 2, mine, slot=None)
        row(study.campaign, 0, bens, status="done", slot=2)
        Membership.objects.create(campaign=other, user=study.ben)
        member = Membership.objects.create(campaign=other, user=study.ada, ended_at=NOW)
        exclude(study.campaign, mine, "too fast")
        exclude(study.campaign, bens, "asleep")
        Exclusion.objects.create(campaign=other, rater=mine, reason="by mistake", undone_at=NOW)
        shown = root.get(reverse("person", args=[study.ada.pk])).context
        assert shown["rows"] == [
            {"campaign": other, "membership": member, "done": 0, "held": 0, "excluded": None},
            {"campaign": study.campaign, "membership": None, "done": 1, "held": 1,
             "excluded": "too fast"},
        ]  # fmt: skip
        context = {name: shown[name] for name in ("account", "rater", "tells", "wrong", "factors")}
        assert context == {
            "account": study.ada, "rater": mine, "tells": False, "wrong": "", "factors": [],
        }  # fmt: skip
        assert (shown["guesses"], shown["email"], shown["linked"]) == (None, "", False)
        assert shown["roles"] == User.Role.choices

    def test_the_page_shows_how_the_person_logs_in(
        self, study: Study, root: Client, settings: Settings
    ) -> None:
        settings.TANDEM_OIDC_NAME = "University"
        EmailAddress.objects.create(user=study.ada, email="ada@uni.example", verified=True)
        SocialAccount.objects.create(user=study.ada, uid="u", provider="sso")
        Authenticator.objects.create(user=study.ada, type="totp", data={})
        Rater.objects.create(name="Ada", user=study.ada)
        guesses("ada", 3)
        shown = root.get(reverse("person", args=[study.ada.pk])).context
        assert (shown["email"], shown["linked"], shown["factors"]) == (
            "ada@uni.example", True, ["totp"]
        )  # fmt: skip
        assert (shown["tells"], shown["guesses"].wrong) == (True, 3)
        assert shown["single_sign_on"] == "University"
        bens = root.get(reverse("person", args=[study.ben.pk])).context
        assert (bens["rows"], bens["rater"], bens["guesses"], bens["factors"]) == (
            [],
            None,
            None,
            [],
        )

    def test_actions_lead_back_to_the_page_and_report_errors(
        self, study: Study, root: Client
    ) -> None:
        def sent(user: User, order: str, **given: str) -> Any:
            return root.post(reverse("person-change", args=[user.pk]), {"order": order, **given})

        person = reverse("person", args=[study.ada.pk])
        assert sent(study.ada, "nothing")["Location"] == person
        assert sent(study.ada, "off")["Location"] == person
        response = sent(study.ada, "forget", name="Ada")
        assert (response.status_code, response.context["wrong"]) == (
            409, "Type the account’s name to delete it."
        )  # fmt: skip
        assert sent(study.ada, "forget", name=" ada ")["Location"] == reverse("people")
        assert not User.objects.filter(username="ada").exists()
        User.objects.create(username="second", role="admin")
        for order in ("role", "off", "forget"):
            response = sent(study.root, order, role="annotator", name="root")
            assert (response.status_code, response.context["wrong"]) == (409, OWN)
        assert sent(study.root, "email", email="root@uni.example").status_code == 302
        assert sent(study.rita, "role", role="annotator").status_code == 302
        assert User.objects.get(username="rita").role == "annotator"
        mine = rater_of(study.rita)
        assert sent(study.rita, "pseudonym", name="Blue heron").status_code == 302
        mine.refresh_from_db()
        assert mine.name == "Blue heron"
        assert sent(study.ben, "pseudonym", name="x").context["wrong"] == (
            "This account has no pseudonym until it takes its first item."
        )

    def test_a_log_in_link_is_shown_unless_the_account_cannot_log_in(
        self, study: Study, root: Client
    ) -> None:
        shown = root.post(reverse("person-change", args=[study.ada.pk]), {"order": "link"})
        assert shown.context["account"] == study.ada
        address = shown.context["address"]
        assert address.startswith(f"http://testserver{reverse('log-in-link')}?key={study.ada.pk}-")
        User.objects.filter(pk=study.ada.pk).update(is_active=False)
        response = root.post(reverse("person-change", args=[study.ada.pk]), {"order": "link"})
        assert (response.status_code, response.context["wrong"]) == (
            409, "This account cannot log in; enable it first, or name another."
        )  # fmt: skip


class TestInvitations:
    def test_a_new_invitation_is_shown_once_with_its_link(self, study: Study, root: Client) -> None:
        form = root.get(reverse("invite")).context
        assert (form["life"], form["form"].initial) == (
            7, {"role": "annotator", "campaign_role": "annotator"}
        )  # fmt: skip
        given = {"role": "researcher", "campaign_role": "annotator", "note": "Eve"}
        shown = root.post(reverse("invite"), given)
        made = Invitation.objects.get()
        assert (made.role, made.campaign, made.note, made.by) == (
            "researcher", None, "Eve", study.root
        )  # fmt: skip
        assert (shown.status_code, shown.context["back"]) == (200, reverse("people"))
        address = shown.context["address"]
        assert address.startswith(f"http://testserver{reverse('join')}?key=")
        assert invitation_of(address.partition("=")[2]) == made
        assert root.post(reverse("invite"), {**given, "role": "boss"}).status_code == 422
        wrong = {**given, "role": "admin", "campaign": study.campaign.pk}
        response = root.post(reverse("invite"), wrong)
        assert (response.status_code, response.context["form"].non_field_errors()) == (
            422, ["An account with the role admin cannot be annotator; change one."]
        )  # fmt: skip

    def test_more_than_sixty_invitations_an_hour_are_refused_on_the_form(
        self, study: Study, root: Client, rita: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for views in (people, campaign_people):
            monkeypatch.setattr(views, "seconds_to_wait", lambda *_: 5)
        many = "The limit is sixty invitations per hour. Try again later."
        given = {"role": "annotator", "campaign_role": "annotator", "note": "Eve"}
        response = root.post(reverse("invite"), given)
        assert (response.status_code, response.context["form"].non_field_errors()) == (429, [many])
        response = rita.post(reverse("campaign-invite", args=[study.campaign.pk]), given)
        assert (response.status_code, response.context["wrong"]) == (429, many)
        assert response.context["invite"].data["note"] == "Eve"
        response = rita.post(reverse("campaign-invite", args=[study.campaign.pk]), {})
        assert (response.status_code, response.context["invite"].is_bound) == (422, True)
        assert not Invitation.objects.exists()

    def test_revoking_an_invitation_leads_back_to_the_page_it_was_on(
        self, study: Study, root: Client, rita: Client
    ) -> None:
        people, here = reverse("people"), reverse("campaign-people", args=[study.campaign.pk])
        for client, sent, back in (
            (root, {}, people), (root, {"from": "campaign"}, here), (rita, {}, here),
        ):  # fmt: skip
            made = invite("annotator", study.campaign).invitation
            where = reverse("invitation-revoke", args=[made.pk])
            assert client.post(where, sent)["Location"] == back
            made.refresh_from_db()
            assert made.state == "revoked"

    def test_the_page_behind_the_link_has_all_it_shows(
        self, study: Study, settings: Settings
    ) -> None:
        settings.TANDEM_OIDC_NAME = "University"
        made = invite("annotator", study.campaign)
        where = f"{reverse('join')}?key={made.key}"
        shown = Client().get(where).context
        names = ("invitation", "wrong", "key", "passwords", "single_sign_on")
        assert [shown[name] for name in names] == [
            made.invitation, "", made.key, True, "University"
        ]  # fmt: skip
        assert not shown["form"].is_bound
        assert Client().head(where).status_code == 200
        settings.TANDEM_PASSWORDS = False
        good = {"name": "eve", "password": "a-rather-long-word", "again": "a-rather-long-word"}
        response = Client().post(where, good)
        assert (response.status_code, response.context["wrong"]) == (
            409, "Passwords are switched off on this site; use the other button."
        )  # fmt: skip
        assert response.context["passwords"] is False
        assert client_of(study.ada).post(where)["Location"] == reverse("home")
        assert Membership.objects.get().user == study.ada
        over = Client().get(where)
        assert (over.status_code, over.context["invitation"]) == (410, made.invitation)
        assert Client().get(reverse("join")).status_code == 404


class TestCampaignPeople:
    def page(self, study: Study) -> str:
        return reverse("campaign-people", args=[study.campaign.pk])

    def order(self, study: Study, client: Client, order: str, **given: Any) -> Any:
        where = reverse("campaign-people-change", args=[study.campaign.pk])
        return client.post(where, {"order": order, **given})

    def test_the_page_lists_current_members_and_the_campaigns_invitations(
        self, study: Study, other: Campaign, rita: Client
    ) -> None:
        Membership.objects.create(campaign=study.campaign, user=study.ben, ended_at=NOW)
        late = Membership.objects.create(
            campaign=study.campaign, user=study.rita, role="researcher"
        )
        last = Membership.objects.create(campaign=study.campaign, user=study.ada)
        Membership.objects.create(campaign=other, user=study.ben)
        mine = invite("annotator", study.campaign).invitation
        invite("annotator", other)
        row(study.campaign, 0, rater_of(study.ada), status="done", slot=1)
        shown = rita.get(self.page(study)).context
        assert list(shown["members"]) == [late, last]
        assert list(shown["invitations"]) == [mine]
        assert [each.name for each in shown["rows"]] == [rater_of(study.ada).name]
        assert (shown["wrong"], shown["study"], shown["added"]) == ("", None, None)
        assert (shown["consents"], list(shown["participants"]), shown["shares"]) == (None, [], [])
        assert shown["settings"].initial == {
            "pool": "open", "hold_minutes": None, "items_per_person": None
        }  # fmt: skip
        assert shown["prolific"].initial == {}
        added = rita.get(self.page(study), {"added": "ada"}).context["added"]
        assert added == last
        assert rita.get(self.page(study), {"added": "ben"}).context["added"] is None

    def test_the_page_shows_fifty_people_and_the_fifty_newest_invitations(
        self, study: Study, rita: Client
    ) -> None:
        made = [invite("annotator", study.campaign).invitation for _ in range(51)]
        raters = Rater.objects.bulk_create(Rater(name=f"p{n:02}") for n in range(51))
        for each in raters:
            row(study.campaign, 0, each, status="done", slot=None)
        shown = rita.get(self.page(study)).context
        assert set(shown["invitations"]) == set(made[1:])
        assert [each.name for each in shown["rows"]] == [each.name for each in raters[:50]]

    def test_a_study_on_prolific_is_shown_with_its_link_and_people(
        self, study: Study, rita: Client
    ) -> None:
        known = set_study(study.campaign, "study1", "C0DE", 2)
        first, second = (enter(known, Arrival(pid, "study1", "s")) for pid in ("p2", "p1"))
        shown = rita.get(self.page(study)).context
        assert list(shown["participants"]) == [first, second]
        assert shown["prolific"].initial == {
            "study_id": "study1", "completion_code": "C0DE", "most_people": 2, "signed": False
        }  # fmt: skip
        assert shown["entry"] == (
            f"http://testserver{reverse('prolific', args=[study.campaign.pk])}"
            "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
        )

    def test_only_the_named_participant_is_ended_and_with_a_status_of_prolific(
        self, study: Study, other: Campaign, rita: Client
    ) -> None:
        assert self.order(study, rita, "ended", participant=1, status="returned").status_code == 302
        assert self.order(study, rita, "open-once", participant=1).status_code == 302
        known = set_study(study.campaign, "study1", "C0DE", 3)
        people = [enter(known, Arrival(pid, "study1", "s")) for pid in ("p1", "p2")]
        elsewhere = enter(set_study(other, "s2", "C", 1), Arrival("p1", "s2", "s"))
        for pk, status in (
            (people[0].pk, "active"), (people[0].pk, "timed-out"), (elsewhere.pk, "returned"),
        ):  # fmt: skip
            self.order(study, rita, "ended", participant=pk, status=status)
        states = Participant.objects.order_by("pk").values_list("status", flat=True)
        assert list(states) == ["timed-out", "active", "active"]
        for pk in (people[1].pk, elsewhere.pk):
            self.order(study, rita, "open-once", participant=pk)
        opened = Participant.objects.exclude(open_until=None)
        assert list(opened) == [people[1]]

    def test_members_are_added_in_a_role_and_removed_and_nobody_removes_themselves(
        self, study: Study, rita: Client
    ) -> None:
        page = self.page(study)
        answer = self.order(study, rita, "add", account=" ada ", role="adjudicator")
        assert answer["Location"] == f"{page}?added=+ada+"
        made = Membership.objects.get()
        assert (made.user, made.role, made.by) == (study.ada, "adjudicator", study.rita)
        wrong = self.order(study, rita, "add", account="nobody", role="annotator")
        assert wrong.status_code == 422
        assert wrong.context["add"].errors["account"] == [
            "No account has this name; invite the person."
        ]
        assert self.order(study, rita, "remove", member=made.pk)["Location"] == page
        made.refresh_from_db()
        assert made.ended_at is not None
        assert made.by == study.rita
        own = Membership.objects.create(campaign=study.campaign, user=study.rita, role="researcher")
        response = self.order(study, rita, "remove", member=own.pk)
        assert (response.status_code, response.context["wrong"]) == (
            409, "You cannot remove yourself; ask another researcher or an admin."
        )  # fmt: skip
        refused = self.order(study, rita, "exclude", rater=0, reason="x")
        assert refused.status_code == 404

    def test_exclusions_need_a_reason_and_name_their_author(
        self, study: Study, rita: Client
    ) -> None:
        mine = rater_of(study.ada)
        row(study.campaign, 0, mine, status="done", slot=1)
        response = self.order(study, rita, "exclude", rater=mine.pk, reason="")
        assert (response.status_code, response.context["wrong"]) == (
            422, "Give a reason; the report shows it."
        )  # fmt: skip
        assert self.order(study, rita, "exclude", rater=mine.pk, reason="x").status_code == 302
        out = study.campaign.exclusions.get()
        assert (out.rater, out.reason, out.by) == (mine, "x", study.rita)
        self.order(study, rita, "include", rater=mine.pk)
        out.refresh_from_db()
        assert out.undone_by == study.rita

    def test_managers_of_the_campaign_can_search_accounts(
        self, study: Study, other: Campaign, rita: Client
    ) -> None:
        def found(**asked: str) -> Any:
            return rita.get(self.page(study), asked, headers={"HX-Request": "true"}).context

        shown = found(find=" ad ", role="adjudicator")
        assert (shown["manages"], shown["find"], shown["role"]) == (True, "ad", "adjudicator")
        assert [each.account for each in shown["found"]] == [study.ada]
        assert found(find="x" * (LONGEST + 1))["find"] == "x" * LONGEST
        assert found(role="boss")["role"] == "annotator"
        study.rita.teams.update(role="member")
        Membership.objects.create(campaign=study.campaign, user=study.rita, role="researcher")
        assert found(find="ad")["manages"] is False
        join_team(study.rita, give_away(other), "owner")
        assert found(find="ad")["manages"] is False, "she manages another one"


class TestOwnAccount:
    def test_a_page_can_ask_who_is_logged_in(self, study: Study) -> None:
        stranger = Client()
        assert stranger.get(reverse("who")).json() == {"user": None}
        assert stranger.cookies["csrftoken"].value
        ada = client_of(study.ada)
        assert ada.get(reverse("who")).json() == {"user": study.ada.pk, "name": "ada"}
        User.objects.filter(pk=study.ada.pk).update(first_name="Ada", last_name="L.")
        assert ada.get(reverse("who")).json()["name"] == "Ada L."
        assert ada.post(reverse("who")).status_code == 405

    def test_each_role_has_its_home_page(self, study: Study) -> None:
        home = reverse("home")
        for user, name in ((study.ada, "work"), (study.rita, "start"), (study.root, "batches")):
            assert client_of(user).get(home)["Location"] == reverse(name)
        assert Client().get(home)["Location"] == f"{reverse('login')}?next={home}"
        assert client_of(study.ada).post(home).status_code == 405

    def test_tokens_are_created_and_revoked_by_their_owner(self, study: Study) -> None:
        where, ada = reverse("tokens"), client_of(study.ada)
        shown = ada.get(where).context
        assert shown["form"].initial == {"scopes": ("label",), "days": 90}
        assert (shown["new_token"], list(shown["grants"]), shown["section"]) == ("", [], "tokens")
        given = {"scopes": ["label"], "note": "nightly"}
        for days, status in ((0, 422), (1, 200), (365, 200), (366, 422)):
            answer = ada.post(where, {**given, "days": days})
            assert answer.status_code == status, days
            assert bool(answer.context["new_token"]) is (status == 200)
        assert ada.post(where, {"days": 1}).context["form"].errors["scopes"] == [
            "Choose at least one scope."
        ]
        newest, oldest = ada.get(where).context["grants"]
        assert (oldest.note, oldest.scopes) == ("nightly", ["label"])
        back = reverse("token-take-back", args=[oldest.pk])
        assert client_of(study.ben).post(back).status_code == 404
        assert ada.get(back).status_code == 405
        assert ada.post(back)["Location"] == where
        assert list(ada.get(where).context["grants"]) == [newest]
        guest = client_of(User.objects.create(username="guest", is_guest=True))
        assert guest.get(where).status_code == 403
        assert guest.post(back).status_code == 403
        assert Client().post(back).status_code == 302

    def test_everybody_chooses_the_language_of_their_pages(self, study: Study) -> None:
        where = reverse("language")
        for user, after in ((study.ada, "work"), (study.root, "home")):
            client = client_of(user)
            assert client.post(where, {"language": "de"})["Location"] == reverse(after)
            user.refresh_from_db()
            assert user.language == "de"
            assert client.get(where).status_code == 405
        client.post(where, {})
        study.root.refresh_from_db()
        assert (study.ada.language, study.root.language) == ("de", "")
        assert Client().post(where, {"language": "de"})["Location"].startswith(reverse("login"))

    def test_passwords_are_refused_if_they_are_switched_off(
        self, study: Study, settings: Settings
    ) -> None:
        settings.TANDEM_OIDC_NAME = "University"
        where = reverse("login")
        shown = Client().get(where).context
        assert (shown["passwords"], shown["single_sign_on"]) == (True, "University")
        settings.TANDEM_PASSWORDS = False
        response = Client().post(where, {"username": "ada", "password": PASSWORD})
        assert (response.status_code, response.context["no_passwords"]) == (403, True)
        assert (response.context["passwords"], response.context["single_sign_on"]) == (
            False,
            "University",
        )
