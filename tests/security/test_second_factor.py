"""An account with a second factor opens only with it, and guessing it is limited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import LogInCount, User
from annotation.people import second_factor
from audit.models import Event
from tests.cast import run
from tests.once import once
from tests.page_cast import PASSWORD, Study, client_of, make_study

pytestmark = pytest.mark.django_db
INSIDE = "/tasks/"


class Clock:
    """The clock of one-time codes, in steps of 30 seconds."""

    def __init__(self) -> None:
        self.step = 60_000_000

    def steps(self) -> Iterator[int]:
        yield from (self.step - 1, self.step, self.step + 1)

    def code(self, secret: str, step: int = 0) -> str:
        return second_factor.code_at(self.step + step, secret)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(auth, "yield_hotp_counters_from_time", found.steps)
    monkeypatch.setattr(second_factor, "valid_steps", found.steps)
    return found


@once
def study() -> Study:
    return make_study()


def password(name: str = "ada", client: Client | None = None, **more: str) -> tuple[Client, Any]:
    client = client or Client()
    form = {"username": name, "password": PASSWORD, **more}
    return client, client.post("/login/", form)


def inside(client: Client) -> bool:
    return client.get(INSIDE).status_code == 200


def confirm(client: Client) -> None:
    where = reverse("account_reauthenticate")
    assert client.post(f"{where}?next=/account/", {"password": PASSWORD}).status_code == 302


def add_app(client: Client, clock: Clock) -> str:
    """Add an app on the page; return its secret."""
    confirm(client)
    where = reverse("mfa_activate_totp")
    secret = str(client.get(where).context["form"].secret)
    assert client.post(where, {"code": clock.code(secret)}).status_code == 302
    return secret


@pytest.fixture
def secret(study: Study, clock: Clock) -> str:
    """Ada has an app."""
    found = add_app(password()[0], clock)
    clock.step += 2
    return found


def api(token: str) -> Any:
    return Client().get("/api/v1/", headers={"authorization": f"Token {token}"})


def give(client: Client, code: str) -> Any:
    return client.post(reverse("mfa_authenticate"), {"code": code})


class TestTheSecondStep:
    def test_a_password_alone_does_not_log_in(self, secret: str) -> None:
        client, answer = password()
        assert answer.headers["Location"] == reverse("mfa_authenticate")
        assert not inside(client)
        assert client.get(reverse("who")).json() == {"user": None}
        assert client.get(reverse("mfa_index")).status_code == 302

    def test_a_correct_code_logs_in_and_leads_to_the_requested_page(
        self, secret: str, clock: Clock
    ) -> None:
        client, _ = password(next="/tasks/?x=1")
        before = client.cookies["sessionid"].value
        answer = give(client, f" {clock.code(secret)[:3]} {clock.code(secret)[3:]}")
        assert answer.headers["Location"] == "/tasks/?x=1"
        assert inside(client)
        assert client.cookies["sessionid"].value != before
        assert Event.objects.filter(event="login").latest("pk").facts == {"second_factor": True}

    def test_a_wrong_code_does_not_log_in(self, secret: str) -> None:
        client, _ = password()
        answer = give(client, "000000")
        assert answer.status_code == 200
        assert "This code is wrong" in answer.content.decode()
        assert not inside(client)
        assert Event.objects.filter(event="login.failed").get().facts == {"step": "code"}

    def test_a_code_is_valid_once_across_processes(
        self, secret: str, clock: Clock, settings: Settings
    ) -> None:
        # Each process has a cache of its own, in which allauth notes used codes.
        settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
        used, earlier = clock.code(secret), clock.code(secret, -1)
        assert give(password()[0], used).status_code == 302
        for code in (used, earlier):
            assert give(password()[0], code).status_code == 200
        assert give(password()[0], clock.code(secret, 1)).status_code == 302

    def test_codes_of_adjacent_time_steps_are_accepted(self, secret: str, clock: Clock) -> None:
        for step, status in ((-2, 200), (2, 200), (-1, 302), (1, 302)):
            assert give(password()[0], clock.code(secret, step)).status_code == status

    def test_each_recovery_code_is_valid_once(self, study: Study, secret: str) -> None:
        codes = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()
        assert len(set(codes)) == 10
        assert give(password()[0], codes[3]).status_code == 302
        assert give(password()[0], codes[3]).status_code == 200
        assert give(password()[0], codes[4]).status_code == 302

    def test_the_code_that_added_the_app_logs_nobody_in(self, study: Study, clock: Clock) -> None:
        secret = add_app(password()[0], clock)
        assert give(password()[0], clock.code(secret)).status_code == 200
        clock.step += 1
        assert give(password()[0], clock.code(secret)).status_code == 302

    def test_a_recovery_code_sent_twice_at_once_is_accepted_once(
        self, secret: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        codes = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()
        first, second = password()[0], password()[0]
        load, answers = Authenticator.wrap, []

        def overtaken(authenticator: Authenticator) -> Any:
            monkeypatch.setattr(Authenticator, "wrap", load)
            answers.append(give(second, codes[0]).status_code)
            return load(authenticator)

        monkeypatch.setattr(Authenticator, "wrap", overtaken)
        assert [give(first, codes[0]).status_code, *answers] == [200, 302]

    @pytest.mark.parametrize("change", ["password", "sessions", "off"])
    def test_a_changed_account_has_to_enter_its_password_again(
        self, study: Study, secret: str, clock: Clock, change: str
    ) -> None:
        client, _ = password()
        if change == "password":
            study.ada.set_password("another-long-word")
            study.ada.save()
        elif change == "sessions":
            run("person", "ada", "--end-sessions")
        else:
            User.objects.filter(pk=study.ada.pk).update(is_active=False)
        answer = give(client, clock.code(secret))
        assert answer.headers["Location"] == "/login/?next=/"
        assert not inside(client)
        assert client.get(reverse("mfa_authenticate")).status_code == 302

    def test_a_log_out_forgets_the_password(self, secret: str, clock: Clock) -> None:
        client, _ = password()
        client.post("/logout/")
        assert give(client, clock.code(secret)).headers["Location"] == "/login/?next=/"

    @pytest.mark.parametrize(
        "where", ["/tokens/", "/account/", "/account/app/remove/", "/account/codes/", "/api/v1/"]
    )
    def test_between_the_steps_no_page_and_no_endpoint_opens(self, secret: str, where: str) -> None:
        client, _ = password()
        for answer in (client.get(where), client.post(where, {"scopes": "label", "days": 1})):
            assert answer.status_code in (302, 401, 405)
            assert answer.headers.get("Location", "/login/").startswith("/login/")
        basic = {"authorization": "Basic YWRhOmEtbG9uZy1lbm91Z2gtd29yZA=="}
        assert Client().get("/api/v1/", headers=basic).status_code == 401

    def test_the_cookie_of_the_first_step_opens_nothing_after_the_second(
        self, secret: str, clock: Clock
    ) -> None:
        client, _ = password()
        before = client.cookies["sessionid"].value
        assert give(client, clock.code(secret)).status_code == 302
        assert inside(client)
        stolen = Client()
        stolen.cookies["sessionid"] = before
        assert not inside(stolen)

    def test_the_code_page_requires_a_password_first(self, secret: str, clock: Clock) -> None:
        client = Client()
        answer = give(client, clock.code(secret))
        assert answer.headers["Location"] == "/login/?next=/"
        assert not inside(client)

    def test_a_code_is_valid_only_for_its_own_account(
        self, study: Study, secret: str, clock: Clock
    ) -> None:
        bens = add_app(password("ben")[0], clock)
        clock.step += 2
        assert give(password("ada")[0], clock.code(bens)).status_code == 200
        assert give(password("ada")[0], clock.code(secret)).status_code == 302


class TestGuessing:
    def test_ten_wrong_codes_block_even_correct_ones_for_a_while(
        self, secret: str, clock: Clock
    ) -> None:
        client, _ = password()
        assert [give(client, "000000").status_code for _ in range(10)] == [200] * 10
        answer = give(client, clock.code(secret))
        assert answer.status_code == 429
        assert "Too many attempts" in answer.content.decode()
        LogInCount.objects.filter(kind="code").update(last_at=timezone.now() - timedelta(minutes=2))
        assert give(client, clock.code(secret)).status_code == 302

    def test_entering_the_password_again_gives_no_further_guesses(
        self, secret: str, clock: Clock
    ) -> None:
        for _ in range(10):
            give(password()[0], "000000")
        assert give(password()[0], clock.code(secret)).status_code == 429

    def test_guesses_from_many_addresses_are_slowed_down(
        self, secret: str, clock: Clock, settings: Settings
    ) -> None:
        settings.LOGIN_TRIES = {**settings.LOGIN_TRIES, "codes": 3}
        for n in range(3):
            client, _ = password(client=Client(REMOTE_ADDR=f"10.2.0.{n}"))
            assert give(client, "000000").status_code == 200
        client, _ = password(client=Client(REMOTE_ADDR="10.2.0.9"))
        assert give(client, clock.code(secret)).status_code == 429

    def test_a_correct_code_resets_the_guesses(self, secret: str, clock: Clock) -> None:
        client, _ = password()
        for _ in range(9):
            give(client, "000000")
        assert give(client, clock.code(secret)).status_code == 302
        assert not LogInCount.objects.filter(kind="code").exists()


class TestAddingAndRemoving:
    def test_adding_a_factor_requires_the_password(self, study: Study) -> None:
        client, _ = password()
        answer = client.get(reverse("mfa_activate_totp"))
        assert answer.headers["Location"].startswith(reverse("account_reauthenticate"))
        where = reverse("account_reauthenticate")
        assert client.post(where, {"password": "wrong"}).status_code == 200
        assert client.get(reverse("mfa_activate_totp")).status_code == 302

    def test_wrong_passwords_when_adding_a_factor_count_like_at_log_in(self, study: Study) -> None:
        client, _ = password()
        where = reverse("account_reauthenticate")
        found = [client.post(where, {"password": "wrong"}).status_code for _ in range(10)]
        assert found == [200] * 9 + [429]

    def test_a_wrong_first_code_adds_no_factor(self, study: Study, clock: Clock) -> None:
        client, _ = password()
        confirm(client)
        client.get(reverse("mfa_activate_totp"))
        assert client.post(reverse("mfa_activate_totp"), {"code": "000000"}).status_code == 200
        assert not Authenticator.objects.exists()

    def test_adding_a_factor_ends_other_sessions(self, study: Study, clock: Clock) -> None:
        elsewhere, here = password()[0], password()[0]
        token = run("create_token", "ada").strip()
        before = here.cookies["sessionid"].value
        add_app(here, clock)
        assert inside(here)
        assert not inside(elsewhere)
        stolen = Client()
        stolen.cookies["sessionid"] = before
        assert not inside(stolen)
        assert api(token).status_code == 200

    def test_adding_a_factor_can_revoke_older_tokens(self, study: Study, clock: Clock) -> None:
        client = password()[0]
        token = run("create_token", "ada", "--note", "nightly").strip()
        confirm(client)
        where = reverse("mfa_activate_totp")
        page = client.get(where)
        assert "nightly" in page.content.decode()
        code = clock.code(str(page.context["form"].secret))
        assert client.post(where, {"code": code, "tokens": "on"}).status_code == 302
        answer = api(token)
        assert answer.status_code == 401
        assert "has expired or was revoked" in answer.json()["error"]
        assert inside(client)

    def test_pages_say_that_tokens_need_no_code(self, study: Study, clock: Clock) -> None:
        client = password()[0]
        confirm(client)
        assert "Revoke my" not in client.get(reverse("mfa_activate_totp")).content.decode()
        add_app(client, clock)
        assert "work without a code" not in client.get(reverse("mfa_index")).content.decode()
        run("create_token", "ada")
        assert "work without a code" in client.get(reverse("mfa_index")).content.decode()

    @pytest.mark.parametrize(
        "address", ["https://evil.example/", "//evil.example", "/\\evil.example"]
    )
    def test_confirming_leads_to_no_other_site(
        self, secret: str, clock: Clock, address: str
    ) -> None:
        client, _ = password(next=address)
        assert give(client, clock.code(secret)).headers["Location"] == "/"
        where = f"{reverse('account_reauthenticate')}?next={address}"
        assert client.post(where, {"password": PASSWORD}).headers["Location"] == "/"
        where = f"{reverse('mfa_reauthenticate')}?next={address}"
        assert client.post(where, {"code": clock.code(secret, 1)}).headers["Location"] == "/"

    def test_wrong_codes_when_confirming_count_like_at_log_in(
        self, secret: str, clock: Clock
    ) -> None:
        client, _ = password()
        give(client, clock.code(secret))
        where = reverse("mfa_reauthenticate")
        found = [client.post(where, {"code": "000000"}).status_code for _ in range(11)]
        assert found == [200] * 10 + [429]

    def test_adding_a_factor_is_recorded_and_shown(self, study: Study, secret: str) -> None:
        event = Event.objects.get(event="factor.added")
        assert (event.facts, event.who) == ({"kind": "totp"}, study.ada.pk)
        assert (event.object_kind, event.object_id) == ("account", str(study.ada.pk))
        assert "second factor: totp" in run("person", "ada")
        page = client_of(study.root).get(reverse("person", args=[study.ada.pk]))
        assert "Remove the second factor" in page.content.decode()

    def test_the_stored_factor_is_encrypted(self, secret: str) -> None:
        kept = str(list(Authenticator.objects.values_list("data", flat=True)))
        assert secret not in kept

    def test_with_another_site_key_no_code_is_accepted(
        self, secret: str, clock: Clock, settings: Settings
    ) -> None:
        settings.SECRET_KEY = "another" * 10
        client, _ = password()
        codes = [clock.code(secret), clock.code(""), "000000"]
        assert [give(client, code).status_code for code in codes] == [200] * 3

    def test_the_owner_removes_a_factor_after_confirming(self, secret: str, clock: Clock) -> None:
        client, _ = password()
        give(client, clock.code(secret))
        where = reverse("mfa_deactivate_totp")
        assert client.post(where).status_code == 302
        assert Authenticator.objects.count() == 2
        confirm(client)
        assert client.post(where).headers["Location"].startswith(reverse("mfa_index"))
        assert not Authenticator.objects.exists()
        assert password()[1].headers["Location"] == "/"

    def test_only_known_notices_are_shown(self, secret: str, clock: Clock) -> None:
        client, _ = password()
        give(client, clock.code(secret))
        page = reverse("mfa_index")
        assert "The app is removed." in client.get(f"{page}?done=no-app").content.decode()
        for word in ("", "<b>", "anything"):
            shown = client.get(page, {"done": word}).content.decode()
            assert "notice" not in shown.split("<main")[1]

    def test_a_wrong_code_is_refused_in_the_persons_language(self, secret: str) -> None:
        client, _ = password()
        where, german = reverse("mfa_authenticate"), {"accept-language": "de"}
        page = client.post(where, {"code": "000000"}, headers=german).content.decode()
        assert "Dieser Code stimmt nicht" in page

    def test_recovery_codes_are_shown_after_confirming(self, secret: str, clock: Clock) -> None:
        client, _ = password()
        give(client, clock.code(secret))
        for name in ("mfa_view_recovery_codes", "mfa_download_recovery_codes"):
            assert client.get(reverse(name)).status_code == 302
        confirm(client)
        file = client.get(reverse("mfa_download_recovery_codes"))
        assert len(file.content.split()) == 10
        old = file.content.split()[0].decode()
        assert client.post(reverse("mfa_generate_recovery_codes")).status_code == 302
        assert Event.objects.filter(event="factor.codes").count() == 1
        assert give(password()[0], old).status_code == 200

    def test_a_code_confirms_too(self, secret: str, clock: Clock) -> None:
        client, _ = password()
        give(client, clock.code(secret))
        clock.step += 1
        where = f"{reverse('mfa_reauthenticate')}?next={reverse('mfa_view_recovery_codes')}"
        assert client.post(where, {"code": "000000"}).status_code == 200
        shown = client.post(where, {"code": clock.code(secret, 1)})
        assert shown.headers["Location"] == reverse("mfa_view_recovery_codes")
        page = client.get(shown.headers["Location"]).content.decode()
        assert len(re.findall(r"^\d{8}$|>\d{8}$", page, re.M)) == 10

    @pytest.mark.parametrize("way", ["page", "command"])
    def test_an_admin_removes_a_lost_factor_and_all_sessions_end(
        self, study: Study, secret: str, clock: Clock, way: str
    ) -> None:
        client, _ = password()
        give(client, clock.code(secret))
        if way == "page":
            order = {"order": "factors"}
            client_of(study.root).post(reverse("person-change", args=[study.ada.pk]), order)
        else:
            assert "no second factor now" in run("person", "ada", "--remove-factors")
        assert not inside(client)
        assert password()[1].headers["Location"] == "/"
        assert Event.objects.filter(event="factor.removed").latest("pk").facts == {"kind": "all"}

    def test_guests_cannot_add_a_factor(self, study: Study) -> None:
        guest = client_of(User.objects.create(username="guest-1", is_guest=True))
        for name in ("mfa_index", "mfa_activate_totp", "account_reauthenticate"):
            assert guest.get(reverse(name)).status_code == 403


class TestRequiredFactors:
    @pytest.fixture(autouse=True)
    def _needed(self, settings: Settings) -> None:
        settings.TANDEM_SECOND_FACTOR = ["researcher", "admin"]

    def test_a_person_without_a_required_factor_can_only_add_one(
        self, study: Study, clock: Clock
    ) -> None:
        client, _ = password("rita")
        for where in ("/", "/campaigns/", "/tokens/", "/people/"):
            answer = client.get(where)
            assert answer.headers["Location"].startswith(reverse("mfa_index")), where
        assert client.post("/tokens/", {"scopes": "read", "days": 1}).status_code == 302
        assert client.get("/campaigns/", headers={"accept": "application/json"}).status_code == 401
        assert "needs a second factor" in client.get(reverse("mfa_index")).content.decode()
        add_app(client, clock)
        assert client.get("/campaigns/").status_code == 200

    def test_an_existing_session_is_asked_for_the_new_factor(
        self, study: Study, clock: Clock
    ) -> None:
        found = add_app(password("rita")[0], clock)
        clock.step += 2
        client = client_of(User.objects.get(pk=study.rita.pk))
        answer = client.get("/campaigns/?x=1")
        assert answer.headers["Location"].startswith(reverse("mfa_reauthenticate"))
        back = client.post(answer.headers["Location"], {"code": clock.code(found)})
        assert back.headers["Location"] == "/campaigns/?x=1"
        assert client.get("/campaigns/").status_code == 200

    def test_the_password_alone_reveals_no_recovery_codes_to_an_older_session(
        self, study: Study, clock: Clock
    ) -> None:
        add_app(password("rita")[0], clock)
        client = client_of(User.objects.get(pk=study.rita.pk))
        confirm(client)
        for name in ("view_recovery_codes", "generate_recovery_codes", "download_recovery_codes"):
            answer = client.get(reverse(f"mfa_{name}"))
            assert answer.headers["Location"].startswith(reverse("mfa_reauthenticate"))
        answer = client.post(reverse("mfa_deactivate_totp"))
        assert answer.headers["Location"].startswith(reverse("mfa_reauthenticate"))

    def test_removing_a_required_factor_makes_it_required_again(
        self, study: Study, clock: Clock
    ) -> None:
        client, _ = password("rita")
        add_app(client, clock)
        client.post(reverse("mfa_deactivate_totp"))
        assert client.get("/campaigns/").headers["Location"].startswith(reverse("mfa_index"))

    def test_other_roles_and_tokens_need_no_second_factor(self, study: Study) -> None:
        assert inside(password("ada")[0])
        token = run("create_token", "rita").strip()
        headers = {"authorization": f"Token {token}"}
        assert Client().get("/api/v1/", headers=headers).status_code == 200

    def test_logging_out_needs_no_second_factor(self, study: Study) -> None:
        client, _ = password("rita")
        assert client.post("/logout/").headers["Location"] == "/login/"
