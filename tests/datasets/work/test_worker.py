"""Workers: each job has its own process, which may be cancelled, killed or out of memory."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from annotation.models import User
from datasets.models import Job
from datasets.work import ask, queue, results
from datasets.work.execution import HEAVY as HEAVY_JOBS
from datasets.work.execution import LIGHT
from datasets.work.worker import Loop
from tests.cast import manage
from tests.databases import disconnect
from tests.datasets.work.conftest import HEAVY, Asking, Labels
from tests.queue_cast import own_megabytes, reload_job

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]
on_both = pytest.mark.postgresql


@on_both
def test_concurrent_requests_for_one_question_add_one_job(asked: Asking, ada: User) -> None:
    barrier, found = threading.Barrier(6), []

    def asks() -> None:
        barrier.wait()
        found.append(asked("kappa", ada).pk)
        connection.close()

    threads = [threading.Thread(target=asks) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == Job.objects.count() == 1


def test_cancelling_ends_the_process_of_a_running_job(
    asked: Asking, labels: Labels, ada: User, tmp_path: Path
) -> None:
    job = asked("kappa", ada, do="wait", flag=str(tmp_path / "never"))
    worker = Loop(places=1)
    worker._fill(worker.sources[LIGHT])
    (child,) = worker.children.values()
    queue.cancel(job, ada)
    worker._beat()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    worker._reap()
    assert not worker.children
    assert reload_job(job).state == "cancelled"
    assert not [path for path in results.folder().iterdir() if job.key in path.name]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("do", "message"),
    [
        ("allocate", "it needs more memory than one job may use ({limit} MB)"),
        ("die", "its process was killed (SIGKILL), probably for lack of memory"),
        ("refuse", "an id does not fit into the format; rename it"),
        ("break", "an unexpected error ended it (IndexError)"),
    ],
)
def test_a_failed_job_says_why_and_can_be_asked_for_again(
    asked: Asking, ada: User, settings: Settings, do: str, message: str
) -> None:
    # The process starts as large as this one, which has run other tests.
    settings.TANDEM_JOB_MEMORY_MB = limit = 300 + own_megabytes()
    job = asked("kappa", ada, do=do)
    Loop(places=1).run_one(LIGHT, HEAVY_JOBS)
    assert reload_job(job).state == "failed"
    assert message.format(limit=limit) in job.error
    assert asked("kappa", ada, do=do) == job
    assert asked("kappa", ada, again=True, do=do) != job


@on_both
def test_the_job_of_a_killed_worker_is_taken_up_again(
    asked: Asking, labels: Labels, ada: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than a fork of this process takes on a busy machine.
    monkeypatch.setattr(queue, "LEASE", timedelta(minutes=10))
    job = asked("kappa", ada, do="kill the worker", flag=str(tmp_path / "flag"))
    disconnect()
    pid = os.fork()
    if pid == 0:
        Loop(places=1).run_one(LIGHT, HEAVY_JOBS)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert reload_job(job).state == "running"
    assert not queue.take(), "its lease has not expired yet"
    Job.objects.update(lease_until="2020-01-01T00:00:00Z")
    assert Loop(places=1).run_one(LIGHT, HEAVY_JOBS)
    assert reload_job(job).state == "done"
    assert job.attempts == 2
    assert labels.computed == ["kappa", "kappa"]
    names = [path.name for path in results.folder().iterdir() if job.key in path.name]
    assert names == [job.result["file"]]


def test_a_worker_wakes_for_a_new_job_and_ends_on_a_signal(
    asked: Asking, ada: User, tmp_path: Path
) -> None:
    """The worker is a fork of this process, so it has the tests' kind of job."""
    disconnect()
    pid = os.fork()
    if pid == 0:
        worker = Loop(places=2)
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        worker.run()
        os._exit(0)
    try:
        wait_for(queue.has_worker)
        job = asked("kappa", ada)
        wait_for(lambda: reload_job(job).state == "done")
    finally:
        os.kill(pid, signal.SIGTERM)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert not queue.has_worker()


def test_a_light_job_does_not_wait_for_the_reports_that_fill_a_worker(
    asked: Asking, ada: User, ben: User, tmp_path: Path
) -> None:
    flag = tmp_path / "ready"
    reports = [
        ask(HEAVY, {"name": name, "do": "wait", "flag": str(flag)}, ada).job
        for name in ("one", "two")
    ]
    export = asked("export", ben)
    worker = Loop(places=1, idle=0.1)
    beat, seen = worker._beat, list[list[str]]()

    def beat_and_look() -> None:
        beat()
        if reload_job(export).state == "done" and not flag.exists():
            seen.append([reload_job(job).state for job in reports])
            flag.touch()

    worker._beat = beat_and_look  # type: ignore[method-assign]
    worker.run()
    assert seen == [["running", "waiting"]]
    assert [reload_job(job).state for job in reports] == ["done", "done"]


def test_a_job_that_is_asked_for_while_a_worker_leaves_is_carried_out(
    asked: Asking, ada: User
) -> None:
    worker, late = Loop(places=1, idle=0.1), list[Job]()
    leave = worker._leave

    def leave_late() -> None:
        if not late:
            late.append(asked("kappa", ada))
        leave()

    worker._leave = leave_late  # type: ignore[method-assign]
    worker.run()
    assert reload_job(late[0]).state == "done"
    assert not queue.has_worker()


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_the_command_ends_after_the_idle_time(house: Path) -> None:
    done = manage(house, "work", "--idle", "0.1", "--places", "1")
    assert done.returncode == 0, done.stderr
    assert "carries out reports, 1 at a time, and short jobs beside" in done.stdout
