"""The age of a passage on the date of its question is that worked by hand."""

from __future__ import annotations

import pytest

from annotation.campaigns.rendering import age_between, format_date

BY_HAND = [
    ("2024-05-03", "2024-05-03", "same day"),
    ("2024-05-03", "2024-05-02", "1 day"),
    ("2024-05-03", "2024-04-30", "3 days"),
    # May has 31 days and June 30.
    ("2024-07-01", "2024-05-01", "2 months"),
    ("2024-06-30", "2024-05-01", "60 days"),
    ("2024-07-01", "2024-05-02", "60 days"),
    ("2024-05-03", "2023-05-04", "11 months"),
    ("2024-05-03", "2023-05-03", "12 months"),
    ("2024-05-03", "2022-05-04", "23 months"),
    ("2024-05-03", "2022-05-03", "2 years"),
    ("2024-05-03", "2022-04-03", "2 years, 1 month"),
    ("2024-05-03", "1901-03-03", "123 years, 2 months"),
]
LEAP = [
    ("2024-03-01", "2024-02-28", "2 days"),
    ("2023-03-01", "2023-02-28", "1 day"),
    ("2024-03-01", "2024-02-29", "1 day"),
    ("2025-02-28", "2024-02-29", "11 months"),
    ("2025-03-01", "2024-02-29", "12 months"),
    ("2028-02-29", "2024-02-29", "4 years"),
]
AFTER = [
    ("2024-05-03", "2024-05-04", "1 day after the question"),
    ("2024-02-28", "2024-03-01", "2 days after the question"),
]
# 23:30 in New York is the next day in Berlin; each date counts in the zone it was written in.
ZONES = [
    ("2024-05-03T00:30:00+02:00", "2024-05-02T22:15:00Z", "same day"),
    ("2024-05-03T00:30:00+02:00", "2024-05-02T21:45:00Z", "1 day"),
    ("2024-05-03T08:00:00+02:00", "2024-05-02T23:30:00-04:00", "same day"),
    ("2024-05-02T23:30:00-04:00", "2024-05-03T08:00:00+02:00", "1 day after the question"),
    ("2024-05-03T23:59:00Z", "2024-05-03", "same day"),
    ("2024-05-03T23:30:00-04:00", "2024-05-01", "2 days"),
    ("2024-05-03T12:00:00", "2024-05-03T23:00:00Z", "same day"),
]


@pytest.mark.every_case
@pytest.mark.parametrize(("asked", "published", "age"), [*BY_HAND, *LEAP, *AFTER, *ZONES])
def test_an_age_is_counted_by_the_calendar(asked: str, published: str, age: str) -> None:
    assert age_between(asked, published) == age


@pytest.mark.every_case
@pytest.mark.parametrize("unknown", [None, "", "2023", "2023-04", "spring", "2023-02-30", "🌉"])
def test_an_incomplete_date_gives_no_age(unknown: str | None) -> None:
    assert age_between("2024-05-03", unknown) is None
    assert age_between(unknown, "2024-05-03") is None


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("2024-05-03", "3 May 2024"),
        ("2024-05-03T12:30:00Z", "3 May 2024, 12:30 UTC"),
        ("2024-05-03T12:30:00+02:00", "3 May 2024, 12:30 UTC+02:00"),
        ("2024-05-03T12:30:00", "3 May 2024, 12:30"),
        ("spring 2019", "spring 2019"),
        ("2019", "2019"),
    ],
)
def test_a_date_is_written_out_in_words(written: str, words: str) -> None:
    assert format_date(written) == words
