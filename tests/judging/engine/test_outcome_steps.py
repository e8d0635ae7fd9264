"""Each step of an assignment's outcome is correct, with a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from judging.answers.calls import Call
from judging.answers.results import Failure, Result
from judging.backends.base import (
    STARTING,
    Answer,
    BackendError,
    FatalError,
    FinalError,
    Message,
    RateError,
    RejectedError,
    Request,
    TransientError,
)
from judging.costs import Budget, Estimate, Rates
from judging.engine.outcomes import Outcomes
from judging.engine.probing import STRONG
from judging.engine.queue import CallReply, Job
from judging.engine.resources import Resources
from judging.retries import Patience
from tests.judging.clock import Clock
from tests.judging.virtual import Server, refused_before, rows

DEAD_AFTER = 5

ANSWER = Answer("{}", usage={"prompt_tokens": 10, "completion_tokens": 5})
DOWN = TransientError("status-500", "it is down")
GONE = TransientError("dns", "nobody is there", unreachable=True)
LATE = TransientError("deadline", "too late")
BUSY = RateError("later", wait=20.0)
REJECTED = RejectedError("status-400", "no such picture")
KEY = FatalError("status-401", "no such key")
PATIENCE = Patience(attempts=3, backoff=4.0, rate_patience=100.0, outage=60.0, unproven=30.0)


@dataclass
class Limited:
    """Records the calls of a limit."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    under_way: int = 0
    latencies: Any = field(default_factory=lambda: SimpleNamespace(median=None, p95=None))

    def answered(self, begun: float) -> None:
        self.calls.append(("answered", begun))

    def refused(self, begun: float, wait: float) -> None:
        self.calls.append(("refused", begun, wait))

    def overran(self, begun: float) -> None:
        self.calls.append(("overran", begun))

    def failed(self) -> None:
        self.calls.append(("failed",))


@dataclass
class Written:
    """A writer that writes nothing."""

    results: list[Result] = field(default_factory=list)
    hurried: int = 0
    at_risk: int = 7

    def add(self, result: Result) -> None:
        self.results.append(result)

    def hurry(self) -> None:
        self.hurried += 1


class Desk:
    """Outcomes, with a record of everything that they report; the clock starts at 1,000."""

    def __init__(self, held: int = 9, refused: float = 0.0, **resources: Any) -> None:
        self.clock, self.limit, self.writer = Clock(1000.0), Limited(), Written()
        self.ended: list[tuple[str, str, bool]] = []
        self.changes = 0
        given: dict[str, Any] = {"patience": PATIENCE, "budget": Budget()} | resources
        self.outcomes = Outcomes(
            Resources(
                backend=Server(), limit=cast("Any", self.limit), writer=cast("Any", self.writer),
                end=lambda *args: self.ended.append(args), clock=self.clock, **given,
            ),
            self._changed,
        )  # fmt: skip
        self.outcomes.unfinished = held
        self.rows = [Job(each) for each in refused_before(rows(20), {0: refused})]

    def _changed(self) -> None:
        self.changes += 1

    def comes(
        self, came: CallReply, row: int = 0, sent: float = 0.0, *, probe: bool = False
    ) -> Job:
        """Return a call that began `sent` seconds ago."""
        mine = self.rows[row]
        mine.begun, mine.probe = self.clock.now - sent, probe
        mine.first_sent = mine.begun if mine.first_sent is None else mine.first_sent
        answer = came if isinstance(came, Answer) else getattr(came, "answer", None)
        state = "answered" if isinstance(came, Answer) else came.state
        call = Call(state, datetime.now(UTC), 2.5, answer=answer)
        self.outcomes.receive(mine, call, came)
        return mine

    def probe(self, came: CallReply) -> None:
        """Send the probe that is due, and return this."""
        probe = self.outcomes.next_probe()
        assert probe is not None
        probe.begun, probe.probe = self.clock.now, self.outcomes.breaker.begin()
        answer = came if isinstance(came, Answer) else None
        state = "answered" if isinstance(came, Answer) else came.state
        self.outcomes.receive(probe, Call(state, datetime.now(UTC), 2.5, answer=answer), came)

    @property
    def verdicts(self) -> list[tuple[int, Any]]:
        """The rows that were closed, by number, each with its reason or its answer."""
        return [
            (each.prepared.request.sample, getattr(each.outcome, "reason", each.outcome))
            for each in self.writer.results
        ]

    @property
    def due(self) -> float | None:
        return self.outcomes.queue.ready_at(0.0, self.clock.now, None)

    def others(self, row: int = 19) -> None:
        """Answer another row now."""
        self.comes(ANSWER, row)
        self.writer.results.clear()
        self.limit.calls.clear()
        self.changes = 0


