"""Real processes over a real database file: killed, stopped, lost, and gone on with."""

from __future__ import annotations

import signal

import pytest

from tests.fake_openai.running import Running
from tests.judging.processes import (
    CONCURRENCY,
    GROUP,
    PROBES,
    RUN,
    UNITS,
    House,
    each_once,
    kill_9,
    until,
)
from tests.patience import PATIENCE

pytestmark = pytest.mark.processes


def test_a_killed_run_goes_on_and_answers_every_unit_once(house: House, server: Running) -> None:
    process = house.start("manage.py", *RUN)
    until(lambda: server.stats()["calls"] >= UNITS // 3, 60, "a third of the calls")
    kill_9(process)
    before = server.stats()["calls"]
    assert before < UNITS
    said = house.manage(*RUN)
    assert "Waiting (at most 30 s)" in said
    assert each_once(house, server.url, kills=1)
    calls = server.stats()
    assert calls["calls"] <= UNITS + CONCURRENCY + GROUP + PROBES
    assert calls["most"] <= CONCURRENCY


def test_a_run_that_is_told_to_stop_ends_in_order_and_repays_nothing(
    house: House, server: Running
) -> None:
    process = house.start("manage.py", *RUN)
    until(lambda: server.stats()["calls"] >= UNITS // 3, 60, "a third of the calls")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "Not ended: stopped; run it again to go on." in out
    assert "Traceback" not in out
    assert "Waiting" not in house.manage(*RUN)
    assert each_once(house, server.url)
    assert UNITS <= server.stats()["calls"] <= UNITS + 2 * PROBES


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
