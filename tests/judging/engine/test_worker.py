"""Working on a run, step by step: probe, pump, notes and release, in this order.

Pump, probes and manifest are the test's own; the run and its rows are stored.
"""

from __future__ import annotations

import gc
import uuid
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DatabaseError, InterfaceError, OperationalError

from annotation.models import Assignment, Campaign
from judging import manifest, tasks
from judging.backends.base import Findings
from judging.backends.scripted import Scripted
from judging.engine import Control, Ending, worker
from judging.engine.preflight import RefusedRunError
from judging.engine.worker import work
from judging.models import Grant, JudgeRun, Lane
from judging.runs import ledger, lifecycle, planning
from judging.runs.lifecycle import Orders
from tests.databases import rolling_back
from tests.judging.cast import HASTY, judge, yes
from tests.judging.runs.test_runs import fresh, held, served

FINDINGS: Any = SimpleNamespace(name="what the probe found")
Told = list[Any]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The result of each step; `calls` records the steps with their arguments."""
    given = SimpleNamespace(calls=[], probe=FINDINGS, ending=Ending("finished"), mixed="")

    def probe_run(run: Any, lease: Any, backend: Any, control: Any) -> Any:
        given.calls.append(("probed", run, lease, backend, control))
        return given.probe

    def begin(run: Any, backend: Any, findings: Any) -> None:
        given.calls.append(("begun", run, backend, findings))

    def run_engine(
        run: Any, lease: Any, preparer: Any, calls: int, patience: Any, control: Any
    ) -> Ending:
        frozen = gc.get_freeze_count() > 0
        given.calls.append(("pumped", run, lease, preparer.backend, patience, control, frozen))
        if isinstance(given.ending, Exception):
            raise given.ending
        return given.ending

    def changed(run: Any, lease: Any, backend: Any, control: Any, at_end: bool = False) -> str:
        given.calls.append(("looked", run, lease, backend, control, at_end))
        return str(given.mixed)

    monkeypatch.setattr(worker, "probe_run", probe_run)
    monkeypatch.setattr(worker, "run_engine", run_engine)
    monkeypatch.setattr(worker, "detect_change", changed)
    monkeypatch.setattr(manifest, "begin", begin)
    monkeypatch.setattr(manifest, "end", lambda run, limits: given.calls.append(("ended", limits)))
    return given


def names(steps: Any) -> list[str]:
    return [each if isinstance(each, str) else each[0] for each in steps.calls]


def test_each_step_of_a_run_is_carried_out_once(campaign: Campaign, steps: Any) -> None:
    run, token = held(campaign, judge())
    control, backend = Control(), Scripted(yes)
    steps.ending = Ending("finished", limits=((1.0, 2),))
    on_findings = lambda findings: steps.calls.append(("heard", findings))  # noqa: E731
    assert worker.work(run, token, control, backend, HASTY, on_findings) == Ending("finished")
    assert steps.calls == [
        ("probed", run, token, backend, control),
        ("heard", FINDINGS),
        ("begun", run, backend, FINDINGS),
        ("pumped", run, token, backend, HASTY, control, True),
        ("looked", run, token, backend, control, True),
        ("ended", ((1.0, 2),)),
    ]
    assert gc.get_freeze_count() == 0
    assert (fresh(run).state, fresh(run).error, fresh(run).lease) == ("done", "", None)


def test_control_and_backend_default_to_new_ones(
    campaign: Campaign, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, token = held(campaign, judge())
    backend = Scripted(yes)
    monkeypatch.setattr(worker, "build_backend", {run.judge: backend}.get)
    worker.work(run, token)
    _, _, _, used, control = steps.calls[0]
    assert used is backend
    assert isinstance(control, Control)
    assert steps.calls[2][4:6] == (None, control)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("how", "state"), [("fatal", "stopped"), ("stopped", "interrupted"), ("lost", "running")]
)
def test_a_probe_that_ends_the_run_asks_nothing(
    campaign: Campaign, steps: Any, how: Any, state: str
) -> None:
    run, token = held(campaign, served())
    steps.probe = Ending(how, "no credit", pauses=True)
    assert worker.work(run, token, None, Scripted(yes)) == steps.probe
    assert names(steps)[0] == "probed"
    assert not {"begun", "pumped", "looked"} & set(names(steps))
    assert fresh(run).state == state
    assert Lane.objects.get().paused == "no credit"


@pytest.mark.every_case
@pytest.mark.parametrize("how", ["fatal", "budget", "time", "cancelled"])
def test_only_finished_runs_are_probed_again(campaign: Campaign, steps: Any, how: Any) -> None:
    run, token = held(campaign, judge())
    steps.ending, steps.mixed = Ending(how, "why"), "another model"
    assert worker.work(run, token, None, Scripted(yes)) == steps.ending
    assert "looked" not in names(steps)


def test_a_server_that_changed_meanwhile_marks_a_finished_run_as_stopped(
    campaign: Campaign, steps: Any
) -> None:
    run, token = held(campaign, judge())
    steps.mixed = "another model"
    assert worker.work(run, token, None, Scripted(yes)) == Ending("fatal", "another model")
    assert (fresh(run).state, fresh(run).error) == ("stopped", "another model")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (RefusedRunError("it lies"), "stopped", "it lies"),
        (KeyError("x"), "stopped", "KeyError: 'x'"),
        (ValueError(), "stopped", "ValueError: "),
        (OperationalError("away"), "running", ""),
        (InterfaceError("away"), "running", ""),
        (DatabaseError("wrong"), "stopped", "DatabaseError: wrong"),
    ],
)
def test_any_error_releases_the_lease(
    campaign: Campaign, steps: Any, monkeypatch: pytest.MonkeyPatch,
    error: Exception, state: str, message: str,
) -> None:  # fmt: skip
    closed: list[int] = []
    monkeypatch.setattr(worker, "connection", SimpleNamespace(close=lambda: closed.append(1)))
    run, token = held(campaign, served())
    ledger.claim(campaign, run.judge, token, 2)
    steps.ending = error
    if isinstance(error, RefusedRunError):
        assert worker.work(run, token, None, Scripted(yes)) == Ending("fatal", "it lies")
    else:
        with pytest.raises(type(error)):
            worker.work(run, token, None, Scripted(yes))
    assert (fresh(run).state, fresh(run).error, fresh(run).lease) == (state, message, None)
    assert ledger.count_by_status(campaign, run.judge) == {"open": 4}
    assert not Grant.objects.exists()
    assert len(closed) == (state == "running")
    assert gc.get_freeze_count() == 0


def test_a_lasting_database_outage_raises_its_own_error(
    campaign: Campaign, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise InterfaceError("still away")

    run, token = held(campaign, judge())
    monkeypatch.setattr(worker, "connection", SimpleNamespace(close=away))
    steps.ending = OperationalError("away")
    with pytest.raises(OperationalError, match=r"^away$"):
        worker.work(run, token, None, Scripted(yes))
    assert fresh(run).lease == token


class TestPumping:
    """Pumping goes on until nothing changes, each time with newly planned assignments."""

    def pumped(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch,
        each: Callable[[int], Ending], limit: int | None = None,
    ) -> tuple[int, int, Ending]:  # fmt: skip
        """How often the worker pumped and planned, and how it ended."""
        pumps, plans = [], []

        def run_engine(*_: object) -> Ending:
            pumps.append(1)
            assert len(pumps) < 9
            return each(len(pumps))

        run, token = held(campaign, judge(), limit=limit)
        monkeypatch.setattr(worker, "run_engine", run_engine)
        preparer: Any = None
        with monkeypatch.context() as patched:
            patched.setattr(planning, "plan", lambda *given, may_go_on: plans.append(given))
            ending = worker._run_to_end(run, token, preparer, Control(), None)
        assert plans == [(campaign, run.judge)] * len(plans)
        return len(pumps), len(plans), ending

    def close(self, count: int = 1, status: str = "done") -> None:
        rows = Assignment.objects.filter(status="open").order_by("pk")[:count]
        Assignment.objects.filter(pk__in=[row.pk for row in rows]).update(status=status)

    def test_pumping_ends_with_any_ending_but_finished(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hows: tuple[Any, ...] = ("fatal", "stopped", "time", "lost", "budget", "cancelled")
        for how in hows:

            def each(number: int, ending: Ending = Ending(how)) -> Ending:  # noqa: B008
                self.close()
                return ending

            with rolling_back():
                assert self.pumped(campaign, monkeypatch, each) == (1, 0, Ending(how))

    def test_pumping_continues_while_assignments_are_left_and_something_changed(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table: list[tuple[list[int], int | None, int, int]] = [
            ([4], None, 1, 1),
            ([1, 3], None, 2, 2),
            ([1, 1, 2], None, 3, 3),
            ([0], None, 1, 1),
            ([1, 0], None, 2, 2),
            ([1], 0, 1, 0),
        ]
        for closes, limit, pumps, plans in table:

            def each(number: int, closes: list[int] = closes) -> Ending:
                self.close(closes[number - 1])
                return Ending("finished")

            with rolling_back():
                outcome = self.pumped(campaign, monkeypatch, each, limit)
                assert outcome == (pumps, plans, Ending("finished")), closes

    def test_assignments_leased_by_others_are_left_alone(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def each(number: int) -> Ending:
            self.close(4, "leased" if number == 1 else "done")
            Assignment.objects.filter(status="leased").update(
                status="leased" if number == 1 else "done"
            )
            return Ending("finished")

        assert self.pumped(campaign, monkeypatch, each)[:2] == (2, 2)


def test_a_shutdown_leaves_the_run_without_an_order_for_the_next_worker(
    campaign: Campaign, steps: Any
) -> None:
    run = lifecycle.start(campaign, judge(), queued=True)
    token = lifecycle.lease_run(run)
    assert isinstance(token, uuid.UUID)
    steps.ending = Ending("stopped")
    worker.work(run, token, None, Scripted(yes))
    assert (fresh(run).state, fresh(run).lease) == ("running", None)
    token = lifecycle.lease_run(run)
    assert token is not None
    JudgeRun.objects.update(wish="stop")
    worker.work(run, token, None, Scripted(yes))
    assert (fresh(run).state, fresh(run).lease) == ("interrupted", None)


def test_a_queued_run_asks_nothing_under_another_prompt_than_it_started_with(
    campaign: Campaign, steps: Any
) -> None:
    run, token = held(campaign, judge())
    JudgeRun.objects.filter(pk=run.pk).update(prompt_sha256="0" * 64)
    ending = work(fresh(run), token, backend=Scripted(yes))
    assert (ending.how, names(steps)) == ("fatal", [])
    assert fresh(run).error.startswith("the prompt of report-coverage has changed since judge j")
    assert (fresh(run).state, fresh(run).lease) == ("stopped", None)


def test_the_counts_of_a_run_are_summarized_in_a_line(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge())
    failures = {"timeout": 1000, "error": 2}
    counts = {"done": 1234, "failures": failures, "calls": 2000, "prompt_tokens": 1000}
    JudgeRun.objects.update(**counts, completion_tokens=500)
    counted = "1,234 done, 1,002 failed (error 2, timeout 1,000), 2,000 calls, 1,500 tokens"
    assert worker.summary(run) == f"{counted}; 4 left open."
    JudgeRun.objects.update(reused=1500, cost=Decimal("2.5"), failures={})
    Assignment.objects.update(status="done")
    assert worker.summary(run) == (
        "1,234 done, 0 failed, 2,000 calls, 1,500 tokens, 1,500 reused, 2.50 US dollars."
    )
    missing = "1,500 done, 1,002 missing (error 2, timeout 1,000)"
    assert worker.status_line(1500, failures) == missing
    assert worker.status_line(1, {}) == "1 done, 0 missing"


class TestPlanning:
    """A page that starts a run waits for its first assignments; the worker plans the others."""

    @pytest.fixture
    def run(self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> JudgeRun:
        monkeypatch.setattr(lifecycle, "FIRST_ASSIGNMENTS", 1)
        monkeypatch.setattr(tasks, "ring", lambda run: None)
        return tasks.begin(judge(), campaign, {})

    def counts(self, run: JudgeRun) -> dict[str, int]:
        return ledger.count_by_status(run.campaign, run.judge)

    def test_a_queued_run_is_planned_by_its_worker(
        self, run: JudgeRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.counts(run) == {"open": 1}
        lifecycle.plan(run.campaign, run.judge, 1)
        assert self.counts(run) == {"open": 1}, "no more while something is open"
        open_before: list[dict[str, int]] = []
        engine = worker.run_engine

        def watched(run: JudgeRun, *rest: Any) -> Ending:
            open_before.append(self.counts(run))
            return engine(run, *rest)

        monkeypatch.setattr(worker, "run_engine", watched)
        lease = lifecycle.lease_run(run)
        assert lease is not None
        assert work(run, lease, backend=Scripted(yes)).how == "finished"
        assert open_before == [{"open": 4}]
        assert self.counts(run) == {"done": 4}

    def test_a_run_in_the_foreground_is_planned_at_once(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lifecycle, "FIRST_ASSIGNMENTS", 1)
        assert self.counts(lifecycle.start(campaign, judge())) == {"open": 4}

    def test_planning_renews_the_lease_and_ends_if_it_is_lost(
        self, run: JudgeRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(planning, "CHUNK_ASSIGNMENTS", 1)
        renewed: list[int] = []

        def renew(run: JudgeRun, *rest: Any) -> Orders | None:
            renewed.append(sum(self.counts(run).values()))
            return Orders() if len(renewed) < 2 else None

        lease = lifecycle.lease_run(run)
        assert lease is not None
        monkeypatch.setattr(worker, "probe_run", lambda *given: Findings())  # which renews, too
        monkeypatch.setattr(lifecycle, "renew", renew)
        assert work(run, lease, backend=Scripted(yes)) == Ending("lost")
        assert renewed == [2, 3]
        assert self.counts(run) == {"open": 3}
        run.refresh_from_db()
        assert not manifest.has_begun(run)

    def test_the_next_worker_of_a_run_does_not_plan_again(self, run: JudgeRun) -> None:
        manifest.begin(run, Scripted(yes), Findings())
        JudgeRun.objects.filter(pk=run.pk).update(limit=1)
        run.refresh_from_db()
        lease = lifecycle.lease_run(run)
        assert lease is not None
        work(run, lease, backend=Scripted(yes))
        assert self.counts(run) == {"done": 1}
