"""Processes that compute give web processes priority."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from datasets import site_lock
from datasets.priority import NICENESS, NICENESS_OF_PAGES, NICENESS_OF_SESSION

WAITING = "from datasets.priority import give_way as g; g(); g(); print(flush=True); input()"


def gives_way(pid: int) -> bool:
    if sys.platform == "linux" and os.sched_getscheduler(pid) != os.SCHED_BATCH:
        return False
    return os.getpriority(os.PRIO_PROCESS, pid) == NICENESS


def is_of_a_nice_session(pid: int, niceness: int) -> bool:
    """Whether the session of a process has low priority; true on systems without such sessions."""
    autogroup = Path(f"/proc/{pid}/autogroup")
    return not autogroup.exists() or autogroup.read_text("ascii").endswith(f" nice {niceness}\n")


def test_saves_go_before_pages_and_pages_before_jobs() -> None:
    assert 0 < NICENESS_OF_PAGES < min(NICENESS_OF_SESSION.values())


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("url", "vendor"),
    [("sqlite:///:memory:", "sqlite"), ("postgresql://nobody@localhost/nothing", "postgresql")],
    ids=["SQLite", "PostgreSQL"],
)
@pytest.mark.parametrize("leads", [True, False], ids=["a session", "none"])
def test_a_process_lowers_its_priority_once_and_that_of_its_session(
    leads: bool, url: str, vendor: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        env=os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "config.settings"},
        start_new_session=leads, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    process.stdout.readline()
    assert gives_way(process.pid)
    if Path("/proc/self/autogroup").exists():
        assert is_of_a_nice_session(process.pid, NICENESS_OF_SESSION[vendor]) is leads
    process.communicate(b"\n")


LISTENING = (
    "import pathlib, sys; from datasets import site_lock as s; folder = pathlib.Path(sys.argv[1]);"
    "database = {'ENGINE': sys.argv[2], 'NAME': ':memory:', 'HOST': '127.0.0.1', 'PORT': '1'};"
    "held = s.join_as_server(folder, database, 'here'); print(flush=True); input()"
)
WORKING = "from datasets.priority import give_way_to_site as g; g(); print(flush=True); input()"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tell")
@pytest.mark.parametrize("engine", ["sqlite3", "postgresql"])
def test_a_worker_gives_way_only_beside_its_sites_web_server(tmp_path: Path, engine: str) -> None:
    def worker(folder: Path) -> bool:
        env = os.environ | {
            "DJANGO_SETTINGS_MODULE": "config.settings", "DEBUG": "0", "TANDEM_PLAIN_HTTP": "1",
            "TANDEM_DATA_DIR": str(folder), "DATABASE_URL": "sqlite:///:memory:",
        }  # fmt: skip
        with _running(WORKING, env=env) as process:
            return gives_way(process.pid)

    site, other = tmp_path / "site", tmp_path / "other"
    site.mkdir(mode=0o700)
    other.mkdir(mode=0o700)
    with _running(LISTENING, str(site), f"django.db.backends.{engine}"):
        assert worker(site)
        assert not worker(other)
    assert not worker(site)


def test_to_look_for_a_web_server_releases_no_lock(tmp_path: Path) -> None:
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "db")}
    lock = site_lock.join_as_server(tmp_path, database, "here")
    try:
        # A process does not see its own locks as those of another.
        assert site_lock.has_server(tmp_path) is (sys.platform != "linux")
        look = (
            "import pathlib, sys; from datasets.site_lock import has_server as h;"
            "sys.exit(h(pathlib.Path(sys.argv[1])))"
        )
        done = subprocess.run([sys.executable, "-c", look, tmp_path], check=False)
        assert done.returncode == 1
    finally:
        os.close(lock)


@contextmanager
def _running(program: str, *arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that has come to the line that waits for input."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "\n"
    try:
        yield process
    finally:
        process.communicate("\n")
