"""Campaigns that validate a judge: what is refused, who waits, and what a person is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from annotation import prerequisites
from annotation.answers.submission import fail, submit
from annotation.assignments.queue import next_assignment
from annotation.campaigns.design import DesignError
from annotation.models import Assignment, Campaign, rater_of
from annotation.prerequisites.label_validation import (
    parse_validates,
    source_campaign,
    validated_judge,
)
from tests.annotation.validating_cast import (
    BUILT,
    JUDGE,
    judge,
    judge_all,
    judged,
    second,
    validating,
)
from tests.api.cast import script_of
from tests.cast import campaign_of, run
from tests.once import once
from tests.page_cast import Study, client_of, study_of

pytestmark = pytest.mark.django_db
NO = {"answerable": "no", "evidence": []}


@once
def study(folder: Path) -> Study:
    judge()
    return study_of("report-coverage", folder, validating())


class TestOption:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("option", "parts"),
        [("j", ("j", "")), ("j@c", ("j", "c")), ("a@b@c d", ("a@b", "c d")), ("a@b@", ("a@b", ""))],
    )
    def test_the_option_is_split_at_the_last_at_sign(
        self, option: str, parts: tuple[str, str]
    ) -> None:
        assert parse_validates(option) == parts

    def test_an_unknown_judge_is_refused(self, batch: Path) -> None:
        with pytest.raises(CommandError, match="names judge 'nobody', which does not exist"):
            campaign_of("report-coverage", "--option", "validates=nobody")

    def test_a_person_is_not_accepted_as_a_judge(self, study: Study) -> None:
        rater_of(study.ada)
        with pytest.raises(DesignError, match="names judge 'ada'"):
            second(study.campaign, validates="ada")

    def test_an_empty_option_is_refused(self, batch: Path) -> None:
        with pytest.raises(CommandError, match="option validates names nothing"):
            campaign_of("report-coverage", "--option", "validates=")

    def test_an_unknown_campaign_is_refused(self, study: Study) -> None:
        with pytest.raises(DesignError, match="names campaign 'None such', which does not exist"):
            second(study.campaign, validates=f"{JUDGE}@None such")

    def test_a_campaign_of_another_protocol_is_refused(self, study: Study) -> None:
        run("create_campaign", "Other", "--protocol", "answer-rating", "--batch", "b")
        with pytest.raises(DesignError, match="over another batch or protocol; name one of report"):
            second(study.campaign, validates=f"{JUDGE}@Other")

    def test_a_campaign_that_asks_other_variables_is_refused(self, study: Study) -> None:
        second(study.campaign, "Rated", variables=("answerable", "rating"))
        with pytest.raises(DesignError, match="'Rated' asks other variables"):
            second(study.campaign, validates=f"{JUDGE}@Rated")

    def test_validation_cannot_be_combined_with_a_postponed_sample(self, study: Study) -> None:
        options = ["--option", "prerequisite=Study", "--option", f"validates={JUDGE}"]
        with pytest.raises(CommandError, match="validates cannot be combined with a prerequisite"):
            campaign_of("rubric-passage", *options)
        assert campaign_of("rubric-passage", *options, "--option", "sampling=all").pk

    def test_validation_cannot_be_combined_with_lists_written_blind(self, study: Study) -> None:
        with pytest.raises(CommandError, match="cannot be used with key-point-writing"):
            campaign_of("key-point-writing", "--option", f"validates={JUDGE}")

    def test_the_command_creates_a_validation_campaign(self, study: Study) -> None:
        made = campaign_of("report-coverage", "--option", f"validates={JUDGE}@Study")
        assert (validated_judge(made), source_campaign(made)) == (JUDGE, "Study")
        assert validated_judge(second(made, "Plain")) == ""

    def test_the_api_creates_a_validation_campaign(self, study: Study) -> None:
        body = {"name": "By API", "protocol": "report-coverage", "batch": "b"}
        judged(study.campaign.items.all()[0])
        made = script_of(study.rita).post("campaigns/", body | {"options": {"validates": JUDGE}})
        assert made.status_code == 201
        assert made.json()["study"]["options"]["validates"] == JUDGE
        wrong = body | {"name": "Other", "options": {"validates": "nobody"}}
        assert script_of(study.rita).post("campaigns/", wrong).status_code == 422


class TestWaiting:
    def test_an_item_waits_until_the_judge_has_labelled_it(self, study: Study) -> None:
        ada = rater_of(study.ada)
        assert next_assignment(study.campaign, ada) is None
        third = study.campaign.items.all()[2]
        judged(third)
        taken = next_assignment(study.campaign, ada)
        assert taken is not None
        assert (taken.item, taken.assisted_by) == (third, JUDGE)

    def test_a_judge_that_has_failed_leaves_nothing_to_validate(self, study: Study) -> None:
        item = study.campaign.items.all()[0]
        row = Assignment.objects.create(item=item, rater=judge(), asked=["🌉"])
        fail(row, "refused")
        assert next_assignment(study.campaign, rater_of(study.ada)) is None

    def test_a_unit_by_unit_judge_must_have_finished_all_units_of_the_item(
        self, study: Study
    ) -> None:
        item = study.campaign.items.get(key="r")
        judged(item, {"🌉": NO})
        rest = Assignment.objects.create(
            item=item, rater=judge(), asked=["a/b#1"], scope="a/b#1", status="leased"
        )
        assert next_assignment(study.campaign, rater_of(study.ada)) is None
        fail(rest, "timeout")
        taken = next_assignment(study.campaign, rater_of(study.ada))
        assert taken is not None
        assert taken.asked == ["🌉"]

    def test_a_label_that_the_judge_replaced_is_not_validated(self, study: Study) -> None:
        item = study.campaign.items.get(key="r")
        both = judged(item, {"🌉": NO, "a/b#1": NO}).assignment
        row = Assignment.objects.get(pk=both.pk)
        row.asked = ["🌉"]
        row.save()
        submit(row, {"units": {"🌉": {"answerable": "yes", "evidence": [BUILT]}}}, "judge")
        taken = next_assignment(study.campaign, rater_of(study.ada))
        assert taken is not None
        assert taken.asked == ["🌉"]

    def test_answers_of_another_judge_do_not_count(self, study: Study) -> None:
        judged(study.campaign.items.all()[0], rater=judge("another"))
        assert next_assignment(study.campaign, rater_of(study.ada)) is None

    def test_labels_from_the_named_source_campaign_count(self, study: Study) -> None:
        source = second(study.campaign, "Source")
        checked = second(study.campaign, "Checked", validates=f"{JUDGE}@Source")
        judged(source.items.get(key="r#1"))
        ada = rater_of(study.ada)
        assert next_assignment(study.campaign, ada) is None
        taken = next_assignment(checked, ada)
        assert taken is not None
        assert (taken.item.key, taken.assisted_by) == ("r#1", JUDGE)

    def test_labels_in_the_campaign_itself_do_not_count_if_another_is_named(
        self, study: Study
    ) -> None:
        second(study.campaign, "Source")
        checked = second(study.campaign, "Checked", validates=f"{JUDGE}@Source")
        judge_all(checked)
        assert next_assignment(checked, rater_of(study.ada)) is None

    def test_my_work_says_that_items_wait_for_the_judge(self, study: Study) -> None:
        page = client_of(study.ada).get(reverse("work")).content.decode()
        assert f"for the labels from judge {JUDGE}." in page

    def test_a_campaign_without_validation_waits_for_nothing(self, study: Study) -> None:
        plain: Campaign = second(study.campaign, "Plain")
        assert prerequisites.wait_rules(plain) == []
        taken = next_assignment(plain, rater_of(study.ada))
        assert taken is not None
        assert taken.assisted_by == ""
