"""Several worker processes on one run are killed, stopped and continued, and share its server."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen

import pytest

from tests.databases import ON_POSTGRESQL
from tests.fake_openai.running import Running
from tests.judging.brokers import InFiles, InValkey
from tests.judging.processes import (
    CONCURRENCY,
    PROBES,
    RUN,
    UNITS,
    House,
    each_once,
    freeze_all,
    kill_9,
    query,
    until,
    wake,
)

pytestmark = [pytest.mark.processes, pytest.mark.postgresql]

SHARDS = "SELECT count(*) FROM judging_shard WHERE lease IS NOT NULL"


@pytest.fixture
def brokered(request: pytest.FixtureRequest, house: House) -> House:
    """The broker that belongs to the database: files with SQLite, Valkey with PostgreSQL."""
    if ON_POSTGRESQL:
        house.env["CELERY_BROKER_URL"] = InValkey(request.getfixturevalue("valkey_server")).url
    else:
        InFiles(house.folder)
    return house


def at_work(house: House) -> int:
    return int(house.asked(SHARDS)[0][0])


def workers(house: House, stack: ExitStack, number: int, hurried: bool = True) -> list[Popen[str]]:
    return [
        stack.enter_context(house.worker("-n", f"w{place}", hurried=hurried))
        for place in range(number)
    ]


def test_a_killed_and_a_frozen_worker_lose_nothing_and_leave_the_rest_to_the_others(
    brokered: House, server: Running
) -> None:
    house = brokered
    house.env["TANDEM_TEST_LEASE"] = "5"  # a busy machine takes seconds to join
    house.manage(*RUN, "--queue", "--workers", "3")
    server.behave(holds_after=UNITS // 4)
    with ExitStack() as stack:
        killed, frozen, _ = workers(house, stack, 3)
        until(lambda: at_work(house) == 3, "three workers on the run")
        until(server.holds, "they are in the middle")
        stopped = freeze_all(house, frozen)
        kill_9(killed)
        server.behave(latency=0.01)
        until(lambda: house.labelled() >= UNITS, "every unit has its label")
        wake(stopped)
        until(lambda: house.runs() == [("done", False)], "the end of the run")
        assert each_once(house, server.url, kills=2)
    stats = server.stats()
    assert stats["calls"] <= UNITS + 4 * PROBES + 2 * CONCURRENCY
    assert stats["most"] <= CONCURRENCY


KILLS, AT_ONCE, REPORTS, QUESTIONS = 12, 64, 250, 40
CALLS = REPORTS * QUESTIONS


@pytest.fixture(scope="module")
def large(
    only_server: Running, tmp_path_factory: pytest.TempPathFactory, django_db_setup: None
) -> House:
    """Ten thousand units, at 64 calls at once, none of which takes longer than three seconds."""
    house = House(tmp_path_factory.mktemp("several"))
    batch = [query(number, QUESTIONS) for number in range(REPORTS)]
    params = ("--param", f"concurrency={AT_ONCE}", "--param", "timeout=3")
    house.open_campaign(only_server.url, *params, batch=batch)
    return house


@pytest.mark.long
def test_four_workers_survive_kills_and_stops_in_ten_thousand_calls(
    large: House, only_server: Running
) -> None:
    """In each round one worker is killed or frozen, and another takes its place.

    Leases and grants have their real lengths, so the server never gets more than the cap.
    """
    only_server.behave(reset=True, latency=0.3, spread=0.5)
    large.manage(*RUN, "--queue", "--workers", "4")
    frozen: list[list[int]] = []
    with ExitStack() as stack:
        alive = workers(large, stack, 4, hurried=False)
        for number in range(1, KILLS + 1):
            enough = number * CALLS // (KILLS + 2)
            until(lambda: large.labelled() >= enough, f"round {number}")  # noqa: B023
            gone = alive.pop(0)
            if number % 2:
                kill_9(gone)
            else:
                frozen.append(freeze_all(large, gone))
            if number % 4 == 0:
                wake(frozen.pop(0))
            alive.append(stack.enter_context(large.worker("-n", f"more{number}")))
        for each in frozen:
            wake(each)
        until(lambda: large.runs() == [("done", False)], "the end of the run")
    labels = large.labels("--server", only_server.url, "--kills", str(KILLS))
    assert len(labels) == CALLS
    assert set(labels.values()) == {1}
    stats = only_server.stats()
    assert stats["calls"] <= PROBES + CALLS + KILLS * AT_ONCE
    assert stats["most"] <= AT_ONCE


@pytest.mark.long
def test_four_workers_use_a_server_that_refuses_more_than_it_bears(
    tmp_path: Path, only_server: Running, django_db_setup: None
) -> None:
    house = House(tmp_path)
    batch = [query(number, QUESTIONS) for number in range(REPORTS)]
    house.open_campaign(only_server.url, "--param", "concurrency=256", batch=batch)
    only_server.behave(reset=True, latency=0.5, capacity=64)
    house.manage(*RUN, "--queue", "--workers", "4")
    with ExitStack() as stack:
        workers(house, stack, 4, hurried=False)
        until(lambda: at_work(house) == 4, "four workers on the run")
        first, began = house.labelled(), time.monotonic()
        until(lambda: house.labelled() >= CALLS - 600, "nearly everything")
        used = (house.labelled() - first) * 0.5 / 64 / (time.monotonic() - began)
        until(lambda: house.runs() == [("done", False)], "the end of the run")
    refused = only_server.stats()["by_outcome"].get("429", 0)
    print(f"used {used:.3f} of 64, {refused} refused of {only_server.stats()['calls']}")
    assert used >= 0.9
    assert refused <= 0.08 * CALLS
