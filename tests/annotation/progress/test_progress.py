"""Progress: counts, speed and time left of a campaign and its people, and the labels of a hint."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.models import Assignment, Campaign, GoldAnswer, Item, Label, Rater, User, rater_of
from annotation.people.membership import exclude
from annotation.progress.flags import (
    WORDS_A_MINUTE,
    LabelFilter,
    filter_labels,
    find_flags,
    label_rows,
)
from annotation.progress.status import (
    forecast,
    get_status,
    speeds,
)
from tests.api.cast import assert_error, script_of
from tests.cast import run
from tests.page_cast import Study, client_of, make_study, payload

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    caches["reports"].clear()


def chosen(labels: Mapping[str, str]) -> LabelFilter:
    """The labels that a flag's address selects."""
    return LabelFilter(labels.get("of", ""), labels.get("variable", ""), labels.get("value", ""))


def last_item() -> Item:
    found = Item.objects.last()
    assert found is not None
    return found


def rater(name: str) -> Rater:
    return Rater.objects.get_or_create(name=name)[0]


def answer(campaign: Campaign, who: Rater, seconds: float | None, code: str = "no") -> Assignment:
    held = next_assignment(campaign, who)
    assert held is not None
    submit(held, payload(code), "page")
    Assignment.objects.filter(pk=held.pk).update(seconds=seconds)
    return held


class TestSpeed:
    @pytest.mark.postgresql
    def test_speed_is_the_median_of_a_persons_times(self) -> None:
        study, dice = make_study(reports=9), random.Random(1)
        given: dict[str, list[float]] = {}
        for name, number in (("ann", 1), ("bo", 2), ("cy", 8), ("di", 9)):
            Item.objects.update(quota=9)
            for _ in range(number):
                seconds = dice.choice([3.5, 8.0, 8.0, 20.25, 61.0])
                answer(study.campaign, rater(name), seconds)
                given.setdefault(name, []).append(seconds)
        found = speeds(study.campaign, [rater(name).pk for name in given])
        by_name = {name: found[rater(name).pk] for name in given}
        assert {n: s.median for n, s in by_name.items()} == {
            n: statistics.median(times) for n, times in given.items()
        }
        assert {n: s.timed for n, s in by_name.items()} == {n: len(of) for n, of in given.items()}


@pytest.mark.postgresql
class TestCounts:
    def test_a_persons_answered_and_reserved_items_are_counted(self) -> None:
        study = make_study(reports=4)
        first = answer(study.campaign, rater("ann"), 5.0)
        submit(first, payload("invalid"), "page")
        answer(study.campaign, rater("ann"), 5.0)
        next_assignment(study.campaign, rater("ann"))
        Assignment.objects.create(item=last_item(), rater=rater("file"), asked=[], status="done")
        found = get_status(study.campaign)
        ann, imported = found.people
        assert (ann.counted.done, ann.counted.placed, ann.counted.held) == (2, 2, 1)
        assert (imported.counted.done, imported.counted.placed) == (1, 0)
        assert (found.done, found.imported, found.held) == (2, 1, 1)
        assert found.total == (4, 8)
        assert found.days[-1] == 2

    def test_the_number_of_queries_does_not_grow_with_items_and_people(self) -> None:
        study = make_study(reports=30, people=9)
        Item.objects.filter(position=0).update(use="gold")
        unit = study.campaign.items.get(position=0).units.get(name="q:0")
        GoldAnswer.objects.create(unit=unit, variable="answerable", value="no")
        client, where = (
            client_of(study.rita),
            reverse("campaign-progress", args=[study.campaign.pk]),
        )

        def queries() -> int:
            with CaptureQueriesContext(connection) as captured:
                assert client.get(where).status_code == 200
            return len(captured)

        answer(study.campaign, rater("ann"), 5.0)
        queries()  # the first look at a site makes a session
        few = queries()
        for n in range(9):
            for _ in range(3):
                answer(study.campaign, rater(f"ann {n}"), 5.0)
        assert queries() == few <= 36


class TestTimeLeft:
    def test_the_forecast_matches_a_hand_calculation(self) -> None:
        # 70 in the last of three days: 23.3 a day; 140 left at 30 seconds are 70 minutes.
        found = forecast(140, 30.0, [0] * 13 + [70], NOW - timedelta(days=3), NOW, None)
        assert found.hours == pytest.approx(140 * 30 / 3600)
        assert found.per_day == pytest.approx(70 / 3)
        assert found.end == NOW + timedelta(days=6)
        assert not found.late


