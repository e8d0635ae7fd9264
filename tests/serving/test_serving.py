"""Gunicorn serves the site correctly under production settings."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
from pathlib import Path

import pytest
import requests

from tests import forks
from tests.browser.chromium import started
from tests.judging.processes import until
from tests.patience import PATIENCE
from tests.serving.site import PASSWORD, ROOT, Person, Site

pytestmark = pytest.mark.processes


def linked(page: str) -> list[str]:
    return re.findall(r'(?:src|href)="(/static/[^"]+)"', page)


@pytest.mark.once
class TestStaticFiles:
    def test_file_names_contain_a_content_hash_and_are_cached_for_ever(
        self, site: Site, ada: Person
    ) -> None:
        page = ada.session.get(f"{site.url}/tasks/").text
        assert linked(page)
        for address in linked(page):
            answer = requests.get(site.url + address, timeout=PATIENCE)
            assert re.search(r"\.[0-9a-f]{12}\.\w+$", address), address
            assert answer.status_code == 200
            assert "immutable" in answer.headers["Cache-Control"]

    def test_files_are_served_compressed(self, site: Site, ada: Person) -> None:
        page = ada.session.get(f"{site.url}/tasks/").text
        css = next(address for address in linked(page) if "tandem." in address)
        for method in ("br", "gzip"):
            headers = {"Accept-Encoding": method}
            answer = requests.get(site.url + css, headers=headers, timeout=PATIENCE, stream=True)
            assert answer.headers["Content-Encoding"] == method
            assert int(answer.headers["Content-Length"]) < 4000

    def test_script_modules_import_each_other_by_hashed_names(
        self, site: Site, ada: Person
    ) -> None:
        uid = ada.take_next()
        page = ada.session.get(f"{site.url}/tasks/{uid}/").text
        module = next(address for address in linked(page) if "/js/item." in address)
        source = requests.get(site.url + module, timeout=PATIENCE).text
        imports = re.findall(r'from\s*"\./([^"]+)"', source)
        assert len(imports) > 5
        assert all(re.search(r"\.[0-9a-f]{12}\.js$", name) for name in imports)
        for name in imports:
            assert requests.get(f"{site.url}/static/js/{name}", timeout=PATIENCE).status_code == 200


@pytest.mark.once
def test_the_item_page_works_in_a_browser(site: Site) -> None:
    """With hashed modules and the strict policy, nothing is blocked, and an answer is saved."""
    complaints: list[str] = []
    with started() as browser:
        page = browser.new_page(base_url=site.url)
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("response", lambda r: complaints.append(r.url) if r.status >= 400 else None)
        page.goto("/login/")
        page.fill("[name=username]", "ben")
        page.fill("[name=password]", PASSWORD)
        page.click("button[type=submit]:has-text('Log in')")
        page.click("button:has-text('Start'), button:has-text('Go on')")
        page.wait_for_url("**/tasks/*-*/")
        first = page.url
        page.check("[name=unit-0-answerable][value=no]", force=True)
        page.click("#submit")
        page.wait_for_url(lambda url: url != first)
    assert complaints == []


class TestHealth:
    def test_probes_are_answered_under_any_host_name(self, site: Site) -> None:
        for address in ("/health/live", "/health/ready"):
            answer = requests.get(
                site.url + address, headers={"Host": "10.0.0.7"}, timeout=PATIENCE
            )
            assert (answer.status_code, answer.text) == (200, "ok")
            assert answer.headers["Cache-Control"] == "no-store"

    def test_a_site_without_its_tables_is_live_but_not_ready(self, tmp_path: Path) -> None:
        site = Site(tmp_path, empty=True)
        script = (
            "from django.test import Client; import json\n"
            "ask = lambda name: Client().get('/health/' + name).status_code\n"
            "print(json.dumps([ask('live'), ask('ready')]))"
        )
        assert site.ask(script) == [200, 503]


@pytest.mark.once
class TestLog:
    def test_a_requests_log_line_has_the_id_that_its_response_carries(self, site: Site) -> None:
        answer = requests.get(f"{site.url}/login/?next=/secret-in-a-query", timeout=PATIENCE)
        line = next(
            line for line in site.log() if line.get("request_id") == answer.headers["X-Request-ID"]
        )
        assert (line["method"], line["path"], line["status"]) == ("GET", "/login/", 200)
        assert line["ms"] > 0
        assert "secret-in-a-query" not in str(site.log())

    def test_the_log_contains_no_password(self, site: Site, ada: Person) -> None:
        assert PASSWORD not in (site.folder / "site.log").read_text("utf-8")


FAILURES = """
import json
from unittest import mock
from django.db import OperationalError
from django.test import Client
client = Client(raise_request_exception=False, SERVER_NAME="localhost")
found = {}
for name, error, headers in (
    ("page", ValueError("of-the-inside"), {}),
    ("script", ValueError("of-the-inside"), {"Accept": "application/json"}),
    ("away", OperationalError("gone"), {}),
):
    with mock.patch("annotation.views.accounts.LogIn.get", side_effect=error):
        answer = client.get("/login/", headers=headers)
    found[name] = [answer.status_code, answer["X-Request-ID"], answer.get("Retry-After"),
                   answer.content.decode()]
