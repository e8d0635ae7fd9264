"""A kind of job for the tests, and people who ask for it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db.models import DateTimeField, Value
from pytest_django.fixtures import Settings

from annotation.models import User
from datasets.models import Job
from datasets.work import JobError, Kind, Options, Progress, Result, ask, kinds, queue, register
from tests import queue_cast
from tests.page_cast import _user

SUM, HEAVY = "test-sum", "test-heavy"
Asking = Callable[..., Job]


@dataclass
class Labels:
    """The labels that results depend on, and a log with one entry per computation."""

    log: Path
    newest: int = 1
    hidden_from: set[str] = field(default_factory=set)

    @property
    def computed(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []


@pytest.fixture(autouse=True)
def _no_periodic_work(settings: Settings) -> None:
    """Jobs alone. `test_periodic` is about the other work of workers."""
    if "test_periodic" not in os.environ["PYTEST_CURRENT_TEST"]:
        settings.CELERY_BEAT_SCHEDULE = {}


@pytest.fixture
def labels(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Labels]:
    """Register the kind and a heavy one like it; their jobs do what the option `do` says."""
    queue_cast.set_up(settings, tmp_path / "data", monkeypatch)
    found = Labels(tmp_path / "computed")

    def carry_out(options: Options, progress: Progress) -> Result:
        with found.log.open("a") as log:
            log.write(f"{options['name']}\n")
        progress(1, 3)
        DEEDS[options.get("do", "")](options)
        return Result.of({"name": options["name"], "newest": found.newest})

    light = Kind(
        SUM,
        "Sum",
        lambda options: found.newest,
        carry_out,
        lambda user, options: user.username not in found.hidden_from,
    )
    register(light)
    register(replace(light, name=HEAVY, heavy=True))
    yield found
    del kinds._kinds[SUM], kinds._kinds[HEAVY]


def _allocate(options: Options) -> None:
    held = [bytes(1 << 20) for _ in range(1 << 14)]
    raise AssertionError(len(held))


def _kill_once(options: Options) -> None:
    """Kill the worker like a machine out of memory; do nothing the second time."""
    flag = Path(options["flag"])
    if not flag.exists():
        flag.touch()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)


def _wait_for(options: Options) -> None:
    while not Path(options["flag"]).exists():
        time.sleep(0.01)


def _refuse(options: Options) -> None:
    raise JobError("an id does not fit into the format; rename it")


DEEDS: dict[str, Callable[[Options], None]] = {
    "": lambda options: None,
    "allocate": _allocate,
    "break": lambda options: [][1],
    "die": lambda options: os.kill(os.getpid(), signal.SIGKILL),
    "kill the worker": _kill_once,
    "refuse": _refuse,
    "wait": _wait_for,
}


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Stop the queue's clock, which is the database's, at this moment."""
    moment = datetime(2026, 12, 31, 12, 0, tzinfo=UTC)
    monkeypatch.setattr(queue, "Now", lambda: Value(moment, DateTimeField()))
    return moment


@pytest.fixture
def ada() -> User:
    return _user("ada", "researcher")


@pytest.fixture
def ben() -> User:
    return _user("ben", "researcher")


@pytest.fixture
def asked(labels: Labels) -> Asking:
    """A function that asks for a job by name, without starting a worker."""

    def asking(name: str, user: Any, again: bool = False, **options: Any) -> Job:
        return ask(SUM, {"name": name, **options}, user, again=again).job

    return asking
