"""Messages to workers: what is sent, what a worker does with it, and the sweep."""

from __future__ import annotations

from typing import Any

import pytest
from kombu.exceptions import OperationalError
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks

from annotation.models import Campaign
from judging import launcher, tasks
from judging.engine import Control, worker
from judging.models import JudgeRun
from judging.runs import lifecycle
from tests.judging.cast import judge

Message = tuple[str, tuple[int, ...], float]
SERVER = "http://127.0.0.1:9/v1"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """The messages that were sent: the task, for which run, and for how many seconds."""
    found: list[Message] = []

    def sender(name: str) -> Any:
        def send(arguments: tuple[int, ...], expires: float, retry: bool) -> None:
            assert not retry, "a page would wait"
            found.append((name, arguments, expires))

        return send

    for task in (tasks.pump, tasks.sweep):
        monkeypatch.setattr(task, "apply_async", sender(task.name))
    return found


def pump(run: int) -> Message:
    return "judging.tasks.pump", (run,), 60.0


def queued(campaign: Campaign, name: str, **fields: Any) -> JudgeRun:
    rater = judge(name, "openai", model="m", base_url=SERVER, **fields)
    return lifecycle.start(campaign, rater, queued=True)


def test_a_message_names_its_run_and_expires_after_a_minute(sent: list[Message]) -> None:
    tasks.ring(7)
    assert sent == [pump(7)]


@pytest.mark.parametrize("error", [OperationalError("away"), OSError("away")])
def test_without_a_broker_nothing_is_lost(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(tasks.pump, "apply_async", refuse)
    tasks.ring(7)
    assert "judging.tasks.pump was not sent: away" in caplog.text


class TestAPump:
    @pytest.fixture
    def worked(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float | None]]:
        """The runs that were worked on, and for how long; each is handed over afterwards."""
        monkeypatch.setattr(worker, "_ending", type(worker._ending)())
        found: list[tuple[int, float | None]] = []

        def work(run: JudgeRun, lease: Any, control: Control) -> None:
            assert worker._controls == [control], "a shutdown stops it"
            assert run.campaign.name
            found.append((run.pk, control.seconds))
            lifecycle.hand_over(run, lease)

        monkeypatch.setattr(tasks, "work", work)
        return found

    def test_a_pump_works_for_two_minutes_and_notifies_the_next_run_of_its_lane(
        self,
        campaign: Campaign,
        sent: list[Message],
        worked: list[tuple[int, float | None]],
        django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    ) -> None:
        first, second = (queued(campaign, name) for name in "ab")
        with django_capture_on_commit_callbacks(execute=True):
            tasks.pump(second.pk)
            assert sent == []
        assert (worked, sent) == ([(second.pk, 120.0)], [pump(first.pk)])
        assert worker._controls == []

    def test_a_worker_that_is_ending_starts_no_pump_and_notifies_nobody(
        self,
        campaign: Campaign,
        sent: list[Message],
        worked: list[tuple[int, float | None]],
        monkeypatch: pytest.MonkeyPatch,
        django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    ) -> None:
        run = queued(campaign, "a")
        queued(campaign, "b")
        work = tasks.work

        def ends(*given: Any) -> None:
            work(*given)
            worker._ending.set()

        monkeypatch.setattr(tasks, "work", ends)
        with django_capture_on_commit_callbacks(execute=True):
            tasks.pump(run.pk)
            tasks.pump(run.pk)
        assert (worked, sent) == ([(run.pk, 120.0)], [])


@pytest.mark.parametrize("has_workers", [True, False])
def test_on_a_site_without_workers_a_run_is_worked_on_beside_the_web_server(
    campaign: Campaign,
    sent: list[Message],
    has_workers: bool,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    here: list[JudgeRun] = []
    monkeypatch.setattr(launcher, "has_workers", lambda: has_workers)
    monkeypatch.setattr(launcher, "start_here", here.append)
    with django_capture_on_commit_callbacks(execute=True):
        run = tasks.begin(judge(), campaign, {"limit": 2})
        assert (sent, here) == ([], [])
    assert (sent, here) == ([pump(run.pk)], [run] * (not has_workers))
