"""The process that works on an upload: really forked, limited, killed midway, and stopped."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from annotation.models import User
from datasets.models import Batch, Upload
from datasets.tasks import work_on_upload
from datasets.uploads import quarantine, receiving, worker
from datasets.uploads.worker import UPLOAD
from datasets.work.worker import Loop
from tests.databases import disconnect
from tests.datasets.upload_cast import sent
from tests.page_cast import _user
from tests.patience import PATIENCE
from tests.queue_cast import own_megabytes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


@pytest.fixture
def rita(own_quarantine: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> User:
    settings.CELERY_BEAT_SCHEDULE = {}
    monkeypatch.setattr("datasets.work.wake.wake", lambda *given: None)
    # The process starts as large as this one, which has run other tests.
    monkeypatch.setattr(worker, "MEMORY_MB", 400 + own_megabytes())
    return _user("rita", "researcher")


def worked_apart(upload: Upload) -> Upload:
    assert Loop(places=1).run_one(UPLOAD, key=upload.key)
    return now(upload)


def now(upload: Upload) -> Upload:
    upload.refresh_from_db()
    return upload


def hang(*_: object) -> Any:
    time.sleep(PATIENCE)


def test_a_process_inspects_an_upload_and_another_loads_it(rita: User) -> None:
    upload = worked_apart(sent(rita))
    assert (upload.state, upload.error, upload.turn) == ("ready", "", None)
    receiving.keep(upload, upload.digest, "pilot")
    upload = worked_apart(upload)
    assert (upload.state, upload.error, upload.turn) == ("kept", "", None)
    assert upload.batch == Batch.objects.get(name="pilot")


def test_the_task_of_celery_works_on_its_upload_once(rita: User) -> None:
    other, upload = sent(rita), sent(rita)
    for _ in range(2):
        work_on_upload(upload.key)
    assert (now(upload).state, now(other).state) == ("ready", "reading")
    assert not Loop(places=1).run_one(UPLOAD, key=upload.key), "nothing is left"


@pytest.mark.parametrize("greed", ["memory", "time"])
def test_a_process_that_exceeds_its_limits_ends_with_a_message(
    rita: User, monkeypatch: pytest.MonkeyPatch, greed: str
) -> None:
    monkeypatch.setattr(worker, "SECONDS", 1 if greed == "time" else 60)
    spend = hang if greed == "time" else lambda *_: bytearray(2 * 1024**3)
    monkeypatch.setattr(worker, "inspect", spend)
    upload = worked_apart(sent(rita))
    assert (upload.state, upload.turn) == ("refused", None)
    assert "more memory or time" in upload.error


def test_an_upload_whose_process_is_killed_is_refused_by_its_worker(
    rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
    monkeypatch.setattr(worker, "inspect", killed)
    upload = worked_apart(sent(rita))
    assert (upload.state, upload.turn) == ("refused", None)
    assert "ended, probably for lack of memory" in upload.error


def test_the_process_of_a_discarded_upload_is_killed(
    rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "inspect", hang)
    upload, loop = sent(rita), Loop(places=1)
    loop._fill(loop.sources[UPLOAD])
    (child,) = loop.children.values()
    receiving.discard(now(upload))
    loop._beat()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    loop._reap()
    assert (now(upload).state, upload.error) == ("discarded", "")


def forked_worker() -> int:
    disconnect()
    pid = os.fork()
    if pid:
        return pid
    try:
        loop = Loop(places=1)
        signal.signal(signal.SIGTERM, lambda *_: loop.stop())
        loop.run()
        os._exit(0)
    finally:
        os._exit(1)


def await_start(upload: Upload, pid: int) -> None:
    until = time.monotonic() + PATIENCE
    while quarantine.progress(upload.key) is None:
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            pytest.fail("the worker did not begin")
        time.sleep(0.02)


@pytest.mark.postgresql
def test_after_a_kill_of_the_worker_the_upload_is_silent_and_can_be_read_again(
    rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(worker, "inspect", hang)
        upload, pid = sent(rita), forked_worker()
    await_start(upload, pid)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert (now(upload).state, upload.turn is None) == ("reading", False)
    noted = quarantine.progress(upload.key)
    assert noted is not None
    time.sleep(2 * worker.BEAT_SECONDS)
    again = quarantine.progress(upload.key)
    assert again is not None
    assert again.age > worker.BEAT_SECONDS, "its process has ended with the worker"
    monkeypatch.setattr("datasets.work.wake.start_here", lambda: None)
    monkeypatch.setattr(receiving, "SILENT_SECONDS", 1)
    receiving.begin_here(upload)
    assert worked_apart(upload).state == "ready"


def test_a_worker_that_stops_leaves_its_upload_to_the_next(
    rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("datasets.work.worker.GRACE_SECONDS", 0.1)
        patch.setattr(worker, "inspect", hang)
        upload, pid = sent(rita), forked_worker()
    await_start(upload, pid)
    os.kill(pid, signal.SIGTERM)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert (now(upload).state, upload.turn) == ("reading", None)
    assert worked_apart(upload).state == "ready"


def test_several_uploads_are_worked_on_at_once_but_not_by_a_worker_without_places(
    rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "inspect", hang)
    found = [sent(rita), sent(rita)]
    idle = Loop(places=0)
    idle._fill(idle.sources[UPLOAD])
    assert not Upload.objects.exclude(turn=None).exists()
    loop = Loop(places=1)
    loop._fill(loop.sources[UPLOAD])
    assert len(loop.children) == len(found)
    loop._end_children()
    assert not Upload.objects.exclude(turn=None).exists(), "they are given back"
