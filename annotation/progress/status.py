"""A campaign's status: what is done and left, how fast people work, and a forecast.

Speed is the median of the seconds on task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Annotated

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from annotation.campaigns.answer_totals import AnswerTotals
from annotation.gold.scoring import Score, scores_of_begun
from annotation.models import Assignment, Campaign, Item
from annotation.people.membership import exclusion_reasons
from annotation.people.pay import median_times
from annotation.people.shares import allotted_by_rater
from annotation.progress.counts import (
    DONE,
    STUDY,
    PersonCounts,
    Times,
    Total,
    by_day,
    by_person,
    cached,
    people_of,
    recent_answer_totals,
    times,
    total,
)

WEEK = 7
DAYS = 14
NO_RECENT_ANSWERS = f"no answers in the last {WEEK} days"
NO_TIMES = "no answer has a time"
FARTHEST = 10 * 365
TOO_FAR = "at this pace it would take more than ten years"
RECENT = 20
"""The number of answers in a person's recent pace, and in the pace before that."""
TOO_FEW = f"fewer than {2 * RECENT} timed answers"
UNTIMED = "no answer has a time"


@dataclass(frozen=True)
class Forecast:
    """The answers still missing, and a forecast of the work.

    `hours` assumes the median time of an answer, and `end` the pace of the last week (`per_day`).
    If one is None, the field beside it has the reason. `late` says whether the end is after the
    deadline.
    """

    answers: Annotated[int, "answers still to give"]
    hours: Annotated[float | None, "hours of work, at `seconds` per answer"] = None
    hours_reason: str | None = None
    per_day: Annotated[float | None, "answers per day over the last week"] = None
    end: Annotated[datetime | None, "the end at that pace"] = None
    end_reason: str | None = None
    late: Annotated[bool, "whether the end is after the deadline"] = False


def forecast(
    answers: int,
    seconds: float | None,
    days: Sequence[int],
    first_at: datetime | None,
    now: datetime,
    deadline: datetime | None,
) -> Forecast:
    """Forecast the end from `days`, the answers a day with today's last.

    The pace is that of the last seven days, or of the days since the first answer if there are
    fewer, but at least one day.
    """
    if answers <= 0:
        return Forecast(0)
    hours = None if seconds is None else answers * seconds / 3600
    pace = _per_day(days, first_at, now)
    end = _end(answers, pace, now)
    reason = (NO_RECENT_ANSWERS if not pace else TOO_FAR) if end is None else None
    late = deadline is not None and end is not None and end > deadline
    return Forecast(
        answers, hours, None if hours is not None else NO_TIMES, pace, end, reason, late
    )


def _per_day(days: Sequence[int], first_at: datetime | None, now: datetime) -> float | None:
    done = sum(days[-WEEK:])
    if not done or first_at is None:
        return None
    return done / min(float(WEEK), max(1.0, (now - first_at) / timedelta(days=1)))


def _end(answers: int, pace: float | None, now: datetime) -> datetime | None:
    if not pace or answers / pace > FARTHEST:
        return None
    return now + timedelta(days=answers / pace)


@dataclass(frozen=True)
class Speed:
    """Seconds per item: medians of all timed answers, of the newest `RECENT`, and of those before.

    A median of too few answers is None; `reason` and `reason_recent` say why.
    """

    timed: Annotated[int, "answers with a time"]
    median: Annotated[float | None, "seconds on task per item"] = None
    recent: Annotated[float | None, "median of the newest 20"] = None
    before: Annotated[float | None, "median of the 20 before them"] = None

    @property
    def reason(self) -> str | None:
        return None if self.median is not None else UNTIMED

    @property
    def reason_recent(self) -> str | None:
        return None if self.recent is not None else TOO_FEW

    @property
    def change(self) -> float | None:
        """The relative change of the recent median against the one before, or None."""
        if self.recent is None or not self.before:
            return None
        return self.recent / self.before - 1


NO_SPEED = Speed(0)


def speeds(campaign: Campaign, raters: Collection[int]) -> dict[int, Speed]:
    """Return each rater's speed by primary key, in two queries."""
    timed = people_of(campaign, raters).filter(DONE & STUDY, seconds__isnull=False)
    newest = _newest(timed)
    return {
        rater: Speed(number, middle, *_recent(newest[rater]))
        for rater, (number, middle) in median_times(timed).items()
    }


def _newest(timed: QuerySet[Assignment]) -> dict[int, list[float]]:
    """Return the times of each person's newest answers, newest first."""
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


def format_seconds(seconds: float | None) -> str:
    """Return a duration as text: 4.2 s, 45 s, 12 min, 3 h 20 min, 2,400 h; a dash for None."""
    if seconds is None:
        return "–"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 89.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    if minutes < 100 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes // 60:,} h"


