"""What the forms of a campaign offer for each task, and the design and settings they read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django import forms
from django.utils import timezone

from annotation.campaign_setup.expected_widths import Assumptions
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Assignment, Campaign, Rater, User
from annotation.people.background import Question
from annotation.people.membership import readable_judges
from annotation.protocols import PROTOCOLS
from annotation.views.new_campaign_forms import CampaignForm
from annotation.views.settings_forms import (
    SettingsForm,
    describe_differences,
    initial_settings,
    settings_digest,
)
from datasets.models import Batch, Team
from judging.models import Judge
from tests.once import once
from tests.page_cast import Study, make_study
from tests.team_cast import give_away

pytestmark = pytest.mark.django_db
LEAST = {
    "name": "New", "raters_per_item": "2", "overlap": "0.5", "human_share": "0.25", "seed": "3",
    "items": "blocked",
}  # fmt: skip
SOURCE = '[age]\r\nquestion = "Your age?"\r\nkind = "number"\r\n'


@once
def study() -> Study:
    return make_study()


def form(study: Study, protocol: str = "report-coverage", **sent: Any) -> CampaignForm:
    found = CampaignForm(
        LEAST | sent, user=study.rita, protocol=PROTOCOLS[protocol], batch=study.campaign.batch
    )
    assert found.is_valid(), found.errors
    return found


def another(name: str, protocol: str, batch: Batch) -> Campaign:
    return Campaign.objects.create(name=name, protocol=protocol, batch=batch)


def choices(found: CampaignForm, name: str) -> list[tuple[str, str]]:
    field: Any = found.fields[name]
    return list(field.choices)


def offered(found: CampaignForm, name: str) -> list[str]:
    return [value for value, _ in choices(found, name)]


def judge(name: str) -> Rater:
    return Rater.objects.create(name=name, kind="judge")


class TestChoices:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("protocol", "own"),
        [
            ("report-coverage", ["validates"]),
            (
                "rubric-passage",
                [
                    "sampling",
                    "per_passage",
                    "judge_sampling",
                    "passages",
                    "prerequisite",
                    "strata",
                    "validates",
                ],
            ),
            ("key-point-verification", ["passages", "points", "validates"]),
            ("grounded-answer", ["passages", "prerequisite", "gate", "validates"]),
            ("question-typing", ["categories", "validates"]),
            ("citation-support", ["passages", "same", "validates"]),
        ],
    )
    def test_each_task_has_its_own_options(
        self, study: Study, protocol: str, own: list[str]
    ) -> None:
        found = form(study, protocol, per_passage=2)
        assert [field.name for field in found.own()] == own
        assert [field.name for field in found.assumed()] == [
            "kappa", "prevalence", "icc", "correlation",
        ]  # fmt: skip

    def test_few_fields_are_required(self, study: Study) -> None:
        empty = CampaignForm({}, user=study.rita, protocol=PROTOCOLS["rubric-passage"],
                             batch=study.campaign.batch)  # fmt: skip
        assert set(empty.errors) == {*LEAST, "per_passage"}
        assert {name: field.initial for name, field in empty.fields.items() if field.initial} == {
            "revoked": "keep", "guideline_shown": "asked", "pool": "named", "raters_per_item": 2,
            "overlap": 1, "human_share": 1, "items": "fixed", "variables": ["rating"],
            "per_passage": 2, "passages": "all", "kappa": 0.6, "prevalence": 0.5, "icc": 0.2,
            "correlation": 0.7,
        }  # fmt: skip
        assert SettingsForm({}).is_valid()

    def test_choices_are_those_of_the_design(self, study: Study) -> None:
        found = form(study, "rubric-passage", per_passage=2)
        assert {name: offered(found, name) for name in ("items", "order", "sampling")} == {
            "items": ["fixed", "random", "blocked"],
            "order": ["", "fixed", "random"],
            "sampling": ["", "shared", "own", "all"],
        }
        assert offered(form(study, "key-point-verification"), "points") == ["", "answers"]
        assert offered(found, "pool") == ["named", "open"]
        settings = ("text_view", "revoked", "guideline_shown")
        assert [offered(found, name) for name in settings] == [
            ["", "rendered"], ["keep", "delete"], ["asked", "whole"],
        ]  # fmt: skip

    def test_a_variable_of_two_kinds_is_offered_once_and_optional_ones_are_not_preselected(
        self, study: Study
    ) -> None:
        found = form(study, "grounded-answer")
        assert choices(found, "variables") == [
            ("descriptor", "How much can be answered? (descriptor)"),
            ("deflected", "Is there too little for an answer? (deflected)"),
            ("action", "What happens to the first answer? (action)"),
            ("selected", "Does it help to answer? (selected)"),
            ("grounded", "Is it grounded? (grounded)"),
        ]
        assert found.fields["variables"].initial == ["descriptor", "deflected", "selected"]

    def test_only_readable_campaigns_of_the_same_task_can_be_continued(self, study: Study) -> None:
        own, batch = study.campaign, study.campaign.batch
        another("Other task", "question-typing", batch)
        another("A first", own.protocol, batch)
        hidden = another("Hidden", own.protocol, batch)
        assert offered(form(study), "continues") == ["", "A first", "Hidden", "Pilot"]
        give_away(hidden)
        assert offered(form(study), "continues") == ["", "A first", "Pilot"]

    def test_prerequisites_are_offered_from_the_same_batch_and_suitable_tasks(
        self, study: Study
    ) -> None:
        own, batch = study.campaign, study.campaign.batch
        elsewhere = Batch.objects.create(name="elsewhere", format="native", digest="1" * 64)
        another("Elsewhere", own.protocol, elsewhere)
        another("Misfit", "question-typing", batch)
        another("A first", own.protocol, batch)
        hidden = another("Hidden", own.protocol, batch)
        give_away(hidden)
        found = form(study, "rubric-passage", per_passage=2)
        assert offered(found, "prerequisite") == ["", "A first", "Pilot"]

    def test_judges_are_offered_as_strata_if_a_prerequisite_is_possible(self, study: Study) -> None:
        zeta, alpha, beta, others = (judge(name) for name in ("zeta", "alpha", "beta", "others"))
        Judge.objects.create(rater=zeta, backend="lexical")
        give_away(Judge.objects.create(rater=others, backend="lexical"))
        # Its answers come from a file, and it answers where the researcher reads.
        item = study.campaign.items.all()[0]
        Assignment.objects.create(item=item, rater=alpha, asked=[], scope="file")
        found = form(study, "rubric-passage", per_passage=2)
        assert offered(found, "strata") == ["", "alpha", "zeta"]
        everybody = [alpha, beta, others, zeta]
        assert list(readable_judges(None)) == list(readable_judges(study.root)) == everybody
        give_away(study.campaign)
        assert "strata" not in form(study, "rubric-passage", per_passage=2).fields

    def test_the_team_of_the_batch_is_preselected_for_managers_of_several_teams(
        self, study: Study
    ) -> None:
        def team() -> forms.Field | None:
            return CampaignForm(
                user=study.root, protocol=PROTOCOLS["report-coverage"], batch=study.campaign.batch
            ).fields.get("team")

        assert team() is None
        other = Team.objects.create(name="another")
        study.campaign.batch.team = other
        field = team()
        assert field is not None
        assert field.initial == other
        study.campaign.batch = Batch(name="of none", team=None)
        field = team()
        assert field is not None
        assert field.initial is None


class TestDesign:
    def test_the_required_fields_alone_make_a_design_without_options(self, study: Study) -> None:
        found = form(study, variables=["answerable"])
        assert found.design() == Design(2, 0.5, 0.25, seed=3, items="blocked")
        split = form(study, development="0.1", audit="0.2").design()
        assert (split.development, split.audit) == (0.1, 0.2)
        assert found.assumptions() == Assumptions()

    def test_every_option_is_read(self, study: Study) -> None:
        Judge.objects.create(rater=judge("j"), backend="lexical")
        sent = {
            "sampling": "own", "per_passage": "5", "passages": " relevant ", "order": "random",
            "prerequisite": "Pilot", "strata": "j", "validates": " j@Pilot ",
            "allotment": "queries",
        }  # fmt: skip
        assert form(study, "rubric-passage", **sent).design() == Design(
            2, 0.5, 0.25, seed=3, items="blocked", sampling="own", per_passage=5,
            passages="relevant", order="random", prerequisite="Pilot", strata="j",
            validates="j@Pilot", allotment="queries",
        )  # fmt: skip

    def test_chosen_items_are_read_line_by_line_keeping_blanks_in_ids(self, study: Study) -> None:
        sent = {"chosen": " r/1 \r\n\r\nr#2\n \n", "human_share": "1", "items": "fixed"}
        assert form(study, **sent).design().chosen == (" r/1 ", "r#2")

    def test_variables_become_an_option_only_if_they_differ_from_the_default(
        self, study: Study
    ) -> None:
        for sent, read in (
            (["answerable"], ()),
            ([], ()),
            (["rating"], ("rating",)),
            (["answerable", "rating"], ("answerable", "rating")),
        ):
            assert form(study, variables=sent).design().variables == read

    def test_options_of_a_single_task_are_read_for_that_task_only(self, study: Study) -> None:
        typed = form(study, "question-typing", categories="a, b,c", sampling="own")
        assert typed.design() == Design(2, 0.5, 0.25, seed=3, items="blocked",
                                        categories=("a", "b", "c"))  # fmt: skip
        assert form(study, "question-typing").design().categories == ()
        points = form(study, "key-point-verification", points="answers").design()
        assert (points.points, points.gate) == ("answers", None)
        assert form(study, "grounded-answer", gate="gap").design().gate == "gap"

    def test_the_preview_uses_the_submitted_assumptions(self, study: Study) -> None:
        found = form(study, kappa="0.1", icc="0")
        assert found.assumptions() == Assumptions(kappa=0.1, icc=0.0)


class TestSettings:
    def read(self, sent: dict[str, Any], campaign: Campaign | None = None) -> CampaignSettings:
        found = SettingsForm(sent)
        found.offer_practice(User.objects.get(username="rita"), campaign)
        assert found.is_valid(), found.errors
        return found.settings(campaign)

    def test_an_empty_form_removes_everything(self, study: Study) -> None:
        nothing = CampaignSettings(
            language="", text_view="source", guideline="", gold_every=0, practice_of="",
            registered_queries=0,
            consent="", background=(), pay="", shares={}, removed=("deadline", "qualify"),
        )  # fmt: skip
        assert SettingsForm({}).is_valid()
        assert self.read({}) == nothing

    def test_a_field_that_shows_the_current_value_changes_nothing(self, study: Study) -> None:
        campaign = study.campaign
        assert self.read({"revoked": "keep", "guideline_shown": "asked"}, campaign).is_empty
        questions = (Question("age", "Your age?", "number"),)
        change(campaign, CampaignSettings(
            deadline=datetime(2999, 1, 2, tzinfo=UTC), qualify=0.5, guideline="One.\nTwo.",
            background=questions, shares={"ada": 1 / 3},
        ))  # fmt: skip
        shown = initial_settings(campaign)
        assert self.read(shown, campaign).is_empty
        lines = {
            name: str(shown[name]).replace("\n", "\r\n") for name in ("guideline", "background")
        }
        assert self.read(shown | lines, campaign).is_empty
        emptied = self.read(dict.fromkeys(shown, ""), campaign)
        assert emptied == CampaignSettings(
            guideline="", background=(), shares={}, removed=("deadline", "qualify")
        )

    def test_every_setting_is_read_and_texts_keep_their_blanks(self, study: Study) -> None:
        other = another("Other", study.campaign.protocol, study.campaign.batch)
        other.trims_guideline = True
        study.campaign.items.filter(position=0).update(use="practice")
        sent = {
            "deadline": "2999-01-02T10:30", "language": " de ", "text_view": "rendered",
            "gold_every": "5", "practice_of": "Pilot", "qualify": "0.8", "guideline": " Be kind.\n",
            "consent": "We store it. ", "revoked": "delete", "background": SOURCE,
            "pay": " 14 EUR per hour ", "shares": "ada=0.25, ,ben=0.5", "guideline_shown": "whole",
        }  # fmt: skip
        assert self.read(sent, other) == CampaignSettings(
            deadline=datetime(2999, 1, 2, 10, 30, tzinfo=UTC), language="de", text_view="rendered",
            guideline="Be kind.", gold_every=5, practice_of="Pilot", qualify=0.8,
            consent="We store it.", revoked="delete",
            background=(Question("age", "Your age?", "number"),),
            pay="14 EUR per hour", shares={"ada": 0.25, "ben": 0.5}, guideline_shown="whole",
        )  # fmt: skip

    def test_an_unchanged_deadline_keeps_its_seconds(self, study: Study) -> None:
        campaign = study.campaign
        campaign.deadline = datetime(2999, 1, 2, 10, 30, 45, tzinfo=UTC)
        shown = initial_settings(campaign)["deadline"]
        assert shown == timezone.localtime(campaign.deadline).strftime("%Y-%m-%dT10:30")
        assert self.read({"deadline": shown}, campaign).deadline is None
        other = self.read({"deadline": "2999-01-02T10:31"}, campaign).deadline
        assert other == datetime(2999, 1, 2, 10, 31, tzinfo=UTC)

    def test_the_campaigns_own_practice_stays_unless_another_is_chosen(self, study: Study) -> None:
        other = another("Other", study.campaign.protocol, study.campaign.batch)
        for campaign in (study.campaign, other):
            campaign.practice_of = study.campaign
        study.campaign.items.filter(position=0).update(use="practice")
        assert self.read({}, study.campaign).practice_of is None
        assert self.read({}, other).practice_of == ""
        other.practice_of = None
        assert self.read({"practice_of": "Pilot"}, other).practice_of == "Pilot"

    def test_the_form_is_filled_with_the_current_settings(self, study: Study) -> None:
        campaign = study.campaign
        assert initial_settings(campaign) == {
            "deadline": "", "language": "", "text_view": "", "gold_every": None, "practice_of": "",
            "registered_queries": None,
            "qualify": None, "guideline": "", "consent": "", "revoked": "keep", "background": "",
            "pay": "", "shares": "", "guideline_shown": "asked",
        }  # fmt: skip
        plain = settings_digest(campaign)
        assert (len(plain), plain) == (20, settings_digest(campaign))
        campaign.practice_of = campaign
        assert initial_settings(campaign)["practice_of"] == ""
        campaign.practice_of = another("Other", campaign.protocol, campaign.batch)
        assert initial_settings(campaign)["practice_of"] == "Other"
        assert settings_digest(campaign) != plain
        campaign.text_view, campaign.gold_every = "rendered", 4
        filled = initial_settings(campaign)
        assert (filled["text_view"], filled["gold_every"]) == ("rendered", 4)

    def test_invalid_shares_and_background_questions_are_explained_in_a_sentence(self) -> None:
        found = SettingsForm({"shares": "ada=2", "background": "[age]\nkind = 'x'\n"})
        assert set(found.errors) == {"shares", "background"}
        for messages in found.errors.values():
            assert str(messages[0])[0].isupper()
            assert str(messages[0]).endswith(".")

    def test_changes_by_another_person_are_listed_and_long_texts_only_named(
        self, study: Study
    ) -> None:
        campaign = study.campaign
        change(campaign, CampaignSettings(
            language="de", consent="We store it.", guideline="Be kind.", gold_every=4, qualify=0.5,
            background=(Question("age", "Your age?", "number"),),
        ))  # fmt: skip
        assert list(describe_differences(SettingsForm({"revoked": "keep"}), campaign)) == [
            "Language: de",
            "Gold item every N items: 4",
            "Pass mark: 0.5",
            "Guideline: version 1 below",
            "Consent text: changed",
            "Background questions: changed",
            "Of the protocol’s guideline, people and judges see: asked",
        ]
        same = initial_settings(campaign)
        same |= {"background": same["background"].replace("\n", "\r\n")}
        assert list(describe_differences(SettingsForm(same), campaign)) == []
        change(campaign, CampaignSettings(guideline="", language=""))
        differences = list(describe_differences(SettingsForm(same), campaign))
        assert differences == ["Language: none", "Guideline"]
