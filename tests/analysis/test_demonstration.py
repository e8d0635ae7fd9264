"""The demonstration as a new user starts it: twice, in processes of its own."""

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
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation.protocols import PROTOCOLS
from tests.databases import environment as environment_of
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.processes, pytest.mark.once]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("demonstration")
    return environment_of(folder) | {"PYTHONUNBUFFERED": "1"}


def manage(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def first(environment: dict[str, str]) -> str:
    manage(environment, "migrate", "--verbosity", "0")
    return manage(environment, "demo", "--no-serve")


def test_it_goes_all_the_way_to_the_report(first: str) -> None:
    assert "Loaded batch 'demo'" in first
    assert "The worker judged 30 reports" in first
    assert "Fleiss' kappa" in first
    assert "### Judge lexical" in first


def test_a_second_time_changes_nothing(first: str, environment: dict[str, str]) -> None:
    second = manage(environment, "demo", "--no-serve")
    assert second.count("Nothing to do") >= 3
    assert second.split("# Agreement")[1] == first.split("# Agreement")[1]


@pytest.fixture(scope="module")
def site(first: str, environment: dict[str, str]) -> Iterator[str]:
    """What the command prints when it opens the site; the site runs meanwhile."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo", "--port", str(port)],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, start_new_session=True,
    )  # fmt: skip
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if line.strip().startswith("Stop it"):
            break
    yield said
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(PATIENCE)


def test_it_says_which_address_to_open_and_as_whom(site: str) -> None:
    address = re.search(r"http://127\.0\.0\.1:\d+/", site)
    accounts = dict(re.findall(r"(demo-\w+)\s+(\S+)", site.split("log in as one of")[1]))
    assert address is not None
    assert set(accounts) == {"demo-annotator", "demo-researcher", "demo-admin"}
    page = log_in(address[0], "demo-researcher", accounts["demo-researcher"])
    assert "demo-coverage" in page
    page = log_in(address[0], "demo-annotator", accounts["demo-annotator"])
    assert all(f"demo-{name}" in page for name in PROTOCOLS if name != "report-coverage")


def log_in(address: str, name: str, password: str) -> str:
    """The page that one sees after the log-in form."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    form = answer(opener, f"{address}login/")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    assert token is not None
    fields = {"username": name, "password": password, "csrfmiddlewaretoken": token[1]}
    return answer(opener, f"{address}login/", urllib.parse.urlencode(fields).encode())


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