def format_change(change: float | None) -> str:
    """Return a relative change of time as text; empty for None and for less than 10 %."""
    if change is None or abs(change) < 0.1:
        return ""
    return f"{abs(change):.0%} {'faster' if change < 0 else 'slower'}"


@dataclass(frozen=True)
class Pace:
    """Numbers by rater that are slow to compute, as of `at`; `days` are the answers per day."""

    at: datetime
    times: Mapping[int, Times]
    speeds: Mapping[int, Speed]
    gold: Mapping[int, Score]
    practice: Mapping[int, Score]
    days: tuple[int, ...]


@dataclass(frozen=True)
class Person:
    """One person's counts, speed and scores, and the reason if they are excluded.

    A score is None if the person has answered no gold or practice item. `allotted` is the number of
    items in a person's fixed share, if they have one.
    """

    counted: PersonCounts
    speed: Speed
    gold: Score | None
    practice: Score | None
    first_at: datetime | None
    newest_at: datetime | None
    excluded: str | None
    allotted: int | None = None

    @property
    def rater(self) -> int:
        return self.counted.rater

    @property
    def name(self) -> str:
        return self.counted.name


@dataclass(frozen=True)
class CampaignStatus:
    """A campaign's status: current counts, with times and scores as of `at`."""

    at: datetime
    total: Total
    people: tuple[Person, ...]
    days: tuple[int, ...]
    places: AnswerTotals

    @property
    def done(self) -> int:
        """The answers that take a slot; imported ones do not."""
        return sum(person.counted.placed for person in self.people)

    @property
    def answered(self) -> int:
        """The existing answers that the design asks for, imported ones included."""
        return self.places.answered

    @property
    def imported(self) -> int:
        return sum(person.counted.done for person in self.people) - self.done

    @property
    def held(self) -> int:
        return sum(person.counted.held for person in self.people)

    @property
    def seconds(self) -> float | None:
        """The median of people's medians, so that each person counts once."""
        medians = [p.speed.median for p in self.people if p.speed.median is not None]
        return median(medians) if medians else None


def get_status(campaign: Campaign) -> CampaignStatus:
    """Return the status of a campaign and its people; slow numbers may be a minute old."""
    counted = by_person(campaign)
    answers = sum(each.done + each.known for each in counted)
    raters = [each.rater for each in counted]
    pace = cached(f"pace-{campaign.pk}", lambda: (_pace(campaign, raters), answers))
    out = exclusion_reasons(campaign.name)
    allotted = allotted_by_rater(campaign)
    people = tuple(_person(each, pace, out, allotted) for each in counted)
    asked = total(campaign)
    places = recent_answer_totals(campaign, asked, counted)
    return CampaignStatus(pace.at, asked, people, pace.days, places)


def find_person(campaign: Campaign, rater: int) -> tuple[Person, tuple[int, ...]] | None:
    """Return a person with their answers per day, or None if they have no assignment here."""
    counted = next((each for each in by_person(campaign) if each.rater == rater), None)
    if counted is None:
        return None
    pace = _pace(campaign, (rater,))
    out, allotted = exclusion_reasons(campaign.name), allotted_by_rater(campaign)
    return _person(counted, pace, out, allotted), pace.days


def forecast_end(campaign: Campaign, found: CampaignStatus) -> Forecast:
    """Forecast when the campaign's slots will be filled."""
    began = [p.first_at for p in found.people if p.first_at and p.counted.placed]
    missing = max(0, found.total.places - found.answered)
    first_at = min(began, default=None)
    return forecast(missing, found.seconds, found.days, first_at, found.at, campaign.deadline)


def _pace(campaign: Campaign, raters: Collection[int]) -> Pace:
    now, first = timezone.now(), campaign.practice_of
    return Pace(
        now,
        times(campaign, raters),
        speeds(campaign, raters),
        scores_of_begun(campaign, raters, Item.Use.GOLD),
        scores_of_begun(first, raters, Item.Use.PRACTICE) if first else {},
        tuple(by_day(campaign, timezone.localdate(now), DAYS, raters)),
    )


def _person(
    counted: PersonCounts, pace: Pace, out: Mapping[str, str], allotted: Mapping[int, int]
) -> Person:
    rater = counted.rater
    when = pace.times.get(rater)
    return Person(
        counted,
        pace.speeds.get(rater, NO_SPEED),
        pace.gold.get(rater),
        pace.practice.get(rater),
        when.first_at if when else None,
        when.newest_at if when else None,
        out.get(counted.name),
        allotted.get(rater),
    )
