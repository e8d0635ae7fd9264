"""Retries: how often a call is repeated, and how long to wait before each attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass

ATTEMPTS = 6
BACKOFF_SECONDS = 0.5
LONGEST_WAIT = 120.0
LONGEST_BACKOFF = 30.0
RATE_PATIENCE = 15 * 60.0
OUTAGE_PATIENCE = 15 * 60.0
UNPROVEN_PATIENCE = 30.0
PROBE_SECONDS = 5.0


@dataclass(frozen=True)
class Patience:
    """How often and how long to retry an assignment. Times are in seconds.

    The engine waits up to `outage` for a server that does not respond, or up to `unproven` if the
    server has never answered in this run. Meanwhile it sends a probe every `probe` seconds.
    """

    attempts: int = ATTEMPTS
    backoff: float = BACKOFF_SECONDS
    rate_patience: float = RATE_PATIENCE
    longest_wait: float = LONGEST_WAIT
    outage: float = OUTAGE_PATIENCE
    unproven: float = UNPROVEN_PATIENCE
    probe: float = PROBE_SECONDS

    def before_retry(self, tries: int) -> float:
        """Return the seconds to wait after a number of transport failures, with full jitter."""
        return jitter(self.backoff, tries)

    def before_busy(self, rates: int, wait: float | None, typical: float | None) -> float:
        """Return the seconds to wait for a busy server: as requested, or the typical latency."""
        if wait is not None:
            requested = min(wait, self.longest_wait)
            return requested + random.uniform(0, 0.1 * requested)
        return jitter(self.backoff if typical is None else 2 * typical, rates)


def jitter(seconds: float, tries: int) -> float:
    return random.uniform(0, min(seconds * 2.0 ** (tries - 1), LONGEST_BACKOFF))