print(json.dumps(found))
"""


Answers = dict[str, tuple[int, str, str | None, str]]


@pytest.fixture(scope="module")
def answers(site: Site) -> Answers:
    return dict(site.ask(FAILURES))


class TestFailures:
    def test_a_failure_page_shows_the_request_id_and_no_internals(self, answers: Answers) -> None:
        status, number, _, page = answers["page"]
        assert status == 500
        assert number in page
        assert "of-the-inside" not in page
        assert "Traceback" not in page

    def test_an_api_failure_is_json_without_internals(self, answers: Answers) -> None:
        status, _, _, body = answers["script"]
        assert status == 500
        assert set(json.loads(body)) == {"error", "problems"}
        assert "inside" not in body

    def test_an_unreachable_database_gives_503_with_a_time_to_retry(self, answers: Answers) -> None:
        status, number, after, page = answers["away"]
        assert (status, after) == (503, "5")
        assert number in page
        assert "gone" not in page


def test_requests_under_way_are_finished_before_the_site_stops(
    site: Site, static: dict[str, str]
) -> None:
    site = Site(site.folder, {"WEB_WORKERS": "1", **static})
    with site.served() as process, socket.create_connection(("127.0.0.1", site.port)) as line:
        line.sendall(b"GET /login/ HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        until(lambda: has_read(line), "a thread has begun to read it")
        os.kill(process.pid, signal.SIGTERM)
        line.sendall(b"yes\r\nConnection: close\r\n\r\n")
        assert process.wait(PATIENCE) == 0
        answer = b""
        while piece := line.recv(65536):
            answer += piece
        assert answer.startswith(b"HTTP/1.1 200")


def has_read(line: socket.socket) -> bool:
    """Whether the other side, on the same machine, has read everything sent to it."""
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("this system does not say what was read")
    ends = [f"{end[1]:04X}" for end in (line.getpeername(), line.getsockname())]
    for row in table.read_text("utf-8").splitlines()[1:]:
        _, *addresses, _, queues = row.split()[:5]
        if [address.partition(":")[2] for address in addresses] == ends:
            return queues.endswith(":00000000")
    return False


def test_the_site_does_not_start_with_unsafe_settings(tmp_path: Path) -> None:
    key = "k" * 20 + "0123456789abcdefghijklmnopqrst"
    site = Site(tmp_path, {"TANDEM_PLAIN_HTTP": "0", "SECRET_KEY": key}, empty=True)
    command = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"]
    done = forks.run(command, cwd=ROOT, env=site.env, timeout=PATIENCE)
    assert done.returncode != 0
    assert "ALLOWED_HOSTS must not be empty" in done.stderr
