"""The worker that `make serve` starts is restarted if it dies, and ends with the site."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.databases import FILE
from tests.judging.processes import until
from tests.serving.site import Site
from tests.stranger import leave_open, open_to_others

pytestmark = [pytest.mark.processes, pytest.mark.once]

ENOUGH = 120.0  # seconds


@pytest.fixture
def site(django_db_setup: None, static: dict[str, str], tmp_path: Path) -> Site:
    site = Site(tmp_path, {"WEB_WORKERS": "1", "TANDEM_WITH_WORKERS": "1"} | static)
    site.open_campaign(3, 1, "rita")
    site.manage(("create_judge", "j", "--backend", "lexical"))
    return site


def test_the_worker_beside_the_site_runs_judges_is_restarted_and_ends_with_the_site(
    site: Site,
) -> None:
    leave_open(site.folder)
    with site.served() as server:
        keeper = next(pid for pid in site.serving(server) if "local_worker.py" in command(pid))
        until(lambda: len(children(keeper)) == 1, "a worker", ENOUGH)
        (first,) = children(keeper)
        os.killpg(first, signal.SIGKILL)
        until(lambda: set(children(keeper)) - {first} != set(), "another", ENOUGH)
        (worker,) = children(keeper)
        site.manage(("run_judge", "--campaign", "c", "--judge", "j", "--queue"))
        until(lambda: count(site, "annotation_label") == 3, "everything is labelled", ENOUGH)
        until(lambda: count(site, "audit_seal") > 0, "the trail is sealed without a beat", ENOUGH)
        assert open_to_others(site.folder) <= {"static"}, "whatever has been written meanwhile"
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: not any(map(runs, [keeper, worker])), "all have ended", ENOUGH)


def count(site: Site, table: str) -> int:
    with closing(sqlite3.connect(site.folder / FILE)) as file:
        return int(file.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not Path("/proc/self/task").exists():
        pytest.skip("this system does not say which children a process has")
    return [int(child) for child in path.read_text("utf-8").split()] if path.exists() else []


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text("utf-8")
