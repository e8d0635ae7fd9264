"""How far a campaign is, and each person in it: what the pages, the API and the command tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.utils import timezone

from annotation.gold.scoring import Score
from annotation.gold.standing import standings
from annotation.models import Campaign, Item
from annotation.people.exclusions import excluded
from annotation.progress.counting import Counted, Times, Total, by_day, by_person, times, total
from annotation.progress.keeping import kept
from annotation.progress.left import Left, left
from annotation.progress.speed import NO_SPEED, Speed, speeds

DAYS = 14


@dataclass(frozen=True)
class Pace:
    """What takes long to tell of many answers, by rater, as it stood `at` a time; `days` are the
    answers a day, today's last."""

    at: datetime
    times: Mapping[int, Times]
    speeds: Mapping[int, Speed]
    gold: Mapping[int, Score]
    practice: Mapping[int, Score]
    days: tuple[int, ...]


@dataclass(frozen=True)
class Person:
    """One person: counts, speed, the score on known answers (None where there are none, or none was
    answered), and why they are left out of statistics, if they are."""

    counted: Counted
    speed: Speed
    gold: Score | None
    practice: Score | None
    first_at: datetime | None
    newest_at: datetime | None
    excluded: str | None

    @property
    def rater(self) -> int:
        return self.counted.rater

    @property
    def name(self) -> str:
        return self.counted.name


@dataclass(frozen=True)
class Standing:
    """A campaign as it stands; counts are of now, times and scores of `at`."""

    at: datetime
    total: Total
    people: tuple[Person, ...]
    days: tuple[int, ...]

    @property
    def done(self) -> int:
        """Answers in the campaign's places: imported ones have none."""
        return sum(person.counted.placed for person in self.people)

    @property
    def imported(self) -> int:
        return sum(person.counted.done for person in self.people) - self.done

    @property
    def held(self) -> int:
        return sum(person.counted.held for person in self.people)

    @property
    def seconds(self) -> float | None:
        """The median of people's medians, so that nobody counts for more than one."""
        medians = [p.speed.median for p in self.people if p.speed.median is not None]
        return median(medians) if medians else None


def standing(campaign: Campaign) -> Standing:
    """A campaign and its people; what takes long to tell of many answers is of a minute ago."""
    counted = by_person(campaign)
    answers = sum(each.done + each.known for each in counted)
    raters = [each.rater for each in counted]
    pace = kept(f"pace-{campaign.pk}", lambda: (_pace(campaign, raters), answers))
    out = excluded(campaign.name)
    people = tuple(_person(each, pace, out) for each in counted)
    return Standing(pace.at, total(campaign), people, pace.days)


def person_of(campaign: Campaign, rater: int) -> tuple[Person, tuple[int, ...]] | None:
    """One person and their answers a day; None for who was given nothing in the campaign."""
    counted = next((each for each in by_person(campaign) if each.rater == rater), None)
    if counted is None:
        return None
    pace = _pace(campaign, (rater,))
    return _person(counted, pace, excluded(campaign.name)), pace.days


def time_left(campaign: Campaign, found: Standing) -> Left:
    began = [p.first_at for p in found.people if p.first_at and p.counted.placed]
    missing = max(0, found.total.places - found.done)
    first_at = min(began, default=None)
    return left(missing, found.seconds, found.days, first_at, found.at, campaign.deadline)


def _pace(campaign: Campaign, raters: Collection[int]) -> Pace:
    now, first = timezone.now(), campaign.practice_of
    return Pace(
        now,
        times(campaign, raters),
        speeds(campaign, raters),
        standings(campaign, Item.Use.GOLD, raters),
        standings(first, Item.Use.PRACTICE, raters) if first else {},
        tuple(by_day(campaign, timezone.localdate(now), DAYS, raters)),
    )


def _person(counted: Counted, pace: Pace, out: Mapping[str, str]) -> Person:
    rater = counted.rater
    when = pace.times.get(rater)
    return Person(
        counted,
        pace.speeds.get(rater, NO_SPEED),
        pace.gold.get(rater),
        pace.practice.get(rater),
        when and when.first_at,
        when and when.newest_at,
        out.get(counted.name),
    )
