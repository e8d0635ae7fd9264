"""How often a call is tried again, and how long to wait before each attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass

ATTEMPTS = 6
BACKOFF_SECONDS = 0.5
LONGEST_WAIT = 120.0
RATE_PATIENCE = 15 * 60.0
OUTAGE_PATIENCE = 15 * 60.0
UNPROVEN_PATIENCE = 30.0
PROBE_SECONDS = 5.0


@dataclass(frozen=True)
class Patience:
    """How often and how long a row is tried. Times in seconds; tests make them short.

    A server that is away is waited for `outage`, or `unproven` where it never answered in this
    run; meanwhile it is asked each `probe`.
    """

    attempts: int = ATTEMPTS
    backoff: float = BACKOFF_SECONDS
    rate_patience: float = RATE_PATIENCE
    longest_wait: float = LONGEST_WAIT
    outage: float = OUTAGE_PATIENCE
    unproven: float = UNPROVEN_PATIENCE
    probe: float = PROBE_SECONDS

    def before_retry(self, tries: int) -> float:
        """Seconds to wait after so many failures in transport, with full jitter."""
        return jitter(self.backoff, tries)

    def before_busy(self, rates: int, wait: float | None, typical: float | None) -> float:
        """Seconds to wait for a busy server: what it says, or by what a call takes."""
        if wait is not None:
            asked = min(wait, self.longest_wait)
            return asked + random.uniform(0, 0.1 * asked)
        return jitter(self.backoff if typical is None else 2 * typical, rates)


def jitter(seconds: float, tries: int) -> float:
    return random.uniform(0, min(seconds * 2.0 ** (tries - 1), LONGEST_BACKOFF))


LONGEST_BACKOFF = 30.0
