"""Every worker does the periodic work, so a site without a beat seals its audit trail."""

from __future__ import annotations

import os
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings as site
from pytest_django.fixtures import Settings

from annotation import audit_log
from annotation.answers.submission import submit
from annotation.audit_log import COUNTED, count_answers
from annotation.tasks import seal_audit
from audit.models import Event, Seal
from audit.recording import record
from datasets import tasks
from datasets.work import periodic, wake
from datasets.work.periodic import PERIODIC
from datasets.work.worker import Loop
from tests.page_cast import make_study, payload

SCHEDULED = {
    "judging.tasks.sweep": 15.0,
    "datasets.tasks.clean_uploads": 3600.0,
    "datasets.tasks.forget_answers": 3600.0,
    "annotation.tasks.seal_audit": 900.0,
}


def test_workers_do_what_beat_does_and_at_its_times() -> None:
    assert {each.task: each.seconds for each in periodic.schedule()} == SCHEDULED
    assert all(each.load().name == each.task for each in periodic.schedule())


def test_everything_is_due_at_the_start_and_then_after_its_seconds() -> None:
    now = [100.0]
    clock = periodic.Clock(lambda: now[0])

    def due_at(seconds: float) -> set[str]:
        now[0] = 100.0 + seconds
        return {each.task.rpartition(".")[2] for each in clock.take_due()}

    assert due_at(0) == {"sweep", "clean_uploads", "forget_answers", "seal_audit"}
    assert due_at(14.9) == set()
    assert due_at(15) == {"sweep"}
    assert due_at(900) == {"sweep", "seal_audit"}
    assert due_at(3600) == {"sweep", "clean_uploads", "forget_answers", "seal_audit"}
    assert due_at(3600) == set()


def test_each_worker_of_celery_sends_the_work_at_its_start_and_at_its_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[tuple[str, float]] = []
    monkeypatch.setattr(wake, "send", lambda task, expires: sent.append((task, expires)))
    timed: list[tuple[float, Any]] = []
    timer = SimpleNamespace(call_repeatedly=lambda *given: timed.append(given))
    tasks.do_without_beat(SimpleNamespace(timer=timer))
    assert sent == list(SCHEDULED.items())
    sent.clear()
    for seconds, send in timed:
        send()
        assert sent.pop() == (send.args[0], seconds)
    assert isinstance(timed[0][1], partial)


def test_work_that_fails_is_logged_and_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def load(each: periodic.Periodic) -> Any:
        if each.task == "a.b":
            raise ImportError(each.task)
        return lambda: done.append(each.task)

    monkeypatch.setattr(periodic.Periodic, "load", load)
    periodic.carry_out([periodic.Periodic("a.b", 1), periodic.Periodic("c.d", 1)], lambda *_: None)
    assert done == ["c.d"]
    assert "a.b failed" in caplog.messages


@pytest.mark.django_db(transaction=True)
class TestSealing:
    @pytest.fixture
    def schedule(self, settings: Settings) -> None:
        """Only the seals; on PostgreSQL, too, in the database of the tests."""
        settings.CELERY_BEAT_SCHEDULE = {"audit": site.CELERY_BEAT_SCHEDULE["audit"]}

    def test_a_worker_of_manage_py_seals_without_a_beat(self, schedule: None) -> None:
        record("account.sessions", of=("account", 1), tokens=0)
        assert not Seal.objects.exists()
        Loop(places=1, idle=0.5).run()
        assert Seal.objects.count() == 1
        assert Event.objects.filter(pk__gt=Seal.objects.get().last).count() == 0

    def test_periodic_work_that_hangs_is_killed_after_an_hour(
        self, schedule: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(periodic, "carry_out", lambda due, progress: time.sleep(600))
        worker = Loop(places=1)
        worker._fill(worker.sources[PERIODIC])
        (hanging,) = worker.children.values()
        hanging.since -= 3590
        worker._beat()
        worker._reap()
        assert worker.children
        hanging.since, worker._next_beat = hanging.since - 20, 0.0
        worker._beat()
        os.waitid(os.P_PID, hanging.pid, os.WEXITED | os.WNOWAIT)
        worker._reap()
        assert not worker.children
        assert not Seal.objects.exists()

    @pytest.mark.postgresql
    def test_two_processes_that_both_seal_do_no_harm(self, schedule: None) -> None:
        record("account.sessions", of=("account", 1), tokens=0)
        for _ in range(2):
            Loop(places=1, idle=0.5).run()
        seal_audit()
        assert Seal.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.postgresql
def test_of_two_that_count_answers_at_once_one_records(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    submit(study.assignment(study.ada), payload("no"), "page")
    count_by_channel, inner = audit_log._count_by_channel, []

    def another_counts_meanwhile(campaign: int) -> dict[str, Any]:
        monkeypatch.setattr(audit_log, "_count_by_channel", count_by_channel)
        inner.append(count_answers())
        return count_by_channel(campaign)

    monkeypatch.setattr(audit_log, "_count_by_channel", another_counts_meanwhile)
    assert (count_answers(), inner) == (0, [1])
    assert Event.objects.filter(event=COUNTED).count() == 1
    assert count_answers() == 0
