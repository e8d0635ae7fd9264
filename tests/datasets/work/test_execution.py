"""Carrying out one job: its message when it fails, and the files it leaves."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from django.db import DatabaseError

from annotation.models import User
from audit.recording import Actor, current_actor, on_behalf
from datasets.models import Job
from datasets.work import Options, Result, queue, results
from datasets.work.execution import NO_ACCESS, NO_SPACE, carry_out
from tests.datasets.work.conftest import DEEDS, Asking, Labels
from tests.queue_cast import reload_job, run_due_jobs

pytestmark = pytest.mark.django_db


def taken(job: Job) -> Job:
    found = queue.take()
    assert found == job
    return found


@pytest.fixture
def failing(asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job that has started and will fail with the error put into `DEEDS`."""
    monkeypatch.setitem(DEEDS, "fail", lambda options: None)
    return taken(asked("kappa", ada, do="fail"))


def fail_by(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(options: Options) -> None:
        raise error

    monkeypatch.setitem(DEEDS, "fail", fail)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left"), NO_SPACE),
        (OSError(errno.EDQUOT, "Quota exceeded"), NO_SPACE),
        (OSError(errno.EACCES, "Denied"), "an unexpected error ended it (PermissionError)"),
        (DatabaseError("deadlock"), "an unexpected error ended it (DatabaseError)"),
    ],
)
def test_an_unexpected_error_is_explained_in_the_jobs_message(
    failing: Job, error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_by(error, monkeypatch)
    closed: list[bool] = []
    monkeypatch.setattr("datasets.work.execution.connection.close", lambda: closed.append(True))
    carry_out(failing, lambda done, total: None)
    assert reload_job(failing).state == "failed"
    assert message in failing.error
    assert bool(closed) == isinstance(error, DatabaseError), "a transaction may be broken"


def test_in_strict_mode_the_error_is_raised(failing: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_by(IndexError("which"), monkeypatch)
    with pytest.raises(IndexError, match="which"):
        carry_out(failing, lambda done, total: None, strict=True)
    assert reload_job(failing).state == "running"


def test_the_file_of_a_job_cancelled_during_its_run_is_removed(
    failing: Job, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Job.objects.get(pk=failing.pk)
    monkeypatch.setitem(DEEDS, "fail", lambda options: queue.cancel(elsewhere, ada))
    carry_out(failing, lambda done, total: None)
    assert (reload_job(failing).state, failing.error) == ("cancelled", "")
    assert list(results.folder().iterdir()) == []


def test_a_job_taken_over_by_another_worker_is_not_computed(failing: Job, labels: Labels) -> None:
    Job.objects.update(lease_until="2020-01-01T00:00:00Z")
    other = queue.take()
    carry_out(failing, lambda done, total: None)
    assert labels.computed == []
    assert other is not None
    assert reload_job(other).state == "running"


def test_running_out_of_memory_ends_the_process_with_an_error(
    failing: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_by(MemoryError(), monkeypatch)
    with pytest.raises(MemoryError):
        carry_out(failing, lambda done, total: None)


def test_a_job_runs_as_the_account_and_request_whose_turn_it_is(
    asked: Asking, ada: User, ben: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    actors: list[tuple[int | None, str, str]] = []

    def tell(options: Options) -> None:
        actor = current_actor()
        actors.append((actor.who(), actor.request, actor.address))

    monkeypatch.setitem(DEEDS, "tell", tell)
    by_ben = Actor(lambda: ben.pk, "b" * 32, "private")
    with on_behalf(by_ben):
        asked("first", ben)
    assert run_due_jobs() == 1
    with on_behalf(by_ben):
        shared = asked("kappa", ben, do="tell")
    with on_behalf(Actor(lambda: ada.pk, "a" * 32, "public")):
        assert asked("kappa", ada, do="tell") == shared
    assert run_due_jobs() == 1
    assert actors == [(ada.pk, "a" * 32, "public")], "ben had a turn before"


def test_a_job_is_computed_if_any_account_waiting_for_it_may_see_it(
    asked: Asking, labels: Labels, ada: User, ben: User
) -> None:
    jobs = [asked(name, user) for name in ("kappa", "alpha") for user in (ada, ben)]
    labels.hidden_from.add("ben")
    queue.cancel(jobs[2], ada)
    run_due_jobs()
    assert labels.computed == ["kappa"]
    assert reload_job(jobs[0]).state == "done"
    assert (reload_job(jobs[2]).state, jobs[2].error) == ("failed", NO_ACCESS)


class TestResults:
    def test_a_result_that_cannot_be_written_completely_leaves_no_file(
        self, labels: Labels
    ) -> None:
        def pieces() -> object:
            yield b"half"
            raise OSError(errno.ENOSPC, "No space left")

        with pytest.raises(OSError, match="No space"):
            results.write("name", Result(pieces(), "a", "text/plain"))  # type: ignore[arg-type]
        assert list(results.folder().iterdir()) == []

    def test_opening_a_result_without_its_file_raises_an_error(self, labels: Labels) -> None:
        with pytest.raises(results.GoneError):
            results.open_result(Job(result={"file": "gone"}))

    def test_leftovers_of_killed_processes_are_deleted_after_a_day(self, labels: Labels) -> None:
        folder = results.folder()
        names = ["a" * 65, "b" * 65, "x.part", "y.part", "worker.log"]
        day, minute = 24 * 3600, 60
        for name, age in zip(names, (day + 60, day - 60, day + 60, minute, 9 * day), strict=True):
            (folder / name).touch()
            os.utime(folder / name, (time.time() - age,) * 2)
        assert results.sweep() == 0
        assert sorted(path.name for path in folder.iterdir()) == ["b" * 65, "worker.log", "y.part"]

    def test_a_file_that_disappears_meanwhile_has_age_zero(self, tmp_path: Path) -> None:
        assert results._age(tmp_path / "gone") == 0
