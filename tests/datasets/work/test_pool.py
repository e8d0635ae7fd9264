"""Celery's tasks carry out one piece of work each, and hear of the shutdown of their worker."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from datasets.work import pool

DONE: list[Any] = []
ENDS: list[bool] = []


class Pretended:
    """A loop that notes what it was to do, and whether it was stopped meanwhile."""

    def __init__(self, places: int) -> None:
        self.is_stopped = False

    def run_one(self, *sources: str, key: str, seconds: float | None) -> bool:
        DONE.append((*sources, key, seconds))
        if ENDS:
            pool._end(0, None)
        assert self.is_stopped == bool(ENDS)
        if "fail" in sources:
            raise KeyError
        return "due" in sources

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_pools", "_loops"):
        monkeypatch.setattr(pool, name, [])
    monkeypatch.setattr(pool, "_ending", type(pool._ending)())
    monkeypatch.setattr(pool, "Loop", Pretended)
    DONE.clear()
    ENDS.clear()


def test_a_task_says_whether_there_was_work() -> None:
    assert pool.carry_out_one("due", key="7", seconds=120.0)
    assert not pool.carry_out_one("nothing")
    assert DONE == [("due", "7", 120.0), ("nothing", "", None)]
    assert pool._loops == []


def test_a_shutdown_stops_the_work_and_starts_no_other() -> None:
    ENDS.append(True)
    assert not pool.carry_out_one("due"), "nothing may follow"
    assert pool.is_ending()
    assert not pool.carry_out_one("due")
    assert DONE == [("due", "", None)]


def test_work_that_failed_no_longer_listens_for_a_shutdown() -> None:
    with pytest.raises(KeyError):
        pool.carry_out_one("fail")
    assert pool._loops == []


def test_a_child_listens_for_the_shutdown_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: list[Any] = []
    monkeypatch.setattr(signal, "signal", lambda *given: handlers.append(given))
    pool._listen()
    assert handlers == [(signal.SIGURG, pool._end)]


def test_every_child_gets_the_shutdown_signal_even_if_one_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signals: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        if pid == 1:
            raise ProcessLookupError
        signals.append((pid, number))

    monkeypatch.setattr(os, "kill", kill)
    children = [SimpleNamespace(pid=pid) for pid in (1, 2, 3)]
    pools = (SimpleNamespace(), SimpleNamespace(_pool=None),
             SimpleNamespace(_pool=SimpleNamespace(_pool=None)),
             SimpleNamespace(_pool=SimpleNamespace(_pool=children)))  # fmt: skip
    for each in pools:
        pool._remember_pool(SimpleNamespace(pool=each))
    pool._signal_children()
    assert signals == [(2, signal.SIGURG), (3, signal.SIGURG)]
    assert pool.is_ending()
