"""Who is woken for a job: Celery, a worker on this machine, or one that is started for it."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.exceptions import OperationalError
from pytest_django.fixtures import Settings

from annotation.models import User
from datasets import tasks
from datasets.jobs import launching, queue
from datasets.jobs import worker as worker_module
from datasets.jobs.worker import GRACE_SECONDS, TOO_LONG, Child, JobWorker, _end_with, _why
from tests.datasets.jobs.conftest import Asking, Labels
from tests.queue_cast import ended

pytestmark = pytest.mark.django_db
start = launching.start


@pytest.fixture
def started(labels: Labels, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The processes that were started: their options, with the command."""
    found: list[dict[str, Any]] = []

    def note(command: list[str], **options: Any) -> None:
        found.append({"command": command, **options})

    monkeypatch.setattr(subprocess, "run", note)
    monkeypatch.setattr(launching, "threading", SimpleNamespace(Thread=_AtOnce))
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=1s")
    return found


class _AtOnce(threading.Thread):
    def start(self) -> None:
        assert self.daemon
        self.run()


def test_without_anybody_a_worker_of_its_own_is_started(started: list[dict[str, Any]]) -> None:
    start()
    (one,) = started
    assert one["command"] == [sys.executable, "manage.py", "work", "--idle", "60", "--alone"]
    assert "PGOPTIONS" not in one["env"], "pages' limit on queries would end a long report"
    assert one["env"]["PATH"] == os.environ["PATH"]
    assert (one["check"], one["start_new_session"]) == (False, True)


def test_a_worker_that_listens_is_woken_instead(started: list[dict[str, Any]]) -> None:
    bell = launching.Bell()
    start()
    assert os.read(bell.descriptor or 0, 10) == b"\0"
    assert started == []
    bell.close()
    assert not launching.ring()


def test_a_worker_elsewhere_looks_by_itself(started: list[dict[str, Any]]) -> None:
    queue.note_worker("elsewhere:1", 2)
    start()
    assert started == []
    queue.forget_worker("elsewhere:1")
    start()
    assert len(started) == 1


def test_a_broker_takes_a_message_and_without_it_another_worker_is_asked(
    started: list[dict[str, Any]], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CELERY_BROKER_URL = "redis://nowhere"
    sent: list[Any] = []
    monkeypatch.setattr(tasks.work_on_jobs, "apply_async", lambda **options: sent.append(options))
    start()
    assert (sent, started) == ([{"retry": False}], [])

    def refuse(**options: Any) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(tasks.work_on_jobs, "apply_async", refuse)
    start()
    assert len(started) == 1


def test_a_web_server_has_one_worker(labels: Labels) -> None:
    assert launching.is_first()
    assert not launching.is_first()


class TestAWorker:
    @pytest.fixture
    def worker(self, asked: Asking, ada: User) -> JobWorker:
        """A worker with one job under way, whose process sleeps."""
        asked("kappa", ada)
        job = queue.take()
        assert job is not None
        worker = JobWorker(places=1, idle=60)
        process = subprocess.Popen(["sleep", "60"])
        end, _ = os.pipe()
        worker.children[process.pid] = Child(job, process.pid, end, mmap.mmap(-1, 16))
        worker._selector.register(end, 1)
        return worker

    def test_kills_a_job_that_takes_longer_than_an_hour(self, worker: JobWorker) -> None:
        (child,) = worker.children.values()
        child.since = time.monotonic() - 3590
        worker._beat()
        assert child.verdict == ""
        child.since, worker._next_beat = time.monotonic() - 3601, 0.0
        worker._beat()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        worker._reap()
        assert ended(child.job).error == TOO_LONG

    def test_gives_back_what_it_has_not_ended(
        self, worker: JobWorker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("datasets.jobs.worker.disconnect", lambda: None)
        (child,) = worker.children.values()
        worker.stop()
        assert not worker._is_over()
        worker._deadline -= GRACE_SECONDS + 1
        assert worker._is_over()
        worker._leave()
        with pytest.raises(ChildProcessError):
            os.waitpid(child.pid, 0)
        assert ended(child.job).attempts == 0
        assert queue.take() == child.job

    def test_with_nothing_to_do_it_ends_after_the_time_it_was_given(self) -> None:
        worker = JobWorker(places=1, idle=60)
        assert not worker._is_over()
        worker.last_work -= 61
        assert worker._is_over()
        assert not JobWorker(places=1)._is_over()
        worker = JobWorker(places=1)
        worker.stop()
        assert worker._is_over()

    def test_says_how_a_process_ended(self) -> None:
        assert "more memory" in _why(12)
        assert "killed (SIGKILL)" in _why(-signal.SIGKILL)
        assert "status 1;" in _why(1)

    def test_has_the_system_end_a_process_with_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[tuple[int, ...]] = []
        exits: list[int] = []
        system = SimpleNamespace(prctl=lambda *order: asked.append(order))
        monkeypatch.setattr(worker_module, "ctypes", SimpleNamespace(CDLL=lambda name: system))
        monkeypatch.setattr(os, "_exit", exits.append)
        _end_with(os.getppid())
        assert (asked, exits) == ([(1, signal.SIGKILL)], [])
        _end_with(-1)
        assert exits == [1], "it had ended before the system was asked"