@pytest.fixture(autouse=True)
def longest_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each random wait be the longest possible."""
    monkeypatch.setattr("random.uniform", lambda low, high: high)


def seconds_ago(words: str) -> float:
    """How long ago the time is that the trouble's text gives."""
    moment = words.partition("since ")[2].partition(" UTC")[0]
    since = datetime.strptime(moment, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return (datetime.now(UTC) - since).total_seconds()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("came", "recorded"),
    [
        (ANSWER, ("answered", 997.0)),
        (LATE, ("overran", 997.0)),
        (DOWN, ("failed",)),
        (REJECTED, ("failed",)),
        (FinalError("refused", "no"), ("failed",)),
        (BUSY, ("refused", 997.0, 22.0)),
    ],
    ids=["answer", "late", "down", "rejected", "final", "busy"],
)
def test_every_call_is_reported_to_the_limit(came: CallReply, recorded: tuple[Any, ...]) -> None:
    desk = Desk()
    desk.comes(came, sent=3.0)
    assert desk.limit.calls == [recorded]


def test_a_busy_server_is_left_alone_longer_each_time_or_for_two_latencies() -> None:
    silent = RateError("later", wait=None)
    desk = Desk()
    assert [desk.comes(silent).rates for _ in range(3)] == [1, 2, 3]
    desk.limit.latencies.median = 5.0
    desk.comes(silent, row=1)
    assert [call[-1] for call in desk.limit.calls] == [4.0, 8.0, 16.0, 10.0]
    assert desk.due == 1004.0


def test_an_answer_closes_its_assignment_and_the_last_one_is_written_at_once() -> None:
    desk = Desk(held=2)
    desk.comes(ANSWER)
    assert (desk.verdicts, desk.outcomes.unfinished, desk.changes) == ([(0, ANSWER)], 1, 1)
    assert desk.writer.hurried == 0
    desk.comes(FinalError("too-long", "no"), row=1)
    assert desk.verdicts[1] == (1, "too-long")
    assert (desk.outcomes.unfinished, desk.changes, desk.writer.hurried) == (0, 2, 1)
    (call,) = desk.writer.results[1].calls
    assert (call.state, desk.writer.results[1].seconds) == ("too-long", 2.5)


def test_a_budget_is_settled_with_the_actual_usage() -> None:
    rates = Rates(Decimal(1_000_000), Decimal(0), Decimal(1_000_000))
    budget = Budget(most_tokens=1000, rates=lambda: rates, max_tokens=20)
    desk = Desk(budget=budget)
    request = Request((Message("user", "x" * 40),), {}, desk.rows[0].prepared.request.facts)
    for row, came in ((0, ANSWER), (1, DOWN), (2, FinalError("refused", "", answer=ANSWER))):
        desk.rows[row].estimate = budget.reserve(request) or Estimate(0, 0)
        desk.comes(came, row)
    assert (budget.tokens, budget.cost) == (30, 30)
    full = Budget(most_tokens=60, spent_tokens=30, rates=lambda: rates, max_tokens=20)
    assert budget.reserve(request) == full.reserve(request) == Estimate(10, 20, Decimal(30))


