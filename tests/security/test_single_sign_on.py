"""Single sign-on opens only the account that belongs to the identity, against a real server."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import Invitation, User
from annotation.people.identities import (
    Identity,
    check_connectable,
    identity_of,
    log_in_key,
    set_email,
)
from annotation.people.invitations import invite
from annotation.people.membership import PeopleError, set_pool
from audit.models import Event
from config import env
from config.adapters import merge_claims
from datasets.models import Team
from tests.cast import run
from tests.once import once
from tests.page_cast import PASSWORD, Study, client_of, make_study
from tests.security.oidc import Provider, answer_of, come_back, leave, provider

pytestmark = [pytest.mark.django_db, pytest.mark.processes]


@pytest.fixture(scope="module")
def _server() -> Iterator[Provider]:
    os.environ.setdefault("OAUTHLIB_INSECURE_TRANSPORT", "1")
    with provider() as found:
        found.knows("ada-there", email="ada@uni.example", email_verified=True, name="Ada L")
        found.knows("eve-there", email="ada@uni.example", email_verified=False)
        found.knows("new-there", preferred_username="n ew/c<omer", email="x@uni.example")
        yield found


@pytest.fixture
def university(_server: Provider, settings: Settings) -> Provider:
    _server.serve(settings)
    return _server


@once
def study() -> Study:
    return make_study()


def who(client: Client) -> object:
    return client.get(reverse("who")).json().get("name")


class TestAccounts:
    def test_a_verified_address_that_an_admin_entered_leads_to_its_account(
        self, study: Study, university: Provider
    ) -> None:
        set_email(study.ada, "Ada@uni.example")
        client = Client()
        answer = come_back(client, "ada-there", next="/tasks/?x=1")
        assert answer.headers["Location"] == "/tasks/?x=1"
        assert who(client) == "ada"
        events = Event.objects.filter(event__in=("identity.linked", "login")).order_by("pk")
        assert [(each.event, each.facts) for each in events] == [
            ("identity.linked", {}), ("login", {"how": "oidc"}),
        ]  # fmt: skip

    def test_an_unverified_address_leads_nowhere(self, study: Study, university: Provider) -> None:
        set_email(study.ada, "ada@uni.example")
        client = Client()
        answer = come_back(client, "eve-there")
        assert answer.status_code == 403
        assert "no account for you" in answer.content.decode()
        assert who(client) is None
        assert not SocialAccount.objects.exists()

    @pytest.mark.parametrize("address", ["mi\u212ae@uni.example", "m\u0131ke@uni.example"])
    def test_an_address_of_look_alike_letters_is_not_another_persons(
        self, study: Study, university: Provider, address: str
    ) -> None:
        set_email(study.ada, "mike@uni.example")
        university.knows("alike-there", email=address, email_verified=True)
        assert come_back(Client(), "alike-there").status_code == 403
        with pytest.raises(PeopleError, match="ASCII"):
            set_email(study.ben, address)

    def test_a_reassigned_address_does_not_open_a_linked_account(
        self, study: Study, university: Provider
    ) -> None:
        set_email(study.ada, "ada@uni.example")
        come_back(Client(), "ada-there")
        university.knows("heir-there", email="ada@uni.example", email_verified=True)
        assert come_back(Client(), "heir-there").status_code == 403

    def test_an_address_entered_by_the_account_itself_is_ignored(
        self, study: Study, university: Provider
    ) -> None:
        User.objects.filter(pk=study.ada.pk).update(email="ada@uni.example")
        assert come_back(Client(), "ada-there").status_code == 403

    def test_an_invitation_creates_one_account(self, study: Study, university: Provider) -> None:
        set_pool(study.campaign, "named")
        made = invite("annotator", study.campaign, by=study.root)
        client = Client()
        page = client.get(reverse("join"), {"key": made.key}).content.decode()
        assert "Join with the university" in page
        assert come_back(client, "new-there", key=made.key).headers["Location"] == "/"
        user = User.objects.get(username="newcomer")
        assert (user.role, user.has_usable_password()) == ("annotator", False)
        assert user.memberships.get().campaign == study.campaign
        assert who(client) == "newcomer"
        assert Invitation.objects.get(pk=made.invitation.pk).used_by == user
        assert come_back(Client(), "ada-there", key=made.key).status_code == 403

    def test_a_person_who_joins_a_team_is_led_to_a_page_that_names_it(
        self, study: Study, university: Provider
    ) -> None:
        made = invite("annotator", by=study.root, team=Team.objects.create(name="Readers"))
        client = Client()
        answer = come_back(client, "new-there", key=made.key)
        page = client.get(answer.headers["Location"]).content.decode()
        assert "You are now a member of the team <strong>Readers</strong>." in page

    def test_a_second_factor_is_required_after_single_sign_on(
        self, study: Study, university: Provider
    ) -> None:
        set_email(study.ada, "ada@uni.example")
        TOTP.activate(study.ada, generate_totp_secret())
        client = Client()
        answer = come_back(client, "ada-there")
        assert answer.headers["Location"] == reverse("mfa_authenticate")
        assert who(client) is None

    def test_an_existing_account_of_an_invited_address_takes_part(
        self, study: Study, university: Provider
    ) -> None:
        set_email(study.ada, "ada@uni.example")
        set_pool(study.campaign, "named")
        made = invite("annotator", study.campaign, by=study.root)
        assert come_back(Client(), "ada-there", key=made.key).status_code == 302
        assert study.ada.memberships.get().campaign == study.campaign

    def test_a_just_used_invitation_leaves_no_account_behind(
        self, study: Study, university: Provider
    ) -> None:
        made = invite("annotator", by=study.root)
        client = Client()
        address = leave(client, key=made.key)
        Invitation.objects.update(revoked_at=timezone.now())
        assert client.get(answer_of(address, "new-there")).status_code == 403
        assert not User.objects.filter(username="newcomer").exists()

    def test_an_existing_account_takes_part_by_an_invitation(
        self, study: Study, university: Provider
    ) -> None:
        set_email(study.ada, "ada@uni.example")
        come_back(Client(), "ada-there")
        set_pool(study.campaign, "named")
        made = invite("annotator", study.campaign, by=study.root)
        assert come_back(Client(), "ada-there", key=made.key).status_code == 302
        assert study.ada.memberships.get().campaign == study.campaign
        assert User.objects.filter(username="ada").count() == 1

    def test_an_abandoned_invitation_is_not_used_by_the_next_person(
        self, study: Study, university: Provider
    ) -> None:
        browser, made = Client(), invite("researcher", by=study.root)
        leave(browser, key=made.key)
        assert come_back(browser, "new-there").status_code == 403
        assert Invitation.objects.get().state == "open"

    @pytest.mark.parametrize("claims", [{"email_verified": True}, {"email_verified": "true"}])
    def test_an_address_counts_only_if_its_own_source_verifies_it(
        self, claims: dict[str, object]
    ) -> None:
        token = {"sub": "x", "email": "x@uni.example", **claims}
        more = {"sub": "x", "email": "ada@uni.example"}
        found = identity_of(merge_claims(token, more), "https://uni.example")
        assert found.email == ""
        assert identity_of(merge_claims(token, {"sub": "x"}), "u").email == "x@uni.example"
        assert (
            identity_of(merge_claims({"sub": "x"}, {**more, **claims}), "u").email == more["email"]
        )

    def test_newcomers_get_the_configured_role(
        self, study: Study, university: Provider, settings: Settings
    ) -> None:
        settings.TANDEM_OIDC_NEWCOMERS = "researcher"
        User.objects.create(username="NEWCOMER")
        first, again = Client(), Client()
        assert come_back(first, "new-there").status_code == 302
        assert come_back(again, "new-there").status_code == 302
        assert who(first) == who(again) == "newcomer2"
        assert User.objects.get(username="newcomer2").role == "researcher"

    def test_a_disabled_account_stays_closed(self, study: Study, university: Provider) -> None:
        set_email(study.ada, "ada@uni.example")
        for linked in (False, True):
            User.objects.filter(pk=study.ada.pk).update(is_active=False)
            client = Client()
            assert come_back(client, "ada-there").status_code == 403
            assert who(client) is None
            if not linked:
                User.objects.filter(pk=study.ada.pk).update(is_active=True)
                assert come_back(Client(), "ada-there").status_code == 302

    def test_the_same_subject_at_another_issuer_is_another_person(
        self, study: Study, university: Provider, settings: Settings
    ) -> None:
        set_email(study.ada, "ada@uni.example")
        come_back(Client(), "ada-there")
        settings.TANDEM_OIDC_ISSUER = "https://elsewhere.example"
        assert come_back(Client(), "ada-there").status_code == 403


class TestLinking:
    def linked(self, client: Client, sub: str = "new-there") -> object:
        """Link an identity to the account of a browser, after entering its password."""
        start = reverse("openid_connect_login", args=["sso"])
        asked = client.post(start, {"process": "connect"})
        assert asked.status_code == 302
        assert asked.headers["Location"].startswith(reverse("account_reauthenticate"))
        resumed = client.post(asked.headers["Location"], {"password": PASSWORD})
        assert resumed.status_code == 200, "the page that leads to the provider"
        return client.get(answer_of(resumed.context["address"], sub))

    def test_a_person_can_log_in_with_a_linked_identity(
        self, study: Study, university: Provider
    ) -> None:
        self.linked(log_in("ada"))
        client = Client()
        come_back(client, "new-there")
        assert who(client) == "ada"

    def test_an_identity_belongs_to_one_account(self, study: Study, university: Provider) -> None:
        self.linked(log_in("ada"))
        answer = self.linked(log_in("ben"))
        assert getattr(answer, "status_code", None) == 403
        assert SocialAccount.objects.get().user == study.ada

    def test_an_account_has_one_identity(self, study: Study, university: Provider) -> None:
        client = log_in("ada")
        self.linked(client)
        start = reverse("openid_connect_login", args=["sso"])
        address = client.post(start, {"process": "connect"}).context["address"]
        assert client.get(answer_of(address, "ada-there")).status_code == 403

    def test_the_owner_or_an_admin_removes_the_link(
        self, study: Study, university: Provider
    ) -> None:
        client = log_in("ada")
        self.linked(client)
        client.post(reverse("identity-remove"))
        assert not SocialAccount.objects.exists()
        self.linked(log_in("ada"))
        order = {"order": "unlink"}
        client_of(study.root).post(reverse("person-change", args=[study.ada.pk]), order)
        assert not SocialAccount.objects.exists()
        assert Event.objects.filter(event="identity.unlinked").count() == 2

    @pytest.mark.parametrize("where", ["?process=connect", "?process=redirect", "?next=/"])
    def test_what_to_do_is_read_from_the_form_alone(
        self, study: Study, university: Provider, where: str
    ) -> None:
        start = reverse("openid_connect_login", args=["sso"]) + where
        guest = User.objects.create(username="guest-1", is_guest=True)
        for client in (Client(), client_of(guest), log_in("ada")):
            assert client.post(start).status_code == 403

    def test_another_process_is_refused(self, study: Study, university: Provider) -> None:
        start = reverse("openid_connect_login", args=["sso"])
        assert log_in("ada").post(start, {"process": "redirect"}).status_code == 403

    def test_a_guest_is_linked_to_no_identity_when_the_answer_arrives(self, study: Study) -> None:
        guest = User.objects.create(username="guest-1", is_guest=True)
        with pytest.raises(PeopleError, match="guest"):
            check_connectable(Identity("uid", "", "x"), guest)

    def test_visitors_and_guests_cannot_link_an_identity(
        self, study: Study, university: Provider
    ) -> None:
        guest = User.objects.create(username="guest-1", is_guest=True)
        start = reverse("openid_connect_login", args=["sso"])
        for client in (Client(), client_of(guest)):
            assert client.post(start, {"process": "connect"}).status_code == 403


def log_in(name: str) -> Client:
    client = Client()
    assert client.post("/login/", {"username": name, "password": PASSWORD}).status_code == 302
    return client


class TestRedirects:
    def test_the_providers_answer_is_valid_once_in_the_browser_that_asked(
        self, study: Study, university: Provider
    ) -> None:
        set_email(study.ada, "ada@uni.example")
        victim, client = Client(), Client()
        back = answer_of(leave(client), "ada-there")
        assert victim.get(back).status_code == 401
        assert who(victim) is None
        assert client.get(back).status_code == 302
        client.post("/logout/")
        assert client.get(back).status_code == 401

    def test_a_stolen_code_logs_nobody_in_elsewhere(
        self, study: Study, university: Provider
    ) -> None:
        """Even at a provider that, like this one, does not check PKCE."""
        set_email(study.ada, "ada@uni.example")
        stolen = answer_of(leave(Client()), "ada-there")
        thief = Client()
        own = answer_of(leave(thief), "eve-there")
        code = parse_qs(urlsplit(stolen).query)["code"][0]
        state = parse_qs(urlsplit(own).query)["state"][0]
        query = urlencode({"code": code, "state": state})
        answer = thief.get(f"{reverse('openid_connect_callback', args=['sso'])}?{query}")
        assert answer.status_code == 403
        assert "belongs to another log-in" in answer.content.decode()
        assert who(thief) is None

    def test_a_code_for_another_client_or_without_the_nonce_logs_nobody_in(
        self, study: Study, university: Provider
    ) -> None:
        set_email(study.ada, "ada@uni.example")
        client = Client()
        for change in (("client_id=tandem", "client_id=other"), (r"&nonce=\w+", "")):
            address = leave(client)
            changed = re.sub(*change, address)
            assert changed != address
            assert client.get(answer_of(changed, "ada-there")).status_code in (401, 403)
            assert who(client) is None

    def test_single_sign_on_starts_a_new_session(self, study: Study, university: Provider) -> None:
        set_email(study.ada, "ada@uni.example")
        client = Client()
        back = answer_of(leave(client), "ada-there")
        before = client.cookies["sessionid"].value
        client.get(back)
        assert client.cookies["sessionid"].value != before

    @pytest.mark.parametrize("query", ["", "?code=x", "?state=x&code=y", "?error=access_denied"])
    def test_a_forged_answer_logs_nobody_in(
        self, study: Study, university: Provider, query: str
    ) -> None:
        client = Client()
        leave(client)
        answer = client.get(f"{reverse('openid_connect_callback', args=['sso'])}{query}")
        assert answer.status_code == 401
        assert "Not logged in" in answer.content.decode()

    def test_a_person_who_declines_at_the_provider_may_try_again(
        self, study: Study, university: Provider
    ) -> None:
        client = Client()
        assert client.get(answer_of(leave(client), "x", action="deny")).status_code == 401

    def test_the_redirect_page_obeys_the_content_security_policy(
        self, study: Study, university: Provider
    ) -> None:
        answer = Client().post(reverse("openid_connect_login", args=["sso"]))
        assert "form-action 'self'" in answer.headers["Content-Security-Policy"]
        assert f"url={university.issuer}" in answer.content.decode()
        assert "code_challenge" in answer.context["address"]

    def test_single_sign_on_never_redirects_to_another_site(
        self, study: Study, university: Provider
    ) -> None:
        set_email(study.ada, "ada@uni.example")
        for address in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
            answer = come_back(Client(), "ada-there", next=address)
            assert answer.headers["Location"] == "/"

    def test_an_unreachable_provider_shows_an_explanation(
        self, study: Study, university: Provider, settings: Settings
    ) -> None:
        Provider("http://127.0.0.1:9").serve(settings)
        answer = Client().post(reverse("openid_connect_login", args=["sso"]))
        assert answer.status_code in (401, 503)
        assert "Not logged in" in answer.content.decode()

    def test_claims_and_tokens_of_the_provider_are_not_stored(
        self, study: Study, university: Provider
    ) -> None:
        set_email(study.ada, "ada@uni.example")
        come_back(Client(), "ada-there")
        kept = str(list(SocialAccount.objects.values()))
        for secret in ("ada-there", "Ada L", "uni.example"):
            assert secret not in kept
        assert not SocialToken.objects.exists()
        study.ada.refresh_from_db()
        assert (study.ada.email, study.ada.first_name) == ("", "")

    def test_without_a_provider_single_sign_on_is_not_offered(
        self, study: Study, settings: Settings
    ) -> None:
        assert "Log in with" not in Client().get("/login/").content.decode()
        for name in ("openid_connect_login", "openid_connect_callback"):
            where = reverse(name, args=["sso"])
            call = Client().post if name.endswith("login") else Client().get
            assert call(where).status_code == 404


class TestWithoutPasswords:
    @pytest.fixture(autouse=True)
    def _switched_off(self, university: Provider, settings: Settings) -> None:
        settings.TANDEM_PASSWORDS = False

    def test_passwords_are_refused_if_local_passwords_are_off(self, study: Study) -> None:
        client = Client()
        page = client.get("/login/").content.decode()
        assert "Log in with the university" in page
        assert 'name="password"' not in page
        assert client.post("/login/", {"username": "ada", "password": PASSWORD}).status_code == 403
        assert who(client) is None

    def test_an_invitation_sets_no_password_if_local_passwords_are_off(self, study: Study) -> None:
        made = invite("annotator", by=study.root)
        where = f"{reverse('join')}?key={made.key}"
        form = {"name": "newbie", "password": PASSWORD, "again": PASSWORD}
        assert 'name="password"' not in Client().get(where).content.decode()
        assert Client().post(where, form).status_code == 409
        assert not User.objects.filter(username="newbie").exists()

    def test_a_password_cannot_confirm_if_local_passwords_are_off(self, study: Study) -> None:
        client = client_of(study.ada)
        where = f"{reverse('account_reauthenticate')}?next=/account/app/remove/"
        assert client.post(where, {"password": PASSWORD}).status_code == 403
        assert client.get(reverse("password")).status_code == 403

    def test_a_command_creates_accounts_for_addresses(self, study: Study) -> None:
        run("create_account", "grace", "--email", "Grace@uni.example", "--role", "researcher")
        grace = User.objects.get(username="grace")
        assert not grace.has_usable_password()
        assert EmailAddress.objects.get(user=grace).email == "grace@uni.example"
        with pytest.raises(CommandError, match="nother account has"):
            run("create_account", "grace2", "--email", "grace@uni.example")
        assert not User.objects.filter(username="grace2").exists()


class TestLogInLinks:
    def test_a_log_in_link_is_valid_once(self, study: Study) -> None:
        link = run("log_in_link", "root", "--site", "https://x.example").strip()
        assert link.startswith("https://x.example/login/link/?key=")
        path = link.removeprefix("https://x.example")
        client = Client()
        assert "Log in as root" in client.get(path).content.decode()
        assert who(client) is None
        assert client.post(path).status_code == 302
        assert who(client) == "root"
        assert Client().post(path).status_code == 410
        assert Event.objects.filter(event="login.link").count() == 1

    def test_a_log_in_link_replaces_the_password_but_not_the_second_factor(
        self, study: Study
    ) -> None:
        TOTP.activate(study.ada, generate_totp_secret())
        for client in (Client(), client_of(study.ben)):
            before = who(client)
            key = urlencode({"key": log_in_key(study.ada)})
            answer = client.post(f"{reverse('log-in-link')}?{key}")
            assert answer.headers["Location"] == reverse("mfa_authenticate")
            assert who(client) == before
            confirm = client.get(reverse("password")).headers["Location"]
            assert confirm.startswith((reverse("account_reauthenticate"), "/login/"))

    def test_a_link_from_the_admin_page_allows_a_new_password(self, study: Study) -> None:
        ada, elsewhere = Client(), client_of(study.ada)
        page = client_of(study.root).post(f"/people/{study.ada.pk}/change/", {"order": "link"})
        path = re.search(r"/login/link/[^<]+", page.content.decode())
        assert path is not None
        answer = ada.post(html.unescape(path[0]))
        assert answer.headers["Location"] == reverse("password")
        new = {"new_password1": "salted-herring-9", "new_password2": "salted-herring-9"}
        wrong = ada.post(reverse("password"), {**new, "new_password2": "another"})
        assert wrong.status_code == 422
        assert ada.post(reverse("password"), new).status_code == 302
        assert (who(ada), who(elsewhere)) == ("ada", None)
        assert User.objects.get(username="ada").check_password("salted-herring-9")
        assert Event.objects.filter(event="account.password", object_id=study.ada.pk).exists()

    def test_without_a_link_a_new_password_requires_the_old_one(self, study: Study) -> None:
        ada = client_of(study.ada)
        new = {"new_password1": "salted-herring-9", "new_password2": "salted-herring-9"}
        for answer in (ada.get(reverse("password")), ada.post(reverse("password"), new)):
            assert answer.headers["Location"].startswith(reverse("account_reauthenticate"))
        assert not User.objects.get(username="ada").check_password("salted-herring-9")

    def test_a_log_in_link_expires_after_ten_minutes_and_with_the_sessions(
        self, study: Study, settings: Settings
    ) -> None:
        path = run("log_in_link", "root").strip()
        settings.PASSWORD_RESET_TIMEOUT = -1
        assert Client().post(path).status_code == 410
        settings.PASSWORD_RESET_TIMEOUT = 600
        run("person", "root", "--end-sessions")
        assert Client().post(path).status_code == 410

    @pytest.mark.parametrize("key", ["", "1", "1-", "x-y", "1-c-x", "9" * 20 + "-x-y"])
    def test_a_forged_log_in_link_opens_nothing(self, study: Study, key: str) -> None:
        assert Client().post(f"{reverse('log-in-link')}?key={key}").status_code == 410

    def test_a_disabled_account_gets_no_log_in_link(self, study: Study) -> None:
        User.objects.filter(pk=study.ada.pk).update(is_active=False)
        with pytest.raises(CommandError, match="cannot log in"):
            run("log_in_link", "ada")


class TestSettings:
    def test_an_address_belongs_to_one_account(self, study: Study) -> None:
        set_email(study.ada, "ada@uni.example")
        with pytest.raises(PeopleError, match="another account"):
            set_email(study.ben, "ADA@uni.example")
        with pytest.raises(PeopleError, match="not an e-mail address"):
            set_email(study.ben, "ada")
        set_email(study.ada, "")
        set_email(study.ben, "ada@uni.example")

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("given", "wrong"),
        [
            ({"TANDEM_OIDC_ISSUER": "https://x.example"}, "TANDEM_OIDC_CLIENT is not set"),
            (
                {
                    "TANDEM_OIDC_ISSUER": "http://x.example", "TANDEM_OIDC_CLIENT": "c",
                    "TANDEM_OIDC_SECRET": "s",
                },
                "https://",
            ),
        ],
    )  # fmt: skip
    def test_an_incomplete_provider_setting_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], wrong: str
    ) -> None:
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(ImproperlyConfigured, match=wrong):
            env.single_sign_on()

    def test_settings_that_would_lock_everybody_out_are_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TANDEM_PASSWORDS", "0")
        with pytest.raises(ImproperlyConfigured, match="TANDEM_OIDC_ISSUER"):
            env.passwords("")
        assert env.passwords("https://x.example") is False
        monkeypatch.setenv("TANDEM_SECOND_FACTOR", "admin, boss")
        with pytest.raises(ImproperlyConfigured, match="'boss'"):
            env.roles("TANDEM_SECOND_FACTOR")
