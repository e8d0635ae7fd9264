"""Which items may be asked, depending on single rows of the prerequisite."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Q
from django.utils import timezone

from annotation.models import (
    Assignment,
    Campaign,
    Item,
    Label,
    Rater,
    Response,
    Unit,
    UnitSampling,
)
from annotation.prerequisites import units_asked_of_judges, units_asked_so_far
from annotation.prerequisites.base import has_answered, judge_is_done, people_are_done
from annotation.prerequisites.label_validation import units_labelled, unlabelled_items
from annotation.prerequisites.rubric_passage import _labels
from tests.annotation.follow_cast import Q1, answer, coverage, given, rater, rating
from tests.cast import campaign_of

pytestmark = pytest.mark.django_db
PASSAGES = {"q/1/p", "q/1/p#1"}
EVERY = {*PASSAGES, "q 2/p2", "q3/p3"}


@pytest.fixture
def first(batch: Path) -> Campaign:
    """Two people are asked each report; query `q/1` has `r` and `r#1`."""
    return coverage(people=2)


@pytest.fixture
def second(first: Campaign) -> Campaign:
    return rating()


def row(campaign: Campaign, item: str, who: Rater, **more: Any) -> Assignment:
    fields: dict[str, Any] = {"asked": [], "status": "done", **more}
    return Assignment.objects.create(item=campaign.items.get(key=item), rater=who, **fields)


def robot(name: str = "robot") -> Rater:
    return Rater.objects.get_or_create(name=name, kind="judge")[0]


def keys(campaign: Campaign, condition: Q) -> set[str]:
    return set(campaign.items.filter(condition).values_list("key", flat=True))


class TestPeopleAreDone:
    def done(self, second: Campaign) -> set[str]:
        return keys(second, people_are_done("first"))

    def test_people_are_done_once_all_slots_have_whole_answers(
        self, first: Campaign, second: Campaign
    ) -> None:
        ann, bo = rater("ann"), rater("bo")
        for who in (ann, bo):
            row(first, "r", who)
        row(first, "r#1", ann)
        assert self.done(second) == set()
        row(first, "r#1", robot())
        row(first, "r#1", ann, replicate=1)
        row(first, "r#1", bo, scope="🌉")
        begun = row(first, "r#1", bo, status="open")
        assert self.done(second) == set()
        begun.status = "done"
        begun.save()
        assert self.done(second) == PASSAGES

    def test_only_study_items_of_an_open_prerequisite_are_waited_for(
        self, first: Campaign, second: Campaign
    ) -> None:
        for who in ("ann", "bo"):
            row(first, "r", rater(who))
        first.items.filter(key="r#1").update(use="gold")
        assert self.done(second) == PASSAGES
        Campaign.objects.filter(name="first").update(deadline=timezone.now() - timedelta(1))
        assert self.done(second) == EVERY
        Campaign.objects.filter(name="first").update(deadline=None, is_open=False)
        assert self.done(second) == EVERY

    def test_only_answers_in_the_named_prerequisite_count(
        self, first: Campaign, second: Campaign
    ) -> None:
        other = campaign_of("report-coverage", name="other")
        for item in ("r", "r#1"):
            for who in ("ann", "bo"):
                row(other, item, rater(who))
        assert self.done(second) == set()
        assert keys(second, people_are_done("other")) == PASSAGES


class TestPersonHasAnswered:
    @pytest.fixture
    def ann(self, first: Campaign) -> Rater:
        """Ann answered `r`, and `r#1` has no free slot left."""
        ann = rater("ann")
        row(first, "r", ann)
        first.items.filter(key="r#1").update(taken=2)
        return ann

    def done(self, second: Campaign, who: Rater) -> set[str]:
        return keys(second, has_answered("first", who))

    def test_a_person_has_answered_a_query_if_nothing_is_left_for_them(
        self, first: Campaign, second: Campaign, ann: Rater
    ) -> None:
        assert self.done(second, ann) == PASSAGES
        assert self.done(second, rater("bo")) == set()
        first.items.filter(key="r#1").update(taken=1)
        assert self.done(second, ann) == set(), "a place is free"
        row(first, "r#1", rater("bo"))
        assert self.done(second, ann) == set(), "Bo had it, and Ann did not"
        row(first, "r#1", ann, status="cancelled")
        assert self.done(second, ann) == PASSAGES, "who gave it back does not get it again"

    def test_an_open_item_is_waited_for_unless_the_campaign_is_closed(
        self, first: Campaign, second: Campaign, ann: Rater
    ) -> None:
        begun = row(first, "r#1", ann, status="open", replicate=1)
        assert self.done(second, ann) == PASSAGES, "one's own second answers do not count"
        begun.replicate = 0
        begun.save()
        assert self.done(second, ann) == set()
        Campaign.objects.filter(name="first").update(is_open=False)
        assert self.done(second, ann) == PASSAGES

    @pytest.mark.every_case
    @pytest.mark.parametrize("more", [{"replicate": 1}, {"scope": "🌉"}, {"status": "declined"}])
    def test_only_a_whole_first_answer_counts(
        self, first: Campaign, second: Campaign, ann: Rater, more: dict[str, Any]
    ) -> None:
        Assignment.objects.filter(rater=ann).update(**more)
        assert self.done(second, ann) == set()

    def test_only_answers_of_the_same_query_and_campaign_count(
        self, first: Campaign, second: Campaign, ann: Rater
    ) -> None:
        other = campaign_of("report-coverage", name="other")
        row(other, "s one", ann)
        other.items.update(taken=1)
        assert self.done(second, ann) == PASSAGES
        assert keys(second, has_answered("other", ann)) == {"q 2/p2"}


class TestJudgeIsDone:
    def done(self, second: Campaign) -> set[str]:
        return keys(second, judge_is_done("first", "robot"))

    @pytest.mark.every_case
    @pytest.mark.parametrize("status", ["done", "failed", "declined"])
    def test_a_judge_is_done_with_answered_and_failed_items(
        self, first: Campaign, second: Campaign, status: str
    ) -> None:
        row(first, "r", robot())
        row(first, "r#1", robot("another"))
        assert self.done(second) == set()
        row(first, "r#1", robot(), status=status)
        assert self.done(second) == PASSAGES
        row(first, "r#1", robot(), scope="🌉", status="open")
        assert self.done(second) == set()


class TestLabelsOfSample:
    def test_a_sample_uses_current_labels_of_the_querys_questions(
        self, first: Campaign, second: Campaign
    ) -> None:
        other = campaign_of("report-coverage", name="other")
        for campaign, key, name, kind in (
            (first, "r", "ann", "human"), (first, "r#1", "robot", "judge"),
            (first, "s one", "ann", "human"), (other, "r", "bo", "human"),
        ):  # fmt: skip
            answer(campaign, key, name, {}, kind)
        whole = Response.objects.get(
            assignment__rater__name="ann", assignment__item__campaign=first,
            assignment__item__key="r",
        )  # fmt: skip
        again = row(first, "r", rater("ann"), replicate=1)
        once_more = Response.objects.create(assignment=again, payload={}, door="api")
        unit = Unit.objects.get(item=again.item, key="🌉")
        for response, variable in ((once_more, "answerable"), (whole, "rating")):
            Label.objects.create(response=response, unit=unit, variable=variable, value="yes")
        item, ann = second.items.get(key="q/1/p"), rater("ann")
        assert sorted(_labels(item, rater__kind="human")) == sorted(
            (ann.pk, question, "no") for question in Q1
        )
        assert {who for who, *_ in _labels(item, rater__name="robot")} == {robot().pk}
        Response.objects.filter(assignment__rater=ann).update(current=False)
        assert _labels(item, rater__kind="human") == []

    def test_the_stratum_of_each_unit_is_stored_with_the_sample(
        self, first: Campaign, second: Campaign
    ) -> None:
        for name in ("ann", "bo"):
            for key in ("r", "r#1"):
                answer(first, key, name, {Q1[0]: "yes"})
        asked = given(second, rater("ann"))["q/1/p"]
        item = second.items.get(key="q/1/p")
        rows = UnitSampling.objects.filter(item=item)
        columns = ("key", "stratum", "probability", "drawn")
        assert set(rows.values_list(*columns)) == {
            (Q1[0], "yes", 1.0, True),
            (Q1[1], "no", 0.5, Q1[1] in asked),
            (Q1[2], "no", 0.5, Q1[2] in asked),
        }
        other = UnitSampling.objects.filter(item=second.items.get(key="q 2/p2"))
        assert set(other.values_list("stratum", "probability", "drawn")) == {("", None, None)}


class TestUnitsAskedSoFar:
    def test_units_asked_so_far_are_assigned_and_sampled_ones(
        self, first: Campaign, second: Campaign
    ) -> None:
        one, two, three, other = second.items.order_by("position")
        row(second, one.key, rater("ann"), asked=Q1[:1])
        row(second, one.key, rater("bo"), asked=Q1[1:2])
        row(second, one.key, robot(), asked=Q1)
        Item.objects.filter(pk=two.pk).update(drawn=Q1[:2])
        row(second, two.key, rater("ann"), asked=Q1[2:])
        Item.objects.filter(pk=other.pk).update(drawn=["q2:a"])
        found = units_asked_so_far(second, [one.pk, two.pk, three.pk])
        assert found == {one.pk: set(Q1[:2]), two.pk: set(Q1), three.pk: set()}
        assert units_asked_so_far(first, [one.pk]) is None

    def test_judges_are_asked_these_units_in_item_order(self, first: Campaign) -> None:
        own = rating("sampling=own", name="own")
        item = own.items.get(key="q/1/p")
        assert units_asked_of_judges(item, Q1) == []
        row(own, item.key, robot(), asked=Q1)
        assert units_asked_of_judges(item, Q1) == []
        row(own, item.key, rater("ann"), asked=Q1[2:])
        row(own, "q/1/p#1", rater("ann"), asked=Q1[1:2])
        row(own, item.key, rater("bo"), asked=Q1[:1])
        assert units_asked_of_judges(item, Q1) == [Q1[0], Q1[2]]
        every = rating("sampling=all", name="all").items.get(key="q/1/p")
        assert units_asked_of_judges(every, Q1) == Q1


class TestValidatedLabels:
    @pytest.fixture
    def checked(self, first: Campaign) -> Campaign:
        """People confirm the judge's labels in `first`."""
        robot()
        return campaign_of("report-coverage", "--option", "validates=robot@first", name="checked")

    def waiting(self, checked: Campaign) -> set[str]:
        return keys(checked, unlabelled_items(checked, rater("ann")))

    def test_people_validate_the_units_that_the_judge_labelled(
        self, first: Campaign, checked: Campaign
    ) -> None:
        every = set(checked.items.values_list("key", flat=True))
        robot("another")
        answer(first, "r", "another", {}, "judge")
        answer(checked, "r", "robot", {}, "judge")
        assert self.waiting(checked) == every
        held = answer(first, "r", "robot", {}, "judge")
        assert self.waiting(checked) == every - {"r"}
        item = checked.items.get(key="r")
        assert units_labelled(item, Q1[::-1]) == Q1[::-1]
        Label.objects.filter(response__assignment=held, unit__key=Q1[1]).delete()
        assert units_labelled(item, Q1) == [Q1[0], Q1[2]]
        assert units_labelled(checked.items.get(key="r#1"), Q1) == []
        Assignment.objects.filter(pk=held.pk).update(replicate=1)
        assert units_labelled(item, Q1) == []
        Assignment.objects.filter(pk=held.pk).update(replicate=0)
        Response.objects.update(current=False)
        assert self.waiting(checked) == every

    @pytest.mark.every_case
    @pytest.mark.parametrize("status", ["open", "leased"])
    def test_an_item_is_available_once_the_judge_has_finished_it(
        self, first: Campaign, checked: Campaign, status: str
    ) -> None:
        answer(first, "r", "robot", {}, "judge")
        row(first, "r", robot(), replicate=1, status=status)
        row(first, "r", robot("another"), status=status)
        row(checked, "r", robot(), status=status)
        row(first, "r#1", robot(), status=status)
        assert "r" not in self.waiting(checked)
        part = row(first, "r", robot(), scope="🌉", status=status)
        assert "r" in self.waiting(checked)
        Assignment.objects.filter(pk=part.pk).update(status="failed")
        assert "r" not in self.waiting(checked)