class TestRepairs:
    AGAIN = Request((Message("user", "again"),), {}, rows(1)[0].request.facts)

    def desk(self, repair: Callable[..., Request | None]) -> Desk:
        return Desk(repair=repair)

    def test_an_unreadable_answer_is_asked_for_once_more_and_kept_meanwhile(self) -> None:
        desk = self.desk(lambda prepared, answer: self.AGAIN)
        row = desk.rows[0]
        row.tries = 2
        desk.comes(ANSWER)
        assert (row.repair, row.answer, row.tries) == (self.AGAIN, ANSWER, 0)
        assert (desk.outcomes.at_risk, desk.outcomes.unfinished, desk.verdicts) == (8, 9, [])
        assert desk.outcomes.queue.take(desk.clock.now, 1, None) is row
        better = Answer('{"a": 1}')
        desk.comes(better)
        assert (desk.outcomes.at_risk, desk.outcomes.unfinished) == (7, 8)
        assert desk.verdicts == [(0, better)]
        assert desk.writer.results[0].first == ANSWER
        assert len(desk.writer.results[0].calls) == 2

    def test_the_first_answer_counts_if_its_repair_fails(self) -> None:
        desk = self.desk(lambda prepared, answer: self.AGAIN)
        desk.comes(ANSWER)
        desk.comes(FinalError("refused", "no"))
        assert (desk.verdicts, desk.outcomes.at_risk) == ([(0, ANSWER)], 7)

    def test_a_readable_answer_is_closed_at_once(self) -> None:
        desk = self.desk(lambda prepared, answer: None)
        desk.comes(ANSWER)
        assert (desk.verdicts, desk.outcomes.at_risk) == ([(0, ANSWER)], 7)


