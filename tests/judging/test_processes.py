"""Real processes over a real database can be killed, stopped and continued.

The server holds all calls after some number, so that a process is killed or stopped in mid-run. The
leases of a hurried process last a second.
"""

from __future__ import annotations

import signal

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
from tests.patience import PATIENCE

pytestmark = pytest.mark.processes

KILLS = 3


OTHER_WIRES = {
    "responses": ("--backend", "openai", "--param", "api=responses"),
    "messages": ("--backend", "anthropic"),
}


@pytest.mark.parametrize(
    ("wire", "kills"),
    [
        ("chat", 1),
        pytest.param("chat", KILLS, marks=pytest.mark.long),
        pytest.param("responses", 1, marks=pytest.mark.long),
        ("messages", 1),
    ],
)
def test_a_killed_run_continues_and_labels_every_unit_once(
    house: House, server: Running, wire: str, kills: int
) -> None:
    run = RUN
    if wire in OTHER_WIRES:
        run = (*RUN[:-1], wire)
        house.manage(
            "create_judge", wire, *OTHER_WIRES[wire], "--model", "fake-judge", "--granularity",
            "unit", "--base-url", server.url, "--param", f"concurrency={CONCURRENCY}",
        )  # fmt: skip
    for kill in range(1, kills + 1):
        server.behave(holds_after=kill * UNITS // (kills + 2))
        process = house.hurried(*run)
        until(server.holds, "it is in mid-run")
        kill_9(process)
        server.behave()
    before = server.stats()["calls"]
    process = house.hurried(*run)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert before < UNITS
    assert each_once(house, server.url, kills)
    calls = server.stats()
    assert calls["calls"] <= (kills + 1) * PROBES + UNITS + kills * CONCURRENCY
    assert calls["most"] <= CONCURRENCY


@pytest.mark.long
def test_a_process_waits_until_the_lease_of_a_dead_run_ends(house: House, server: Running) -> None:
    server.behave(holds_after=UNITS // 3)
    process = house.start("manage.py", *RUN)
    until(server.holds, "it is in mid-run")
    kill_9(process)
    server.behave()
    assert "Waiting (at most 30 s)" in house.manage(*RUN)
    assert each_once(house, server.url, kills=1)


def test_a_terminated_run_ends_in_order_and_pays_no_call_twice(
    house: House, server: Running
) -> None:
    server.behave(holds_after=UNITS // 3)
    process = house.start("manage.py", *RUN)
    until(server.holds, "it is in mid-run")
    process.send_signal(signal.SIGTERM)
    server.behave(holds_after=UNITS - 1)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "Not ended: stopped; run it again to continue." in out
    assert "Traceback" not in out
    server.behave()
    assert "Waiting" not in house.manage(*RUN)
    assert each_once(house, server.url)
    assert UNITS <= server.stats()["calls"] <= UNITS + 2 * PROBES


def test_failures_of_a_faulty_server_are_stored_with_their_reasons(
    house: House, server: Running
) -> None:
    faults = {"500": 0.05, "reset": 0.03, "html": 0.03, "429": 0.05, "prose": 0.05, "length": 0.05}
    server.behave(faults=faults, retry_after="0")
    said = house.manage(*RUN)
    labels = house.labels()
    assert set(labels.values()) == {1}
    outcomes = server.stats()["by_outcome"]
    assert f"unreadable {outcomes['prose']}" in said
    assert f"truncated {outcomes['length']}" in said
    assert len(labels) == UNITS - outcomes["prose"] - outcomes["length"]
