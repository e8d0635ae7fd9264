"""Forecasts and durations match cases worked by hand, and large counts are cached for a minute."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import caches

from annotation.campaigns.answer_totals import AnswerTotals
from annotation.progress import counts
from annotation.progress.counts import PersonCounts, Total, cached
from annotation.progress.status import (
    NO_RECENT_ANSWERS,
    NO_TIMES,
    TOO_FAR,
    TOO_FEW,
    UNTIMED,
    CampaignStatus,
    Forecast,
    Person,
    Speed,
    forecast,
    format_change,
    format_seconds,
)

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=20)
MANY = 20_000


def days(number: float) -> timedelta:
    return timedelta(days=number)


class TestForecast:
    def test_on_the_first_day_the_pace_is_the_number_of_answers_so_far(self) -> None:
        began = NOW - days(0.5)
        assert forecast(10, 36.0, [0] * 13 + [5], began, NOW, None) == Forecast(
            10, 0.1, None, 5.0, NOW + days(2), None, late=False
        )

    def test_later_the_pace_is_averaged_over_the_days_since_up_to_a_week(self) -> None:
        assert forecast(6, 0.0, [9, 1, 1, 2], NOW - days(4), NOW, None) == Forecast(
            6, 0.0, None, 13 / 4, NOW + days(6 / (13 / 4)), None, late=False
        )
        assert forecast(14, None, [9] + [1] * 7, LONG_AGO, NOW, None) == Forecast(
            14, None, NO_TIMES, 1.0, NOW + days(14), None, late=False
        )

    def test_an_end_by_the_deadline_is_in_time_and_a_later_one_is_late(self) -> None:
        end = NOW + days(14)
        for deadline, late in ((end, False), (end - timedelta(microseconds=1), True)):
            assert forecast(14, 5.0, [1] * 7, LONG_AGO, NOW, deadline).late is late
        assert forecast(1, 5.0, [0] * 7, LONG_AGO, NOW, NOW - days(1)).late is False

    @pytest.mark.parametrize("began", [LONG_AGO, None])
    def test_without_recent_answers_there_is_no_pace(self, began: datetime | None) -> None:
        recent = [5] + [0] * 7 if began else [5]
        assert forecast(10, 36.0, recent, began, NOW, NOW) == Forecast(
            10, 0.1, None, None, None, NO_RECENT_ANSWERS, late=False
        )

    def test_an_end_more_than_ten_years_away_is_not_forecast(self) -> None:
        assert forecast(3650, None, [1], NOW, NOW, None).end == NOW + days(3650)
        assert forecast(3651, None, [1], NOW, NOW, NOW) == Forecast(
            3651, None, NO_TIMES, 1.0, None, TOO_FAR, late=False
        )

    def test_without_answers_left_there_is_no_forecast(self) -> None:
        for answers in (0, -1):
            assert forecast(answers, 36.0, [1], NOW, NOW, NOW - days(1)) == Forecast(0)
        assert Forecast(0) == Forecast(0, None, None, None, None, None, late=False)
        assert forecast(1, 36.0, [1], NOW, NOW, None).end == NOW + days(1)


class TestWords:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("seconds", "words"),
        [(None, "–"), (0.0, "0.0 s"), (9.94, "9.9 s"), (9.95, "10 s"), (89.4, "89 s"),
         (89.5, "1 min"), (91, "2 min"), (3600, "60 min"), (8_640_000, "2,400 h"),
         (89 * 60 + 29, "89 min"), (89 * 60 + 31, "1 h 30 min"), (61 * 60 * 60, "61 h 00 min"),
         (5999 * 60, "99 h 59 min"), (6000 * 60, "100 h"), (6059 * 60, "100 h")],
    )  # fmt: skip
    def test_durations_are_formatted(self, seconds: float | None, words: str) -> None:
        assert format_seconds(seconds) == words

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("change", "words"),
        [(None, ""), (0.0, ""), (0.099, ""), (-0.099, ""), (0.1, "10% slower"),
         (-0.1, "10% faster"), (1.5, "150% slower")],
    )  # fmt: skip
    def test_changes_of_speed_are_described_from_ten_percent_on(
        self, change: float | None, words: str
    ) -> None:
        assert format_change(change) == words


class TestSpeed:
    def test_a_missing_speed_has_a_reason(self) -> None:
        nothing, some = Speed(0), Speed(40, 5.0, 6.0, 4.0)
        assert (nothing.reason, nothing.reason_recent) == (UNTIMED, TOO_FEW)
        assert TOO_FEW == "fewer than 40 timed answers"
        assert (some.reason, some.reason_recent) == (None, None)

    def test_a_change_of_speed_is_relative_to_the_time_before(self) -> None:
        assert Speed(40, 5.0, 6.0, 4.0).change == 0.5
        assert Speed(40, 5.0, 6.0, 0.0).change is None
        assert Speed(40, 5.0, 6.0, None).change is None
        assert Speed(40, 5.0, None, 4.0).change is None


def person(median: float | None, done: int, placed: int, held: int) -> Person:
    counted = PersonCounts(7, "ann", done, placed, 0, held)
    return Person(counted, Speed(1, median), None, None, None, None, None)


def test_a_campaigns_counts_are_sums_and_its_speed_the_median_of_its_people() -> None:
    people = (person(4.0, 3, 2, 1), person(None, 5, 5, 0), person(9.0, 4, 0, 2))
    status = CampaignStatus(NOW, Total(9, 18), people, (), AnswerTotals(9, 18, 8))
    assert (status.done, status.imported, status.held, status.answered) == (7, 5, 3, 8)
    assert status.seconds == 6.5
    assert (people[0].rater, people[0].name) == (7, "ann")
    assert CampaignStatus(NOW, Total(0, 0), people[1:2], (), AnswerTotals(0, 0, 0)).seconds is None


class TestCache:
    @pytest.fixture(autouse=True)
    def now(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """The time, also for the cache."""
        caches["reports"].clear()
        now = [time.time()]
        monkeypatch.setattr(counts.clock, "time", lambda: now[0])
        return now

    def look(self, made: str, size: int = MANY + 1) -> str:
        return cached("counts", lambda: (made, size))

    def test_only_counts_of_many_answers_are_cached(self) -> None:
        assert self.look("first", MANY) == "first"
        assert self.look("second", MANY + 1) == "second"
        assert self.look("third") == "second"

    def test_cached_counts_are_used_for_less_than_a_minute(self, now: list[float]) -> None:
        self.look("first")
        now[0] += 59.9
        assert self.look("second") == "first"
        now[0] += 0.1
        assert self.look("second") == "second"

    def test_after_a_failed_count_another_request_counts_a_minute_later(
        self, now: list[float]
    ) -> None:
        def fails() -> tuple[str, int]:
            raise RuntimeError

        self.look("first")
        now[0] += 60
        with pytest.raises(RuntimeError):
            cached("counts", fails)
        now[0] += 59.9
        assert self.look("second") == "first"
        now[0] += 0.2
        assert self.look("second") == "second"

    def test_counts_older_than_an_hour_are_not_shown(self, now: list[float]) -> None:
        self.look("first")
        now[0] += 3599

        def meanwhile(name: str) -> tuple[str, int]:
            return self.look(name), MANY + 1

        assert cached("counts", lambda: meanwhile("second")) == "first"
        now[0] += 3601
        assert cached("counts", lambda: meanwhile("third")) == "third"
