"""Sources of work: the tables in which jobs, uploads and judges' runs wait for a worker.

A source leases what is due in its own table, by the rules of that table. The worker knows none of
them: it takes work, forks a process that carries it out, renews its lease, and closes it. Apps
register their sources in their module `kinds`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.module_loading import autodiscover_modules

from tandem.types import Progress

AN_HOUR = 3600.0


def _nothing() -> None: ...


@dataclass(frozen=True)
class Taken:
    """Work under a lease of this worker.

    `carry_out` does it, in a process that is killed after `seconds` and may allocate `memory_mb`;
    None is no limit. `renew` extends the lease, and returns whether this worker still has it.
    `fail` closes the work when the process has ended by an error. `release` leaves it to the next
    worker. A process that is `told` hears of a stop by SIGTERM, and releases its work itself.
    """

    name: str
    carry_out: Callable[[Progress], None]
    fail: Callable[[str], object] = lambda reason: None
    renew: Callable[[int, int], bool] = lambda done, total: True
    release: Callable[[], object] = _nothing
    memory_mb: int | None = None
    seconds: float | None = AN_HOUR
    told: bool = False


@dataclass(frozen=True)
class Source:
    """A source of work, for one worker.

    `take` leases the work with a key, or whatever is due if the key is empty. With `seconds`, work
    that may last for hours gives way to the next after that time. `has_room` says by the numbers
    at work, by source, and the worker's places whether it may take more. While `is_pending`, work
    will be due later, and a worker waits for it. Work that is not `counted` keeps no worker awake.
    """

    name: str
    take: Callable[[str, float | None], Taken | None]
    has_room: Callable[[Counter[str], int], bool]
    is_pending: Callable[[], bool] = lambda: False
    counted: bool = True


_makers: list[Callable[[], Source]] = []


def register_source(make: Callable[[], Source]) -> None:
    _makers.append(make)


def sources() -> list[Source]:
    """Return all sources anew."""
    autodiscover_modules("kinds")
    return [make() for make in _makers]
