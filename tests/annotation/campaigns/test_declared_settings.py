"""Each declared setting is in every face, and a new field needs no line of any of them."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass, field
from typing import Any

import pytest

from analysis.study.keys import keys_of
from annotation import access
from annotation.api.campaign_serializers import (
    ChangedSettingsSerializer,
    CurrentSettingsSerializer,
    NewCampaignSerializer,
)
from annotation.api.campaigns import settings_tag
from annotation.campaign_setup.chosen_items import ChosenItems
from annotation.campaign_setup.creation import create_campaign
from annotation.campaign_setup.expected_widths import Assumptions
from annotation.campaign_setup.preview_job import question
from annotation.campaigns.changes import change, current_settings, settings_differ
from annotation.campaigns.declaration import Setting, settings_of
from annotation.campaigns.design import Design
from annotation.campaigns.settings import SETTINGS, CampaignSettings
from annotation.models import Campaign, Item
from annotation.people.background import Question
from annotation.views.settings_forms import (
    SettingsForm,
    describe_differences,
    initial_settings,
)
from audit.sealed.kinds import KINDS
from datasets.option_fields import answer_fields, form_fields, serializer_fields
from tandem.options import add_arguments
from tests.api.cast import script_of
from tests.page_cast import Study, make_study

NEW: dict[str, Any] = {
    "deadline": "2999-12-31T23:59:59Z",
    "language": "de",
    "text_view": "rendered",
    "gold_every": 5,
    "registered_queries": 50,
    "practice_of": "Second",
    "qualify": 0.8,
    "guideline": "Ours.",
    "consent": "I agree.",
    "revoked": "delete",
    "background": [{"name": "age", "question": "Age?", "kind": "number", "choices": [],
                    "required": False}],
    "pay": "0.35 EUR per item",
    "shares": {"ada": 0.5},
    "guideline_shown": "whole",
}  # fmt: skip
"""A value of each setting as the API writes it, unlike that of a new campaign."""

every_setting = pytest.mark.parametrize(
    "setting", [pytest.param(each, id=each.name) for each in SETTINGS]
)


@pytest.fixture
def study(db: None) -> Study:
    """A study, and a second campaign with practice items."""
    made = make_study()
    other = create_campaign("Second", "report-coverage", made.campaign.batch, Design(), pool="open")
    other.campaign.items.filter(position=0).update(use=Item.Use.PRACTICE)
    return made


def test_each_setting_has_a_value_here() -> None:
    assert {*NEW} == {setting.name for setting in SETTINGS}


@every_setting
@pytest.mark.every_case
def test_every_face_has_the_setting(setting: Setting) -> None:
    name = setting.name
    assert name in SettingsForm().fields
    assert name in NewCampaignSerializer().fields
    assert name in ChangedSettingsSerializer().fields
    assert name in CurrentSettingsSerializer().fields
    assert setting.option.command in keys_of("create_campaign")
    if setting.column:
        assert setting.column in KINDS["campaign"].columns
        assert setting.attname in access.COLUMNS["item__campaign"]


@every_setting
@pytest.mark.every_case
def test_a_change_is_read_back_recorded_and_seen_everywhere(study: Study, setting: Setting) -> None:
    script, pk = script_of(study.rita), study.campaign.pk
    first = script.get(f"campaigns/{pk}/")
    before, shown = current_settings(study.campaign), initial_settings(study.campaign)
    sent = {setting.name: NEW[setting.name]}
    read = script.post(f"campaigns/{pk}/terms/", sent)
    assert read.json()["settings"] == first.json()["settings"] | sent
    assert read.headers["ETag"] != first.headers["ETag"]
    late = script.post(f"campaigns/{pk}/terms/", sent, If_Match=first.headers["ETag"])
    assert late.status_code == 409
    assert late.json()["current"]["settings"] == read.json()["settings"]
    campaign = Campaign.objects.get(pk=pk)
    assert settings_tag(campaign) == read.headers["ETag"]
    name, _ = setting.recorded(campaign)
    after = current_settings(campaign)
    assert [each for each in after if after[each] != before[each]] == [name]
    assert len(list(describe_differences(SettingsForm(shown), campaign))) == 1
    copied = getattr(ChosenItems(campaign, (), 0, 0).settings, setting.name)
    assert (copied == setting.current(campaign)) == setting.copied
    back = script.post(f"campaigns/{pk}/terms/", {setting.name: copied_body(setting, campaign)})
    assert back.headers["ETag"] == read.headers["ETag"]


@every_setting
def test_the_question_of_a_preview_has_a_setting_on_which_it_depends(
    study: Study, setting: Setting
) -> None:
    given = setting.read_value(NEW[setting.name])
    asked = question(
        "New", "report-coverage", study.campaign.batch, Design(),
        CampaignSettings(**{setting.name: given}), None, Assumptions(), study.rita,
        study.campaign.team,
    )  # fmt: skip
    assert (asked["settings"][setting.name] is not None) == setting.previewed


def copied_body(setting: Setting, campaign: Campaign) -> Any:
    """The setting as the API reads it, which is also how it is written."""
    value = {setting.name: setting.current(campaign)}
    of = answer_fields([setting.option])[setting.name]
    return NEW["background"] if setting.name == "background" else of.to_representation(
        value[setting.name]
    )  # fmt: skip


def test_annotators_read_only_what_everybody_may(study: Study) -> None:
    found = script_of(study.ada).get(f"campaigns/{study.campaign.pk}/").json()
    assert found["settings"] is None
    assert found.keys() >= {"deadline", "language", "text_view"}


@dataclass(frozen=True)
class MadeUp(CampaignSettings):
    rounds: int | None = field(
        default=None,
        metadata={
            "help": "how many rounds; 0 for no limit",
            "label": "Rounds",
            "hint": "Empty: no limit.",
            "least": 0,
            "most": 9,
            "empty": 0,
            "column": "gold_every",
        },
    )


def test_a_made_up_field_passes_through_the_builder_of_each_face(study: Study) -> None:
    *_, made_up = settings_of(MadeUp)
    campaign, option = study.campaign, made_up.option
    assert made_up.name == "rounds"
    parser = ArgumentParser()
    add_arguments(parser, [option])
    assert parser.parse_args(["--rounds", "3"]).rounds == 3
    typed = form_fields([option])["rounds"]
    assert (typed.label, typed.help_text, typed.clean("3")) == ("Rounds", "Empty: no limit.", 3)
    assert serializer_fields([option])["rounds"].run_validation(4) == 4
    assert not answer_fields([option])["rounds"].allow_null
    assert made_up.field_value(campaign) is None
    change(campaign, MadeUp(rounds=5))
    campaign.refresh_from_db()
    assert (made_up.current(campaign), made_up.field_value(campaign)) == (5, 5)
    assert settings_differ(campaign, MadeUp(rounds=0))
    assert not settings_differ(campaign, MadeUp(rounds=5))


def test_questions_are_read_from_every_form(study: Study) -> None:
    (setting,) = (each for each in SETTINGS if each.name == "background")
    questions = (Question("age", "Age?", "number"),)
    for given in (
        questions,
        NEW["background"],
        "[age]\r\nquestion = 'Age?'\r\nkind = 'number'\r\n",
    ):
        assert setting.read_value(given) == questions
