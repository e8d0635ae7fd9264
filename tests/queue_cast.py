"""A queue of jobs with its own folder, and a worker that works when a test tells it to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from datasets.models import Job
from datasets.work import queue
from datasets.work.execution import carry_out


def set_up(settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep jobs in the queue until the test carries them out."""
    settings.JOBS_EAGER = False
    settings.DATA_DIR = folder
    monkeypatch.setattr("datasets.work.wake.wake", lambda *given: None)


def own_megabytes() -> int:
    """The memory that this process, and so a fork of it, has allocated."""
    own = re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    return int(own[1]) // 1024 if own else 0


def run_due_jobs() -> int:
    """Carry out the due jobs in this process, in order; return their number."""
    number = 0
    while job := queue.take() or queue.take(heavy=True):
        carry_out(job, lambda done, total: None)
        number += 1
    return number


def reload_job(job: Job) -> Job:
    job.refresh_from_db()
    return job
