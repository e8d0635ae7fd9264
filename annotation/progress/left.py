"""How much is left of a campaign, and how long that may take: pure, over counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WEEK = 7
NOTHING_LATELY = f"nobody has answered in the last {WEEK} days"
NO_TIMES = "no answer has a time"
FARTHEST = 10 * 365
TOO_FAR = "at this pace it would take more than ten years"


@dataclass(frozen=True)
class Left:
    """Answers still to give. `hours` of work at the median time of an answer, and `end` at the pace
    of the last week, in answers a day; each None for its reason. `late` where the end is behind the
    deadline."""

    answers: int
    hours: float | None = None
    hours_reason: str | None = None
    per_day: float | None = None
    end: datetime | None = None
    end_reason: str | None = None
    late: bool = False


def left(
    answers: int,
    seconds: float | None,
    days: Sequence[int],
    first_at: datetime | None,
    now: datetime,
    deadline: datetime | None,
) -> Left:
    """`days` are answers a day, today's last. The pace is that of the last seven days, or of those
    since the first answer, and of no less than one."""
    if answers <= 0:
        return Left(0)
    hours = None if seconds is None else answers * seconds / 3600
    pace = _per_day(days, first_at, now)
    end = _end(answers, pace, now)
    reason = (NOTHING_LATELY if not pace else TOO_FAR) if end is None else None
    late = deadline is not None and end is not None and end > deadline
    return Left(answers, hours, None if hours is not None else NO_TIMES, pace, end, reason, late)


def _per_day(days: Sequence[int], first_at: datetime | None, now: datetime) -> float | None:
    done = sum(days[-WEEK:])
    if not done or first_at is None:
        return None
    return done / min(float(WEEK), max(1.0, (now - first_at) / timedelta(days=1)))


def _end(answers: int, pace: float | None, now: datetime) -> datetime | None:
    if not pace or answers / pace > FARTHEST:
        return None
    return now + timedelta(days=answers / pace)
