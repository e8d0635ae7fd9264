"""Only configured proxies are trusted, and sessions and keys end or survive as they should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.test import Client, RequestFactory
from knox.models import AuthToken
from pytest_django.fixtures import Settings

from config import apps, middleware
from config.env import secret_key
from datasets.access import client_address
from tests.once import once
from tests.page_cast import Study, client_of, make_study
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
CLIENT, FORGED, INNER = "203.0.113.7", "6.6.6.6", "10.0.0.2"


@once
def study() -> Study:
    return make_study()


class TestTheClientAddress:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("proxies", "forwarded", "found"),
        [
            (0, "", "10.0.0.1"),
            (0, FORGED, "10.0.0.1"),
            (1, CLIENT, CLIENT),
            (1, f"{FORGED}, {CLIENT}", CLIENT),
            (2, f"{FORGED}, {CLIENT}, {INNER}", CLIENT),
            (2, CLIENT, "10.0.0.1"),
            (1, "<script>", "10.0.0.1"),
            (1, "", "10.0.0.1"),
            (1, "2001:DB8::1", "2001:db8::1"),
        ],
    )
    def test_only_configured_proxies_are_trusted_with_the_address(
        self, settings: Settings, proxies: int, forwarded: str, found: str
    ) -> None:
        settings.PROXIES = proxies
        request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=forwarded)
        assert client_address(request) == found

    @pytest.mark.django_db
    def test_a_forged_address_header_gives_no_more_guesses(self, settings: Settings) -> None:
        settings.PROXIES = 1
        statuses = [
            Client()
            .post(
                "/login/",
                {"username": "nobody", "password": "wrong"},
                HTTP_X_FORWARDED_FOR=f"6.6.6.{n}, {CLIENT}",
            )
            .status_code
            for n in range(12)
        ]
        assert statuses == [200] * 9 + [429] * 3
        other = Client().post(
            "/login/", {"username": "x", "password": "y"}, HTTP_X_FORWARDED_FOR="203.0.113.8"
        )
        assert other.status_code == 200


class TestTheRequestId:
    @pytest.mark.parametrize("proxies", [0, 1])
    def test_a_configured_proxy_may_set_the_request_id(
        self, settings: Settings, proxies: int
    ) -> None:
        settings.PROXIES = proxies
        answer = Client().get("/login/", headers={"X-Request-ID": "from-the-proxy-1"})
        assert (answer["X-Request-ID"] == "from-the-proxy-1") == bool(proxies)

    @pytest.mark.parametrize("given", ["short", "a b<script>alert(1)</script>", "x" * 65])
    def test_malformed_request_ids_are_not_logged(self, settings: Settings, given: str) -> None:
        settings.PROXIES = 1
        answer = Client().get("/login/", headers={"X-Request-ID": given})
        assert len(answer["X-Request-ID"]) == 32


class TestSessions:
    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        now = [1_000_000.0]
        monkeypatch.setattr(middleware.time, "time", lambda: now[0])
        return now

    def logged_in(self, client: Client) -> bool:
        return client.get("/tasks/").status_code == 200

    def test_sessions_end_half_a_day_after_the_last_request(
        self, study: Study, clock: list[float]
    ) -> None:
        client = client_of(study.ada)
        for _ in range(3):
            assert self.logged_in(client)
            clock[0] += middleware.MAX_IDLE - 1
        assert self.logged_in(client)
        clock[0] += middleware.MAX_IDLE + 1
        assert not self.logged_in(client)
        assert Session.objects.count() == 0

    def test_idle_sessions_last_until_the_last_second_of_half_a_day(
        self, study: Study, clock: list[float]
    ) -> None:
        client = client_of(study.ada)
        for _ in range(2):
            assert self.logged_in(client)
            clock[0] += middleware.MAX_IDLE
        assert self.logged_in(client)

    def test_sessions_last_until_the_last_second_of_a_week(
        self, study: Study, clock: list[float]
    ) -> None:
        client, began = client_of(study.ada), clock[0]
        while clock[0] < began + middleware.MAX_SESSION:
            assert self.logged_in(client)
            clock[0] = min(clock[0] + middleware.MAX_IDLE, began + middleware.MAX_SESSION)
        assert self.logged_in(client)
        clock[0] += 1
        assert not self.logged_in(client)

    def test_sessions_end_a_week_after_log_in(self, study: Study, clock: list[float]) -> None:
        client = client_of(study.ada)
        for _ in range(14):
            assert self.logged_in(client)
            clock[0] += middleware.MAX_IDLE - 60
        assert self.logged_in(client)
        clock[0] += middleware.MAX_IDLE - 60
        assert not self.logged_in(client)

    def test_active_sessions_are_saved_only_occasionally(
        self, study: Study, clock: list[float]
    ) -> None:
        client = client_of(study.ada)
        assert self.logged_in(client)
        before = Session.objects.get().session_data
        clock[0] += middleware.UPDATE_INTERVAL - 1
        assert self.logged_in(client)
        assert Session.objects.get().session_data == before


def test_changing_the_password_revokes_api_tokens(study: Study) -> None:
    AuthToken.objects.create(study.ada)
    AuthToken.objects.create(study.ben)
    study.ada.first_name = "Ada"
    study.ada.save()
    assert AuthToken.objects.filter(user=study.ada).count() == 1
    study.ada.set_password("another-long-word")
    study.ada.save()
    assert AuthToken.objects.filter(user=study.ada).count() == 0
    assert AuthToken.objects.filter(user=study.ben).count() == 1


def test_a_server_without_tls_gets_a_warning(settings: Settings) -> None:
    settings.PLAIN_HTTP, settings.PROXIES = False, 0
    assert [found.id for found in apps.check_tls()] == ["tandem.W001"]
    settings.PROXIES = 1
    assert apps.check_tls() == []


def test_simultaneous_first_starts_agree_on_one_secret_key(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from config.env import secret_key;"
        "print(secret_key(True, True, Path(sys.argv[1])))"
    )
    env = {name: value for name, value in os.environ.items() if name != "SECRET_KEY"}
    starts = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)],
            cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(6)
    ]  # fmt: skip
    keys = {start.communicate(timeout=PATIENCE)[0] for start in starts}
    assert len(keys) == 1
    assert len(keys.pop().strip()) >= 50
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


def test_an_incomplete_key_file_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    (tmp_path / "secret_key").write_text("")
    with pytest.raises(Exception, match="is empty; delete it"):
        secret_key(True, True, tmp_path)