class TestFailures:
    def test_an_assignment_is_closed_after_its_attempts_if_others_are_answered(self) -> None:
        desk = Desk()
        desk.comes(DOWN, sent=5.0)
        assert desk.due == 1004.0
        desk.clock.now = 1002.0
        desk.others()
        desk.comes(DOWN, sent=1.0)
        assert desk.due == 1004.0
        desk.others()
        desk.clock.now = 1003.0
        row = desk.comes(LATE, sent=1.0)
        assert (row.tries, desk.verdicts, desk.outcomes.unfinished) == (3, [], 7)
        desk.comes(ANSWER, row=18)
        assert (desk.verdicts, desk.outcomes.unfinished) == ([(0, "timeout"), (18, ANSWER)], 5)

    def test_the_last_attempt_waits_for_a_sign_that_the_server_answers(self) -> None:
        desk = Desk()
        desk.limit.under_way = 1
        row = desk.rows[0]
        row.tries = 1
        desk.comes(DOWN)
        assert (row.tries, desk.due, desk.outcomes.has_suspects) == (2, None, True)
        desk.clock.now += 1
        desk.others()
        assert (desk.due, desk.outcomes.has_suspects, desk.verdicts) == (1001.0, False, [])
        desk.comes(DOWN)
        assert desk.verdicts == []
        desk.others()
        desk.comes(DOWN)
        desk.comes(ANSWER, row=18)
        assert desk.verdicts == [(0, "error"), (18, ANSWER)]

    def test_an_answer_long_after_a_failure_does_not_prove_it(self) -> None:
        desk = Desk()
        for _ in range(9):
            desk.others()
            desk.comes(DOWN)
            desk.clock.now += 1.0
        desk.comes(ANSWER, row=18)
        assert desk.verdicts == [(18, ANSWER)]

    def test_a_job_that_a_flapping_server_never_decides_ends_the_run(self) -> None:
        desk = Desk()
        desk.rows[0].asked = 20 * PATIENCE.attempts - 2
        desk.comes(DOWN)
        assert desk.ended == []
        desk.comes(DOWN)
        assert desk.ended[0][::2] == ("fatal", False)
        assert "goes up and down" in desk.ended[0][1]
        assert desk.verdicts == []

    def test_the_second_wait_is_twice_the_first(self) -> None:
        desk = Desk()
        desk.outcomes.resources = replace(desk.outcomes.resources, patience=Patience(backoff=4.0))
        desk.rows[0].tries = 1
        desk.comes(DOWN)
        assert (desk.rows[0].tries, desk.due) == (2, 1008.0)

    def test_a_retry_does_not_wait_long_while_the_server_answers_others(self) -> None:
        desk = Desk()
        desk.others()
        desk.comes(DOWN)
        assert desk.due == 1002.0
        desk.clock.now += 11
        desk.comes(DOWN, row=1)
        assert desk.outcomes.queue.take(1002.0, 1, None) is desk.rows[0]
        assert desk.due == 1015.0

    @pytest.mark.every_case
    @pytest.mark.parametrize(("answered", "closed"), [(990.0, False), (990.5, True)])
    def test_only_an_answer_to_another_assignment_since_the_first_attempt_counts(
        self, answered: float, closed: bool
    ) -> None:
        desk = Desk()
        desk.clock.now = answered
        desk.others()
        desk.clock.now = 1000.0
        desk.comes(REJECTED, sent=10.0)
        assert desk.verdicts == ([(0, "error")] if closed else [])
        assert desk.changes == 1
        assert len(desk.outcomes.open_rows()) == (0 if closed else 1)

    def test_failed_assignments_wait_for_an_answer_to_another_or_for_the_end(self) -> None:
        desk = Desk(held=3)
        desk.limit.under_way = 2
        desk.comes(REJECTED, row=1)
        desk.rows[2].tries, desk.rows[2].proof = 2, STRONG
        assert not desk.outcomes.only_suspects
        desk.comes(LATE, row=2)
        assert (desk.verdicts, desk.changes) == ([], 2)
        assert [len(left.calls) for left in desk.outcomes.open_rows()] == [1, 1]
        desk.comes(ANSWER)
        assert desk.verdicts == [(1, "error"), (2, "timeout"), (0, ANSWER)]
        assert desk.outcomes.unfinished == 0
        assert desk.outcomes.only_suspects
        assert desk.outcomes.open_rows() == []
        desk.outcomes.judge_suspects()
        assert len(desk.verdicts) == 3

    def test_if_only_suspects_are_left_the_end_closes_them(self) -> None:
        desk = Desk(held=1)
        desk.comes(BackendError("KeyError", "a mistake"))
        # A probe decides first.
        assert not desk.outcomes.only_suspects
        assert desk.outcomes.breaker.allows()
        desk.outcomes.judge_suspects()
        assert (desk.verdicts, desk.outcomes.unfinished) == ([(0, "error")], 0)

    @pytest.mark.every_case
    @pytest.mark.parametrize(("under_way", "ends"), [(4, True), (5, False)])
    def test_five_rejections_need_a_probe_unless_calls_are_under_way(
        self, under_way: int, ends: bool
    ) -> None:
        desk = Desk()
        desk.limit.under_way = under_way
        for row in range(DEAD_AFTER - 1):
            desk.comes(REJECTED, row)
        assert desk.ended == []
        desk.comes(REJECTED, DEAD_AFTER - 1)
        assert desk.outcomes.breaker.is_open == ends
        assert len(desk.outcomes.open_rows()) == DEAD_AFTER
        if ends:
            desk.probe(REJECTED)
            assert desk.ended == [("fatal", "no such picture", False)]

    def test_one_refused_before_any_answer_is_asked_again_after_the_others(self) -> None:
        desk = Desk(held=3)
        desk.limit.under_way = 1
        desk.comes(REJECTED)
        desk.outcomes.queue.fresh.add(desk.rows[2])
        desk.comes(FinalError("truncated", "cut"), row=1)
        assert desk.verdicts == [(1, "truncated")]
        order = [desk.outcomes.queue.take(desk.clock.now, 9, None) for _ in range(2)]
        assert order == [desk.rows[2], desk.rows[0]]

    def test_a_suspect_is_asked_again_after_the_wait_that_a_probe_was_told(self) -> None:
        desk = Desk(held=1)
        desk.comes(REJECTED)
        desk.probe(BUSY)
        assert (desk.verdicts, desk.ended, desk.due) == ([], [], 1022.0)
        assert desk.outcomes.queue.take(1022.0, 9, None) is desk.rows[0]

    def test_five_transport_failures_open_the_breaker_and_are_retried(self) -> None:
        desk = Desk()
        desk.limit.under_way = 9
        desk.comes(REJECTED, 0)
        for row in range(1, DEAD_AFTER):
            desk.rows[row].tries = 2
            desk.comes(DOWN, row)
        assert desk.outcomes.breaker.is_open
        desk.probe(DOWN)
        assert [row.tries for row in desk.rows[: DEAD_AFTER + 1]] == [0] * (DEAD_AFTER + 1)
        assert desk.due == 1001.0
        assert desk.outcomes.trouble.endswith(": it is down")
        assert (desk.verdicts, desk.ended) == ([], [])
        assert len(desk.outcomes.open_rows()) == DEAD_AFTER
        desk.comes(ANSWER, 19)
        assert desk.verdicts == [(0, "error"), (19, ANSWER)]
        waiting = len(desk.outcomes.queue.tried())
        assert (waiting, len(desk.outcomes.open_rows())) == (4, 4)

    def test_an_unreachable_server_opens_the_breaker_at_once(self) -> None:
        desk = Desk()
        desk.rows[0].tries = 2
        desk.comes(GONE)
        assert desk.outcomes.breaker.is_open
        assert (desk.rows[0].tries, desk.due, desk.changes) == (2, 1001.0, 0)
        desk.comes(DOWN, row=1)
        assert desk.rows[1].tries == 1
        desk.probe(DOWN)
        assert [row.tries for row in desk.rows[:2]] == [0, 0]

    def test_without_retry_budget_an_assignment_waits_behind_the_others(self) -> None:
        desk = Desk()
        fresh = desk.rows[15]
        desk.outcomes.queue.fresh.add(fresh)
        while desk.outcomes.retries.allow():
            pass
        desk.comes(DOWN)
        line = desk.outcomes.queue
        assert line.take(1004.0, 1, None) is fresh
        assert line.take(1003.9, 1, None) is None
        assert line.take(1004.0, 1, None) is desk.rows[0]

    def test_a_wrong_key_ends_the_run_and_a_403_is_tried_again(self) -> None:
        desk = Desk()
        desk.comes(FatalError("status-403", "no"))
        assert (desk.ended, desk.rows[0].tries, desk.due) == ([], 1, 1004.0)
        desk.comes(KEY, row=1)
        assert desk.ended == []
        desk.probe(KEY)
        assert desk.ended == [("fatal", "no such key", True)]
        assert sorted(len(left.calls) for left in desk.outcomes.open_rows()) == [1, 2]

    def test_an_answer_resets_earlier_refusals(self) -> None:
        desk = Desk()
        for row in (0, 1):
            desk.comes(FatalError("status-403", "no"), row)
        desk.others()
        for row in (2, 3):
            desk.comes(FatalError("status-403", "no"), row)
        assert not desk.outcomes.breaker.is_open
        for row in (4, 5, 6):
            desk.comes(FatalError("status-403", "no"), row)
        assert desk.outcomes.breaker.is_open
        desk.probe(FatalError("status-403", "no"))
        assert desk.ended == [("fatal", "no", True)]


