"""A run in the loop of `manage.py work`, on a site without a broker: killed, stopped, continued."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.fake_openai.running import Running
from tests.judging.processes import (
    CONCURRENCY,
    PROBES,
    RUN,
    UNITS,
    House,
    each_once,
    kill_9,
    until,
)
from tests.judging.test_workers import all_labelled, children
from tests.patience import PATIENCE
from tests.serving.test_local_worker import runs

pytestmark = pytest.mark.processes


@contextmanager
def worker(house: House, *options: str) -> Iterator[subprocess.Popen[str]]:
    process = house.hurried("work", "--places", "1", *options)
    try:
        yield process
    finally:
        kill_9(process)


@pytest.fixture
def queued(house: House, server: Running) -> House:
    """A run that waits for a worker."""
    assert "Queued" in house.manage(*RUN, "--queue")
    return house


@pytest.mark.parametrize("victim", [pytest.param("worker", marks=pytest.mark.postgresql), "engine"])
def test_a_killed_run_continues_and_labels_every_unit_once(
    queued: House, server: Running, victim: str
) -> None:
    server.behave(holds_after=UNITS // 3)
    with worker(queued) as first:
        until(server.holds, "the run is in the middle")
        # Beside the engine, there may be a process of periodic work.
        own = children(first.pid)
        for pid in own if victim == "engine" else [first.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if victim == "worker":
            until(lambda: not any(map(runs, own)), "the engine ends with its worker")
        server.behave()
        if victim == "engine":
            all_labelled(queued)
    with worker(queued):
        all_labelled(queued)
        until(lambda: queued.runs() == [("done", False)], "the end of the run")
    assert each_once(queued, server.url, kills=1)
    assert server.stats()["calls"] <= UNITS + CONCURRENCY + 2 * PROBES


def test_a_worker_that_is_told_to_end_leaves_its_run_and_pays_no_call_twice(
    queued: House, server: Running
) -> None:
    server.behave(holds_after=UNITS // 4)
    with worker(queued) as first:
        until(server.holds, "the run is in the middle")
        first.send_signal(signal.SIGTERM)
        server.behave(holds_after=UNITS - 1)
        assert first.wait(PATIENCE) == 0
    server.behave()
    assert server.stats()["calls"] < UNITS
    assert queued.runs() == [("running", False)]
    with worker(queued):
        all_labelled(queued)
    assert each_once(queued, server.url)
    assert UNITS <= server.stats()["calls"] <= UNITS + 2 * PROBES


def test_a_run_keeps_an_idle_worker_and_one_without_places_does_not_take_it(
    queued: House, server: Running
) -> None:
    with worker(queued, "--idle", "0.5", "--places", "0") as light:
        assert light.wait(PATIENCE) == 0
    assert queued.labelled() == 0
    server.behave(holds_after=UNITS // 4)
    with worker(queued, "--idle", "0.5") as first:
        until(server.holds, "the run is in the middle")
        server.behave()
        assert first.wait(PATIENCE) == 0
    assert queued.runs() == [("done", False)]
    assert each_once(queued, server.url)
