"""Faults that take minutes."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.databases import ON_POSTGRESQL
from tests.fake_openai.running import Running
from tests.judging.processes import (
    PROBES,
    RUN,
    House,
    asking_processes,
    freeze,
    kill_9,
    query,
    until,
)
from tests.patience import PATIENCE

pytestmark = [pytest.mark.processes, pytest.mark.long]

KILLS, AT_ONCE = 10, 64
ROUNDS, FEW_AT_ONCE = 20, 8
REPORTS, QUESTIONS = 250, 40
CALLS = REPORTS * QUESTIONS
ON_A_FILE = pytest.mark.skipif(ON_POSTGRESQL, reason="of the database in a file")


@pytest.fixture(scope="module")
def large(only_server: Running, tmp_path_factory: pytest.TempPathFactory) -> House:
    """Ten thousand units, at 64 calls at once."""
    house = House(tmp_path_factory.mktemp("large"))
    batch = [query(number, QUESTIONS) for number in range(REPORTS)]
    house.open_campaign(only_server.url, "--param", f"concurrency={AT_ONCE}", batch=batch)
    return house


def test_a_run_survives_ten_kills_in_ten_thousand_calls(large: House, only_server: Running) -> None:
    only_server.behave(reset=True, latency=0.2, spread=0.2)
    large.manage(*RUN, "--queue")
    for kill in range(1, KILLS + 1):
        with large.worker() as worker:
            enough = kill * CALLS // (KILLS + 1)
            until(lambda: only_server.stats()["calls"] >= enough, "more calls")  # noqa: B023
            kill_9(worker)
    with large.worker():
        until(lambda: large.runs() == [("done", False)], "the end of the run")
    labels = large.labels("--server", only_server.url, "--kills", str(KILLS))
    assert len(labels) == CALLS
    assert set(labels.values()) == {1}
    stats = only_server.stats()
    assert stats["calls"] <= PROBES + CALLS + KILLS * AT_ONCE
    assert stats["most"] <= AT_ONCE


def test_twenty_kills_and_stops_of_either_process_repay_only_calls_in_flight(
    server: Running, tmp_path: Path
) -> None:
    house, chance, children = House(tmp_path), random.Random(7), 0
    batch = [query(number, QUESTIONS) for number in range(REPORTS // 5)]
    house.open_campaign(server.url, "--param", f"concurrency={FEW_AT_ONCE}", batch=batch)
    for _ in range(ROUNDS):
        # Each round goes so far that few assignments get three strikes.
        server.behave(holds_after=server.stats()["calls"] + PROBES + AT_ONCE)
        process = house.hurried(*RUN)
        until(server.holds, "it is in mid-run")
        (asks,) = asking_processes(process)
        victim = asks if chance.random() < 0.5 else process.pid
        children += victim == asks
        os.kill(victim, signal.SIGKILL if chance.random() < 0.5 else signal.SIGSTOP)
        kill_9(process)
    assert 0 < children < ROUNDS
    server.behave()
    house.hurried(*RUN).communicate(timeout=PATIENCE)
    labels = house.labels("--server", server.url, "--kills", str(ROUNDS))
    assert (len(labels), set(labels.values())) == (CALLS // 5, {1})
    paid = (ROUNDS + 1) * PROBES + CALLS // 5 + ROUNDS * FEW_AT_ONCE
    assert server.stats()["calls"] <= paid


def test_a_process_that_wakes_after_a_minute_changes_nothing(house: House, server: Running) -> None:
    server.behave(holds_after=60)
    frozen = house.start("manage.py", *RUN)
    until(server.holds, "it is in mid-run")
    freeze(house, frozen)
    server.behave()
    try:
        time.sleep(60)
        said = house.manage(*RUN)
    finally:
        frozen.send_signal(signal.SIGCONT)
    frozen.communicate(timeout=PATIENCE)
    assert frozen.returncode == 1
    assert "0 left open" not in said
    assert set(house.labels("--server", server.url, "--kills", "1").values()) == {1}


def with_files_of_at_most(size: int) -> None:
    # Python ignores the signal, so a write that is too long fails, as on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@ON_A_FILE
def test_a_run_ended_by_a_full_disk_continues_when_there_is_room(
    house: House, server: Running
) -> None:
    log = house.folder / "tandem.sqlite3-wal"
    room = max(log.stat().st_size if log.exists() else 0, 1) + 200_000
    process = house.start("manage.py", *RUN, limited=lambda: with_files_of_at_most(room))
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert server.stats()["calls"] < 200
    house.manage(*RUN)
    assert set(house.labels("--server", server.url, "--kills", "1").values()) == {1}
    assert out


@ON_A_FILE
def test_a_run_continues_from_a_restored_backup(
    house: House, server: Running, tmp_path: Path
) -> None:
    server.behave(holds_after=60)
    process = house.start("manage.py", *RUN)
    until(server.holds, "it is in mid-run")
    backup = copy(house.folder / "tandem.sqlite3", tmp_path / "backup.sqlite3")
    server.behave()
    process.communicate(timeout=PATIENCE)
    before = server.stats()["calls"]
    for name in ("tandem.sqlite3-wal", "tandem.sqlite3-shm"):
        (house.folder / name).unlink(missing_ok=True)
    backup.replace(house.folder / "tandem.sqlite3")
    house.manage(*RUN)
    labels = house.labels()
    assert len(labels) == 200
    assert set(labels.values()) == {1}
    # Only answers that are not in the backup are paid again.
    assert server.stats()["calls"] - before < before


def copy(database: Path, to: Path) -> Path:
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
    return to