class TestOutages:
    def down(self, passed: float, came: TransientError = DOWN, **resources: Any) -> Desk:
        """A server whose breaker opened this long ago; another call fails."""
        desk = Desk(**resources)
        desk.outcomes.breaker.trip()
        desk.clock.now += passed
        desk.comes(came)
        return desk

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("passed", "resources", "ends"),
        [
            (29.5, {}, False), (30.0, {}, True),
            (30.0, {"proven": True}, False), (59.5, {"proven": True}, False),
            (60.0, {"proven": True}, True),
            (9.5, {"down_for": 20.0}, False), (10.0, {"down_for": 20.0}, True),
            (39.5, {"proven": True, "down_for": 20.0}, False),
            (40.0, {"proven": True, "down_for": 20.0}, True),
        ],
    )  # fmt: skip
    def test_patience_is_longer_with_a_proven_server_and_counted_across_pumps(
        self, passed: float, resources: dict[str, Any], ends: bool
    ) -> None:
        desk = self.down(passed, **resources)
        assert len(desk.ended) == ends
        assert all(ending[0] == "fatal" and not ending[2] for ending in desk.ended)
        assert desk.outcomes.trouble.startswith("endpoint down since ")
        ago = passed + resources.get("down_for", 0.0)
        assert seconds_ago(desk.outcomes.trouble) == pytest.approx(ago, abs=3)
        assert desk.ended == [] or desk.ended[0][1] == desk.outcomes.trouble

    def test_our_own_server_gets_time_to_start(self) -> None:
        starting = TransientError(STARTING, "it starts", unreachable=True)
        assert self.down(59.5, starting).ended == []
        assert len(self.down(60.0, starting).ended) == 1

    def test_an_answer_in_this_pump_proves_the_server_and_ends_earlier_trouble(self) -> None:
        desk = Desk(down_for=50.0)
        desk.others()
        desk.outcomes.breaker.trip()
        desk.clock.now += 59.5
        desk.comes(DOWN)
        assert desk.ended == []
        assert seconds_ago(desk.outcomes.trouble) == pytest.approx(59.5, abs=3)

    def test_a_first_outage_is_reported_as_beginning_now(self) -> None:
        desk = Desk()
        desk.rows[0].tries = 2
        desk.comes(GONE)
        assert seconds_ago(desk.outcomes.trouble) == pytest.approx(0, abs=3)

    def test_an_answered_probe_ends_the_trouble_and_wakes_waiting_assignments(self) -> None:
        desk = self.down(1.0, trouble="before")
        desk.outcomes.queue.wait(desk.rows[5], 5000.0)
        desk.comes(FinalError("refused", "no"), row=1, probe=True)
        assert not desk.outcomes.breaker.is_open
        assert desk.outcomes.trouble == ""
        line = desk.outcomes.queue
        taken = [line.take(1002.0, 1, None) for _ in range(2)]
        assert set(map(id, taken)) == {id(desk.rows[0]), id(desk.rows[5])}

    def test_a_late_answer_while_the_breaker_is_open_keeps_the_trouble(self) -> None:
        desk = self.down(1.0)
        trouble = desk.outcomes.trouble
        desk.comes(ANSWER, row=1)
        assert desk.outcomes.trouble == trouble
        assert Desk(trouble="said before").outcomes.trouble == "said before"
        other = Desk(trouble="said before")
        other.comes(ANSWER)
        assert other.outcomes.trouble == ""


