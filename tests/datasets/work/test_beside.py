"""A part of a job is computed in a second process, with the same value as in the job's own."""

from __future__ import annotations

import os

import pytest

from datasets.work import beside
from datasets.work.beside import compute_beside


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "processors", lambda: 2)
    # Other tests begin a job's process in this one.
    monkeypatch.setattr(beside, "_is_own_process", False)


def where() -> dict[str, float]:
    return {"process": os.getpid(), "share": 0.1 + 0.2}


def test_only_a_jobs_own_process_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compute_beside(where)()["process"] == os.getpid()
    monkeypatch.setattr(beside, "_is_own_process", True)
    found = compute_beside(where)()
    assert found["process"] != os.getpid()
    assert found["share"] == 0.1 + 0.2
    monkeypatch.setattr(beside, "processors", lambda: 1)
    assert compute_beside(where)()["process"] == os.getpid()


def test_what_a_second_process_could_not_compute_is_computed_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(beside, "_is_own_process", True)
    own = os.getpid()

    def only_here() -> dict[str, float]:
        if os.getpid() != own:
            raise MemoryError
        return where()

    assert compute_beside(only_here)()["process"] == own
