"""Periodic work, such as sealing the audit trail, as the settings declare it for Celery's beat.

Workers do it without a beat, too: each from its start on, then at its own times. So on most sites
several processes do the same work, which does no harm: its functions look for what is left to do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from datasets.work.sources import Source, Taken
from tandem.types import Progress

logger = logging.getLogger("tandem.jobs")


@dataclass(frozen=True)
class Periodic:
    """A task of Celery's, by its dotted name, and the seconds from one time to the next."""

    task: str
    seconds: float

    def load(self) -> Any:
        return import_string(self.task)


def schedule() -> list[Periodic]:
    """Return all periodic work of the site."""
    entries: Iterable[dict[str, Any]] = settings.CELERY_BEAT_SCHEDULE.values()
    return [Periodic(entry["task"], entry["schedule"]) for entry in entries]


class Clock:
    """Says what is due: everything at first, and then each thing after its seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._due = dict.fromkeys(schedule(), now())

    def take_due(self) -> list[Periodic]:
        """Return what is due, which is then due again after its seconds."""
        now = self._now()
        found = [each for each, due in self._due.items() if due <= now]
        self._due |= {each: now + each.seconds for each in found}
        return found


PERIODIC = "periodic"


def periodic_work() -> Source:
    """Return periodic work as a source. One more process at a time does what is due."""
    clock = Clock()

    def take(key: str, seconds: float | None) -> Taken | None:
        due = clock.take_due()
        if not due:
            return None
        return Taken(
            "periodic work", partial(carry_out, due), memory_mb=settings.TANDEM_JOB_MEMORY_MB
        )

    return Source(PERIODIC, take, lambda at_work, _: not at_work[PERIODIC], counted=False)


def carry_out(due: list[Periodic], progress: Progress) -> None:
    """Do the work here, one thing after the other. One that fails is logged, and stops no other."""
    for each in due:
        try:
            each.load()()
        except Exception:
            logger.exception("%s failed", each.task)