class TestFlags:
    def test_answers_faster_than_reading_are_flagged(self) -> None:
        study = make_study(reports=8)
        assert set(Item.objects.filter(position__gt=0).values_list("words", flat=True)) == {6}
        Item.objects.update(words=WORDS_A_MINUTE)
        for n in range(8):
            answer(study.campaign, rater("ann"), 59.9 if n < 5 else 61.0)
            answer(study.campaign, rater("bo"), 59.9 if n < 4 else 60.0)
        (found,) = find_flags(study.campaign, get_status(study.campaign).people)
        assert (found.code, found.name) == ("fast", "ann")
        assert "5 of 8 timed answers" in found.text
        assert f"{WORDS_A_MINUTE} words a minute" in found.text
        labels = filter_labels(study.campaign, rater("ann"), chosen(found.labels))
        assert labels.count() == 5 * 3
        assert {label.response.assignment.seconds for label in labels} == {59.9}

    def test_a_person_who_has_read_the_text_before_is_not_flagged_as_fast(self) -> None:
        study = make_study(reports=8)
        # With the same report in all items, a person reads only the first.
        Item.objects.update(words=WORDS_A_MINUTE, report=last_item().report)
        for _ in range(8):
            answer(study.campaign, rater("ann"), 2.0)
        assert find_flags(study.campaign, get_status(study.campaign).people) == []

    def test_gold_answers_that_only_one_person_misses_are_flagged(self) -> None:
        study = make_study(reports=2)
        Item.objects.update(use="gold", quota=9)
        for item in Item.objects.all():
            for unit in item.units.all():
                GoldAnswer.objects.create(unit=unit, variable="answerable", value="no")
        for name, code in (("ann", "no"), ("bo", "no"), ("cy", "invalid")):
            for item in Item.objects.all():
                names = list(item.units.values_list("name", flat=True))
                held = Assignment.objects.create(item=item, rater=rater(name), asked=names)
                submit(held, payload(code), "page")
        (found,) = find_flags(study.campaign, get_status(study.campaign).people)
        assert (found.code, found.name) == ("known", "cy")
        assert found.text == "0 of 6 gold answers correct; the others have 12 of 12."
        labels = filter_labels(study.campaign, rater("cy"), chosen(found.labels))
        assert [each.gold for each in label_rows(study.campaign, list(labels))] == ["no"] * 6

    def test_a_rationale_from_another_text_is_flagged(self) -> None:
        study = make_study(reports=2)
        texts = {item.report_id: item for item in study.campaign.items.select_related("report")}
        held = study.assignment(study.ada)
        (other,) = [item for pk, item in texts.items() if pk != held.item.report_id]
        assert other.report is not None
        said: dict[str, Any] = payload("no")
        words = " ".join(other.report.text.split()[:4])
        said["units"]["q:1"] = {"answerable": "yes", "evidence": [{"quote": words}]}
        submit(held, said, "import")
        (found,) = find_flags(study.campaign, get_status(study.campaign).people)
        assert (found.code, found.variable) == ("elsewhere", "answerable")
        assert "1 in a report of the same query" in found.text
        (label,) = filter_labels(study.campaign, held.rater, chosen(found.labels))
        assert label.unit.name == "q:1"


