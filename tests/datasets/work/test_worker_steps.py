"""The worker renews leases, survives killed jobs, and gives jobs back, step by step."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError
from pytest_django.fixtures import Settings

from annotation.models import User
from datasets.models import Job, Worker
from datasets.work import ask, beside, queue, results, wake
from datasets.work import worker as worker_module
from datasets.work.beside import die_with_parent
from datasets.work.worker import (
    GRACE_SECONDS,
    TOO_LONG,
    Child,
    JobWorker,
    _describe_exit,
    _writer,
)
from tests.datasets.work.conftest import HEAVY, Asking, Labels
from tests.queue_cast import reload_job

pytestmark = pytest.mark.django_db


class TestWorker:
    @pytest.fixture
    def worker(self, asked: Asking, ada: User) -> JobWorker:
        """A worker with one running job, whose process sleeps."""
        asked("kappa", ada)
        job = queue.take()
        assert job is not None
        worker = JobWorker(places=1, idle=60)
        process = subprocess.Popen(["sleep", "60"])
        end, _ = os.pipe()
        worker.children[process.pid] = Child(job, process.pid, end, mmap.mmap(-1, 16))
        worker._selector.register(end, 1)
        return worker

    def test_a_job_that_takes_longer_than_an_hour_is_killed(self, worker: JobWorker) -> None:
        (child,) = worker.children.values()
        child.since = time.monotonic() - 3590
        worker._beat()
        assert child.verdict == ""
        child.since, worker._next_beat = time.monotonic() - 3601, 0.0
        worker._beat()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        worker._reap()
        assert reload_job(child.job).error == TOO_LONG

    def test_a_stopping_worker_gives_back_its_unfinished_jobs(
        self, worker: JobWorker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("datasets.work.worker.disconnect", lambda: None)
        (child,) = worker.children.values()
        worker.stop()
        assert not worker._is_over()
        worker._deadline -= GRACE_SECONDS + 1
        assert worker._is_over()
        worker._leave()
        with pytest.raises(ChildProcessError):
            os.waitpid(child.pid, 0)
        assert reload_job(child.job).attempts == 0
        assert queue.take() == child.job

    def test_a_worker_without_jobs_ends_after_its_idle_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worker, now = JobWorker(places=1, idle=60), 100.0
        monkeypatch.setattr(worker_module, "time", SimpleNamespace(monotonic=lambda: now))
        worker.last_work = 40.0
        assert not worker._is_over()
        now = 100.5
        assert worker._is_over()
        worker.stop()
        worker.children = {1: Child(Job(), 1, 0, mmap.mmap(-1, 16))}
        now += GRACE_SECONDS
        assert not worker._is_over()
        now += 0.5
        assert worker._is_over()
        assert not JobWorker(places=1)._is_over()
        worker = JobWorker(places=1)
        worker.stop()
        assert worker._is_over()

    def test_a_worker_imports_the_jobs_of_all_apps_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done: list[str] = []
        monkeypatch.setattr(worker_module.importlib, "import_module", done.append)
        for name in ("collect", "freeze"):
            monkeypatch.setattr(worker_module.gc, name, lambda name=name: done.append(name))
        worker_module._import_everything()
        assert {"analysis.kinds", "annotation.kinds", "judging.kinds"} <= set(done)
        assert "audit.kinds" not in done, "it has none"
        assert done[-2:] == ["collect", "freeze"]

    def test_the_reason_for_the_end_of_a_process_is_given_in_words(self) -> None:
        assert "more memory" in _describe_exit(12)
        assert "killed (SIGKILL)" in _describe_exit(-signal.SIGKILL)
        assert "status 1;" in _describe_exit(1)

    def test_a_worker_takes_as_many_jobs_as_it_has_slots(
        self, asked: Asking, ada: User, ben: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("a1", "a2", "b1", "b2"):
            ask(HEAVY, {"name": name}, ada if name.startswith("a") else ben)
        for name in ("light", "other"):
            asked(name, ada if name == "light" else ben)
        worker = JobWorker(places=2)

        def fork(job: Job) -> None:
            worker.children[job.pk] = Child(job, job.pk, 0, mmap.mmap(-1, 16))

        monkeypatch.setattr(worker, "_fork", fork)

        def taken() -> list[str]:
            names = [child.job.options["name"] for child in worker.children.values()]
            worker.children.clear()
            return names

        worker._fill()
        assert taken() == ["a1", "b1", "light"]
        worker.places = 0
        worker._fill()
        assert taken() == ["other"], "one without places takes no reports"
        worker.places = 1
        monkeypatch.setattr(queue, "take", lambda heavy: None)
        worker._fill()
        assert taken() == [], "another worker took it"

    def test_leases_are_renewed_every_two_seconds_and_lost_jobs_are_killed(
        self, worker: JobWorker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = 0.5
        monkeypatch.setattr(worker_module, "time", SimpleNamespace(monotonic=lambda: now))
        swept: list[float] = []
        monkeypatch.setattr(results, "sweep", lambda: swept.append(now))
        (child,) = worker.children.values()
        _writer(child.shared)(3, 5)
        assert child.progress() == (3, 5)
        begun = now
        worker._beat()
        assert (reload_job(child.job).done, child.job.total) == (3, 5)
        assert list(Worker.objects.values_list("name", "places")) == [(worker.name, 1)]
        _writer(child.shared)(4, 5)
        now = begun + 1.9
        worker._beat()
        assert reload_job(child.job).done == 3
        now = begun + 2.0
        worker._beat()
        assert reload_job(child.job).done == 4
        now = begun + 600
        worker._beat()
        assert swept == [begun]
        now = begun + 602
        worker._beat()
        assert swept == [begun, now]
        assert child.verdict == ""
        killed: list[int] = []
        monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
        Job.objects.update(state="cancelled", turn=None)
        for _ in range(2):
            now += 2
            worker._beat()
        assert (child.verdict, killed) == ("it was cancelled", [child.pid])

    def test_a_worker_continues_while_the_database_is_down(
        self, worker: JobWorker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away() -> None:
            raise OperationalError("away")

        done: list[Any] = []
        monkeypatch.setattr(worker, "_beat", away)
        monkeypatch.setattr(worker, "_fill", lambda: done.append("filled"))
        monkeypatch.setattr(worker, "_wait", done.append)
        monkeypatch.setattr(worker, "_reap", lambda: done.append("reaped"))
        monkeypatch.setattr(worker_module.connections, "close_all", lambda: done.append("closed"))
        worker._step()
        assert done == ["closed", 1.0, "reaped"]
        monkeypatch.setattr(worker, "_beat", lambda: done.append("beat"))
        worker._step()
        worker.stop()
        worker._step()
        assert done[3:6] == ["beat", "filled", 1.0]
        assert done[7:] == ["beat", 1.0, "reaped"], "one that stops takes no more"

    def test_a_worker_registers_while_it_runs_and_cleans_up_at_the_end(
        self, labels: Labels, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left: list[str] = []
        monkeypatch.setattr(worker_module, "disconnect", lambda: left.append("disconnected"))
        monkeypatch.setattr(worker_module, "_import_everything", lambda: None)
        worker, waited = JobWorker(places=1), iter([0, 1])
        wait = worker._wait

        def waits(seconds: float) -> None:
            assert queue.has_worker()
            assert wake.ring()
            heard = [key.fd for key, _ in worker._selector.select(0)]
            assert heard == [worker._bell and worker._bell.descriptor]
            wait(0)
            assert worker._selector.select(0) == [], "the bell was heard"
            if next(waited):
                worker.stop()

        monkeypatch.setattr(worker, "_wait", waits)
        worker.run()
        assert next(waited, None) is None
        assert (left, queue.has_worker(), wake.ring()) == (["disconnected"], False, False)

    def test_a_process_that_ended_is_recorded_in_its_job_and_removed(
        self, asked: Asking, ada: User, worker: JobWorker
    ) -> None:
        (killed,) = worker.children.values()
        worker._reap()
        assert list(worker.children) == [killed.pid]
        worker.last_work = 0
        killed.kill("why")
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        worker._reap()
        assert (worker.children, reload_job(killed.job).error) == ({}, "why")
        assert worker.last_work > 0
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(killed.end)
        assert killed.shared.closed
        assert dict(worker._selector.get_map()) == {}
        for status, state, error in ((0, "running", ""), (3, "failed", "status 3;")):
            asked(f"ends with {status}", ada)
            job = queue.take()
            assert job is not None
            end, _ = os.pipe()
            child = Child(job, status, end, mmap.mmap(-1, 16))
            worker.children[child.pid] = child
            worker._selector.register(end, 1)
            worker._close(child, status)
            assert reload_job(job).state == state
            assert error in job.error

    def test_a_celery_task_carries_out_one_job(
        self, asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert not JobWorker(places=1).run_one()
        asked("kappa", ada)
        asked("alpha", ada)
        worker, processes = JobWorker(places=2), []

        def fork(job: Job) -> None:
            process = subprocess.Popen(["true"])
            processes.append(process)  # otherwise Python waits for the process
            end, theirs = os.pipe()
            os.close(theirs)
            worker.children[process.pid] = Child(job, process.pid, end, mmap.mmap(-1, 16))
            worker._selector.register(end, 1)
            queue.finish(job, {"file": "kappa"})

        monkeypatch.setattr(worker, "_fork", fork)
        assert worker.run_one()
        assert worker.children == {}
        states = Job.objects.order_by("pk").values_list("options__name", "state")
        assert list(states) == [("kappa", "done"), ("alpha", "waiting")]
        assert worker._selector.get_map() is None, "it is closed"
        assert list(Worker.objects.values_list("name", flat=True)) == [worker.name]

    def test_processes_of_jobs_are_killed_when_their_worker_dies(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[tuple[int, ...]] = []
        exits: list[int] = []
        system = SimpleNamespace(prctl=lambda *order: asked.append(order))
        monkeypatch.setattr(beside, "ctypes", SimpleNamespace(CDLL=lambda name: system))
        monkeypatch.setattr(os, "_exit", exits.append)
        die_with_parent(os.getppid())
        assert (asked, exits) == ([(1, signal.SIGKILL)], [])
        die_with_parent(-1)
        assert exits == [1], "it had ended before the system was asked"


class Exit(BaseException):
    """Raised in place of ending the process, so that the test does not end."""


class TestJobProcess:
    """What the process of a job does before and after the job, called in the test's process."""

    @pytest.fixture
    def done(self, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[Any]:
        """The calls to the system in order; the process ends by raising `Exit`."""
        done: list[Any] = []

        def leave(status: int) -> None:
            raise Exit(status)

        def note(name: str) -> Callable[..., None]:
            return lambda *given: done.append((name, *given))

        settings.TANDEM_JOB_MEMORY_MB = 3
        monkeypatch.setattr(os, "_exit", leave)
        monkeypatch.setattr(os, "setsid", note("setsid"))
        monkeypatch.setattr(signal, "signal", note("signal"))
        monkeypatch.setattr(worker_module, "die_with_parent", note("end with"))
        monkeypatch.setattr(worker_module, "give_way", note("give way"))
        monkeypatch.setattr(resource, "setrlimit", note("limit"))
        options = {"OPTIONS": {"pool": True, "other": 1}}
        monkeypatch.setattr(worker_module, "connection", SimpleNamespace(settings_dict=options))
        return done

    def ended(self, monkeypatch: pytest.MonkeyPatch, error: BaseException | None) -> int:
        def carry_out(job: Job, progress: Callable[[int, int], None]) -> None:
            progress(2, 3)
            if error is not None:
                raise error

        monkeypatch.setattr(worker_module, "carry_out", carry_out)
        with pytest.raises(Exit) as left:
            worker_module._run_in_child(Job(), self.shared, 77)
        return int(left.value.args[0])

    shared = mmap.mmap(-1, 16)

    def test_the_process_has_its_own_session_a_lower_priority_and_limits(
        self, done: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.ended(monkeypatch, None) == 0
        assert done == [
            ("signal", signal.SIGTERM, signal.SIG_DFL),
            ("signal", signal.SIGINT, signal.SIG_DFL),
            ("end with", 77),
            ("setsid",),
            ("give way",),
            ("limit", resource.RLIMIT_DATA, (3_145_728, 3_145_728)),
            ("limit", resource.RLIMIT_CORE, (0, 0)),
        ]
        assert worker_module.connection.settings_dict == {"OPTIONS": {"other": 1}}
        assert self.shared[:16] == struct.pack("qq", 2, 3)

    def test_the_exit_status_of_the_process_says_why_it_ended(
        self, done: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.ended(monkeypatch, MemoryError()) == 12
        assert self.ended(monkeypatch, KeyError("x")) == 1
        assert self.ended(monkeypatch, SystemExit(0)) == 1

    def test_the_process_reports_its_progress_and_its_end_to_the_worker(
        self, asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Uses a real process that does not access the database."""

        def be_child(job: Job, shared: mmap.mmap, parent: int) -> None:
            _writer(shared)(2, 3)
            os._exit(0 if parent == os.getppid() else 9)

        left: list[str] = []
        monkeypatch.setattr(worker_module, "_run_in_child", be_child)
        monkeypatch.setattr(worker_module, "disconnect", lambda: left.append("disconnected"))
        asked("kappa", ada)
        job = queue.take()
        assert job is not None
        worker = JobWorker(places=1)
        worker._fork(job)
        (child,) = worker.children.values()
        assert (child.job, left) == (job, ["disconnected"])
        ready = worker._selector.select(60)
        assert [key.fd for key, _ in ready] == [child.end]
        assert child.progress() == (2, 3)
        _, status = os.waitpid(child.pid, 0)
        assert status == 0
        worker._close(child, 0)

    def test_disconnecting_also_closes_the_connection_pool(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        closed: list[str] = []
        fake = SimpleNamespace(close_pool=lambda: closed.append("pool"), vendor="sqlite")
        monkeypatch.setattr(worker_module, "connection", fake)
        monkeypatch.setattr(worker_module.connections, "close_all", lambda: closed.append("all"))
        worker_module.disconnect()
        assert closed == ["all"]
        fake.vendor = "postgresql"
        worker_module.disconnect()
        assert closed == ["all", "all", "pool"]
