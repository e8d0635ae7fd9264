"""Which worker is woken for a job: Celery, one on this machine, or a newly started one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.exceptions import OperationalError
from pytest_django.fixtures import Settings

from config.celery import app
from datasets.work import queue, wake
from judging import tasks
from tests.datasets.work.conftest import Labels

pytestmark = pytest.mark.django_db
wake_up = wake.wake


@pytest.fixture
def started(
    labels: Labels, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, Any]]:
    """The options and commands of the processes that were started."""
    settings.TANDEM_WITH_WORKERS = False
    found: list[dict[str, Any]] = []

    def note(command: list[str], **options: Any) -> Any:
        found.append({"command": command, **options})
        return SimpleNamespace(wait=lambda: None)

    monkeypatch.setattr(subprocess, "Popen", note)
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=1s")
    return found


def test_a_worker_is_started_if_none_is_running(started: list[dict[str, Any]]) -> None:
    wake_up()
    (one,) = started
    assert one["command"] == [
        *(sys.executable, "-m", "tandem.program"),
        *("work", "--idle", "60", "--alone"),
    ]
    assert "PGOPTIONS" not in one["env"], "pages' limit on queries would end a long report"
    assert one["env"]["PATH"] == os.environ["PATH"]
    assert one["start_new_session"]


def test_a_worker_that_listens_is_woken_instead(started: list[dict[str, Any]]) -> None:
    bell = wake.Bell()
    wake_up()
    assert os.read(bell.descriptor or 0, 10) == b"\0"
    assert started == []
    bell.close()
    assert not wake.ring()


def test_no_worker_is_started_if_one_runs_on_another_machine(started: list[dict[str, Any]]) -> None:
    queue.note_worker("elsewhere:1", 2)
    wake_up()
    assert started == []
    queue.forget_worker("elsewhere:1")
    wake_up()
    assert len(started) == 1


@pytest.mark.parametrize("task", [("jobs",), ("upload", "a1"), ("run", 7)])
@pytest.mark.parametrize("error", [OperationalError("away"), OSError("away")])
def test_celery_is_told_and_a_worker_is_started_if_the_broker_takes_no_message(
    started: list[dict[str, Any]], settings: Settings, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, task: tuple[str, ...], error: Exception,
) -> None:  # fmt: skip
    settings.CELERY_BROKER_URL = "redis://nowhere"
    sent: list[Any] = []
    note = lambda *given, **more: sent.append((given, more))  # noqa: E731
    monkeypatch.setattr(wake.current_app, "send_task", note)
    wake_up(*task)
    name, *arguments = task
    assert sent == [((name, tuple(arguments)), {"expires": 60.0, "retry": False})]
    assert started == []

    def refuse(*given: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(wake.current_app, "send_task", refuse)
    wake_up(*task)
    assert len(started) == 1
    assert f"{name} was not sent: away" in caplog.text


@pytest.mark.parametrize("configured", ["broker", "beside", "seen", ""])
def test_there_is_one_answer_to_whether_a_site_has_workers(
    started: list[dict[str, Any]],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    configured: str,
) -> None:
    monkeypatch.setattr(wake.current_app, "send_task", lambda *given, **more: None)
    settings.CELERY_BROKER_URL = "redis://nowhere" if configured == "broker" else "filesystem://"
    settings.TANDEM_WITH_WORKERS = configured == "beside"
    if configured == "seen":
        queue.note_worker("elsewhere:1", 2)
    assert wake.has_workers() == bool(configured)
    wake_up()
    assert len(started) == (not configured)


@pytest.mark.parametrize("task", [wake.JOBS, wake.UPLOAD, tasks.PUMP])
def test_messages_name_tasks_of_celery(task: str) -> None:
    app.loader.import_default_modules()
    assert task in app.tasks


def open_files() -> set[str]:
    return {file.name for file in Path("/proc/self/fd").iterdir()}


def test_a_web_server_has_one_worker(labels: Labels) -> None:
    assert wake.is_first()
    files = open_files()
    assert not wake.is_first()
    assert open_files() == files
    assert stat.S_IMODE((wake.folder() / "worker.lock").stat().st_mode) == 0o600


class TestBell:
    @pytest.fixture
    def bell(self, labels: Labels) -> Iterator[wake.Bell]:
        bell = wake.Bell()
        yield bell
        bell.close()

    def test_a_drained_bell_is_silent_until_it_is_rung_again(self, bell: wake.Bell) -> None:
        descriptor = bell.descriptor or 0
        assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o600
        for _ in range(2):
            assert wake.ring()
            assert wake.ring()
            bell.drain()
            with pytest.raises(BlockingIOError):
                os.read(descriptor, 1)
        bell.drain()

    def test_ringing_a_full_pipe_succeeds_and_leaves_no_file_open(self, bell: wake.Bell) -> None:
        files = open_files()
        with suppress(BlockingIOError):
            while True:
                os.write(bell.descriptor or 0, b"\0" * 4096)
        assert wake.ring(), "a worker is about to look"
        assert open_files() == files

    def test_a_second_worker_listens_at_the_same_pipe(self, bell: wake.Bell) -> None:
        second = wake.Bell()
        bell.close()
        bell.close()
        assert bell.descriptor is None
        assert wake.ring()
        assert os.read(second.descriptor or 0, 2) == b"\0"
        second.close()
        assert not wake.ring()

    def test_without_named_pipes_ringing_reaches_no_worker(
        self, labels: Labels, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(os, "mkfifo")
        silent = wake.Bell()
        assert silent.descriptor is None
        silent.close()
        assert not wake.ring()