class TestBusy:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("before", "waited", "ends"),
        [(0.0, 99.5, False), (0.0, 100.0, True), (60.0, 39.5, False), (60.0, 40.0, True)],
    )
    def test_a_server_refusing_everything_is_waited_for_until_patience_ends(
        self, before: float, waited: float, ends: bool
    ) -> None:
        desk = Desk(busy_for=before)
        desk.comes(BUSY)
        desk.clock.now += waited
        desk.comes(BUSY, row=1)
        assert desk.ended == ([("fatal", desk.outcomes.trouble, False)] if ends else [])
        assert len(desk.outcomes.open_rows()) == 2
        assert (desk.verdicts, desk.due) == ([], 1022.0)
        assert seconds_ago(desk.outcomes.trouble) == pytest.approx(before + waited, abs=3)
        assert desk.outcomes.trouble.startswith("endpoint busy since ")
        assert desk.outcomes.trouble.endswith(": later")

    def test_with_calls_under_way_a_server_is_not_said_to_be_busy(self) -> None:
        desk = Desk(busy_for=500.0)
        desk.limit.under_way = 1
        desk.comes(BUSY)
        assert (desk.ended, desk.outcomes.trouble, desk.due) == ([], "", 1022.0)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("patience", "waited", "shown"),
        [(100.0, 9.5, False), (100.0, 10.0, True), (5.0, 4.5, False), (5.0, 5.0, True)],
    )
    def test_a_busy_server_is_reported_after_ten_seconds_or_the_whole_patience(
        self, patience: float, waited: float, shown: bool
    ) -> None:
        desk = Desk(patience=Patience(rate_patience=patience))
        desk.comes(BUSY)
        assert desk.outcomes.trouble == ""
        desk.clock.now += waited
        desk.comes(BUSY)
        assert bool(desk.outcomes.trouble) == shown

    def test_an_answer_resets_the_patience_with_a_busy_server(self) -> None:
        desk = Desk(busy_for=99.0)
        desk.others()
        desk.clock.now += 90.0
        desk.comes(BUSY)
        assert (desk.ended, desk.outcomes.trouble) == ([], "")

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("before", "sent", "tries"),
        [(0.0, 99.5, 0), (0.0, 100.0, 1), (60.0, 39.5, 0), (60.0, 40.0, 1)],
    )  # fmt: skip
    def test_an_assignment_refused_for_long_while_others_are_answered_has_failed(
        self, before: float, sent: float, tries: int
    ) -> None:
        desk = Desk(refused=before)
        desk.others()
        row = desk.comes(BUSY, sent=sent)
        assert row.tries == tries
        assert desk.due == (1002.0 if tries else 1022.0)

    def test_an_assignment_overtaken_in_an_earlier_pump_fails_without_another_answer(self) -> None:
        desk = Desk(refused=60.0)
        desk.rows[0].tries = 2
        desk.comes(BUSY, sent=40.0)
        assert desk.verdicts == [(0, "error")]


