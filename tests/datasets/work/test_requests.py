"""Asking for a job: which worker is woken, and how long a request waits for the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks, Settings

from annotation.models import User
from datasets.models import Job
from datasets.work import ask, queue, requests
from tests.datasets.work.conftest import SUM, Asking, Labels
from tests.queue_cast import reload_job

pytestmark = pytest.mark.django_db


def test_a_worker_is_woken_after_a_waiting_job_is_committed(
    labels: Labels,
    ada: User,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    woken: list[int] = []
    monkeypatch.setattr("datasets.work.wake.wake", lambda: woken.append(Job.objects.count()))

    def asks(again: bool = False) -> Job:
        with django_capture_on_commit_callbacks(execute=True):
            job = ask(SUM, {"name": "kappa"}, ada, "/results/", again=again).job
            assert not woken
        return job

    job = asks()
    assert (woken, job.askers.get().address) == ([1], "/results/")
    woken.clear()
    assert queue.take() == job
    asks()
    assert queue.fail(job := reload_job(job), "why")
    assert (asks(), woken) == (job, []), "without asking again, the failed job is returned"
    with django_capture_on_commit_callbacks(execute=True):
        assert ask(SUM, {"name": "kappa"}, ada, again=True).job != job
    assert woken == [2]


class TestAtOnce:
    @pytest.fixture(autouse=True)
    def eager(self, labels: Labels, settings: Settings) -> None:
        settings.JOBS_EAGER = True

    def test_a_job_carried_out_at_once_is_the_current_result(
        self, labels: Labels, ada: User
    ) -> None:
        first = ask(SUM, {"name": "kappa"}, ada)
        assert (first.job.state, first.is_current, first.last) == ("done", True, first.job)
        labels.newest = 2
        second = ask(SUM, {"name": "kappa"}, ada)
        assert second.job != first.job
        assert labels.computed == ["kappa", "kappa"]
        assert ask(SUM, {"name": "kappa"}, ada).last == second.job
        assert labels.computed == ["kappa", "kappa"]

    def test_the_last_result_is_kept_if_a_newer_job_fails(self, labels: Labels, ada: User) -> None:
        first = ask(SUM, {"name": "kappa"}, ada).job
        labels.newest = 2
        labels.hidden_from.add("ada")
        found = ask(SUM, {"name": "kappa"}, ada)
        assert (found.job.state, found.last, found.is_current) == ("failed", first, False)

    def test_an_unexpected_error_is_raised(self, ada: User) -> None:
        with pytest.raises(IndexError):
            ask(SUM, {"name": "kappa", "do": "break"}, ada)


@dataclass
class Sleeper:
    """A fake `sleep` with its own clock, which calls `end` at one of its pauses."""

    job: Job
    end: Callable[[], object] = lambda: None
    at: int = 3
    pauses: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) == self.at:
            self.end()

    def now(self) -> float:
        return 100.0 + sum(self.pauses)


class TestWaiting:
    @pytest.fixture
    def sleeper(self, asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch) -> Sleeper:
        made = Sleeper(asked("kappa", ada))
        monkeypatch.setattr(requests, "sleep", made)
        monkeypatch.setattr(requests, "monotonic", made.now)
        return made

    def free_places(self) -> int:
        return int(vars(requests._waiting)["_value"])

    def test_a_request_polls_in_growing_intervals_until_the_job_ends(
        self, sleeper: Sleeper
    ) -> None:
        held: Any = queue.take()
        places = self.free_places()
        inside: list[int] = []

        def end() -> None:
            inside.append(self.free_places())
            queue.finish(held, {})

        sleeper.end, sleeper.at = end, 6
        found = requests.wait_for_job(sleeper.job)
        assert (found, found.state) == (sleeper.job, "done")
        assert sleeper.pauses == [0.05, 0.1, 0.2, 0.4, 0.5, 0.5]
        assert (inside, self.free_places()) == ([places - 1], places)
        assert requests.wait_for_job(found) == found
        assert len(sleeper.pauses) == 6, "it has ended"

    def test_after_twenty_seconds_the_unfinished_job_is_returned(self, sleeper: Sleeper) -> None:
        places = self.free_places()
        assert requests.wait_for_job(sleeper.job).state == "waiting"
        assert 20 <= sum(sleeper.pauses) < 20.5
        sleeper.pauses[:] = []
        sleeper.end, sleeper.at = lambda: sleeper.pauses.__setitem__(0, 20.0), 1
        assert requests.wait_for_job(sleeper.job).state == "waiting"
        assert sleeper.pauses == [20.0], "it is over at twenty seconds"
        assert self.free_places() == places

    def test_a_request_does_not_wait_if_all_waiting_slots_are_taken(self, sleeper: Sleeper) -> None:
        places = self.free_places()
        for _ in range(places):
            assert requests._waiting.acquire(blocking=False)
        try:
            assert requests.wait_for_job(sleeper.job).state == "waiting"
        finally:
            requests._waiting.release(places)
        assert sleeper.pauses == []

    def test_a_waiting_slot_is_released_if_waiting_fails(self, sleeper: Sleeper) -> None:
        def away() -> None:
            raise ConnectionError

        places, sleeper.end = self.free_places(), away
        with pytest.raises(ConnectionError):
            requests.wait_for_job(sleeper.job)
        assert self.free_places() == places
