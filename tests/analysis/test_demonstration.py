"""The demonstration as a new user starts it: twice, in separate processes."""

from __future__ import annotations

import http.cookiejar
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analysis.demo import ROLES, make_accounts
from annotation.models import User
from annotation.protocols import PROTOCOLS
from tests import forks
from tests.databases import environment as environment_of
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


def started(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.processes(pytest.mark.once(test))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("demonstration")
    few = {
        "WEB_WORKERS": "1",
        "WEB_OTHER_WORKERS": "0",
        "TANDEM_JOB_PLACES": "1",
    }  # each process imports every page
    return environment_of(folder, migrated=True) | few | {"PYTHONUNBUFFERED": "1"}


def demo(*arguments: object) -> list[str]:
    return [sys.executable, "manage.py", "demo", *map(str, arguments)]


@pytest.fixture(scope="module")
def first(environment: dict[str, str]) -> Iterator[str]:
    """The command's output until the site is open; the site runs within the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = forks.Process(
        demo("--port", port),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if line.strip().startswith("Stop it"):
            break
    yield said
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(PATIENCE)


@started
def test_the_demonstration_applies_a_study_and_creates_campaigns_to_try(first: str) -> None:
    assert "  done     campaign  demo-crux-coverage" in first
    assert "Next: All stages are done: read the results" in first
    assert "Loaded batch 'demo'" in first
    assert f"And {len(PROTOCOLS)} campaigns to try the other protocols." in first


@started
def test_the_demonstration_prints_the_address_and_the_accounts(first: str) -> None:
    address = re.search(r"http://127\.0\.0\.1:\d+/", first)
    accounts = dict(re.findall(r"(demo-\w+)\s+(\S+)", first.split("log in as one of")[1]))
    assert address is not None
    assert set(accounts) == {"demo-annotator", "demo-researcher", "demo-admin"}
    page = log_in(address[0], "demo-researcher", accounts["demo-researcher"])
    assert "<h1><bdi>demo-crux</bdi></h1>" in page
    page = log_in(address[0], "demo-annotator", accounts["demo-annotator"])
    assert all(f"demo-{name}" in page for name in PROTOCOLS if name != "report-coverage")
    assert "demo-nuggets" in page


@started
def test_the_results_are_computed_before_the_address_is_printed(first: str) -> None:
    """The first page that is opened shows numbers, without a job that it would have to wait for."""
    computing, _, open_ = first.partition("The site: open ")
    assert "Computing those of 'demo-crux-coverage' …" in computing
    address = open_.split()[0]
    accounts = dict(re.findall(r"(demo-\w+)\s+(\S+)", open_))
    opener = browser(address, "demo-researcher", accounts["demo-researcher"])
    campaigns = answer(opener, f"{address}campaigns/?find=demo-crux-coverage")
    found = re.search(r'href="(/campaigns/\d+/)"[^>]*>demo-crux-coverage', campaigns)
    assert found is not None
    page = answer(opener, address.rstrip("/") + found[1])
    assert "Not computed yet" not in page
    assert "Being computed" not in page
    assert "being computed" not in answer(opener, f"{address.rstrip('/')}{found[1]}results/")
    assert "being computed" not in answer(opener, f"{address.rstrip('/')}{found[1]}disagreements/")


@started
def test_starting_the_demonstration_again_changes_nothing_even_beside_another_team(
    first: str, environment: dict[str, str]
) -> None:
    create = [sys.executable, "manage.py", "team", "create", "ferries"]
    created = forks.run(create, cwd=ROOT, env=environment, timeout=PATIENCE)
    assert created.returncode == 0, created.stderr
    done = forks.run(demo("--no-serve"), cwd=ROOT, env=environment, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Nothing to do") >= 2
    assert first.startswith(done.stdout[: done.stdout.index("2. ")])


@pytest.mark.django_db
def test_an_account_keeps_its_password_until_somebody_changes_it(own_quarantine: Path) -> None:
    before = make_accounts()
    assert [account.name for account in before] == [f"demo-{role}" for role in ROLES]
    assert len({account.password for account in before}) == len(ROLES)
    assert make_accounts() == before
    admin = User.objects.get(username="demo-admin")
    assert (admin.role, admin.check_password(before[-1].password)) == ("admin", True)
    admin.set_password("another")
    admin.save()
    assert make_accounts() == before
    assert User.objects.get(username="demo-admin").check_password(before[-1].password)
    assert (own_quarantine / "demonstration.json").stat().st_mode & 0o077 == 0


def log_in(address: str, name: str, password: str) -> str:
    """Log in by the form, and return the page that follows."""
    return answer(browser(address, name, password), address)


def browser(address: str, name: str, password: str) -> urllib.request.OpenerDirector:
    """Return a browser that is logged in."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    form = answer(opener, f"{address}login/")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    assert token is not None
    fields = {"username": name, "password": password, "csrfmiddlewaretoken": token[1]}
    answer(opener, f"{address}login/", urllib.parse.urlencode(fields).encode())
    return opener


def answer(opener: urllib.request.OpenerDirector, address: str, data: bytes | None = None) -> str:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with opener.open(address, data, timeout=PATIENCE) as response:
                return str(response.read().decode())
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
