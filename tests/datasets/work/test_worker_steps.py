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
from datasets.work.execution import HEAVY as HEAVY_JOBS
from datasets.work.execution import LIGHT, light_jobs
from datasets.work.sources import Source, Taken
from datasets.work.worker import (
    GRACE_SECONDS,
    TOO_LONG,
    Child,
    Loop,
    _describe_exit,
    _writer,
)
from tests.datasets.work.conftest import HEAVY, Asking, Labels
from tests.queue_cast import reload_job

pytestmark = pytest.mark.django_db


def taken(job: Job) -> Taken:
    """A job that was leased already, as its source gives it to a worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue, "is_due", lambda heavy: True)
        patch.setattr(queue, "take", lambda heavy: job)
        found = light_jobs().take("", None)
    assert found is not None
    return found


def child_of(worker: Loop, job: Job, pid: int, end: int = 0, name: str = LIGHT) -> Child:
    return Child(worker.sources[name], taken(job), pid, end, mmap.mmap(-1, 16))


class TestWorker:
    @pytest.fixture
    def worker(self, asked: Asking, ada: User) -> Loop:
        """A worker with one running job, whose process sleeps."""
        asked("kappa", ada)
        job = queue.take()
        assert job is not None
        worker = Loop(places=1, idle=60)
        process = subprocess.Popen(["sleep", "60"])
        end, _ = os.pipe()
        worker.children[process.pid] = child_of(worker, job, process.pid, end)
        worker._selector.register(end, 1)
        return worker

    def test_a_job_that_takes_longer_than_an_hour_is_killed(self, worker: Loop) -> None:
        (child,) = worker.children.values()
        child.since = time.monotonic() - 3590
        worker._beat()
        assert child.verdict == ""
        child.since, worker._next_beat = time.monotonic() - 3601, 0.0
        worker._beat()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        worker._reap()
        assert Job.objects.get().error == TOO_LONG

    def test_a_stopping_worker_gives_back_its_unfinished_jobs(
        self, worker: Loop, monkeypatch: pytest.MonkeyPatch
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
        job = Job.objects.get()
        assert job.attempts == 0
        assert queue.take() == job

    def test_a_worker_without_jobs_ends_after_its_idle_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worker, now = Loop(places=1, idle=60), 100.0
        monkeypatch.setattr(worker_module, "time", SimpleNamespace(monotonic=lambda: now))
        worker.last_work = 40.0
        assert not worker._is_over()
        now = 100.5
        assert worker._is_over()
        worker.stop()
        worker.children = {1: child_of(worker, Job(), 1)}
        now += GRACE_SECONDS
        assert not worker._is_over()
        now += 0.5
        assert worker._is_over()
        assert not Loop(places=1)._is_over()
        worker = Loop(places=1)
        worker.stop()
        assert worker._is_over()

    def test_a_worker_imports_what_jobs_need_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done: list[str] = []
        monkeypatch.setattr(worker_module.importlib, "import_module", done.append)
        for name in ("collect", "freeze"):
            monkeypatch.setattr(worker_module.gc, name, lambda name=name: done.append(name))
        worker_module._import_everything()
        assert done == ["scipy.stats", "collect", "freeze"]

    def test_all_apps_register_their_sources_and_heavy_jobs_come_before_light_ones(self) -> None:
        found = list(Loop(places=1).sources)
        assert sorted(found) == ["heavy", "light", "periodic", "run", "upload"]
        assert found.index("heavy") < found.index("light"), "light ones may take free places"

    def test_the_reason_for_the_end_of_a_process_is_given_in_words(self) -> None:
        assert "more memory" in _describe_exit(12)
        assert "killed (SIGKILL)" in _describe_exit(-signal.SIGKILL)
        assert "status 0;" in _describe_exit(0)
        assert "status 1;" in _describe_exit(1)

    def test_a_worker_takes_as_many_jobs_as_it_has_slots(
        self, asked: Asking, ada: User, ben: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("a1", "a2", "b1", "b2"):
            ask(HEAVY, {"name": name}, ada if name.startswith("a") else ben)
        for name in ("light", "other"):
            asked(name, ada if name == "light" else ben)
        worker = Loop(places=2)

        def fork(source: Source, taken: Taken) -> None:
            pid = len(worker.children)
            worker.children[pid] = Child(source, taken, pid, 0, mmap.mmap(-1, 16))

        monkeypatch.setattr(worker, "_fork", fork)

        def names() -> list[str]:
            worker._fill(*worker.sources.values())
            keys = [child.taken.name.removeprefix("job ") for child in worker.children.values()]
            worker.children.clear()
            jobs = {job.key: job.options["name"] for job in Job.objects.all()}
            return [jobs[key] for key in keys]

        assert names() == ["a1", "b1", "light"]
        worker.places = 0
        assert names() == ["other"], "one without places takes no reports"
        worker.places = 1
        take = queue.take
        monkeypatch.setattr(queue, "take", lambda heavy: None)
        assert names() == [], "another worker took it"
        monkeypatch.setattr(queue, "take", take)
        worker.stop()
        assert names() == [], "one that stops takes no more"

    def test_leases_are_renewed_every_two_seconds_and_lost_jobs_are_killed(
        self, worker: Loop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = 0.5
        monkeypatch.setattr(worker_module, "time", SimpleNamespace(monotonic=lambda: now))
        swept: list[float] = []
        monkeypatch.setattr(results, "sweep", lambda: swept.append(now))
        (child,) = worker.children.values()
        _writer(child.shared)(3, 5)
        assert child.progress() == (3, 5)
        begun, job = now, Job.objects.get()
        worker._beat()
        assert (reload_job(job).done, job.total) == (3, 5)
        assert list(Worker.objects.values_list("name", "places")) == [(worker.name, 1)]
        _writer(child.shared)(4, 5)
        now = begun + 1.9
        worker._beat()
        assert reload_job(job).done == 3
        now = begun + 2.0
        worker._beat()
        assert reload_job(job).done == 4
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
        self, worker: Loop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away() -> None:
            raise OperationalError("away")

        done: list[Any] = []
        monkeypatch.setattr(worker, "_beat", away)
        monkeypatch.setattr(worker, "_fill", lambda *among: done.append("filled"))
        monkeypatch.setattr(worker, "_wait", done.append)
        monkeypatch.setattr(worker, "_reap", lambda: done.append("reaped"))
        monkeypatch.setattr(worker_module.connections, "close_all", lambda: done.append("closed"))
        worker._step()
        assert done == ["closed", 1.0, "reaped"]
        monkeypatch.setattr(worker, "_beat", lambda: done.append("beat"))
        worker._step()
        assert done[3:] == ["beat", "filled", 1.0, "reaped"]

    def test_a_worker_registers_while_it_runs_and_cleans_up_at_the_end(
        self, labels: Labels, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left: list[str] = []
        monkeypatch.setattr(worker_module, "disconnect", lambda: left.append("disconnected"))
        monkeypatch.setattr(worker_module, "_import_everything", lambda: None)
        worker, waited = Loop(places=1), iter([0, 1])
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
        self, asked: Asking, ada: User, worker: Loop
    ) -> None:
        (killed,) = worker.children.values()
        worker._reap()
        assert list(worker.children) == [killed.pid]
        worker.last_work = 0
        killed.kill("why")
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        worker._reap()
        assert (worker.children, Job.objects.get().error) == ({}, "why")
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
            child = child_of(worker, job, status, end)
            worker.children[child.pid] = child
            worker._selector.register(end, 1)
            worker._close(child, status)
            assert reload_job(job).state == state
            assert error in job.error

    def test_a_celery_task_carries_out_one_job(
        self, asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert not Loop(places=1).run_one(LIGHT, HEAVY_JOBS)
        asked("kappa", ada)
        asked("alpha", ada)
        worker, processes = Loop(places=2), []

        def fork(source: Source, taken: Taken) -> None:
            process = subprocess.Popen(["true"])
            processes.append(process)  # otherwise Python waits for the process
            end, theirs = os.pipe()
            os.close(theirs)
            worker.children[process.pid] = Child(source, taken, process.pid, end, mmap.mmap(-1, 16))
            worker._selector.register(end, 1)
            queue.finish(Job.objects.get(options__name="kappa"), {"file": "kappa"})

        monkeypatch.setattr(worker, "_fork", fork)
        assert worker.run_one(LIGHT, HEAVY_JOBS)
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

        monkeypatch.setattr(os, "_exit", leave)
        monkeypatch.setattr(os, "setsid", note("setsid"))
        monkeypatch.setattr(signal, "signal", note("signal"))
        monkeypatch.setattr(worker_module, "die_with_parent", note("end with"))
        monkeypatch.setattr(worker_module, "give_way_to_site", note("give way"))
        monkeypatch.setattr(resource, "setrlimit", note("limit"))
        options = {"OPTIONS": {"pool": True, "other": 1}}
        monkeypatch.setattr(worker_module, "connection", SimpleNamespace(settings_dict=options))
        return done

    def ended(self, error: BaseException | None, memory: int | None = 3) -> int:
        def carry_out(progress: Callable[[int, int], None]) -> None:
            progress(2, 3)
            if error is not None:
                raise error

        work = Taken("job x", carry_out, memory_mb=memory)
        with pytest.raises(Exit) as left:
            worker_module._run_in_child(work, self.shared, 77)
        return int(left.value.args[0])

    shared = mmap.mmap(-1, 16)

    def test_the_process_has_its_own_session_a_lower_priority_and_limits(
        self, done: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.ended(None) == 0
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
        assert self.ended(MemoryError()) == 12
        assert self.ended(KeyError("x")) == 1
        assert self.ended(SystemExit(0)) == 1

    def test_the_process_reports_its_progress_and_its_end_to_the_worker(
        self, asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Uses a real process that does not access the database."""

        def be_child(taken: Taken, shared: mmap.mmap, parent: int) -> None:
            _writer(shared)(2, 3)
            os._exit(0 if parent == os.getppid() else 9)

        left: list[str] = []
        monkeypatch.setattr(worker_module, "_run_in_child", be_child)
        monkeypatch.setattr(worker_module, "disconnect", lambda: left.append("disconnected"))
        asked("kappa", ada)
        job = queue.take()
        assert job is not None
        worker = Loop(places=1)
        work = taken(job)
        worker._fork(worker.sources[LIGHT], work)
        (child,) = worker.children.values()
        assert (child.taken, left) == (work, ["disconnected"])
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
