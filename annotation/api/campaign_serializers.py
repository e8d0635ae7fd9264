"""Serializers of campaigns and their settings, with examples, and the design that a body holds."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from rest_framework import serializers

from annotation.campaign_setup.expected_widths import Assumptions
from annotation.campaigns.design import LISTS, LONGEST_KEY, Design, DesignError
from annotation.campaigns.settings import OPTIONS, SETTINGS, CampaignSettings
from annotation.models import Campaign
from annotation.people.background import KINDS
from annotation.people.membership import POOL_HELP
from annotation.progress.person import Progress
from annotation.protocols import PROTOCOLS
from annotation.registry import TASKS
from datasets.api.base import (
    Exact,
    Number,
    PageParameters,
    Problem,
    Strict,
    problem,
)
from datasets.api.batches import OwnedSerializer
from datasets.option_fields import answer_fields, serializer_fields
from tandem.options import options_of


class CampaignParameters(PageParameters):
    name = Exact("only the campaign with exactly this name")
    is_open = serializers.BooleanField(required=False, help_text="only open ones, or closed ones")
    is_archived = serializers.BooleanField(
        required=False, help_text="only archived ones, or only others"
    )


class WorkSerializer(serializers.Serializer[Progress]):
    """Your own work in a campaign."""

    done = serializers.IntegerField(help_text="items that you have submitted")
    begun = serializers.IntegerField(help_text="items that you have taken and not submitted")
    left = serializers.IntegerField(help_text="items left for you, including begun ones")
    waiting = serializers.IntegerField(help_text="items that you may take only later")


class StudySerializer(OwnedSerializer):
    """A campaign's design, and the numbers of answers so far; for researchers and admins."""

    batch = serializers.CharField(source="batch.name")
    protocol_version = serializers.CharField()
    raters_per_item = serializers.IntegerField()
    overlap = serializers.FloatField()
    human_share = serializers.FloatField()
    options = serializers.DictField()
    continues = serializers.IntegerField(
        source="continues_id",
        allow_null=True,
        help_text="the campaign that it carried answers from",
    )
    created_at = serializers.DateTimeField()
    items = serializers.IntegerField(source="items_total")
    places = serializers.IntegerField(
        help_text="number of people's answers that the design asks for"
    )
    people_done = serializers.IntegerField(help_text="number of people's answers so far")
    people = serializers.IntegerField(help_text="number of people who have submitted one")
    judges = serializers.IntegerField(help_text="number of judges who have submitted one")


class CampaignSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    protocol = serializers.CharField()
    title = serializers.CharField(help_text="the title of the task")
    is_open = serializers.BooleanField(help_text="false if a researcher has closed it")
    is_archived = serializers.BooleanField(help_text="whether it is closed and out of lists")
    takes_answers = serializers.BooleanField(
        help_text="whether it is open and its deadline has not passed"
    )
    work = WorkSerializer(allow_null=True, help_text="null for accounts that do not annotate")
    study = StudySerializer(allow_null=True, help_text="null for annotators")

    def get_fields(self) -> dict[str, Any]:
        public = [replace(each.option, api_help=each.public) for each in SETTINGS if each.public]
        return {**super().get_fields(), **answer_fields(public)}


BACKGROUND_HELP = next(option.api_help for option in OPTIONS if option.name == "background")
LONGEST_TASK = 61
"""A name of 40 characters, and a version of 20."""
NOT_CREATED = "the campaign cannot be created"


class Word(serializers.CharField):
    """A word in a list of the design. It has no comma, since the command separates words by one."""

    def to_internal_value(self, data: Any) -> str:
        word = super().to_internal_value(data)
        if "," in word:
            raise serializers.ValidationError(
                "contains a comma, which separates words; leave it out"
            )
        return word


class QuestionSerializer(Strict):
    """One background question."""

    name = serializers.CharField(help_text="its name in exports, such as first_language")
    question = serializers.CharField(help_text="what people read")
    kind = serializers.ChoiceField(KINDS, default="text")
    choices = serializers.ListField(
        child=serializers.CharField(), default=list, help_text="for the kinds choice and several"
    )
    required = serializers.BooleanField(  # type: ignore[assignment]
        default=False, help_text="whether it has to be answered"
    )


class SettingsSerializer(Strict):
    """The settings that may change while a campaign runs."""

    background = QuestionSerializer(many=True, required=False, help_text=BACKGROUND_HELP)

    def get_fields(self) -> dict[str, Any]:
        return {**serializer_fields(OPTIONS, has_defaults=False), **super().get_fields()}


