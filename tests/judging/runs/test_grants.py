"""Grants: workers share the calls at once on a lane, and never exceed them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from annotation.models import Campaign
from judging import lanes
from judging.models import Grant, JudgeRun, Lane
from judging.runs import grants, lifecycle
from judging.runs.grants import Granted, Use, spread
from tests.judging.cast import judge

pytestmark = pytest.mark.postgresql

START = datetime(2126, 1, 1, tzinfo=UTC)
SENDS = grants.SENDS.total_seconds()


@dataclass
class Time:
    """The clock of the database and of all workers, in seconds."""

    now: float = 0.0

    def __call__(self, lane: Lane | None = None) -> datetime:
        return START + timedelta(seconds=self.now)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(grants, "_clock", clock)
    return clock


@pytest.fixture
def begun(campaign: Campaign) -> Callable[..., JudgeRun]:
    def run(name: str, most: int) -> JudgeRun:
        params = {"concurrency": most}
        rater = judge(name, "openai", model="m", base_url="http://127.0.0.1:9/v1", params=params)
        return lifecycle.start(campaign, rater)

    return run


@dataclass
class Worker:
    """A worker that obeys its grants: it takes `deadline` seconds at most for each call."""

    run: JudgeRun
    time: Time
    deadline: float = 30.0
    granted: int = 0
    sends_until: float = -1.0
    ends: list[float] = field(default_factory=list)
    holder: uuid.UUID = field(default_factory=uuid.uuid4)

    @property
    def in_flight(self) -> int:
        return sum(end > self.time.now for end in self.ends)

    def renew(self, refused: int = 0) -> int:
        assert self.run.lane_id is not None
        use = Use(self.in_flight, self.granted, self.granted, self.deadline, refused)
        given = grants.renew(self.run.lane_id, self.run, self.holder, use)
        self.granted, self.sends_until = given.calls, self.time.now + SENDS
        return given.calls

    def send(self, seconds: float = 1.0) -> None:
        """Start as many calls as it may."""
        if self.time.now < self.sends_until:
            room = max(0, self.granted - self.in_flight)
            self.ends += [self.time.now + seconds] * room


def held() -> list[int]:
    return list(Grant.objects.order_by("pk").values_list("calls", flat=True))


def test_a_worker_alone_gets_what_its_run_may_have(
    begun: Callable[..., JudgeRun], time: Time
) -> None:
    worker = Worker(begun("a", 64), time)
    assert [worker.renew() for _ in range(2)] == [64, 64]
    worker.run.concurrency = 8
    assert worker.renew() == 8


def test_a_second_worker_gets_what_the_first_gives_back(
    begun: Callable[..., JudgeRun], time: Time
) -> None:
    run = begun("a", 64)
    first, second = Worker(run, time), Worker(run, time)
    first.renew()
    first.send(seconds=10.0)
    assert second.renew() == 0
    time.now = 1.0
    assert first.renew() == 32
    assert held() == [64, 0], "it has not obeyed yet"
    assert first.renew() == 32
    assert held() == [64, 0], "its calls are still in flight"
    first.ends = first.ends[:40]
    assert first.renew() == 32
    assert second.renew() == 24
    first.ends = first.ends[:10]
    assert [first.renew(), second.renew()] == [32, 32]
    assert held() == [32, 32]


def test_a_silent_worker_keeps_its_calls_until_their_deadline(
    begun: Callable[..., JudgeRun], time: Time
) -> None:
    run = begun("a", 16)
    dead, other = Worker(run, time, deadline=40.0), Worker(run, time)
    dead.renew()
    dead.deadline = 30.0
    time.now = 1.0
    dead.renew()
    for time.now, calls in ((2.0, 0), (6.5, 0), (44.9, 0), (45.1, 16)):
        other.granted = 0
        assert other.renew() == calls
    assert held() == [16], "what is free is forgotten"


def test_a_worker_that_ends_in_order_frees_its_calls_at_once(
    begun: Callable[..., JudgeRun], time: Time
) -> None:
    run = begun("a", 16)
    first, second = Worker(run, time), Worker(run, time)
    first.renew()
    grants.release(first.holder)
    assert second.renew() == 16
    grants.return_all(second.holder)
    assert held() == []


def test_calls_that_were_cut_off_are_free_at_their_deadline(
    begun: Callable[..., JudgeRun], time: Time
) -> None:
    run = begun("a", 16)
    first, second = Worker(run, time), Worker(run, time)
    first.renew()
    first.send(seconds=60.0)
    first.ends = first.ends[:5]
    first.renew()
    grants.release(first.holder)
    time.now = 1.0
    assert second.renew() == 11
    time.now = 36.0
    assert second.renew() == 16


def test_a_paused_lane_grants_nothing_and_says_why(
    begun: Callable[..., JudgeRun], time: Time
) -> None:
    run = begun("a", 16)
    assert run.lane
    lanes.pause(run.lane, "no credit")
    assert grants.renew(run.lane.pk, run, uuid.uuid4(), Use()) == Granted(0, "no credit")


def test_a_worker_gets_no_more_than_it_wants(begun: Callable[..., JudgeRun], time: Time) -> None:
    run = begun("a", 16)
    assert run.lane
    holder = uuid.uuid4()
    assert grants.renew(run.lane.pk, run, holder, Use(wants=5)).calls == 5
    assert grants.renew(run.lane.pk, run, holder, Use(granted=5, wants=9)).calls == 9


def settle(workers: list[Worker]) -> list[int]:
    for _ in range(4):
        for each in workers:
            each.renew()
    return [each.granted for each in workers]


def test_runs_share_equally_and_so_do_the_workers_of_a_run(
    begun: Callable[..., JudgeRun], time: Time
) -> None:
    large, small, tiny = begun("a", 60), begun("b", 60), begun("c", 4)
    workers = [Worker(large, time), Worker(large, time), Worker(small, time), Worker(tiny, time)]
    assert settle(workers) == [14, 14, 28, 4]
    assert settle(workers[:3]) == [14, 14, 28], "the silent one keeps its calls"


def test_a_run_never_has_more_than_its_own_number(
    begun: Callable[..., JudgeRun], time: Time
) -> None:
    large, small = begun("a", 60), begun("b", 10)
    workers = [Worker(small, time), Worker(small, time), Worker(large, time)]
    assert settle(workers) == [5, 5, 50]
    dead = Worker(small, time)
    assert settle([*workers, dead])[-1] >= 1
    assert sum(settle(workers)[:2]) + dead.granted <= 10


def test_more_workers_than_calls_take_turns(begun: Callable[..., JudgeRun], time: Time) -> None:
    runs = begun("a", 2), begun("b", 1)
    workers = [Worker(run, time) for run in (runs[0], runs[0], runs[1])]
    had = [0, 0, 0]
    for second in range(90):
        time.now = float(second)
        for place, each in enumerate(workers):
            had[place] += each.renew()
            assert sum(held()) <= 2
    assert min(had) >= 20


@pytest.mark.parametrize(
    ("pool", "wanted", "shares"),
    [
        (10, [9, 9, 9], [4, 3, 3]),
        (10, [2, 9, 9], [2, 4, 4]),
        (10, [1, 2, 3], [1, 2, 3]),
        (0, [1, 2], [0, 0]),
        (5, [], []),
        (5, [0, 9], [0, 5]),
    ],
)
def test_a_pool_is_spread_evenly(pool: int, wanted: list[int], shares: list[int]) -> None:
    assert spread(pool, wanted) == shares


def test_what_a_server_bears_is_learned_for_all_workers(
    begun: Callable[..., JudgeRun], time: Time
) -> None:
    run = begun("a", 256)
    workers = [Worker(run, time) for _ in range(4)]
    assert settle(workers) == [64] * 4
    for each in workers:
        each.ends = [99.0] * 16
        each.renew()
    time.now = 1.0
    workers[0].renew(refused=9)
    assert Lane.objects.get().ceiling == 64
    assert sum(settle(workers)) == 72
    for each in workers:
        each.ends = [99.0] * 17
    settle(workers)
    assert Lane.objects.get().ceiling == 64, "too soon after a refusal"
    time.now = 5.0
    settle(workers)
    assert Lane.objects.get().ceiling == 68


@pytest.mark.parametrize("seed", range(8))
def test_the_server_never_has_more_calls_than_the_cap_whatever_happens(
    begun: Callable[..., JudgeRun], time: Time, seed: int
) -> None:
    """Workers join, die, freeze and wake again. The server works on a call until its end."""
    chance = random.Random(seed)
    runs = [begun("a", 12), begun("b", 7)]
    awake = [Worker(chance.choice(runs), time, deadline=6.0) for _ in range(3)]
    everyone, frozen = list(awake), []
    used = 0
    for tick in range(400):
        time.now = tick / 4
        happens = chance.random()
        if happens < 0.02 and awake:
            awake.remove(chance.choice(awake))  # killed
        elif happens < 0.05 and awake:
            frozen.append(awake.pop(chance.randrange(len(awake))))
        elif happens < 0.07 and frozen:
            awake.append(frozen.pop(chance.randrange(len(frozen))))
        elif happens < 0.12 and len(awake) < 6:
            awake.append(Worker(chance.choice(runs), time, deadline=6.0))
            everyone.append(awake[-1])
        for each in awake:
            each.send(chance.uniform(0.1, 6.0))
            if chance.random() < 0.3:
                each.renew()
                each.send(chance.uniform(0.1, 6.0))
        under_way = [each.in_flight for each in everyone]
        assert sum(under_way) <= 12
        for run in runs:
            own = sum(each.in_flight for each in everyone if each.run == run)
            assert own <= run.most_at_once
        used += sum(under_way)
    assert used > 400, "they get something to do"
