"""Processes that work on what people have sent have a memory limit, Celery's included."""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

import pytest
from celery.signals import worker_process_init

import datasets.tasks  # noqa: F401 - connects to the signal
from tests.cast import ROOT

SCRIPT = """
import resource, sys
from datasets.priority import limit_memory
limit_memory(300)
limit_memory(900)
assert resource.getrlimit(resource.RLIMIT_DATA)[1] == 300 * 1024**2
try:
    bytearray(400 * 1024**2)
except MemoryError:
    sys.exit(7)
"""


def test_a_process_cannot_allocate_more_and_a_later_limit_cannot_raise_it() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, check=False)
    assert done.returncode == 7


def test_each_process_of_celerys_pool_has_the_limit_of_jobs(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    limits: list[Any] = []
    settings.TANDEM_JOB_MEMORY_MB = 77
    monkeypatch.setattr(resource, "setrlimit", lambda *given: limits.append(given))
    worker_process_init.send(sender=None)
    assert (resource.RLIMIT_DATA, (77 * 1024**2, 77 * 1024**2)) in limits
