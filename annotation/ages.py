"""How old a passage was when its question was asked, from the two dates as a batch writes them."""

from __future__ import annotations

from datetime import date, datetime

MONTHS_FROM = 61
YEARS_FROM = 24


def age_between(asked_at: str | None, published_at: str | None) -> str | None:
    """The age in words, or None where a date is missing or is no whole ISO date.

    Days are counted on the calendar of whoever asked: where both times name their zone, the
    passage's is taken over into the question's. Up to two months the age is in days, then in full
    months, from two years on in years and full months. A passage that is newer than its question
    says by how many days.
    """
    asked, published = moment(asked_at), moment(published_at)
    if asked is None or published is None:
        return None
    if asked.tzinfo and published.tzinfo:
        published = published.astimezone(asked.tzinfo)
    return _between(published.date(), asked.date())


def moment(written: str | None) -> datetime | None:
    """An ISO date or datetime; midnight without a zone for a date. None for anything else."""
    try:
        return datetime.fromisoformat(written) if written else None
    except ValueError:
        return None


def in_words(written: str) -> str:
    """A date as people read it, `3 May 2024` or `3 May 2024, 12:30 UTC`; what is none as it is."""
    when = moment(written)
    if when is None:
        return written
    day = f"{when.day} {when:%B} {when.year}"
    if len(written) <= len("2024-05-03"):
        return day
    zone = f" {when.tzname()}" if when.tzinfo else ""
    return f"{day}, {when:%H:%M}{zone}"


def _between(published: date, asked: date) -> str:
    days = (asked - published).days
    if days < 0:
        return f"{_count(-days, 'day')} after the question"
    if days < MONTHS_FROM:
        return _count(days, "day") if days else "same day"
    months = _full_months(published, asked)
    if months < YEARS_FROM:
        return _count(months, "month")
    years, rest = divmod(months, 12)
    return _count(years, "year") + (f", {_count(rest, 'month')}" if rest else "")


def _full_months(start: date, end: date) -> int:
    return (end.year - start.year) * 12 + end.month - start.month - (end.day < start.day)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
