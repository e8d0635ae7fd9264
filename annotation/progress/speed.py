"""How long people take for an item: the median of seconds on task, and whether it changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median

from django.db.models import Count, F, QuerySet, Window
from django.db.models.functions import RowNumber

from annotation.models import Assignment, Campaign
from annotation.progress.counting import DONE, STUDY, people_of

RECENT = 20
"""Answers that make a person's recent speed, which is held against as many before them."""
TOO_FEW = f"fewer than {2 * RECENT} timed answers"
UNTIMED = "no answer has a time"


@dataclass(frozen=True)
class Speed:
    """Seconds an item: the `median` of all timed answers, of the newest `RECENT` of them, and of as
    many before these; None where there are too few, as `reason` and `reason_recent` say."""

    timed: int
    median: float | None = None
    recent: float | None = None
    before: float | None = None

    @property
    def reason(self) -> str | None:
        return None if self.median is not None else UNTIMED

    @property
    def reason_recent(self) -> str | None:
        return None if self.recent is not None else TOO_FEW

    @property
    def change(self) -> float | None:
        """The recent median as a share of the one before, less 1; None where either is."""
        if self.recent is None or not self.before:
            return None
        return self.recent / self.before - 1


NO_SPEED = Speed(0)


def speeds(campaign: Campaign, raters: Collection[int]) -> dict[int, Speed]:
    """By the raters' keys, in two queries whatever the number of people."""
    timed = people_of(campaign, raters).filter(DONE & STUDY, seconds__isnull=False)
    newest = _newest(timed)
    return {
        rater: Speed(number, middle, *_recent(newest[rater]))
        for rater, (number, middle) in _medians(timed).items()
    }


def _medians(timed: QuerySet[Assignment]) -> dict[int, tuple[int, float]]:
    """How many times each person has, and their median: the middle one or two are read."""
    ranked = timed.order_by().annotate(
        place=Window(RowNumber(), partition_by=F("rater"), order_by=("seconds", "pk")),
        number=Window(Count("pk"), partition_by=F("rater")),
    )
    # Of n in a row, the middle ones are those with n <= 2 * place <= n + 2.
    middle = ranked.annotate(twice=F("place") * 2).filter(
        twice__gte=F("number"), twice__lte=F("number") + 2
    )
    found: dict[int, tuple[int, list[float]]] = {}
    for rater, number, place, seconds in middle.values_list("rater", "number", "place", "seconds"):
        if number % 2 == 0 or 2 * place == number + 1:
            found.setdefault(rater, (number, []))[1].append(seconds or 0.0)
    return {rater: (number, median(times[:2])) for rater, (number, times) in found.items()}


def _newest(timed: QuerySet[Assignment]) -> dict[int, list[float]]:
    """The times of each person's newest answers, the newest first."""
    answered = timed.filter(responses__revision=1).annotate(answer=F("responses__pk"))
    ranked = answered.order_by().annotate(
        age=Window(RowNumber(), partition_by=F("rater"), order_by=F("responses__pk").desc())
    )
    found: dict[int, list[float]] = defaultdict(list)
    rows = ranked.filter(age__lte=2 * RECENT).values_list("rater", "age", "seconds")
    for rater, _, seconds in sorted(rows):
        found[rater].append(seconds or 0.0)
    return found


def _recent(newest: Sequence[float]) -> tuple[float | None, float | None]:
    if len(newest) < 2 * RECENT:
        return None, None
    return median(newest[:RECENT]), median(newest[RECENT:])
