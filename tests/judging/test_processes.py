"""Real processes over a real database file: killed, stopped, lost, and gone on with."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_openai.running import Running, fake_openai
from tests.judging.processes import UNITS, House, kill_9, until

pytestmark = pytest.mark.processes

CONCURRENCY = 8
GROUP = 32
RUN = ("run_judge", "--campaign", "c", "--judge", "j")


@pytest.fixture(scope="module")
def only_server() -> Iterator[Running]:
    with fake_openai() as running:
        yield running


@pytest.fixture
def server(only_server: Running) -> Running:
    only_server.behave(reset=True, latency=0.15)
    return only_server


@pytest.fixture(scope="module")
def furnished(only_server: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("furnished")
    param = ("--param", f"concurrency={CONCURRENCY}")
    House(folder).open_campaign(only_server.url, *param)
    return folder


@pytest.fixture
def house(furnished: Path, tmp_path: Path) -> House:
    """A copy of the same campaign for each test."""
    return House(Path(shutil.copytree(furnished, tmp_path / "house")))


def each_once(house: House) -> bool:
    labels = house.labels()
    return len(labels) == UNITS and set(labels.values()) == {1}


def test_a_killed_run_goes_on_and_answers_every_unit_once(house: House, server: Running) -> None:
    process = house.start("manage.py", *RUN)
    until(lambda: server.stats()["calls"] >= UNITS // 3, 60, "a third of the calls")
    kill_9(process)
    before = server.stats()["calls"]
    assert before < UNITS
    started = time.monotonic()
    said = house.manage(*RUN)
    assert time.monotonic() - started < 60
    assert "Waiting (at most 30 s)" in said
    assert each_once(house)
    calls = server.stats()
    assert calls["calls"] <= UNITS + CONCURRENCY + GROUP
    assert max(calls["by_prompt"].values()) <= 2
    assert calls["most"] <= CONCURRENCY


def test_a_run_that_is_told_to_stop_ends_in_order_and_repays_nothing(
    house: House, server: Running
) -> None:
    process = house.start("manage.py", *RUN)
    until(lambda: server.stats()["calls"] >= UNITS // 3, 60, "a third of the calls")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=15)
    assert process.returncode == 1
    assert "Not ended: stopped; run it again to go on." in out
    assert "Traceback" not in out
    assert "Waiting" not in house.manage(*RUN)
    assert each_once(house)
    assert server.stats()["calls"] == UNITS


def test_a_server_that_faults_in_every_way_ends_with_reasons(house: House, server: Running) -> None:
    faults = {"500": 0.05, "reset": 0.03, "html": 0.03, "429": 0.05, "prose": 0.05, "length": 0.05}
    server.behave(faults=faults, retry_after="0", latency=0.01)
    said = house.manage(*RUN)
    labels = house.labels()
    assert set(labels.values()) == {1}
    outcomes = server.stats()["by_outcome"]
    assert f"unreadable {outcomes['prose']}" in said
    assert f"truncated {outcomes['length']}" in said
    assert len(labels) == UNITS - outcomes["prose"] - outcomes["length"]


def test_workers_go_on_after_a_kill_and_find_what_no_message_tells(
    house: House, server: Running
) -> None:
    assert "Queued" in house.manage(*RUN, "--queue")
    with house.worker() as worker:
        until(lambda: server.stats()["calls"] >= UNITS // 3, 60, "a third of the calls")
        kill_9(worker)
    house.lose_messages()
    before = server.stats()["calls"]
    assert before < UNITS
    with house.worker():
        until(lambda: len(house.labels()) == UNITS, 90, "every unit labelled")
    assert each_once(house)
    assert server.stats()["calls"] <= UNITS + CONCURRENCY + GROUP


def test_a_lost_message_is_found_when_a_worker_starts(house: House, server: Running) -> None:
    house.manage(*RUN, "--queue")
    assert house.lose_messages() == 1
    with house.worker():
        until(lambda: server.stats()["calls"] >= 1, 30, "the first call")
