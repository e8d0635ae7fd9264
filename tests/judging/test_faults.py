"""Faults in the middle of runs, in real processes whose leases last a second."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.fake_openai.running import Running
from tests.judging.processes import (
    CONCURRENCY,
    PROBES,
    QUESTIONS,
    RUN,
    UNITS,
    House,
    asking_processes,
    each_once,
    freeze,
    until,
)
from tests.patience import PATIENCE

pytestmark = pytest.mark.processes

POISON = "q1:7"


def finished(house: House, *command: str) -> tuple[int, str]:
    process = house.hurried(*command)
    out, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, out


def test_a_process_that_wakes_after_its_lease_changes_nothing(
    house: House, server: Running
) -> None:
    server.behave(holds_after=UNITS // 3)
    frozen = house.hurried(*RUN)
    until(server.holds, "it is in mid-run")
    freeze(house, frozen)
    server.behave()
    status, said = finished(house, *RUN)
    frozen.send_signal(signal.SIGCONT)
    out, _ = frozen.communicate(timeout=PATIENCE)
    assert status == 0, said
    assert frozen.returncode == 1
    assert "another process took it over" in out
    assert "Traceback" not in out
    assert each_once(house, server.url, kills=1)
    assert server.stats()["calls"] <= 2 * PROBES + UNITS + CONCURRENCY


@pytest.mark.postgresql
def test_a_killed_process_that_asks_is_replaced_and_only_its_calls_are_repaid(
    house: House, server: Running
) -> None:
    server.behave(holds_after=UNITS // 3)
    process = house.hurried(*RUN)
    until(server.holds, "it is in mid-run")
    os.kill(only(asking_processes(process)), signal.SIGKILL)
    server.behave()
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert each_once(house, server.url, kills=1)
    assert server.stats()["calls"] <= 2 * PROBES + UNITS + CONCURRENCY


def test_a_process_that_asks_ends_with_its_parent(house: House, server: Running) -> None:
    server.behave(holds_after=UNITS // 3)
    process = house.hurried(*RUN)
    until(server.holds, "it is in mid-run")
    asks = only(asking_processes(process))
    process.kill()
    process.wait()
    until(lambda: not is_alive(asks), "the end of the process that asks")
    server.behave()
    assert finished(house, *RUN)[0] == 0
    assert each_once(house, server.url, kills=1)
    assert server.stats()["calls"] <= 2 * PROBES + UNITS + CONCURRENCY


def test_a_process_that_asks_and_wakes_after_its_lease_changes_nothing(
    house: House, server: Running
) -> None:
    server.behave(holds_after=UNITS // 3)
    process = house.hurried(*RUN)
    until(server.holds, "it is in mid-run")
    asks = only(asking_processes(process))
    os.kill(asks, signal.SIGSTOP)
    server.behave()
    assert finished(house, *RUN)[0] == 0
    os.kill(asks, signal.SIGCONT)
    said, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "another process took it over" in said) == (1, True), said
    assert each_once(house, server.url, kills=1)


def test_a_run_whose_asking_process_is_always_killed_stops_with_the_reason(
    house: House, server: Running
) -> None:
    process, killed = house.hurried(*RUN), set[int]()

    def kill_the_next() -> bool:
        if process.poll() is None and server.holds():
            asks = asking_processes(process)
            killed.update(asks)
            for each in asks:
                os.kill(each, signal.SIGKILL)
        return process.poll() is not None

    server.behave(holds_after=30)
    until(kill_the_next, "the end of the run")
    said, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "was killed 4 times in a row" in said) == (1, True), said


def only(processes: list[int]) -> int:
    assert len(processes) == 1
    return processes[0]


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_a_unit_that_kills_its_worker_is_closed_and_harms_no_other(house: House) -> None:
    house.env |= {"TANDEM_TEST_POISON": POISON, "TANDEM_TEST_LEASE": "0.5"}
    others = f"Item.objects.exclude(key__in={REPORTS_LEFT}).delete()"
    house.manage("shell", "-c", f"from annotation.models import Item; {others}")
    deaths = 0
    while (status := finished(house, *RUN)[0]) == 9:
        deaths += 1
        assert deaths <= 3
    assert (status, deaths) == (0, 3)
    labels = house.labels()
    assert house.asked(POISONED) == [(POISON,)]
    assert len(labels) == QUESTIONS * len(REPORTS_LEFT) - 1
    assert set(labels.values()) == {1}


REPORTS_LEFT = ["r0", "r1"]
POISONED = """
SELECT scope FROM annotation_assignment JOIN judging_judgecall
ON judging_judgecall.assignment_id = annotation_assignment.id
WHERE judging_judgecall.state = 'poisoned'
"""


@pytest.mark.postgresql
def test_two_judges_of_one_model_share_the_calls_of_its_server(
    house: House, server: Running
) -> None:
    limited = ("--queue", "--limit", "40")
    house.manage_all(
        ("create_judge", "k", "--backend", "openai", "--model", "fake-judge", "--base-url",
         server.url, "--granularity", "unit", "--param", f"concurrency={CONCURRENCY}"),
        *(("run_judge", "--campaign", "c", "--judge", judge, *limited) for judge in ("j", "k")),
    )  # fmt: skip
    server.behave(holds_after=20)
    with house.worker("-n", "one"), house.worker("-n", "two"):
        until(server.holds, "they ask")
        until(lambda: house.log().count("ready.") >= 2, "both workers are there")
        server.behave()
        until(lambda: house.runs() == [("done", False)] * 2, "the end of both runs")
    assert server.stats()["calls"] >= 80
    assert server.stats()["most"] <= CONCURRENCY
    # One label by each judge.
    assert set(house.labels("--server", server.url).values()) == {2}
