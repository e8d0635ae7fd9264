"""Limits: how many calls a server can handle, and protection for a failing server.

The limit doubles until the server refuses a call for the first time, or the maximum is reached. A
refusal cuts it by a quarter the first time and by a twentieth later, once per episode. Then it
rises slowly to just below the last ceiling, and occasionally probes above that. Server errors (5xx)
change nothing. Timeouts count as refusals if there are many. A circuit breaker, a retry budget and
deadlines spare a failing server. Everything is arithmetic with a clock.
"""

from __future__ import annotations

import random
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
UPDATE_INTERVAL = 32
MIN_ROUND = 16
REFUSES_ALL = 8
BURST, SHORTEST_LOOK, LONGEST_LOOK = 3, 0.005, 0.25
HISTORY = 1000
WINDOW, MIN_KNOWN, SHARE = 50, 20, 0.5
RECOVERY_SECONDS = 5.0
JITTER = 1.0, 1.5
RETRY_SHARE, RETRY_FLOOR, MINUTE = 0.1, 20, 60
SHORTEST_DEADLINE, LONGEST_DEADLINE, DEADLINE_OF_P95 = 30.0, 600.0, 6.0
UNKNOWN_DEADLINE = 120.0
PATIENT_STATES = {"status-402": 3, "status-403": 3}


