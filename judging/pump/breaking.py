"""What spares an ailing server: a breaker, a budget of retries, deadlines.

All of it is arithmetic with a clock, in seconds.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable

WINDOW, LEAST_KNOWN, SHARE = 50, 20, 0.5
PROBE_SECONDS = 5.0
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
        probe_seconds: float = PROBE_SECONDS,
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
