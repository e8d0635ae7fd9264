"""Faults in the middle of runs, in real processes whose leases last two seconds."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from typing import Any

import psycopg
import pytest

from tests.databases import ON_POSTGRESQL
from tests.fake_openai.running import Running
from tests.judging.processes import (
    CONCURRENCY,
    GROUP,
    PROBES,
    QUESTIONS,
    RUN,
    UNITS,
    House,
    each_once,
    kill_9,
    until,
)
from tests.patience import PATIENCE

pytestmark = pytest.mark.processes

KILLS = 3
POISON = "q1:7"


def finished(house: House, *command: str) -> tuple[int, str]:
    process = house.hurried(*command)
    out, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, out


def test_killed_again_and_again_a_run_answers_every_unit_once(
    house: House, server: Running
) -> None:
    for kill in range(1, KILLS + 1):
        process = house.hurried(*RUN)
        enough = kill * UNITS // (KILLS + 2)
        until(lambda: server.stats()["calls"] >= enough, 60, "some more calls")  # noqa: B023
        kill_9(process)
    status, said = finished(house, *RUN)
    assert status == 0, said
    assert each_once(house, server.url, KILLS)
    assert server.stats()["calls"] <= (KILLS + 1) * PROBES + UNITS + KILLS * (CONCURRENCY + GROUP)
    assert server.stats()["most"] <= CONCURRENCY


def test_a_process_that_wakes_after_its_lease_changes_nothing(
    house: House, server: Running
) -> None:
    frozen = house.hurried(*RUN)
    until(lambda: server.stats()["calls"] >= UNITS // 3, 60, "a third of the calls")
    freeze(house, frozen)
    status, said = finished(house, *RUN)
    frozen.send_signal(signal.SIGCONT)
    out, _ = frozen.communicate(timeout=PATIENCE)
    assert status == 0, said
    assert frozen.returncode == 1
    assert "another process took it over" in out
    assert "Traceback" not in out
    assert each_once(house, server.url, kills=1)
    assert server.stats()["calls"] <= 2 * PROBES + UNITS + CONCURRENCY + GROUP


def freeze(house: House, process: subprocess.Popen[str]) -> None:
    """Stops a process between two of its writes: in the midst of one it would keep others out."""
    for _ in range(100):
        process.send_signal(signal.SIGSTOP)
        if can_write(house):
            return
        process.send_signal(signal.SIGCONT)
        time.sleep(0.03)
    pytest.fail("the process writes all the time")


def can_write(house: House) -> bool:
    if ON_POSTGRESQL:
        with psycopg.connect(house.env["DATABASE_URL"]) as server:
            open_writes = (
                "SELECT count(*) FROM pg_stat_activity WHERE state LIKE %s AND datname = %s"
            )
            found = server.execute(open_writes, ("idle in%", server.info.dbname)).fetchone()
            return found == (0,)
    with closing(sqlite3.connect(house.folder / "tandem.sqlite3", timeout=0.1)) as file:
        try:
            file.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True


def test_a_unit_that_kills_its_worker_is_closed_and_harms_no_other(house: House) -> None:
    house.env |= {"TANDEM_TEST_POISON": POISON, "TANDEM_TEST_LEASE": "1"}
    asked(house, f"Item.objects.exclude(key__in={REPORTS_LEFT}).delete()")
    deaths = 0
    while (status := finished(house, *RUN)[0]) == 9:
        deaths += 1
        assert deaths <= 3
    assert (status, deaths) == (0, 3)
    labels = house.labels()
    assert asked(house, POISONED) == [POISON]
    assert len(labels) == QUESTIONS * len(REPORTS_LEFT) - 1
    assert set(labels.values()) == {1}


REPORTS_LEFT = ["r0", "r1", "r2", "r3"]
POISONED = "said = [c.assignment.scope for c in JudgeCall.objects.filter(state='poisoned')]"


def asked(house: House, script: str) -> Any:
    """What a script in the house's database leaves in `said`."""
    lines = ("import json", "from annotation.models import *", "from judging.models import *",
             "said = None", script, "print(json.dumps(said))")  # fmt: skip
    said = house.manage("shell", "--no-imports", "-c", "\n".join(lines))
    return json.loads(said.splitlines()[-1])


def test_two_judges_of_one_server_never_ask_it_at_once(house: House, server: Running) -> None:
    house.manage("create_judge", "k", "--backend", "openai", "--model", "other-judge",
                 "--base-url", server.url, "--granularity", "unit",
                 "--param", f"concurrency={CONCURRENCY}")  # fmt: skip
    for judge in ("j", "k"):
        house.manage("run_judge", "--campaign", "c", "--judge", judge, "--queue", "--limit", "40")
    with house.worker("-n", "one", hurried=True), house.worker("-n", "two", hurried=True):
        until(lambda: house.runs() == [("done", False)] * 2, 60, "the end of both runs")
    assert server.stats()["calls"] >= 80
    assert server.stats()["most"] <= CONCURRENCY
    # One label by each judge.
    assert set(house.labels("--server", server.url).values()) == {2}
