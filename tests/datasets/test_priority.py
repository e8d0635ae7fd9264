"""Processes that compute give web processes priority."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
