"""How many calls a server can take, and what protects a failing one: arithmetic with a clock.

The limit doubles until the server refuses for the first time, or the maximum is reached. A refusal
cuts it by a quarter the first time and by a twentieth later, once in an episode; then it rises
slowly to just below the last ceiling, and now and then probes above that. Failures of the server's
own (5xx) change nothing; calls that run out of time count as refusals when they are many. A
circuit breaker, a budget of retries and deadlines spare a server that fails.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, deque
from collections.abc import Callable

START, SMALL_START = 64, 20
FIRST_CUT, CUT, QUEUE_CUT, QUEUE_RISE = 0.75, 0.95, 0.9, 1.1
RISES, FORGETS = 1.05, 0.98
NEAR = 0.97
EPISODE_SECONDS = 0.5
PROBE_SECONDS = 20.0
IN_USE = 0.8
OVERRUNS, OF_THE_LAST = 10, 50
GENTLE_ROUNDS = 5
LATENCIES = 200
LOOK_AGAIN = 32
LEAST_ROUND = 16
REFUSES_ALL = 8
BURST, LEAST_LOOK, LONGEST_LOOK = 3, 0.005, 0.25
HISTORY = 1000


class Latencies:
    """What the latest good calls took, in seconds; None where none has ended yet."""

    def __init__(self) -> None:
        self._kept: deque[float] = deque(maxlen=LATENCIES)
        self._new = 0
        self.median: float | None = None
        self.p95: float | None = None

    def add(self, seconds: float) -> None:
        self._kept.append(seconds)
        self._new += 1
        if self._new >= LOOK_AGAIN or len(self._kept) < LOOK_AGAIN:
            ordered = sorted(self._kept)
            self._new, last = 0, len(ordered) - 1
            self.median, self.p95 = ordered[last // 2], ordered[round(0.95 * last)]


class Limit:
    """The number of calls that may be under way: `size`, never above `maximum`.

    `remembered` is what the server bore last. With `queues` the server is one that never refuses
    but lets calls wait: the limit then follows what latency and throughput tell. Moments are of
    `clock`, in seconds; so are durations.
    """

    def __init__(
        self,
        maximum: int,
        remembered: int | None = None,
        queues: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._began = clock, clock()
        self._maximum = max(1, maximum)
        self._size = float(min(remembered or (SMALL_START if queues else START), self._maximum))
        self.size = self._start = int(self._size)
        self._gentle = GENTLE_ROUNDS if remembered else 0
        self.under_way = 0
        self.latencies = Latencies()
        self.ceiling: int | None = None
        self.refusals_in_a_row = 0
        self.rests_until = 0.0
        self.refuses_all = False
        self._cut_at = self._changed_at = self._looked_at = self._began
        self._good = 0
        self._ends: deque[bool] = deque(maxlen=OF_THE_LAST)
        self._burst = self._borne = 0
        self._queue = _Queue() if queues else None
        self.history: deque[tuple[float, int]] = deque([(0.0, self.size)], maxlen=HISTORY)

    @property
    def maximum(self) -> int:
        return self._maximum

    @maximum.setter
    def maximum(self, calls: int) -> None:
        self._maximum = max(1, calls)
        self._resize(self._clock(), self._size)

    @property
    def learned(self) -> int | None:
        """What to begin with the next time; None where nothing was found out."""
        return self.size if self.ceiling is not None or self.size > self._start else None

    def room(self) -> int:
        """How many calls may be begun now; one at a time where every call is refused."""
        if self.rests_until:
            if self._clock() < self.rests_until:
                return 0
            self.rests_until = 0.0
            self._take_in_burst()
        return (1 if self.refuses_all else self.size) - self.under_way

    def begin(self) -> None:
        self.under_way += 1

    def answered(self, begun: float) -> None:
        """A call that began then has been answered."""
        now, used = self._clock(), self.under_way
        self.latencies.add(now - begun)
        self._ended(overrun=False)
        self._borne += begun < self._cut_at
        if used < IN_USE * self.size:
            return
        if self._queue and begun >= self._changed_at:
            if factor := self._queue.factor(now - begun, self.size):
                self._resize(now, self._size * factor)
        elif begun >= self._changed_at or self._doubling:
            self._good += 1
            self._grow(now)

    def failed(self) -> None:
        """A call ended in a way that says nothing about the limit."""
        self._ended(overrun=False)

    def overran(self, begun: float) -> None:
        """A call was not answered in time: it would have taken at least as long."""
        self.latencies.add(self._clock() - begun)
        self._ended(overrun=True)
        if sum(self._ends) >= OVERRUNS:
            self._cut(begun, self.size)

    def refused(self, begun: float, wait: float) -> None:
        """The server is too busy for a call, which is to wait for so long."""
        now, bore = self._clock(), self.under_way
        self.under_way -= 1
        self.refusals_in_a_row += 1
        if self._cut(begun, bore) or (self._burst and begun < self._cut_at):
            self._burst += 1
            self._hold(min(LONGEST_LOOK, 2 * (now - begun) + LEAST_LOOK))
        if not self.under_way and self.refusals_in_a_row >= REFUSES_ALL:
            self.refuses_all = True
            self._hold(wait)

    def _hold(self, seconds: float) -> None:
        self.rests_until = max(self.rests_until, self._clock() + seconds)

    def _take_in_burst(self) -> None:
        """Of many calls that were sent together, those that were not refused are what it bears."""
        if self._burst >= BURST and self.ceiling is not None:
            self.ceiling = min(self.ceiling, self.under_way + self._borne + 1)
            self._resize(self._clock(), min(self._size, max(1.0, NEAR * self.ceiling)))
        self._burst = 0

    def _ended(self, overrun: bool) -> None:
        self.under_way -= 1
        self.refusals_in_a_row, self.refuses_all = 0, False
        self._ends.append(overrun)

    @property
    def _doubling(self) -> bool:
        return self.ceiling is None and not self._gentle and not self._queue

    def _grow(self, now: float) -> None:
        if self._doubling:
            self._resize(now, self._size + 1)
        elif self._good >= self.size and self._may_pass(now):
            self._gentle = max(0, self._gentle - 1)
            self._resize(now, self._size + 1)

    def _may_pass(self, now: float) -> bool:
        """Whether one more is below the last ceiling; or it is time to look whether it has moved.

        A round above it that goes well moves it.
        """
        if self.ceiling is None or self._size + 1 <= NEAR * self.ceiling:
            return True
        if self.size <= self.ceiling and now - self._looked_at < PROBE_SECONDS:
            return False
        self._looked_at = now
        self.ceiling = max(self.ceiling, self.size)
        return True

    def _cut(self, begun: float, bore: int) -> bool:
        """One cut an episode: what was sent before the last one only tells the same again."""
        now = self._clock()
        episode = max(2 * (self.latencies.median or 0.0), EPISODE_SECONDS)
        if self.ceiling is not None and (begun < self._cut_at or now - self._cut_at < episode):
            return False
        factor = CUT if self.ceiling is not None else FIRST_CUT
        self._cut_at = self._looked_at = now
        self._borne = 0
        self.ceiling = max(1, min(self.size, bore))
        self._resize(now, self.size * factor)
        return True

    def _resize(self, now: float, size: float) -> None:
        before = self.size
        self._size = max(1.0, min(size, float(self._maximum)))
        self.size = int(self._size)
        self._changed_at, self._good = now, 0
        if self.size != before:
            self.history.append((round(now - self._began, 3), self.size))


class _Queue:
    """Tells from what calls take, round by round, whether more at once are more in an hour."""

    def __init__(self) -> None:
        self._round: list[float] = []
        self._quickest: float | None = None
        self._best = 0.0

    def factor(self, seconds: float, size: int) -> float | None:
        """By what to change the limit after a round; None within one, or where it is right."""
        self._round.append(seconds)
        if len(self._round) < max(LEAST_ROUND, size):
            return None
        median = statistics.median(self._round)
        self._round = []
        rate = size / max(median, 1e-6)
        rises = rate > RISES * self._best
        self._quickest = min(median, self._quickest or median)
        # What was best is forgotten slowly, so that a server which gets quicker is tried again.
        self._best = max(rate, FORGETS * self._best)
        if median > 2 * self._quickest and not rises:
            return QUEUE_CUT
        if not rises:
            return None
        return 2.0 if median < 1.5 * self._quickest else QUEUE_RISE


WINDOW, LEAST_KNOWN, SHARE = 50, 20, 0.5
RECOVERY_SECONDS = 5.0
RETRY_SHARE, RETRY_FLOOR, MINUTE = 0.1, 20, 60
SHORTEST_DEADLINE, LONGEST_DEADLINE, DEADLINE_OF_P95 = 30.0, 600.0, 6.0
UNKNOWN_DEADLINE = 120.0
PATIENT_STATES = {"status-402": 3, "status-403": 3}


class Breaker:
    """Opens when more than half of the last calls failed in transport; then only probes pass.

    One probe at a time, `probe_seconds` apart. A probe that the server answers, in whatever way,
    closes the breaker.
    """

    def __init__(
        self,
        probe_seconds: float = RECOVERY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.probe_seconds, self._clock = probe_seconds, clock
        self._failed: deque[bool] = deque(maxlen=WINDOW)
        self.opened_at: float | None = None
        self.probes_at = 0.0
        self.probing = False

    @property
    def is_open(self) -> bool:
        return self.opened_at is not None

    def lets(self) -> bool:
        """Whether a call may be begun now."""
        return not self.is_open or (not self.probing and self._clock() >= self.probes_at)

    def begin(self) -> bool:
        """A call begins; whether it is a probe, which is to be told to `ended`."""
        self.probing = self.is_open
        return self.probing

    def ended(self, failed: bool, probe: bool = False) -> bool:
        """A call has ended; whether that closed the breaker."""
        if probe:
            self.probing = False
            return self._probed(failed)
        if not self.is_open:
            self._failed.append(failed)
            if len(self._failed) >= LEAST_KNOWN and sum(self._failed) > SHARE * len(self._failed):
                self.trip()
        return False

    def trip(self) -> None:
        """Opens it; for what shows that the server is away before so many calls have failed."""
        if not self.is_open:
            self.opened_at = self._clock()
            self.probes_at = self.opened_at + self.probe_seconds
            self._failed.clear()

    def _probed(self, failed: bool) -> bool:
        if failed:
            self.probes_at = self._clock() + self.probe_seconds
            return False
        self.opened_at = None
        return True


class Retries:
    """A budget: of the calls of a minute one in ten may be a retry, and a few in any case."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: Counter[int] = Counter()
        self._retries: Counter[int] = Counter()

    def called(self) -> None:
        self._calls[self._second()] += 1

    def allow(self) -> bool:
        """Whether one more retry is within the budget; it is counted then."""
        second = self._second()
        allowed = max(RETRY_FLOOR, RETRY_SHARE * _latest(self._calls, second))
        if _latest(self._retries, second) + 1 > allowed:
            return False
        self._retries[second] += 1
        return True

    def _second(self) -> int:
        return int(self._clock())


def _latest(counts: Counter[int], second: int) -> int:
    """The count of the last minute; what is older is forgotten."""
    for old in [each for each in counts if each <= second - MINUTE]:
        del counts[old]
    return counts.total()


class Refusals:
    """Answers after which no request can succeed, such as a wrong key, by what they say."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def is_final(self, state: str) -> bool:
        """Whether this one is enough: the first, or the third in a row where one may be chance."""
        self._seen[state] += 1
        return self._seen[state] >= PATIENT_STATES.get(state, 1)

    def answered(self) -> None:
        self._seen.clear()


def deadline(p95: float | None) -> float:
    """Seconds that one attempt may take where calls of this lane take so long."""
    if p95 is None:
        return UNKNOWN_DEADLINE
    return min(max(DEADLINE_OF_P95 * p95, SHORTEST_DEADLINE), LONGEST_DEADLINE)