class Latencies:
    """The latencies of the latest successful calls, in seconds. None before the first call ends."""

    def __init__(self) -> None:
        self._kept: deque[float] = deque(maxlen=LATENCIES)
        self._new = 0
        self.median: float | None = None
        self.p95: float | None = None

    def add(self, seconds: float) -> None:
        self._kept.append(seconds)
        self._new += 1
        if self._new >= UPDATE_INTERVAL or len(self._kept) < UPDATE_INTERVAL:
            ordered = sorted(self._kept)
            self._new, last = 0, len(ordered) - 1
            self.median, self.p95 = ordered[last // 2], ordered[round(0.95 * last)]


class Limit:
    """The number of calls that may be in flight: `size`, never above `maximum`.

    `remembered` is the number that the server handled last time. `queues` tells whether the server
    queues calls instead of refusing them. The limit then follows latency and throughput. Times and
    durations are in seconds of `clock`.

    A limit that is `granted` starts no call until `grant` allows some.
    """

    def __init__(
        self,
        maximum: int,
        remembered: int | None = None,
        queues: bool = False,
        clock: Callable[[], float] = time.monotonic,
        granted: bool = False,
    ) -> None:
        self.clock, self._began = clock, clock()
        self._maximum = max(1, maximum)
        self.granted: int | None = 0 if granted else None
        self.sends_until = float("-inf") if granted else float("inf")
        self.deadline = float("inf")
        self.refusals = 0
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
        self._burst = self._handled = 0
        self._queue = _Throughput() if queues else None
        self.history: deque[tuple[float, int]] = deque([(0.0, self.size)], maxlen=HISTORY)

    @property
    def maximum(self) -> int:
        return self._maximum

    @maximum.setter
    def maximum(self, calls: int) -> None:
        self._maximum = max(1, calls)
        self._size = min(self._size, float(self._maximum))
        self._bound(self.clock())

    def grant(self, calls: int, until: float, deadline: float) -> None:
        """Allow this many calls at once until a time, none of which may take longer.

        Calls in flight above that number end by themselves. The ceiling that was found within a
        smaller grant rises with it, since others left their part of the server's.
        """
        before, self.granted = self.granted or 0, calls
        if self.ceiling is not None and calls > before >= NEAR * self.ceiling and before:
            self.ceiling = min(calls, round(self.ceiling * calls / before))
        self.sends_until, self.deadline = until if calls else float("-inf"), deadline
        self._bound(self.clock())

    @property
    def may_send(self) -> bool:
        """Whether the grant has been renewed in time."""
        return self.clock() < self.sends_until

    @property
    def learned(self) -> int | None:
        """The number to start with next time. None if nothing was learned."""
        return self.size if self.ceiling is not None or self.size > self._start else None

    def room(self) -> int:
        """Return how many calls may start now. One at a time if every call is refused."""
        if not self.may_send:
            return 0
        if self.rests_until:
            if self.clock() < self.rests_until:
                return 0
            self.rests_until = 0.0
            self._apply_burst()
        return (1 if self.refuses_all else self.size) - self.under_way

    def begin(self) -> None:
        self.under_way += 1

    def give_up(self) -> None:
        """Note that a call was not sent after all."""
        self.under_way -= 1

    def answered(self, begun: float) -> None:
        """Note that a call that began at this time was answered."""
        now, used = self.clock(), self.under_way
        self.latencies.add(now - begun)
        self._ended(overrun=False)
        self._handled += begun < self._cut_at
        if used < IN_USE * self.size:
            return
        if self._queue and begun >= self._changed_at:
            if factor := self._queue.factor(now - begun, self.size):
                self._resize(now, self._size * factor)
        elif begun >= self._changed_at or self._doubling:
            self._good += 1
            self._grow(now)

    def failed(self) -> None:
        """Note the end of a call that says nothing about the limit."""
        self._ended(overrun=False)

    def overran(self, begun: float) -> None:
        """Note a timeout, with the time waited as a lower bound of the latency."""
        self.latencies.add(self.clock() - begun)
        self._ended(overrun=True)
        if sum(self._ends) >= OVERRUNS:
            self._cut(begun, self.size)

    def refused(self, begun: float, wait: float) -> None:
        """Note that a busy server refused a call, which has to wait this long."""
        now, handled = self.clock(), self.under_way
        self.under_way -= 1
        self.refusals += 1
        self.refusals_in_a_row += 1
        if self._cut(begun, handled) or (self._burst and begun < self._cut_at):
            self._burst += 1
            self.rest(min(LONGEST_LOOK, 2 * (now - begun) + SHORTEST_LOOK))
        if not self.under_way and self.refusals_in_a_row >= REFUSES_ALL:
            self.refuses_all = True
            self.rest(wait)

    def rest(self, seconds: float) -> None:
        """Start no calls for this long."""
        self.rests_until = max(self.rests_until, self.clock() + seconds)

    def _apply_burst(self) -> None:
        """After a burst of refusals, lower the ceiling to the calls that were not refused."""
        if self._burst >= BURST and self.ceiling is not None:
            self.ceiling = min(self.ceiling, self.under_way + self._handled + 1)
            self._resize(self.clock(), min(self._size, max(1.0, NEAR * self.ceiling)))
        self._burst = 0

    def _ended(self, overrun: bool) -> None:
        self.under_way -= 1
        self.refusals_in_a_row, self.refuses_all = 0, False
        self._ends.append(overrun)

    @property
    def _doubling(self) -> bool:
        return self.ceiling is None and not self._gentle and not self._queue

    def _grow(self, now: float) -> None:
        if self.granted is not None and self._size >= self.granted:
            return
        if self._doubling:
            self._resize(now, self._size + 1)
        elif self._good >= self.size and self._may_pass(now):
            self._gentle = max(0, self._gentle - 1)
            self._resize(now, self._size + 1)

    def _may_pass(self, now: float) -> bool:
        """Return whether the limit may rise: it is below the last ceiling, or that may be probed.

        A successful round above the ceiling raises it.
        """
        if self.ceiling is None or self._size + 1 <= NEAR * self.ceiling:
            return True
        if self.size <= self.ceiling and now - self._looked_at < PROBE_SECONDS:
            return False
        self._looked_at = now
        self.ceiling = max(self.ceiling, self.size)
        return True

    def _cut(self, begun: float, handled: int) -> bool:
        """Cut the limit once per episode, since calls sent before the last cut say nothing new."""
        now = self.clock()
        episode = max(2 * (self.latencies.median or 0.0), EPISODE_SECONDS)
        if self.ceiling is not None and (begun < self._cut_at or now - self._cut_at < episode):
            return False
        factor = CUT if self.ceiling is not None else FIRST_CUT
        self._cut_at = self._looked_at = now
        self._handled = 0
        self.ceiling = max(1, min(self.size, handled))
        self._resize(now, self.size * factor)
        return True

    def _resize(self, now: float, size: float) -> None:
        if self.granted is not None and size > self._size:
            # A size that is not granted has not been tried.
            size = max(self._size, min(size, float(self.granted)))
        self._size = max(1.0, min(size, float(self._maximum)))
        self._changed_at, self._good = now, 0
        self._bound(now)

    def _bound(self, now: float) -> None:
        before, granted = self.size, self._maximum if self.granted is None else self.granted
        self.size = max(1, min(int(self._size), granted))
        if self.size != before:
            self._changed_at, self._good = now, 0
            self.history.append((round(now - self._began, 3), self.size))


class _Throughput:
    """Decides from each round's latencies whether more calls at once raise throughput."""

    def __init__(self) -> None:
        self._round: list[float] = []
        self._quickest: float | None = None
        self._best = 0.0

    def factor(self, seconds: float, size: int) -> float | None:
        """Return the factor for the limit after a round. None within a round, or for no change."""
        self._round.append(seconds)
        if len(self._round) < max(MIN_ROUND, size):
            return None
        median = statistics.median(self._round)
        self._round = []
        rate = size / max(median, 1e-6)
        rises = rate > RISES * self._best
        self._quickest = min(median, self._quickest or median)
        # The best rate decays slowly, so that the limit is tested again if the server gets faster.
        self._best = max(rate, FORGETS * self._best)
        if median > 2 * self._quickest and not rises:
            return QUEUE_CUT
        if not rises:
            return None
        return 2.0 if median < 1.5 * self._quickest else QUEUE_RISE


class Breaker:
    """Opens when more than half of the last calls failed in transport. Then only probes pass.

    Probes are sent one at a time, about `probe_seconds` apart: at random times, so that they do not
    keep step with a server that goes up and down regularly. Any answer to a probe closes the
    breaker. The first one can be sent at once.
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

    def allows(self) -> bool:
        """Return whether a call may start now."""
        return not self.is_open or (not self.probing and self._clock() >= self.probes_at)

    def begin(self) -> bool:
        """Note the start of a call, and return whether it is a probe, for `ended`."""
        self.probing = self.is_open
        return self.probing

    def ended(self, failed: bool, probe: bool = False) -> bool:
        """Note the end of a call, and return whether it closed the breaker."""
        if probe:
            self.probing = False
            return self._probed(failed)
        if not self.is_open:
            self._failed.append(failed)
            if len(self._failed) >= MIN_KNOWN and sum(self._failed) > SHARE * len(self._failed):
                self.trip()
        return False

    def trip(self) -> None:
        """Open the breaker at once, on signs of an outage before many calls have failed."""
        if not self.is_open:
            self.opened_at = self._clock()
            self.probes_at = self.opened_at + self.probe_seconds
            self._failed.clear()

    def probe_now(self) -> None:
        """Allow the next probe at once, since nothing is known about the server yet."""
        self.probes_at = min(self.probes_at, self._clock())

    def _probed(self, failed: bool) -> bool:
        if failed:
            self.probes_at = self._clock() + self.probe_seconds * random.uniform(*JITTER)
            return False
        self.opened_at = None
        return True


class RetryBudget:
    """A budget for retries: one in ten calls of the last minute, and always a few."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: Counter[int] = Counter()
        self._retries: Counter[int] = Counter()

    def called(self) -> None:
        self._calls[self._second()] += 1

    def allow(self) -> bool:
        """Return whether one more retry is within the budget, and count it if so."""
        second = self._second()
        allowed = max(RETRY_FLOOR, RETRY_SHARE * _latest(self._calls, second))
        if _latest(self._retries, second) + 1 > allowed:
            return False
        self._retries[second] += 1
        return True

    def _second(self) -> int:
        return int(self._clock())


def _latest(counts: Counter[int], second: int) -> int:
    """Return the count of the last minute, and drop older counts."""
    for old in [each for each in counts if each <= second - MINUTE]:
        del counts[old]
    return counts.total()


class Refusals:
    """Counts fatal replies, such as a wrong key, by state."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def is_final(self, state: str, least: int = 1) -> bool:
        """Count a refusal, and return whether it may be final: one too many for chance.

        That takes at least `least` in a row.
        """
        self._counts[state] += 1
        return self._counts[state] >= max(least, PATIENT_STATES.get(state, 1))

    def answered(self) -> None:
        self._counts.clear()


def deadline(p95: float | None) -> float:
    """Return the deadline of an attempt in seconds, given the 95th percentile of latencies."""
    if p95 is None:
        return UNKNOWN_DEADLINE
    return min(max(DEADLINE_OF_P95 * p95, SHORTEST_DEADLINE), LONGEST_DEADLINE)
