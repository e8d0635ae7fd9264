"""A server with unsafe settings does not start, and its defaults are strict."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from pytest_django.fixtures import Settings

from config.env import secret_key
from tests import forks
from tests.cast import ROOT
from tests.databases import DECIDED
from tests.patience import PATIENCE

GOOD = secrets.token_urlsafe(50)
ASYNC = "DJANGO_ALLOW_ASYNC_UNSAFE"  # which the tests in Chromium leave behind
GUESSABLE = {
    "short": secrets.token_urlsafe(24),
    "one letter": "x" * 80,
    "a word again and again": "Tandem-19" * 9,
    "cut off": "abcdefghij" * 5 + "abc",
    "Django's": "django-insecure-" + GOOD,
    "a word in it": GOOD + "-CHANGEME",
    "example": "example-key-" + GOOD,
    "blank": " " * 60,
}
TEXTS = {".md", ".py", ".yaml", ".yml", ".toml", ".sh", ".txt", ".html", ".css", ".js", ".env", ""}
KEY_LIKE = re.compile(r"""SECRET_KEY["']?\s*[:=]\s*["']?([^\s"'#]+)""")
NO_KEY = re.compile(r"^(\$|…|\(|`|secrets\.|environment\.|environ|os\.|None|str\b)")


def server(folder: Path, **settings: str) -> dict[str, str]:
    """Return the environment of a server, without settings of this machine."""
    named = (*DECIDED, "ALLOWED_HOSTS", "TANDEM_PLAIN_HTTP", "TANDEM_PROXIES", ASYNC)
    kept = {name: value for name, value in os.environ.items() if name not in named}
    given = {
        "SECRET_KEY": GOOD,
        "ALLOWED_HOSTS": "study.example.org",
        "TANDEM_PROXIES": "1",
        **settings,
    }
    return {**kept, "TANDEM_DATA_DIR": str(folder), **given}


def run(folder: Path, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    words, env = [sys.executable, *command], server(folder, **settings)
    return forks.run(words, cwd=ROOT, env=env, timeout=PATIENCE)


@pytest.mark.every_case
@pytest.mark.parametrize("key", GUESSABLE.values(), ids=list(GUESSABLE))
def test_a_guessable_secret_key_is_refused(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", key)
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY can be guessed; set it to 50"):
        secret_key(debug=False, own_machine=False, folder=tmp_path)


@pytest.mark.parametrize(
    "make", [lambda: secrets.token_urlsafe(50), lambda: secrets.token_hex(32)], ids=["text", "hex"]
)
def test_random_secret_keys_are_accepted(make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(make)
    for _ in range(500):
        key = make()
        monkeypatch.setenv("SECRET_KEY", key)
        assert secret_key(False, False, Path("/nowhere")) == key


def test_the_server_does_not_start_without_a_secret_key(tmp_path: Path) -> None:
    done = run(tmp_path, "manage.py", "check", SECRET_KEY="")
    assert done.returncode == 1
    assert done.stderr.startswith("Settings: SECRET_KEY is not set; set it to 50 random")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "secret_key").exists()


def test_the_repository_contains_no_secret_key() -> None:
    found = [(path, key) for path in _texts() for key in KEY_LIKE.findall(path.read_text("utf-8"))]
    assert found, "the search finds not even the settings"
    for path, key in found:
        is_key = len(key) >= 20 and not NO_KEY.match(key)
        assert not is_key, f"{path}: {key[:8]}… looks like a key"


def _texts() -> Iterator[Path]:
    """Yield the files that are or could be tracked: no environments, data or caches."""
    for folder in ROOT.iterdir():
        if folder.name.startswith(".") and folder.name != ".ci":
            continue
        if folder.name in {"var", "site", "node_modules"}:
            continue
        for path in [folder] if folder.is_file() else folder.rglob("*"):
            if path.is_file() and path.suffix in TEXTS and path.stat().st_size < 500_000:
                yield path


def test_the_deployment_checks_find_no_problem(tmp_path: Path) -> None:
    done = run(tmp_path, "manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_the_deployment_checks_find_missing_hosts(tmp_path: Path) -> None:
    command = ("manage.py", "check", "--deploy", "--tag", "security", "--fail-level", "WARNING")
    done = run(tmp_path, *command, ALLOWED_HOSTS="")
    assert done.returncode == 1
    assert "ALLOWED_HOSTS must not be empty" in done.stderr


@pytest.mark.processes
def test_the_web_server_does_not_start_without_allowed_hosts(tmp_path: Path) -> None:
    command = ("-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi")
    done = run(tmp_path, *command, ALLOWED_HOSTS="", BIND="127.0.0.1:0")
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert len(errors) == 1
    assert errors[0].startswith("Not started: (security.W020) ALLOWED_HOSTS must not be empty")
    assert "Listening" not in done.stderr


@pytest.mark.processes
def test_the_web_server_does_not_start_without_static_files(tmp_path: Path) -> None:
    command = ("-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi")
    done = run(tmp_path, *command, BIND="127.0.0.1:0")
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    folder = tmp_path / "static"
    mend = "run tandem collectstatic --noinput"
    assert told == [f"Not started: there are no static files in {folder}: {mend}"]


@pytest.mark.django_db
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_a_page_without_its_static_files_fails_with_one_error_that_says_what_to_run(
    tmp_path: Path, settings: Settings, caplog: pytest.LogCaptureFixture, accept: str
) -> None:
    hashed = {"BACKEND": "config.context.HashedFiles"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": hashed}
    settings.STATIC_ROOT = tmp_path
    client = Client(raise_request_exception=False)
    answer = client.get("/login/", headers={"accept": accept})
    assert answer.status_code == 500
    assert "unexpected error" in answer.content.decode()
    (told,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert told.exc_info is not None
    assert f"is not in {tmp_path}: run tandem collectstatic" in str(told.exc_info[1])


SETTINGS = """
import json
import django
from django.conf import settings
django.setup()
from django.contrib.auth.hashers import check_password, identify_hasher, make_password
from django.contrib.auth.hashers import PBKDF2PasswordHasher
made, said = make_password("a long enough word"), []
old = PBKDF2PasswordHasher().encode("a long enough word", "salt", iterations=1)
check_password("a long enough word", old, said.append)
names = [n for n in dir(settings) if n.startswith(("SECURE_", "SESSION_COOKIE", "CSRF_COOKIE"))]
print(json.dumps({
    "hasher": identify_hasher(made).algorithm, "upgraded": said, "made": made,
    "debug": settings.DEBUG, "hosts": settings.ALLOWED_HOSTS,
    **{name: getattr(settings, name) for name in names},
}, default=str))
"""


def test_production_settings_are_strict(tmp_path: Path) -> None:
    variables = {"DJANGO_SETTINGS_MODULE": "config.settings", "TANDEM_PROXIES": "0"}
    done = run(tmp_path, "-c", SETTINGS, **variables)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["hasher"] == "argon2"
    assert found["made"].startswith("argon2$argon2id$")
    assert found["upgraded"] == ["a long enough word"]
    assert found["debug"] is False
    assert found["hosts"] == ["study.example.org"]
    assert found["SESSION_COOKIE_SECURE"]
    assert found["CSRF_COOKIE_SECURE"]
    assert found["SESSION_COOKIE_HTTPONLY"]
    assert found["SECURE_SSL_REDIRECT"]
    assert found["SECURE_HSTS_SECONDS"] >= 365 * 24 * 3600
    assert found["SECURE_PROXY_SSL_HEADER"] is None
