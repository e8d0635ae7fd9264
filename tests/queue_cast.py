"""A queue of jobs with its own folder, and a worker that works when a test tells it to."""

from __future__ import annotations

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
    monkeypatch.setattr("datasets.work.wake.wake", lambda: None)


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
