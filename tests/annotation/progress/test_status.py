"""What a campaign's status counts of people's answers: which rows, whose, and since when."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Assignment, Campaign, GoldAnswer, Item, Rater, Response, User
from annotation.people.membership import exclude
from annotation.progress import counts
from annotation.progress.counts import (
    PersonCounts,
    Times,
    answers_by_guideline,
    by_day,
    by_person,
    times,
    total,
    with_counts,
)
from annotation.progress.person import seconds_per_item
from annotation.progress.status import (
    NO_SPEED,
    Speed,
    find_person,
    forecast_end,
    get_status,
    speeds,
)
from datasets.models import Batch
from tests.page_cast import Study, make_study, payload

pytestmark = pytest.mark.django_db
NOW = timezone.now()
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    caches["reports"].clear()


@pytest.fixture
def study() -> Study:
    return make_study(reports=5, people=2)


@pytest.fixture
def other(study: Study) -> Campaign:
    return create_campaign("Other", "report-coverage", Batch.objects.get(), Design()).campaign


def rater(name: str, kind: str = "human") -> Rater:
    return Rater.objects.get_or_create(name=name, kind=kind)[0]


def row(campaign: Campaign, place: int, who: Rater, **changes: Any) -> Assignment:
    """An assignment to the item at this position; by default done, in the next slot."""
    item = campaign.items.get(position=place)
    used = Assignment.objects.filter(item=item, slot__isnull=False).count()
    given = {"status": "done", "slot": used + 1, **changes}
    return Assignment.objects.create(item=item, rater=who, asked=["q:0"], **given)


def answered(of: Assignment, at: datetime, revision: int = 1, **changes: Any) -> Response:
    given = {"current": True, "payload": {}, "door": "page", **changes}
    of.responses.update(current=False)
    return Response.objects.create(assignment=of, created_at=at, revision=revision, **given)


def use(campaign: Campaign, place: int, name: str) -> None:
    campaign.items.filter(position=place).update(use=name)


class TestPeople:
    def test_people_are_listed_by_name_with_answered_and_reserved_items(
        self, study: Study, other: Campaign
    ) -> None:
        bo, ann = rater("bo"), rater("ann")
        for place, name in ((3, "gold"), (4, "practice")):
            use(study.campaign, place, name)
        row(study.campaign, 0, bo)
        row(study.campaign, 1, bo, slot=None)
        row(study.campaign, 2, bo, status="open")
        row(study.campaign, 3, bo)
        row(study.campaign, 4, bo, slot=None)
        row(study.campaign, 3, ann, status="open")
        row(study.campaign, 0, ann, status="open", slot=None)
        row(study.campaign, 1, rater("judge", "judge"), slot=None)
        row(other, 0, rater("cy"))
        assert by_person(study.campaign) == [
            PersonCounts(ann.pk, "ann", done=0, placed=0, known=0, held=1),
            PersonCounts(bo.pk, "bo", done=2, placed=1, known=2, held=1),
        ]
        assert total(study.campaign) == (3, 6)
        assert total(Campaign(pk=0)) == (0, 0)

    def test_lists_count_filled_slots_imported_answers_and_raters(
        self, study: Study, other: Campaign
    ) -> None:
        use(study.campaign, 4, "gold")
        row(study.campaign, 0, rater("ann"))
        row(study.campaign, 1, rater("ann"))
        row(study.campaign, 1, rater("bo"), slot=None)
        row(study.campaign, 2, rater("cy"), status="open")
        row(study.campaign, 4, rater("di"))
        for name, slot in (("one", 1), ("two", None), ("three", None)):
            row(study.campaign, 3, rater(name, "judge"), slot=slot)
        row(other, 0, rater("eve"))
        names = ("items_total", "places", "places_done", "imported", "people_done", "people",
                 "judges")  # fmt: skip
        found = with_counts(Campaign.objects.all()).order_by("-name").values_list(*names)
        assert list(found) == [(4, 8, 2, 1, 3, 2, 3), (5, 5, 1, 0, 1, 1, 0)]

    def test_times_are_those_of_first_answers_in_the_campaign(
        self, study: Study, other: Campaign
    ) -> None:
        ann, bo = rater("ann"), rater("bo")
        for place, days in ((0, 3), (1, 1), (2, 2)):
            answered(row(study.campaign, place, ann), NOW - days * DAY)
        answered(row(study.campaign, 3, ann), NOW, revision=2)
        answered(row(study.campaign, 0, bo), NOW)
        answered(row(other, 0, ann), NOW - 9 * DAY)
        assert times(study.campaign, [ann.pk]) == {ann.pk: Times(NOW - 3 * DAY, NOW - DAY)}
        assert set(times(study.campaign, [ann.pk, bo.pk, rater("cy").pk])) == {ann.pk, bo.pk}

    def test_a_day_begins_at_midnight_and_counts_first_answers_to_study_items(
        self, study: Study, other: Campaign
    ) -> None:
        ann, bo = rater("ann"), rater("bo")
        today = timezone.localdate(NOW)
        midnight = timezone.localtime(NOW).replace(hour=0, minute=0, second=0, microsecond=0)
        use(study.campaign, 3, "gold")
        answered(row(study.campaign, 0, ann), midnight)
        answered(row(study.campaign, 1, ann), midnight - DAY)
        answered(row(study.campaign, 2, ann), midnight - DAY - timedelta(microseconds=1))
        answered(row(study.campaign, 0, bo), midnight - DAY / 2, revision=2)
        answered(row(study.campaign, 1, bo, slot=None), midnight)
        answered(row(study.campaign, 3, bo), midnight)
        answered(row(study.campaign, 4, rater("cy")), midnight)
        answered(row(other, 0, ann), midnight)
        people = [ann.pk, bo.pk]
        assert by_day(study.campaign, today, 2, people) == [1, 1]
        assert by_day(study.campaign, today, 3, people) == [1, 1, 1]
        assert by_day(study.campaign, today - DAY, 1, people) == [1]
        assert by_day(study.campaign, today, 1, [bo.pk]) == [0]

    def test_items_are_counted_by_guideline_version(self, study: Study, other: Campaign) -> None:
        ann, judge = rater("ann"), rater("judge", "judge")
        basis = ["-".join(letter * 12 for letter in letters) for letters in ("abc", "abd")]
        mine = row(study.campaign, 0, ann)
        answered(mine, NOW, basis=basis[0])
        answered(mine, NOW, revision=2, basis=basis[0])
        answered(row(study.campaign, 1, ann), NOW, basis=basis[0])
        answered(row(study.campaign, 2, ann), NOW, basis=basis[1])
        answered(row(study.campaign, 3, ann), NOW, basis="")
        answered(row(study.campaign, 4, ann), NOW)
        answered(row(study.campaign, 0, judge, slot=None), NOW, basis=basis[0])
        answered(row(other, 0, ann), NOW, basis=basis[0])
        assert answers_by_guideline(study.campaign) == {"c" * 12: 2, "d" * 12: 1}


class TestSpeeds:
    def test_speeds_use_timed_answers_to_study_items_of_the_campaign(
        self, study: Study, other: Campaign
    ) -> None:
        ann = rater("ann")
        use(study.campaign, 3, "practice")
        answered(row(study.campaign, 0, ann, seconds=4.0), NOW)
        answered(row(study.campaign, 1, ann, seconds=None), NOW)
        row(study.campaign, 2, ann, status="open", seconds=90.0)
        answered(row(study.campaign, 3, ann, seconds=90.0), NOW)
        answered(row(study.campaign, 4, ann, seconds=0.0), NOW)
        answered(row(other, 0, ann, seconds=90.0), NOW)
        answered(row(study.campaign, 0, rater("bo"), seconds=90.0), NOW)
        assert speeds(study.campaign, [ann.pk]) == {ann.pk: Speed(2, 2.0)}

    def test_the_twenty_newest_answers_are_compared_with_the_twenty_before(self) -> None:
        study = make_study(reports=41)
        given = [10.0] * 11 + [40.0] * 10 + [30.0] * 20
        rows = [
            row(study.campaign, place, rater(name), seconds=seconds)
            for name in ("ann", "bo")
            for place, seconds in enumerate(given[: 41 if name == "ann" else 39])
        ]
        for each in rows:
            answered(each, NOW)
        answered(rows[0], NOW, revision=2)
        ann, bo = (speeds(study.campaign, [rater(name).pk]) for name in ("ann", "bo"))
        assert ann == {rater("ann").pk: Speed(41, 30.0, 30.0, 25.0)}
        assert bo == {rater("bo").pk: Speed(39, 30.0)}


class TestStatus:
    def test_a_persons_status_has_all_their_numbers(self, study: Study, other: Campaign) -> None:
        study.campaign.practice_of = other
        use(study.campaign, 4, "gold")
        use(other, 0, "practice")
        for campaign, place in ((study.campaign, 4), (other, 0)):
            unit = campaign.items.get(position=place).units.get(name="q:0")
            GoldAnswer.objects.create(unit=unit, variable="answerable", value="no")
        ann, bo = rater("ann"), rater("bo")
        row(study.campaign, 1, bo, status="open")
        answered(row(study.campaign, 0, ann, seconds=5.0), NOW - 2 * DAY)
        answered(row(study.campaign, 2, ann), NOW - DAY)
        for place, code in ((4, "no"), (0, "invalid")):
            campaign = study.campaign if place else other
            names = ["q:0", "q:1", "q:2"]
            held = Assignment.objects.create(
                item=campaign.items.get(position=place), rater=ann, asked=names
            )
            submit(held, payload(code), "page")
        exclude(study.campaign, ann, "guessed")
        first, second = get_status(study.campaign).people
        assert first.gold is not None
        assert first.practice is not None
        assert (first.gold.right, first.practice.right) == (1, 0)
        assert (first.speed.median, first.excluded) == (5.0, "guessed")
        assert first.first_at == NOW - 2 * DAY
        assert first.newest_at is not None
        assert first.newest_at > NOW - DAY
        assert (second.name, second.speed, second.excluded) == ("bo", NO_SPEED, None)
        assert (second.gold, second.practice, second.allotted) == (None, None, None)
        assert (second.first_at, second.newest_at) == (None, None)
        found = find_person(study.campaign, ann.pk)
        assert found is not None
        assert (found[0], sum(found[1])) == (first, 2)
        assert find_person(study.campaign, rater("cy").pk) is None

    def test_without_required_practice_there_is_no_practice_score(self, study: Study) -> None:
        use(study.campaign, 0, "practice")
        answered(row(study.campaign, 1, rater("ann")), NOW)
        (ann,) = get_status(study.campaign).people
        assert ann.practice is None

    def test_a_persons_status_has_the_number_of_allotted_items(self, study: Study) -> None:
        change(study.campaign, CampaignSettings(shares={"ada": 0.5}))
        mine = study.assignment(study.ada)
        (ada,) = get_status(study.campaign).people
        assert ada.allotted == 5
        found = find_person(study.campaign, mine.rater_id)
        assert found is not None
        assert found[0].allotted == 5

    def test_the_forecast_begins_with_the_first_answer_that_fills_a_slot(
        self, study: Study
    ) -> None:
        study.campaign.deadline = NOW
        answered(row(study.campaign, 0, rater("old"), slot=None), NOW - 6 * DAY)
        for place, days in ((0, 2), (1, 3)):
            answered(row(study.campaign, place, rater("ann"), seconds=36.0), NOW - days * DAY)
        answered(row(study.campaign, 1, rater("bo")), NOW)
        row(study.campaign, 2, rater("bo"), status="open")
        status = get_status(study.campaign)
        forecast = forecast_end(study.campaign, status)
        assert (forecast.answers, forecast.hours) == (10 - 4, 6 / 100)
        assert forecast.per_day == pytest.approx(3 / ((status.at - NOW + 3 * DAY) / DAY))
        assert forecast.late

    def test_more_answers_than_requested_leave_nothing_to_do(self, study: Study) -> None:
        Item.objects.update(quota=0)
        answered(row(study.campaign, 0, rater("ann"), slot=None), NOW)
        assert forecast_end(study.campaign, get_status(study.campaign)).answers == 0

    def test_slow_counts_of_many_answers_are_cached_by_campaign(
        self, study: Study, other: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(counts, "MANY", 1)
        use(study.campaign, 1, "gold")
        row(study.campaign, 0, rater("ann"))
        row(study.campaign, 1, rater("bo"))
        row(other, 0, rater("ann"))
        first, second = (get_status(study.campaign).at for _ in range(2))
        assert first == second
        first, second = (get_status(other).at for _ in range(2))
        assert first < second

    def test_the_pace_of_a_large_campaign_is_read_by_its_managers_and_by_its_people(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(counts, "MANY", 1)
        for n in range(3):
            answered(row(study.campaign, n, rater("ann"), seconds=60 + 30 * n), NOW)
        new = User.objects.create(username="new", role="annotator")
        assert get_status(study.campaign).seconds == 90
        assert seconds_per_item(new, [study.campaign.pk]) == {study.campaign.pk: 90}
