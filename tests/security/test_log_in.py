"""Logging in and out starts and ends sessions, and reveals nothing about accounts."""

from __future__ import annotations

import logging
import re

import pytest
from django.contrib.auth.hashers import identify_hasher, make_password
from django.test import Client
from django.utils.translation import activate

from annotation.models import User
from tests.once import once
from tests.page_cast import PASSWORD, Study, make_study

pytestmark = pytest.mark.django_db
ELSEWHERE = (
    "https://evil.example/", "//evil.example/", "///evil.example", "/\\evil.example",
    "\\\\evil.example",
    "http:evil.example", "http:///evil.example", "javascript:alert(1)", "data:text/html,x",
    "https://testserver@evil.example/", "/\t/evil.example", "https:\\\\evil.example",
    "\x01//evil.example",
    "ftp://testserver/", "https://testserver.evil.example/",
)  # fmt: skip


@once
def study() -> Study:
    return make_study()


def log_in(client: Client, name: str = "ada", password: str = PASSWORD, **more: str) -> int:
    return client.post("/login/", {"username": name, "password": password, **more}).status_code


def inside(client: Client) -> bool:
    return client.get("/tasks/").status_code == 200


def test_a_log_in_gives_a_new_session_and_a_new_csrf_token(study: Study) -> None:
    client = Client()
    client.get("/login/")
    session = client.session
    session["planted"] = "by whoever fixed this session"
    session.save()
    token, before = client.cookies["csrftoken"].value, session.session_key
    log_in(client)
    assert inside(client)
    assert client.session.session_key != before
    assert client.cookies["csrftoken"].value != token
    stolen = Client()
    stolen.cookies["sessionid"] = str(before)
    assert not inside(stolen)


def test_logging_out_ends_copies_of_the_session_too(study: Study) -> None:
    client, copy = Client(), Client()
    log_in(client)
    copy.cookies["sessionid"] = client.cookies["sessionid"].value
    assert inside(copy)
    client.post("/logout/")
    assert not inside(copy)
    assert not inside(client)


def test_changing_the_password_ends_every_session(study: Study) -> None:
    client = Client()
    log_in(client)
    study.ada.set_password("another-long-word")
    study.ada.save()
    assert not inside(client)
    assert log_in(Client(), password="another-long-word") == 302


def test_deactivating_an_account_ends_its_sessions_at_once(study: Study) -> None:
    client = Client()
    log_in(client)
    User.objects.filter(pk=study.ada.pk).update(is_active=False)
    assert not inside(client)
    assert log_in(Client()) == 200


def test_a_role_change_takes_effect_at_once(study: Study) -> None:
    client = Client()
    log_in(client, "rita")
    assert client.get("/campaigns/").status_code == 200
    User.objects.filter(pk=study.rita.pk).update(role="annotator")
    # The new role ends the session, so that nothing goes on under the old one.
    assert client.get("/campaigns/").status_code == 302


def test_cookies_are_inaccessible_to_scripts_and_other_sites(study: Study) -> None:
    client = Client()
    log_in(client)
    assert client.cookies["sessionid"]["httponly"]
    for name in ("sessionid", "csrftoken"):
        assert client.cookies[name]["samesite"] == "Lax"
        assert client.cookies[name]["domain"] == ""


@pytest.mark.every_case
@pytest.mark.parametrize("address", ELSEWHERE)
def test_log_in_never_redirects_to_another_site(study: Study, address: str) -> None:
    given = {"username": "ada", "password": PASSWORD, "next": address}
    answer = Client().post("/login/", given)
    assert answer.headers["Location"] == "/"
    assert Client().post(f"/login/?next={address}", given).headers["Location"] == "/"
    known = Client()
    log_in(known)
    assert known.get("/login/", {"next": address}).headers["Location"] == "/"


def test_log_in_redirects_to_the_requested_page(study: Study) -> None:
    away = Client().get("/tasks/?x=1&y=%C3%BC")
    assert away.headers["Location"] == "/login/?next=/tasks/%3Fx%3D1%26y%3D%25C3%25BC"
    given = {"username": "ada", "password": PASSWORD, "next": "/tasks/?x=1"}
    assert Client().post("/login/", given).headers["Location"] == "/tasks/?x=1"


def test_log_in_requires_a_csrf_token(study: Study) -> None:
    client = Client(enforce_csrf_checks=True)
    assert log_in(client) == 403
    client.get("/login/")
    token = client.cookies["csrftoken"].value
    assert log_in(client, csrfmiddlewaretoken=token) == 302


def test_a_failed_log_in_does_not_reveal_whether_the_account_exists(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.filter(pk=study.ben.pk).update(is_active=False)
    hashed: list[str] = []
    hasher = type(identify_hasher(make_password("x")))
    encode = hasher.encode

    def counted(self: object, password: str, *args: object, **more: object) -> str:
        hashed.append(password)
        return encode(self, password, *args, **more)  # type: ignore[arg-type]

    User.objects.update(password=make_password(PASSWORD))
    monkeypatch.setattr(hasher, "encode", counted)
    pages = []
    for name in ("ada", "nobody", "ben"):
        before = len(hashed)
        answer = Client().post("/login/", {"username": name, "password": "wrong word"})
        assert len(hashed) == before + 1, f"{name} takes another number of hashes"
        pages.append((answer.status_code, _plain(answer.content.decode(), name)))
    assert pages[0] == pages[1] == pages[2]


def _plain(page: str, name: str) -> str:
    page = re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", page)
    return re.sub(r'nonce="[^"]+"', "", page).replace(name, "NAME")


@pytest.mark.every_case
@pytest.mark.parametrize(
    "name", ["ada\0", "a" * 151, "ADA", "ada" + "\u200b", "", " ", "' OR 1=1 --", "*", "{0}"]
)
def test_account_names_are_matched_exactly(study: Study, name: str) -> None:
    assert log_in(Client(), name) == 200
    assert log_in(Client(), "ada", "b" * 100_000) == 200


def test_passwords_are_never_logged(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    activate("en")
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "tandem.requests")
    client = Client()
    secret = "my-secret-pass-phrase"
    for _ in range(12):
        log_in(client, password=secret)
    log_in(client, name=secret)
    client.post("/login/?password=" + secret, {"password": secret})
    client.get("/login/", {"password": secret})
    logged = "".join(str(record.__dict__) for record in caplog.records)
    assert "/login/" in logged
    assert secret not in logged
