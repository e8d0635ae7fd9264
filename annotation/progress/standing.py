"""How far a campaign is, and each person in it: what the pages, the API and the command tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median

from django.utils import timezone

from annotation.gold.scoring import Score
from annotation.gold.standing import standings
from annotation.models import Campaign, Item
from annotation.people.exclusions import excluded
from annotation.progress.counting import Counted, Total, by_day, by_person, total
from annotation.progress.keeping import kept
from annotation.progress.left import Left, left
from annotation.progress.speed import NO_SPEED, Speed, speeds

DAYS = 14


@dataclass(frozen=True)
class Person:
    """One person: counts, speed, the score on known answers (None where there are none, or none was
    answered), and why they are left out of statistics, if they are."""

    counted: Counted
    speed: Speed
    gold: Score | None
    practice: Score | None
    excluded: str | None = None

    @property
    def rater(self) -> int:
        return self.counted.rater

    @property
    def name(self) -> str:
        return self.counted.name


@dataclass(frozen=True)
class Standing:
    """A campaign as it stood `at` a time; `days` are answers a day, today's last."""

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
    """A campaign and its people as they stand; a large campaign's from a minute ago."""
    found = kept(f"standing-{campaign.pk}", lambda: _sized(_counted(campaign)))
    out = excluded(campaign.name)
    people = tuple(replace(each, excluded=out.get(each.name)) for each in found.people)
    return replace(found, people=people)


def person_of(campaign: Campaign, rater: int) -> Person | None:
    """One person as they stand; None for somebody who was given nothing in the campaign."""
    found = _people(campaign, (rater,))
    out = excluded(campaign.name)
    return replace(found[0], excluded=out.get(found[0].name)) if found else None


def time_left(campaign: Campaign, found: Standing) -> Left:
    began = [p.counted.first_at for p in found.people if p.counted.first_at and p.counted.placed]
    missing = max(0, found.total.places - found.done)
    first_at = min(began, default=None)
    return left(missing, found.seconds, found.days, first_at, found.at, campaign.deadline)


def _counted(campaign: Campaign) -> Standing:
    now = timezone.now()
    days = by_day(campaign, timezone.localdate(now), DAYS)
    return Standing(now, total(campaign), _people(campaign), tuple(days))


def _sized(found: Standing) -> tuple[Standing, int]:
    return found, found.total.items + sum(each.counted.done for each in found.people)


def _people(campaign: Campaign, raters: tuple[int, ...] = ()) -> tuple[Person, ...]:
    times = speeds(campaign, raters)
    gold = standings(campaign, Item.Use.GOLD, raters)
    first = campaign.practice_of
    practice = standings(first, Item.Use.PRACTICE, raters) if first else {}
    return tuple(
        Person(
            each,
            times.get(each.rater, NO_SPEED),
            gold.get(each.rater),
            practice.get(each.rater),
        )
        for each in by_person(campaign, raters)
    )
