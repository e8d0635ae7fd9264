"""The site as it runs on a server: production settings, gunicorn, hashed static files."""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import requests

from benchmarks.site import UNSEEN
from scripts.services.processes import free_port
from tests import forks
from tests.commands import command_line
from tests.databases import environment
from tests.judging.processes import kill_9, until
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a-long-enough-word"
ACCOUNTS = """
import json
from django.contrib.auth.hashers import make_password
from django.test import Client
from annotation.models import User
made, sessions = make_password({password!r}), {{}}
for name in {names!r}:
    role = "researcher" if name == "rita" else "annotator"
    client = Client()
    client.force_login(User.objects.create(username=name, password=made, role=role))
    sessions[name] = client.cookies["sessionid"].value
print(json.dumps(sessions))
"""


class Site:
    """A data folder and the site that uses it, with functions to work with both.

    It has all tables, unless it is `empty` or `settings` name a database.
    """

    def __init__(
        self, folder: Path, settings: Mapping[str, str] = MappingProxyType({}), empty: bool = False
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.server: subprocess.Popen[bytes] | None = None
        self.command: tuple[str, ...] = ("-c", "tests/serving/unchecked.py", "config.wsgi")
        self.migrated = not empty and "DATABASE_URL" not in settings
        self.env = environment(folder, migrated=self.migrated) | {
            "TANDEM_PLAIN_HTTP": "1",
            "TANDEM_LOG_FORMAT": "json",
            "BIND": f"127.0.0.1:{self.port}",
            # One process fewer to start, if other requests do not matter.
            "WEB_OTHER_WORKERS": "0",
            **settings,
        }
        del self.env["DEBUG"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def manage(self, *commands: Sequence[object]) -> str:
        """Run these commands in sequence in one process; return their output."""
        done = forks.run(command_line(commands), cwd=ROOT, env=self.env, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, script: str) -> Any:
        """Run a script in the site's own shell; return its last line of output, read as JSON."""
        return json.loads(self.manage(shell(script)).splitlines()[-1])

    def collect_static(self) -> None:
        """Leave out files that no page here uses, since compressing them takes long."""
        unseen = [word for pattern in UNSEEN for word in ("--ignore", pattern)]
        self.manage(("collectstatic", "--noinput", "--verbosity", 0, *unseen))

    def open_campaign(self, items: int, people: int, *names: str) -> None:
        """Create campaign 1 over some reports with one question each, and accounts for `names`."""
        batch = self.folder / "batch.jsonl"
        batch.write_text("".join(json.dumps(_query(n)) + "\n" for n in range(items)), "utf-8")
        said = self.manage(
            *(() if self.migrated else [("migrate", "--verbosity", 0)]),
            ("load_batch", batch, "--name", "b"),
            ("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b",
             "--raters-per-item", people, "--pool", "open"),
            shell(ACCOUNTS.format(password=PASSWORD, names=names)),
        )  # fmt: skip
        self.sessions: dict[str, str] = json.loads(said.splitlines()[-1])

    @contextmanager
    def served(self) -> Iterator[subprocess.Popen[bytes]]:
        with (self.folder / "site.log").open("ab") as log:
            process = forks.Process(
                [sys.executable, "-m", "gunicorn", *self.command],
                cwd=ROOT, env=self.env, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            try:
                until(lambda: process.poll() is not None or self.is_ready(), "the site is ready")
                assert process.poll() is None, (self.folder / "site.log").read_text("utf-8")
                self.server = process
                yield process
            finally:
                kill_9(process)

    def beside(self, *command: str, **settings: str) -> Site:
        """A second server of the same site, at another port and with other arguments."""
        other = copy.copy(self)
        other.port, other.command = free_port(), command
        other.env = self.env | {"BIND": f"127.0.0.1:{other.port}"} | settings
        return other

    def is_ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/health/ready", timeout=30).status_code == 200
        except requests.RequestException:
            return False

    def log(self) -> list[dict[str, Any]]:
        lines = (self.folder / "site.log").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def serving(self, process: subprocess.Popen[bytes]) -> list[int]:
        """The ids of the processes that answer, without their main process."""
        path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if not path.exists():
            pytest.skip("this system does not say which children a process has")
        return [int(pid) for pid in path.read_text("utf-8").split()]

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        """Start a worker whose leases last a second."""
        with (self.folder / "worker.log").open("ab") as log:
            process = forks.Process(
                [sys.executable, "-m", "tests.judging.hurried", "celery", "worker",
                 "--concurrency", "1"],
                cwd=ROOT, env=self.env, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _query(number: int) -> dict[str, object]:
    report = {"id": f"r{number}", "text": f"Report {number}: all is well 🌉.", "system": "s"}
    question = {"id": f"q{number}:0", "text": "Is all well?"}
    return {"id": f"q{number}", "text": "Tell all.", "questions": [question], "reports": [report]}


def shell(script: str) -> tuple[str, ...]:
    """The command that carries out a script."""
    return ("shell", "--no-imports", "-c", script)


class Person:
    """A person at the page, whose answer is sent until it is acknowledged, as the page does."""

    def __init__(self, site: Site, name: str) -> None:
        self.site, self.name = site, name
        self.session = requests.Session()
        self.acknowledged: list[str] = []
        self.odd: list[int] = []

    def come_in(self) -> Person:
        """Use an existing session, since each password costs a third of a second."""
        self.session.cookies.set("sessionid", self.site.sessions[self.name])
        page = self._insist_get(f"{self.site.url}/tasks/")
        assert "/login/" not in page.url, page.text[:300]
        return self

    def log_in(self) -> Person:
        self.session.get(f"{self.site.url}/login/", timeout=PATIENCE)
        fields = {"username": self.name, "password": PASSWORD}
        page = self._post(f"{self.site.url}/login/", fields)
        assert "/login/" not in page.url, page.text[:300]
        return self

    def take_next(self, campaign: int = 1) -> str | None:
        """Take the next assignment; return its id, or None at the end."""
        return _item_of(self._insist(f"{self.site.url}/tasks/next/{campaign}/", {}).url)

    def work(self) -> None:
        """Answer one item after the other until none is left."""
        uid = self.take_next()
        while uid:
            uid = self.answer(uid)

    def answer(self, uid: str) -> str | None:
        """Answer an item; return the id of the next one, or None at the end."""
        text = self._insist_get(f"{self.site.url}/tasks/{uid}/").text
        unit = re.search(r'name="unit-0" value="([^"]+)"', text)
        assert unit is not None
        fields = {
            "unit-0": unit[1], "unit-0-answerable": "no", "unit-0-evidence": "[]",
            "key": str(uuid.uuid4()), "seen": "0", "version": "0", "seconds": "1",
        }  # fmt: skip
        taken = self._insist(f"{self.site.url}/tasks/{uid}/submit", fields).json()
        self.acknowledged.append(uid)
        return _item_of(taken["next"])

    def _post(self, url: str, fields: dict[str, str]) -> requests.Response:
        headers = {"X-CSRFToken": self.session.cookies.get("csrftoken") or "", "Referer": url}
        return self.session.post(url, fields, headers=headers, timeout=PATIENCE)

    def _insist(self, url: str, fields: dict[str, str]) -> requests.Response:
        return self._until_well(lambda: self._post(url, fields))

    def _insist_get(self, url: str) -> requests.Response:
        return self._until_well(lambda: self.session.get(url, timeout=PATIENCE))

    def _until_well(self, send: Any) -> requests.Response:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                response: requests.Response = send()
            except requests.RequestException:
                time.sleep(0.3)
                continue
            if response.status_code == 200:
                return response
            if response.status_code != 503 or "Retry-After" not in response.headers:
                self.odd.append(response.status_code)
            time.sleep(0.3)
        raise AssertionError(f"{self.name} got no answer within {PATIENCE} s; odd: {self.odd}")


def _item_of(address: str) -> str | None:
    found = re.search(r"/tasks/([0-9a-f-]{36})/", address)
    return found[1] if found else None