def test_a_cancelled_call_is_kept_with_its_duration_and_its_assignment_stays_open() -> None:
    desk = Desk()
    row = desk.rows[0]
    row.begun = 990.0
    desk.outcomes.abandon(row)
    (left,) = desk.outcomes.open_rows()
    (call,) = left.calls
    assert (call.state, call.seconds, left.outcome) == ("abandoned", 10.0, None)
    ago = (datetime.now(UTC) - call.sent_at).total_seconds()
    assert ago == pytest.approx(10.0, abs=3)


def test_assignments_never_asked_have_no_calls_to_store() -> None:
    desk = Desk()
    desk.outcomes.queue.wait(desk.rows[0], 1100.0)
    desk.comes(DOWN, row=1)
    (left,) = desk.outcomes.open_rows()
    assert left.prepared is desk.rows[1].prepared


def test_an_answered_first_request_releases_the_others_of_its_item() -> None:
    desk = Desk(grouped=True)
    fresh = desk.outcomes.queue.fresh
    first, second = (Job(each) for each in rows(2, items_of=2))
    fresh.add(first)
    fresh.add(second)
    assert fresh.take(1000.0, 1, None) is first
    assert fresh.take(1000.0, 1, None) is None
    desk.outcomes.receive(first, Call("answered", datetime.now(UTC), 1.0, answer=ANSWER), ANSWER)
    assert fresh.take(1000.0, 1, None) is second
    assert desk.verdicts == [(0, ANSWER)]


def test_a_failure_is_stored_as_its_reason_only() -> None:
    desk = Desk()
    desk.comes(FinalError("filtered", "no"))
    assert desk.writer.results[0].outcome == Failure("filtered")


def test_without_grouping_all_requests_of_an_item_are_sent_at_once() -> None:
    desk = Desk()
    fresh = desk.outcomes.queue.fresh
    for each in rows(2, items_of=2):
        fresh.add(Job(each))
    assert [fresh.take(1000.0, 1, None) is None for _ in range(3)] == [False, False, True]