class CurrentSettingsSerializer(serializers.Serializer[Any]):
    """All settings of a campaign, each as a change would send it."""

    background = QuestionSerializer(many=True, help_text=BACKGROUND_HELP)

    def get_fields(self) -> dict[str, Any]:
        return {**answer_fields(OPTIONS), **super().get_fields()}


class CampaignWithSettingsSerializer(CampaignSerializer):
    settings = CurrentSettingsSerializer(allow_null=True, help_text="null for annotators")


class OptionsSerializer(Strict):
    """The options of `create_campaign --option`."""

    def get_fields(self) -> dict[str, Any]:
        fields = serializer_fields(options_of(Design), has_defaults=False)
        for name in LISTS:
            # The key of an item may contain a comma.
            child = (
                serializers.CharField(max_length=LONGEST_KEY, trim_whitespace=False)
                if name == "chosen"
                else Word()
            )
            fields[name] = serializers.ListField(
                child=child, required=False, allow_empty=False, help_text=fields[name].help_text
            )
        return {**super().get_fields(), **fields}


class TaskName(serializers.CharField):
    """The name of a protocol. A step of the preparation is no campaign's task."""

    def to_internal_value(self, data: Any) -> str:
        name = str(super().to_internal_value(data))
        if name in TASKS:
            raise serializers.ValidationError("is a step of the preparation, which creates it")
        return name


class NewCampaignSerializer(SettingsSerializer):
    """The arguments of `create_campaign`."""

    name = serializers.CharField(max_length=200, trim_whitespace=False)
    protocol = TaskName(
        max_length=LONGEST_TASK,
        help_text=f"{', '.join(sorted(PROTOCOLS))}; or a protocol of the team, as NAME (its newest "
        "version) or NAME@VERSION",
    )
    batch = serializers.CharField(trim_whitespace=False, help_text="the name of a loaded batch")
    team = serializers.CharField(
        required=False, help_text="the team that it is for; by default the batch's"
    )
    raters_per_item = serializers.IntegerField(
        min_value=0, max_value=1000, default=1, help_text="0: only judges are asked"
    )
    overlap = Number(
        min_value=0, max_value=1, default=1.0, help_text="share of items with several people"
    )
    human_share = Number(
        min_value=0, max_value=1, default=1.0, help_text="share of queries for people"
    )
    options = OptionsSerializer(required=False)
    pool = serializers.ChoiceField(Campaign.Pool.values, required=False, help_text=POOL_HELP)
    continues = serializers.CharField(
        default="",
        allow_blank=True,
        trim_whitespace=False,
        help_text="name of the campaign whose answers are carried over where texts and questions "
        "are the same",
    )


class ChangedSettingsSerializer(SettingsSerializer):
    is_open = serializers.BooleanField(
        required=False, help_text="true opens the campaign, and false closes it"
    )
    is_archived = serializers.BooleanField(
        required=False, help_text="true closes the campaign and archives it, and false restores it"
    )

    def get_fields(self) -> dict[str, Any]:
        removals = {
            f"no_{setting.name}": serializers.BooleanField(
                required=False, help_text=f"removes the {setting.option.label.lower()}"
            )
            for setting in SETTINGS
            if setting.removal and setting.option.may_lack
        }
        return {**super().get_fields(), **removals}


NEW = {
    "name": "pilot-coverage",
    "protocol": "report-coverage",
    "batch": "pilot",
    "raters_per_item": 2,
    "options": {"seed": 7},
}


def design_problem(error: DesignError) -> Problem:
    """Return the error as a problem, with the path of its field in the body."""
    field = error.field
    if field in {option.name for option in options_of(Design)}:
        field = f"options.{field}"
    elif field in {each.name for each in fields(Assumptions)}:
        field = f"assumptions.{field}"
    return problem(str(error), field)


def settings_from(body: dict[str, Any]) -> CampaignSettings:
    """Read the settings of a body. Raises DesignError for one that cannot be read."""
    given = {each.name: each.read_value(body[each.name]) for each in SETTINGS if each.name in body}
    removed = tuple(each.name for each in SETTINGS if body.get(f"no_{each.name}"))
    return CampaignSettings(**given, removed=removed)


def design_from(body: dict[str, Any]) -> Design:
    """Read the design of a body. Raises DesignError."""
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in body.get("options", {}).items()
    }
    shares = (body["raters_per_item"], body["overlap"], body["human_share"])
    return Design(*shares, **options)
