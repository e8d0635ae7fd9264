"""The parts that a dispatcher and its outcomes work with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from judging.backends.base import Answer, Backend, Request
from judging.costs import Budget
from judging.engine.limits import Limit
from judging.engine.persistence import Writer
from judging.prompts.request import Prepared
from judging.retries import Patience

FailureKind = Literal["fatal", "budget", "rest"]
Repair = Callable[[Prepared, Answer], Request | None]


@dataclass(frozen=True)
class Resources:
    """The parts that a dispatcher works with. `end` is called with the reason to stop.

    `timeout` is the judge's own time limit in seconds. Without it, the deadline follows from the
    latencies. `proven` says that the server has answered in this run before, and `worked` is a
    request that it answered. `down_for` and `busy_for` are the seconds for which it has not
    responded, or has refused everything. `address` is the number of the server's address, if the
    judge has several.
    """

    backend: Backend
    limit: Limit
    writer: Writer
    budget: Budget
    patience: Patience
    end: Callable[[FailureKind, str, bool], None]
    repair: Repair | None = None
    timeout: float | None = None
    grouped: bool = False
    proven: bool = False
    down_for: float = 0.0
    busy_for: float = 0.0
    trouble: str = ""
    worked: Request | None = None
    address: int | None = None
    clock: Callable[[], float] = time.monotonic
