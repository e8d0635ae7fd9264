"""Runs with two workers or users: each gets the right message and changes only its own."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, Campaign
from judging import lanes
from judging.answers.cache import EqualRequests
from judging.answers.results import record
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer
from judging.engine.persistence import claim_requests, read_history
from judging.models import Judge, JudgeCall, JudgeRun, Lane, Strike
from judging.prompts.request import Prepared
from judging.runs import ledger, lifecycle, shards
from judging.runs.grants import Use
from tests.databases import ON_POSTGRESQL
from tests.judging.cast import judge, yes

MIN_FAILURES = 5

ITEMS = 4
SERVER = "http://127.0.0.1:9/v1"


def served(name: str = "judge") -> Judge:
    return judge(name, "openai", model="m", base_url=SERVER)


def held(campaign: Campaign, rater: Judge, **terms: Any) -> tuple[JudgeRun, uuid.UUID]:
    run = lifecycle.start(campaign, rater, **terms)
    token = lifecycle.lease_run(run)
    assert token is not None
    return run, token


def run_out(run: JudgeRun) -> None:
    before = Now() - timedelta(seconds=1)
    JudgeRun.objects.filter(pk=run.pk).update(lease_until=before)


def fresh(run: JudgeRun) -> JudgeRun:
    return JudgeRun.objects.get(pk=run.pk)


class TestStarting:
    def test_the_second_of_two_simultaneous_starts_is_refused(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rater = judge()
        lifecycle.start(campaign, rater)
        monkeypatch.setattr(lifecycle, "_close_dead", lambda campaign, judge: None)
        with pytest.raises(lifecycle.LeasedRunError, match="has just started"):
            lifecycle.start(campaign, rater)
        assert JudgeRun.objects.count() == 1

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("manifest", "message"),
        [
            (
                {"batch": {"files": [{"name": "b.jsonl"}]}},
                r"its requests are in b.jsonl since run \d+; load the results with --batch-file,",
            ),
            (
                {"batch": {"files": [{"name": "b"}], "folder": "/f"}},
                r"its requests are in /f/b since run \d+; load the results with --offline,",
            ),
            (
                {lifecycle.INTENT: {"files": [{"name": "b", "path": "/f/b"}]}},
                "was writing b when its process ended; give --batch-file /f/b to continue",
            ),
            (
                {lifecycle.INTENT: {"files": [{"name": "b", "path": "/f/b"}], "offline": True}},
                "was writing b when its process ended; give --offline /f to continue",
            ),
        ],
    )
    def test_a_start_is_refused_while_a_batch_may_be_with_the_server(
        self, campaign: Campaign, manifest: dict[str, Any], message: str
    ) -> None:
        run, _ = held(campaign, judge())
        run_out(run)
        JudgeRun.objects.update(manifest=manifest)
        with pytest.raises(lifecycle.BatchOutError, match=message):
            lifecycle.start(campaign, judge())
        assert fresh(run).state == "running"

    def test_a_run_that_died_while_writing_a_batch_gives_no_strikes(
        self, campaign: Campaign
    ) -> None:
        rater = judge()
        run, token = held(campaign, rater)
        ledger.claim(campaign, rater, token, 3)
        run_out(run)
        JudgeRun.objects.update(manifest={lifecycle.INTENT: {"files": []}})
        lifecycle.start(campaign, rater)
        assert fresh(run).state == "interrupted"
        assert ledger.count_by_status(campaign, rater) == {"open": ITEMS}
        assert not Strike.objects.exists()

    def test_assignments_of_a_batch_get_no_strikes(self, campaign: Campaign) -> None:
        rater = judge()
        run, token = held(campaign, rater)
        ledger.claim(campaign, rater, token, 3)
        run_out(run)
        JudgeRun.objects.update(manifest={"batch": {"files": [{"name": "b"}]}})
        assert lifecycle.lease_run(run)
        assert ledger.count_by_status(campaign, rater) == {"open": ITEMS}
        assert not Strike.objects.exists()
        with pytest.raises(lifecycle.LeasedRunError, match="is writing its requests"):
            lifecycle.queue_active(campaign, rater)

    def test_an_offline_run_has_no_lane(self, campaign: Campaign) -> None:
        assert lifecycle.start(campaign, served(), offline=True).lane is None
        assert not Lane.objects.exists()


class TestTheLease:
    def test_the_lease_of_a_run_is_taken_renewed_and_released(self, campaign: Campaign) -> None:
        def lease() -> uuid.UUID | None:
            run.refresh_from_db()
            return run.lease

        def lasts(until: Any) -> bool:
            return timedelta(seconds=10) < until - timezone.now() < timedelta(seconds=20)

        run = lifecycle.start(campaign, served())
        assert (lease(), run.lease_until, run.state) == (None, None, "queued")
        token = lifecycle.lease_run(run)
        assert (lease(), run.state) == (token, "running")
        assert token is not None
        assert lifecycle.lease_run(run) is None
        for _ in range(2):
            assert lasts(run.lease_until)
            before = timezone.now() - timedelta(minutes=1)
            JudgeRun.objects.update(lease_until=before)
            orders = lifecycle.renew(run, token, Use(2, 3))
            assert orders == lifecycle.Orders("", None, 16)
            assert lease() == token
        lifecycle.set_concurrency(run, 6)
        lifecycle.ask_to_stop(run)
        assert lifecycle.renew(run, token) == lifecycle.Orders("stop", 6)
        assert lifecycle.finish(run, token, "stopped", "why")
        assert lease() is None
        state = (run.state, run.error, run.lease_until, run.in_flight, run.allowed)
        assert state == ("stopped", "why", None, 0, 0)
        assert run.ended_at is not None
        assert timezone.now() - run.ended_at < timedelta(seconds=9)

    def test_only_runs_without_a_lease_are_ended_by_an_order(self, campaign: Campaign) -> None:
        names = ("stopped", "cancelled", "held", "unwished", "over")
        found = {name: lifecycle.start(campaign, judge(name)) for name in names}
        wishes = {"stopped": "stop", "cancelled": "cancel", "held": "stop", "over": "cancel"}
        for name, wish in wishes.items():
            JudgeRun.objects.filter(pk=found[name].pk).update(wish=wish)
        until = timezone.now() + timedelta(hours=1)
        JudgeRun.objects.filter(pk=found["held"].pk).update(lease=uuid.uuid4(), lease_until=until)
        JudgeRun.objects.filter(pk=found["over"].pk).update(state="done")
        lifecycle.apply_wishes()
        states = {name: fresh(run).state for name, run in found.items()}
        assert states == {
            "stopped": "interrupted", "cancelled": "cancelled", "held": "queued",
            "unwished": "queued", "over": "done",
        }  # fmt: skip
        assert [lifecycle.has_ended(found[name]) for name in names] == [
            True,
            True,
            False,
            False,
            True,
        ]
        wished = [lifecycle.wished_state(found[name]) for name in names]
        assert wished == ["interrupted", "cancelled", "interrupted", "", "cancelled"]
        counts = {name: ledger.count_by_status(campaign, judge(name)) for name in names}
        assert counts == {
            name: {"cancelled" if name == "cancelled" else "open": ITEMS} for name in names
        }

    def test_a_worker_that_lost_the_lease_cannot_end_the_run(self, campaign: Campaign) -> None:
        rater = judge()
        run, token = held(campaign, rater)
        ledger.claim(campaign, rater, token, 2)
        assert not lifecycle.finish(run, uuid.uuid4(), "done")
        lifecycle.hand_over(run, uuid.uuid4())
        assert (fresh(run).state, fresh(run).lease) == ("running", token)
        assert ledger.count_by_status(campaign, rater) == {"leased": 2, "open": ITEMS - 2}
        assert not shards.has_lease(run, uuid.uuid4())
        assert shards.has_lease(run, token)

    def test_a_limit_that_was_exceeded_leaves_zero_requests(self, campaign: Campaign) -> None:
        run = lifecycle.start(campaign, judge(), limit=3)
        JudgeRun.objects.update(done=2, failures={"error": 1})
        assert lifecycle.remaining_assignments(run) == 0
        JudgeRun.objects.update(done=5)
        assert lifecycle.remaining_assignments(run) == 0
        assert lifecycle.remaining_assignments(lifecycle.start(campaign, judge("other"))) is None

    def test_an_assignment_that_killed_three_workers_counts_as_failed_only_in_its_run(
        self, campaign: Campaign
    ) -> None:
        rater, other = judge(), lifecycle.start(campaign, judge("other"))
        run, token = held(campaign, rater)
        (row,) = ledger.claim(campaign, rater, token, 1)
        Strike.objects.create(assignment=row, count=ledger.POISONED - 1)
        JudgeRun.objects.filter(pk=run.pk).update(failures={"error": 2, "timeout": 1})
        run_out(run)
        assert lifecycle.lease_run(run)
        assert fresh(run).failures == {"error": 3, "timeout": 1}
        assert fresh(other).failures == {}


def ended(run: JudgeRun, token: uuid.UUID) -> None:
    lifecycle.finish(run, token, "done")


def heeded(run: JudgeRun, token: uuid.UUID) -> None:
    lifecycle.hand_over(run, token)
    lifecycle.ask_to_stop(run)


def begun_anew(run: JudgeRun, token: uuid.UUID) -> None:
    run_out(run)
    lifecycle.start(run.campaign, run.judge)


def recorded(run: JudgeRun, token: uuid.UUID) -> None:
    preparer = build_preparer(run.campaign, run.judge, Scripted(yes))
    record(run, token, preparer.schema, [])


@pytest.mark.postgresql
@pytest.mark.skipif(not ON_POSTGRESQL, reason="a file has one lock")
@pytest.mark.every_case
@pytest.mark.parametrize(
    ("action", "table"),
    [
        (ended, "judgerun"),
        (heeded, "judgerun"),
        (begun_anew, "judgerun"),
        (recorded, "shard"),
        (shards.has_lease, "shard"),
    ],
)
def test_changing_a_run_or_a_workers_part_locks_its_row(
    campaign: Campaign, action: Any, table: str
) -> None:
    run, token = held(campaign, judge())
    with CaptureQueriesContext(connection) as asked:
        action(run, token)
    locks = ("FOR UPDATE", "FOR NO KEY UPDATE")
    statements = [each["sql"] for each in asked.captured_queries]
    locking = [sql for sql in statements if any(lock in sql for lock in locks)]
    assert any(f'FROM "judging_{table}"' in sql for sql in locking)


class TestQueueing:
    def test_a_run_is_handed_to_workers_and_its_server_asked_again(
        self, campaign: Campaign
    ) -> None:
        run, _ = held(campaign, served())
        assert run.lane
        lanes.pause(run.lane, "no")
        queued = lifecycle.queue_active(campaign, served())
        assert (queued, queued.queued) == (run, True)
        assert fresh(run).queued
        assert Lane.objects.get().paused == ""

    def test_a_run_whose_event_cannot_be_recorded_is_not_queued(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object, **__: object) -> None:
            raise RuntimeError("the trail is full")

        run, _ = held(campaign, judge())
        monkeypatch.setattr(lifecycle, "record", broken)
        with pytest.raises(RuntimeError):
            lifecycle.queue_active(campaign, judge())
        assert not fresh(run).queued

    def test_a_run_that_ended_or_is_writing_a_batch_is_not_queued(self, campaign: Campaign) -> None:
        ended, token = held(campaign, judge())
        lifecycle.finish(ended, token, "done")
        lifecycle.start(campaign, judge("other"))
        with pytest.raises(lifecycle.LeasedRunError, match="has just ended"):
            lifecycle.queue_active(campaign, judge())
        run = lifecycle.start(campaign, judge())
        JudgeRun.objects.update(manifest={lifecycle.INTENT: {"files": []}})
        with pytest.raises(lifecycle.LeasedRunError, match="is writing its requests"):
            lifecycle.queue_active(campaign, judge())
        assert not fresh(run).queued


class TestLanes:
    @pytest.fixture
    def both(self, db: None) -> tuple[Lane, Lane]:
        return Lane.objects.create(endpoint="http://a"), Lane.objects.create(endpoint="http://b")

    def test_pausing_and_resuming_a_lane_leaves_others_unchanged(
        self, both: tuple[Lane, Lane]
    ) -> None:
        for lane in both:
            lanes.pause(lane, "")
        lanes.resume(both[0])
        states = Lane.objects.order_by("pk").values_list("paused", flat=True)
        assert list(states) == ["", "the server refused"]


def test_assignments_leased_first_by_another_run_are_left_to_it(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater = judge(granularity="unit")
    _, token = held(campaign, rater)
    found = ledger.open_assignments
    quicker = uuid.uuid4()

    def slowly(*args: Any, **more: Any) -> list[Assignment]:
        rows = found(*args, **more)
        Assignment.objects.filter(pk=rows[0].pk).update(status="leased", lease=quicker)
        return rows

    monkeypatch.setattr(ledger, "open_assignments", slowly)
    rows = ledger.claim(campaign, rater, token, 3)
    assert len(rows) == 2
    assert {row.lease for row in rows} == {token}
    assert Assignment.objects.filter(lease=quicker).count() == 1
    assert Assignment.objects.filter(lease=token).count() == 2


class TestTheHistoryOfAnAssignment:
    """How often an assignment timed out, and for how long it was refused, in earlier pumps."""

    def prepared(self, campaign: Campaign, *calls: tuple[str, int]) -> Prepared:
        """The first row as the next pump claims it, after calls that began this long ago."""
        rater = judge()
        run, token = held(campaign, rater)
        first, second = Assignment.objects.filter(rater=rater.rater).order_by("pk")[:2]
        for state, ago in calls:
            JudgeCall.objects.create(
                run=run, assignment=second if state == "answered" else first, attempt=1,
                state=state, seconds=1.0, sent_at=timezone.now() - timedelta(seconds=ago),
            )  # fmt: skip
        Assignment.objects.filter(pk=first.pk).update(attempts=len(calls))
        preparer = build_preparer(campaign, rater, Scripted(yes))
        return claim_requests(run, token, preparer, EqualRequests(run), 1).ready[0]

    def test_only_calls_past_their_deadline_count_as_late(self, campaign: Campaign) -> None:
        calls = ("status-500", 5), ("deadline", 4), ("rate", 3), ("abandoned", 2)
        assert self.prepared(campaign, *calls).late == 2

    def test_an_assignment_counts_as_refused_since_its_first_refusal_if_others_were_answered(
        self, campaign: Campaign
    ) -> None:
        calls = ("status-500", 900), ("rate", 600), ("rate", 300), ("answered", 100)
        assert 600 <= self.prepared(campaign, *calls).refused_for < 610

    def test_the_time_of_refusal_restarts_if_no_other_was_answered_meanwhile(
        self, campaign: Campaign
    ) -> None:
        calls = ("answered", 900), ("rate", 600)
        assert self.prepared(campaign, *calls).refused_for == 0.0


class TestTheHistoryOfARun:
    """The state of a server, by the calls of earlier pumps."""

    def called(self, run: JudgeRun, *states: str, ago: int = 60, **more: Any) -> None:
        row = Assignment.objects.filter(rater=run.judge.rater)[0]
        for state in states:
            JudgeCall.objects.create(
                run=run, assignment=row, attempt=1, state=state, seconds=1.0,
                sent_at=timezone.now() - timedelta(seconds=ago), **more,
            )  # fmt: skip

    @pytest.mark.every_case
    @pytest.mark.parametrize("state", ["status-500", "rate"])
    def test_a_few_failed_calls_are_not_an_outage(self, campaign: Campaign, state: str) -> None:
        run, _ = held(campaign, judge())
        self.called(run, *[state] * (MIN_FAILURES - 1))
        history = read_history(run)
        assert (history.proven, history.down_for, history.busy_for) == (False, 0.0, 0.0)
        self.called(run, state, ago=30)
        history = read_history(run)
        lasted = history.busy_for if state == "rate" else history.down_for
        assert 60 <= lasted < 65
        assert history.down_for + history.busy_for == lasted

    def test_failures_before_the_last_answer_no_longer_count(self, campaign: Campaign) -> None:
        run, _ = held(campaign, judge())
        self.called(run, *["status-500"] * MIN_FAILURES)
        self.called(run, "answered", ago=30)
        assert (read_history(run).proven, read_history(run).down_for) == (True, 0.0)
        self.called(run, *["status-500"] * MIN_FAILURES, ago=45)
        assert read_history(run).down_for == 0.0
        self.called(run, *["status-500"] * MIN_FAILURES, ago=20)
        assert 20 <= read_history(run).down_for < 25

    def test_a_reused_answer_does_not_prove_that_the_server_works(self, campaign: Campaign) -> None:
        run, _ = held(campaign, judge())
        self.called(run, "answered")
        other, _ = held(campaign, judge("other"))
        self.called(other, "answered", reused_from=JudgeCall.objects.get())
        assert read_history(run).proven
        assert not read_history(other).proven
