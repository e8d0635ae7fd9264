"""Runs as a source of work, messages to workers, and the sweep."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks, Settings

from annotation.models import Campaign
from datasets.work import wake
from judging import lanes, tasks
from judging.engine import Control
from judging.models import JudgeRun
from judging.runs import lifecycle
from tests.judging.cast import judge, pump_here

SERVER = "http://127.0.0.1:9/v1"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The messages that were sent: the task, and for which run."""
    found: list[tuple[str, int]] = []
    monkeypatch.setattr(wake, "send", lambda *given: found.append(given))
    return found


def queued(campaign: Campaign, name: str, **fields: Any) -> JudgeRun:
    rater = judge(name, "openai", model="m", base_url=SERVER, **fields)
    return lifecycle.start(campaign, rater, queued=True)


class TestAPump:
    @pytest.fixture
    def worked(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float | None]]:
        """The runs that were worked on, and for how long; each is handed over afterwards."""
        found: list[tuple[int, float | None]] = []

        def work(run: JudgeRun, lease: uuid.UUID, control: Control) -> None:
            assert run.campaign.name
            found.append((run.pk, control.seconds))
            lifecycle.hand_over(run, lease)

        monkeypatch.setattr(tasks, "work", work)
        pump_here(monkeypatch)
        return found

    def test_a_pump_works_for_two_minutes_and_notifies_the_next_run(
        self,
        campaign: Campaign,
        sent: list[tuple[str, int]],
        worked: list[tuple[int, float | None]],
    ) -> None:
        first, second = (queued(campaign, name) for name in "ab")
        tasks.pump(second.pk)
        assert (worked, sent) == ([(second.pk, 120.0)], [(tasks.PUMP, first.pk)])

    def test_a_pump_for_a_run_that_is_taken_or_gone_notifies_nobody(
        self,
        campaign: Campaign,
        sent: list[tuple[str, int]],
        worked: list[tuple[int, float | None]],
    ) -> None:
        run = queued(campaign, "a")
        assert lifecycle.lease_run(run)
        tasks.pump(run.pk)
        tasks.pump(run.pk + 1)
        assert (worked, sent) == ([], [])


class TestTaking:
    def test_runs_that_were_never_taken_come_first(self, campaign: Campaign) -> None:
        first, second, third = (
            lifecycle.start(campaign, judge(name, "lexical"), queued=True) for name in "abc"
        )
        JudgeRun.objects.filter(pk=first.pk).update(
            lease=uuid.uuid4(), lease_until="2020-01-01T00:00:00Z"
        )
        taken = [tasks.take() for _ in range(4)]
        assert [each.name if each else "" for each in taken] == [
            str(second), str(third), str(first), "",
        ]  # fmt: skip

    def test_two_runs_on_a_lane_are_taken_at_once(self, campaign: Campaign) -> None:
        first, second = (queued(campaign, name) for name in "ab")
        taken = [tasks.take(), tasks.take()]
        assert [each.name if each else "" for each in taken] == [str(first), str(second)]
        assert tasks.take() is None
        assert not lifecycle.has_queued()

    def test_a_paused_lane_keeps_no_worker_waiting(self, campaign: Campaign) -> None:
        run = queued(campaign, "a")
        assert run.lane is not None
        lanes.pause(run.lane, "no credit")
        assert tasks.take() is None
        assert not lifecycle.has_queued()

    def test_a_run_of_a_command_is_not_for_workers(self, campaign: Campaign) -> None:
        lifecycle.start(campaign, judge("a", "lexical"))
        assert tasks.take() is None
        assert not lifecycle.has_queued()


def test_the_sweep_sends_a_message_for_each_run_without_a_worker(
    campaign: Campaign, sent: list[tuple[str, int]]
) -> None:
    run = queued(campaign, "a")
    tasks.sweep()
    assert sent == [(tasks.PUMP, run.pk)]


def test_a_worker_is_woken_for_a_run_after_the_commit(
    campaign: Campaign,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    woken: list[Any] = []
    monkeypatch.setattr(wake, "wake", lambda *given: woken.append(given))
    with django_capture_on_commit_callbacks(execute=True):
        run = tasks.begin(judge(), campaign, {"limit": 2})
        assert woken == []
    assert woken == [(tasks.PUMP, run.pk)]


def test_a_worker_that_looks_by_itself_leaves_runs_without_their_key_to_others(
    campaign: Campaign, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITS_KEY", "k")
    run = queued(campaign, "a", api_key_env="ITS_KEY")
    monkeypatch.delenv("ITS_KEY")
    settings.CELERY_BROKER_URL = "redis://elsewhere"
    assert tasks.take() is None
    assert tasks.take(str(run.pk)) is not None, "a message says that judges run here"
    lifecycle.hand_over(run, JudgeRun.objects.get().lease or uuid.uuid4())
    settings.CELERY_BROKER_URL = "filesystem://"
    assert tasks.take() is not None, "nobody else would end it with the reason"
