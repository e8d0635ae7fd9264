"""Workers and the beat survive being killed, stopped or notified twice, with either broker.

The ledger decides, and messages are only hints. So whatever happens to messages and workers, every
unit is answered once, and only calls under way at a kill are paid again.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from celery import Celery

from config.celery import app
from judging import tasks
from scripts.services import Valkey
from tests.databases import ON_POSTGRESQL
from tests.fake_openai.running import Running
from tests.judging.brokers import Broker, InFiles, InValkey
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

LONG = 120.0  # seconds
ASK_FOR_A_REPORT = """
from analysis.campaigns.report_job import REPORT, question
from tandem.labels.selection import ReportOptions
from annotation.models import Campaign, User
from datasets.work import ask
admin = User.objects.create(username="root", role="admin")
ask(REPORT, question(Campaign.objects.get(), ReportOptions(resamples=20)), admin)
"""
REPAID = CONCURRENCY + PROBES


@pytest.fixture
def broker(request: pytest.FixtureRequest, house: House) -> Broker:
    """The broker that belongs to the database: files with SQLite, Valkey with PostgreSQL."""
    if not ON_POSTGRESQL:
        return InFiles(house.folder)
    found = InValkey(request.getfixturevalue("valkey_server"))
    house.env["CELERY_BROKER_URL"] = found.url
    return found


@pytest.fixture
def queued(house: House, broker: Broker, server: Running) -> House:
    """A run that waits for a worker."""
    assert "Queued" in house.manage(*RUN, "--queue")
    return house


def all_labelled(house: House) -> None:
    until(lambda: house.labelled() >= UNITS, "every unit has its label")


@pytest.mark.postgresql
def test_another_worker_continues_after_a_kill_even_without_a_message(
    queued: House, broker: Broker, server: Running
) -> None:
    server.behave(holds_after=UNITS // 3)
    with queued.worker(hurried=True) as worker:
        until(server.holds, "the run is in the middle")
        kill_9(worker)
    server.behave()
    broker.lose_messages()
    assert server.stats()["calls"] < UNITS
    with queued.worker(hurried=True):
        all_labelled(queued)
    assert each_once(queued, server.url, kills=1)
    assert server.stats()["calls"] <= UNITS + REPAID


@pytest.mark.long
def test_a_run_whose_message_was_lost_is_taken_up_when_a_worker_starts(
    queued: House, broker: Broker, server: Running
) -> None:
    assert broker.lose_messages() == 1
    with queued.worker():
        until(lambda: server.stats()["calls"] >= 1, "the first call")


@pytest.mark.long
def test_a_message_repeated_to_two_workers_pays_no_call_twice(
    queued: House, broker: Broker, server: Running
) -> None:
    server.behave(latency=0.15)
    queued.ring(4)
    with queued.worker("-n", "one"), queued.worker("-n", "two"):
        all_labelled(queued)
    assert each_once(queued, server.url)
    assert UNITS <= server.stats()["calls"] <= UNITS + PROBES
    assert server.stats()["most"] <= CONCURRENCY


@pytest.mark.long
def test_a_late_message_of_a_run_that_has_ended_does_nothing(
    queued: House, broker: Broker, server: Running
) -> None:
    with queued.worker():
        until(lambda: queued.runs() == [("done", False)], "the end of the run")
        queued.ring(2)
        until(lambda: broker.messages() == [], "both messages read")
    assert UNITS <= server.stats()["calls"] <= UNITS + PROBES
    assert queued.runs() == [("done", False)]


def test_a_terminated_worker_ends_soon_and_pays_no_call_twice(
    queued: House, broker: Broker, server: Running
) -> None:
    server.behave(holds_after=UNITS // 4)
    with queued.worker() as worker:
        until(server.holds, "the run is in the middle")
        worker.send_signal(signal.SIGTERM)
        server.behave(holds_after=UNITS - 1)
        assert worker.wait(PATIENCE) == 0
    server.behave()
    assert server.stats()["calls"] < UNITS
    assert queued.runs() == [("running", False)]
    with queued.worker():
        all_labelled(queued)
    assert each_once(queued, server.url)
    assert UNITS <= server.stats()["calls"] <= UNITS + PROBES


@pytest.mark.long
def test_a_child_killed_during_its_calls_is_replaced(
    queued: House, broker: Broker, server: Running
) -> None:
    server.behave(holds_after=UNITS // 3)
    with queued.worker(hurried=True) as worker:
        until(server.holds, "the run is in the middle")
        for child in children(worker.pid):
            os.kill(child, signal.SIGKILL)
        server.behave()
        all_labelled(queued)
    assert each_once(queued, server.url, kills=1)
    assert server.stats()["calls"] <= UNITS + REPAID


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("this system does not say which children a process has")
    return [int(child) for child in path.read_text().split()]


@pytest.mark.long
def test_celery_beat_sends_the_sweep(house: House, broker: Broker, server: Running) -> None:
    with house.celery("beat", "--max-interval", "1"):
        until(lambda: any("judging.tasks.sweep" in m for m in broker.messages()), "a sweep")


def test_celery_beat_sends_only_tasks_that_workers_know() -> None:
    app.loader.import_default_modules()
    named = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert named <= set(app.tasks)
    assert tasks.sweep.name in named


class TestABrokerOutage:
    """Valkey loses everything when it is killed, and may be away for any time."""

    @pytest.fixture
    def broker(self, house: House, valkey_server: Valkey) -> InValkey:
        found = InValkey(valkey_server)
        house.env["CELERY_BROKER_URL"] = found.url
        return found

    def test_a_queued_run_continues_after_the_return_of_the_broker(
        self, house: House, broker: InValkey, server: Running, valkey_server: Valkey
    ) -> None:
        with house.worker(hurried=True):
            until(lambda: "ready." in house.log(), "a worker that is ready")
            valkey_server.kill()
            try:
                said = house.manage(*RUN, "--queue")
            finally:
                valkey_server.start()
            assert "Queued" in said
            all_labelled(house)
        assert each_once(house, server.url)
        assert UNITS <= server.stats()["calls"] <= UNITS + PROBES

    def test_a_report_is_computed_by_the_workers_of_the_broker(
        self, house: House, broker: InValkey, server: Running
    ) -> None:
        with house.worker():
            until(lambda: "ready." in house.log(), "a worker that is ready")
            house.manage("shell", "-c", ASK_FOR_A_REPORT)
            until(lambda: house.asked("SELECT state FROM datasets_job") == [("done",)], "a report")
        assert "work_on_jobs" in house.log()
        assert house.asked("SELECT places FROM datasets_worker") == [(1,)], "nobody else works"

    def test_workers_take_messages_again_after_a_restart_of_the_broker(
        self, house: House, broker: InValkey, server: Running, valkey_server: Valkey
    ) -> None:
        with house.worker("-n", "one@%h"), house.worker("-n", "two@%h"):
            until(lambda: house.log().count("ready.") >= 2, "two workers that are ready", LONG)
            valkey_server.kill()
            until(lambda: house.log().count("Connection to broker lost") >= 2, "a loss", LONG)
            valkey_server.start()
            until(lambda: house.log().count("Connected to redis") >= 4, "both are back", LONG)
            house.manage(*RUN, "--queue")
            until(lambda: house.labelled() >= UNITS, "every unit has its label", LONG)
            # Each worker answers a ping to it, as a container's health check sends.
            names = {
                name
                for reply in app_of(broker).control.ping(timeout=LONG, limit=2)
                for name in reply
            }
            assert {name.partition("@")[0] for name in names} == {"one", "two"}
        assert "mingle" not in house.log()
        assert each_once(house, server.url)

    @pytest.mark.long
    def test_a_run_under_way_does_not_need_the_broker(
        self, house: House, broker: InValkey, server: Running, valkey_server: Valkey
    ) -> None:
        house.manage(*RUN, "--queue")
        server.behave(holds_after=UNITS // 4)
        with house.worker():
            until(server.holds, "the run is in the middle")
            valkey_server.kill()
            try:
                server.behave()
                all_labelled(house)
            finally:
                valkey_server.start()
        assert each_once(house, server.url)
        assert UNITS <= server.stats()["calls"] <= UNITS + PROBES


def app_of(broker: Broker) -> Celery:
    """An application that speaks to this broker only."""
    return Celery("test", broker=broker.url)
