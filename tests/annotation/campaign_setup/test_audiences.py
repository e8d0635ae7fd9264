"""People and judges may be asked different questions about different units of one campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from annotation.access import visible_campaigns
from annotation.answers.submission import submit
from annotation.api.assignments import describe_assignment
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.replay import differences
from annotation.integrity.sample import find_violations
from annotation.models import Assignment, Campaign, Item, QuerySampling, Rater, User
from annotation.prerequisites import units_asked_so_far
from annotation.presentation import guideline_in, schema
from judging.models import Judge
from judging.runs.planning import plan
from tandem.protocols.validation import RefusedError
from tests.annotation.answering import good_answer
from tests.cast import campaign_of, exported, run

pytestmark = pytest.mark.usefixtures("batch")
RATES = ("--option", "variables=answerable", "--option", "judge_variables=rating")


def person(name: str = "ada") -> Rater:
    user, _ = User.objects.get_or_create(username=name, role=User.Role.ANNOTATOR)
    return Rater.objects.get_or_create(name=name, defaults={"user": user})[0]


def given(campaign: Campaign) -> Assignment:
    found = next_assignment(campaign, person())
    assert found is not None
    return found


def judge_of(campaign: Campaign, name: str = "lex", **more: Any) -> list[Assignment]:
    """The assignments of a judge that is asked whole items."""
    run("create_judge", name, "--backend", "lexical", "--granularity", "item")
    plan(campaign, Judge.objects.get(rater__name=name))
    rows = Assignment.objects.filter(item__campaign=campaign, rater__name=name)
    return list(rows.order_by("item__position"))


class TestVariables:
    def test_people_answer_and_see_only_their_own_question(self) -> None:
        campaign = campaign_of("report-coverage", *RATES)
        assignment = given(campaign)
        answer = {name: {"answerable": "no", "evidence": []} for name in assignment.asked}
        rated = {name: {**each, "rating": "3"} for name, each in answer.items()}
        with pytest.raises(RefusedError, match="rating"):
            submit(assignment, {"units": rated}, "page")
        submit(assignment, {"units": answer}, "page")
        shown, _ = guideline_in(campaign, "en")
        assert "How well does the report answer it?" not in shown

    def test_pages_and_api_of_people_do_not_name_the_judges_question(self, client: Client) -> None:
        assignment = given(campaign_of("report-coverage", *RATES))
        client.force_login(User.objects.get(username="ada"))
        page = client.get(reverse("item", args=[assignment.uid])).content.decode()
        api = str(describe_assignment(assignment))
        assert 'value="yes"' in page
        assert "answerable" in api
        assert "rating" not in api
        assert "How well does the report answer it?" not in page + api

    def test_a_judge_is_asked_its_own_variables_and_reports_have_both(self) -> None:
        campaign = campaign_of("report-coverage", *RATES)
        names = {
            of: [v.name for v in schema(campaign, of).variables] for of in ("people", "judges")
        }
        assert names == {"people": ["answerable"], "judges": ["rating"]}
        assert [v.name for v in schema(campaign).variables] == ["answerable", "rating"]
        asked = judge_of(campaign)[0]
        submit(asked, {"units": {name: {"rating": "4"} for name in asked.asked}}, "judge")
        assert {row["variable"] for row in exported("c", "labels")} == {"rating"}

    def test_a_failed_judge_lacks_only_what_it_was_asked(self) -> None:
        campaign = campaign_of("report-coverage", *RATES)
        asked = judge_of(campaign)[0]
        Assignment.objects.filter(pk=asked.pk).update(status="failed", reason="timeout")
        missing = exported("c", "labels")
        assert [row["variable"] for row in missing] == ["rating"] * len(asked.asked)

    def test_each_is_asked_the_units_that_its_variables_are_about(self) -> None:
        asks = "variables=appropriate", "judge_variables=support"
        campaign = campaign_of("answer-rating", "--option", asks[0], "--option", asks[1])
        kinds = {
            kind: {u.kind for u in row.item.units.filter(name__in=row.asked)}
            for kind, row in (("person", given(campaign)), ("judge", judge_of(campaign)[0]))
        }
        assert kinds == {"person": {"report"}, "judge": {"sentence"}}

    def test_an_unknown_variable_of_judges_is_refused(self) -> None:
        with pytest.raises(CommandError, match="has no variable 'ratings'"):
            campaign_of("report-coverage", "--option", "judge_variables=ratings")


class TestUnits:
    @pytest.fixture
    def campaign(self) -> Campaign:
        options = "per_passage=1", "judge_sampling=all"
        return campaign_of("rubric-passage", "--option", options[0], "--option", options[1])

    def test_people_are_asked_a_sample_and_judges_every_unit(self, campaign: Campaign) -> None:
        first = given(campaign)
        assert first.asked == first.item.drawn
        assert len(first.asked) == 1
        assert [len(row.asked) for row in judge_of(campaign)] == [3, 3, 2, 2]
        sizes = campaign.items.order_by("position")
        assert [item.units.count() for item in sizes] == [3, 3, 2, 2]

    def test_the_stored_sample_is_that_of_people(self, campaign: Campaign) -> None:
        assert len(exported("c", "units")) == 10
        drawn = units_asked_so_far(campaign, list(campaign.items.values_list("pk", flat=True)))
        assert drawn is not None
        assert [len(names) for names in drawn.values()] == [1, 1, 1, 1]
        assert list(differences(campaign)) == list(find_violations(campaign)) == []

    def test_carried_answers_fill_the_slots_of_the_sample(self, campaign: Campaign) -> None:
        assignment = given(campaign)
        submit(assignment, {"units": good_answer(assignment)}, "page")
        options = "per_passage=1", "judge_sampling=all"
        new = campaign_of("rubric-passage", "--option", options[0], "--option", options[1],
                          "--continues", "c", name="d")  # fmt: skip
        carried = Assignment.objects.get(item__campaign=new)
        assert (carried.slot, carried.scope, carried.asked) == (1, "", assignment.asked)
        assert Item.objects.get(pk=carried.item_id).taken == 1

    def test_a_task_that_samples_no_units_refuses_the_option(self) -> None:
        with pytest.raises(CommandError, match="judge_sampling does not apply to report-coverage"):
            campaign_of("report-coverage", "--option", "judge_sampling=all")

    def test_after_another_campaign_judges_wait_for_nobody(self) -> None:
        campaign_of("report-coverage", name="first")
        options = ("prerequisite=first", "sampling=own", "judge_sampling=all")
        asked = [word for option in options for word in ("--option", option)]
        second = campaign_of("rubric-passage", *asked)
        assert [len(row.asked) for row in judge_of(second)] == [3, 3, 2, 2]
        assert next_assignment(second, person()) is None


class TestJudgesOnly:
    def test_there_is_no_slot_and_nobody_is_offered_the_campaign(self) -> None:
        campaign = campaign_of("report-coverage", "--raters-per-item", "0")
        assert set(campaign.items.values_list("quota", flat=True)) == {0}
        assert next_assignment(campaign, person()) is None
        assert not visible_campaigns(User.objects.get(username="ada"))
        assert [len(row.asked) for row in judge_of(campaign)] == [3, 3, 2, 2, 2, 2]

    def test_splits_are_those_of_a_campaign_for_people_with_the_same_seed(self) -> None:
        share = ("--option", "development=0.4", "--option", "seed=3")
        campaign_of("report-coverage", *share, name="people")
        campaign_of("report-coverage", *share, "--raters-per-item", "0", name="judges")
        roles = {
            name: list(
                QuerySampling.objects.filter(campaign__name=name).values_list("role", flat=True)
            )
            for name in ("people", "judges")
        }
        assert roles["people"] == roles["judges"]
        asked = QuerySampling.objects.filter(campaign__name="judges")
        assert set(asked.values_list("kind", "drawn", "probability")) == {("none", False, 0.0)}

    @pytest.mark.parametrize(
        "about", [("--human-share", "0.5"), ("--overlap", "0.5"), ("--option", "validates=x"),
                  ("--option", "judge_variables=rating")],
    )  # fmt: skip
    def test_options_about_people_are_refused(self, about: tuple[str, str]) -> None:
        with pytest.raises(CommandError, match="nobody but judges is asked"):
            campaign_of("report-coverage", "--raters-per-item", "0", *about)

    def test_a_dry_run_says_so(self, batch: Path) -> None:
        said = run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b",
                   "--raters-per-item", "0", "--dry-run")  # fmt: skip
        assert "Only judges are asked" in said
        assert "Kappa" not in said

    def test_pages_say_that_only_judges_are_asked(self, client: Client) -> None:
        campaign = campaign_of("report-coverage", "--raters-per-item", "0")
        client.force_login(User.objects.create(username="rita", role=User.Role.RESEARCHER))
        for name, says in (
            ("campaign", "Only judges are asked"),
            ("campaign-progress", "Nothing waits for people here"),
            ("campaign-settings", "0, judges only"),
        ):
            page = client.get(reverse(name, args=[campaign.pk]))
            assert page.status_code == 200
            assert says in page.content.decode()
        assert "judges only" in client.get(reverse("campaigns")).content.decode()