class TestPages:
    @pytest.fixture
    def study(self) -> Study:
        study = make_study(reports=2)
        for user, code in ((study.ada, "no"), (study.ben, "invalid")):
            submit(study.assignment(user), payload(code), "page")
        return study

    def where(self, study: Study, name: str, user: User | None = None) -> str:
        args = [study.campaign.pk, *([rater_of(user).pk] if user else [])]
        return reverse(name, args=args)

    def test_polling_returns_only_the_changing_part(self, study: Study) -> None:
        client = client_of(study.rita)
        for where in (
            self.where(study, "campaign-progress"),
            self.where(study, "campaign-rater", study.ada),
        ):
            assert "<html" in client.get(where).content.decode()
            part = client.get(where, headers={"HX-Request": "true"}).content.decode()
            assert part.lstrip().startswith("<section")
            assert 'hx-trigger="every 5s"' in part
            past = {"opened": int(time.time()) - 3 * 3600}
            assert client.get(where, past, headers={"HX-Request": "true"}).status_code == 286
            Campaign.objects.update(is_open=False)
            assert (
                "hx-trigger" not in client.get(where, headers={"HX-Request": "1"}).content.decode()
            )
            Campaign.objects.update(is_open=True)

    def test_a_rater_is_excluded_and_included_on_their_page(self, study: Study) -> None:
        client, where = client_of(study.rita), self.where(study, "campaign-rater", study.ada)
        shown = client.get(where).content.decode()
        assert self.where(study, "campaign-people-change") in shown
        assert 'value="exclude"' in shown
        exclude(study.campaign, rater_of(study.ada), "guessed", study.rita)
        shown = client.get(where).content.decode()
        assert "guessed" in shown
        assert 'value="include"' in shown

    def test_nobody_is_named_by_account(self, study: Study) -> None:
        client = client_of(study.rita)
        for where in (
            self.where(study, "campaign-progress"),
            self.where(study, "campaign-rater", study.ada),
            self.where(study, "rater-labels", study.ada),
        ):
            content = client.get(where).content.decode()
            assert rater_of(study.ada).name in content
            assert ">ada<" not in content

    def test_labels_are_shown_beside_those_of_others(self, study: Study) -> None:
        client, where = client_of(study.rita), self.where(study, "rater-labels", study.ada)
        rows = client.get(where).context["rows"]
        assert [row.others for row in rows] == [[("invalid", 1)]] * 3
        assert len(client.get(where, {"of": "others", "value": "no"}).context["rows"]) == 3
        exclude(study.campaign, rater_of(study.ben), "guessed")
        assert client.get(where, {"of": "others"}).context["rows"] == []
        first = Label.objects.filter(response__assignment__rater=rater_of(study.ada)).first()
        assert first is not None
        one: Any = {"first": first.pk, "last": first.pk, "variable": "answerable"}
        assert len(client.get(where, one).context["rows"]) == 1

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "asked",
        [{"of": "all"}, {"variable": "response__key"}, {"value": "maybe"}, {"first": "x"},
         {"last": 10**30}],
    )  # fmt: skip
    def test_unknown_filters_are_refused(self, study: Study, asked: dict[str, Any]) -> None:
        client, where = client_of(study.rita), self.where(study, "rater-labels", study.ada)
        assert client.get(where, asked).status_code == 422

    def test_the_queries_of_the_labels_page_do_not_grow_with_the_labels(self) -> None:
        study, counts = make_study(reports=11), []
        client = client_of(study.rita)
        client.get(self.where(study, "campaign-progress"))
        for more in (1, 10):
            for _ in range(more):
                submit(study.assignment(study.ada), payload("no"), "page")
            with CaptureQueriesContext(connection) as captured:
                client.get(self.where(study, "rater-labels", study.ada))
            counts.append(len(captured))
        assert counts[0] == counts[1]

    def test_with_an_open_item_others_labels_are_not_shown(self, study: Study) -> None:
        for item in study.campaign.items.all():
            for unit in item.units.all():
                GoldAnswer.objects.create(unit=unit, variable="answerable", value="no")
        Item.objects.update(use="gold", quota=9)
        client, script = client_of(study.rita), script_of(study.rita)
        page, labels = (
            self.where(study, "campaign-progress"),
            self.where(study, "rater-labels", study.ada),
        )
        assert "3 of 3" in client.get(page).content.decode()
        Assignment.objects.create(item=last_item(), rater=rater_of(study.rita), asked=["q:0"])
        for where in (page, self.where(study, "campaign-rater", study.ada)):
            content = client.get(where).content.decode()
            assert "3 of 3" not in content
            assert labels not in content
        refused = client.get(labels)
        assert refused.status_code == 403
        assert "invalid" not in refused.content.decode()
        people = script.get(f"campaigns/{study.campaign.pk}/progress/").json()["people"]
        assert {each["gold"] for each in people} == {None}
        assert all("open item" in each["known_reason"] for each in people)


class TestApi:
    def test_the_api_returns_the_numbers_of_the_page(self) -> None:
        study = make_study(reports=2)
        deadline = NOW + timedelta(days=30)
        Campaign.objects.update(deadline=deadline)
        answer(study.campaign, rater_of(study.ada), 12.0)
        script = script_of(study.rita)
        reply = script.get(f"campaigns/{study.campaign.pk}/progress/").json()
        assert (reply["items"], reply["places"], reply["answered"], reply["held"]) == (2, 4, 1, 0)
        assert reply["left"]["answers"] == 3
        assert reply["left"]["hours"] == pytest.approx(3 * 12 / 3600)
        assert reply["left"]["per_day"] == 1.0
        assert datetime.fromisoformat(reply["left"]["deadline"]) == deadline
        (ada,) = reply["people"]
        assert ada["name"] == rater_of(study.ada).name
        assert ada["seconds"]["median"] == 12.0
        assert (ada["gold"], ada["excluded"]) == (None, None)
        one = f"campaigns/{study.campaign.pk}/raters/{ada['id']}/progress/"
        assert script.get(one).json() == ada
        judge = Rater.objects.create(name="machine", kind="judge")
        Assignment.objects.create(item=last_item(), rater=judge, asked=[])
        other = f"campaigns/{study.campaign.pk}/raters/{judge.pk}/progress/"
        assert_error(script.get(other), 404)


def test_the_command_has_a_line_for_each_person(tmp_path: Path) -> None:
    study = make_study(reports=2)
    answer(study.campaign, rater("ann"), 12.0)
    answer(study.campaign, rater("bo"), None)
    exclude(study.campaign, rater("bo"), "guessed")
    lines = run("progress", "Pilot", "--brief").splitlines()
    assert lines[0].startswith("Pilot: 2 of 4 answers; work left: 24 s; done by: ")
    assert lines[1:] == [
        "ann: 1 answered, 0 reserved; median 12 s",
        "bo: 1 answered, 0 reserved; no times; excluded: guessed",
    ]
