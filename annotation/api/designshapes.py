"""The shapes of a campaign's design, as the API gives and takes it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.design import GATES, ITEM_ORDERS, ORDERS, POINTS, SAMPLINGS
from annotation.protocols import PROTOCOLS
from annotation.rehearsing import MOST_PEOPLE
from datasets.api.base import Number, PageParameters, Strict

MOST_KNOWN = 5_000


class Word(serializers.CharField):
    """A word of one of a design's lists, which the command parts at commas."""

    def to_internal_value(self, data: Any) -> str:
        word = super().to_internal_value(data)
        if "," in word:
            raise serializers.ValidationError("holds a comma, which parts words; leave it out")
        return word


class TermsShape(Strict):
    """What may change while a campaign runs."""

    deadline = serializers.CharField(
        required=False,
        max_length=40,
        help_text="no answer counts after it: a moment, or a day, which counts to its end",
    )
    language = serializers.CharField(
        required=False, max_length=35, help_text="of its texts, such as en or pt-BR"
    )
    guideline = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="Markdown instead of the protocol's guideline; empty takes that back",
    )
    gold_every = serializers.IntegerField(
        required=False, min_value=0, max_value=999, help_text="one gold item in so many; 0 for none"
    )
    practice_of = serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False,
        help_text="the campaign whose practice people pass first, by name",
    )  # fmt: skip
    qualify = Number(
        required=False, min_value=0, max_value=1, help_text="the share right that lets them in"
    )


class OptionsShape(Strict):
    """The options of `create_campaign --option`."""

    variables = serializers.ListField(child=Word(), required=False, allow_empty=False)
    categories = serializers.ListField(child=Word(), required=False, allow_empty=False)
    sampling = serializers.ChoiceField(SAMPLINGS, required=False)
    per_passage = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)
    order = serializers.ChoiceField(ORDERS, required=False)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, required=False)
    passages = serializers.CharField(
        required=False, trim_whitespace=False, help_text="all, relevant or relevant:CAMPAIGN"
    )
    prerequisite = serializers.CharField(
        required=False, trim_whitespace=False, help_text="the campaign that comes first, by name"
    )
    strata = serializers.CharField(
        required=False, trim_whitespace=False, help_text="the judge whose labels part a shared draw"
    )
    validates = serializers.CharField(
        required=False,
        trim_whitespace=False,
        help_text="JUDGE or JUDGE@CAMPAIGN: its verdicts show",
    )
    gate = serializers.ChoiceField(GATES, required=False)
    points = serializers.ChoiceField(
        POINTS, required=False, help_text="answers: of the points that reports themselves make"
    )
    development = Number(
        required=False, min_value=0, max_value=1, help_text="the share of queries to tune on"
    )
    audit = Number(
        required=False, min_value=0, max_value=1, help_text="the share of queries kept aside"
    )
    items = serializers.ChoiceField(
        ITEM_ORDERS, required=False, help_text="in which order a person gets them"
    )


class NewCampaignShape(TermsShape):
    """The arguments of `create_campaign`."""

    name = serializers.CharField(max_length=200, trim_whitespace=False)
    protocol = serializers.ChoiceField(sorted(PROTOCOLS))
    batch = serializers.CharField(trim_whitespace=False, help_text="the name of a loaded batch")
    raters_per_item = serializers.IntegerField(min_value=1, max_value=1000, default=1)
    overlap = Number(
        min_value=0, max_value=1, default=1.0, help_text="the share of items with several people"
    )
    human_share = Number(
        min_value=0, max_value=1, default=1.0, help_text="the share of queries people are asked"
    )
    options = OptionsShape(required=False)


class AssumptionsShape(Strict):
    """What nobody knows beforehand."""

    kappa = Number(required=False, min_value=0, max_value=1, help_text="the true agreement")
    prevalence = Number(required=False, min_value=0, max_value=1, help_text="the share of yes")
    icc = Number(
        required=False, min_value=0, max_value=1, help_text="how alike units of a query are"
    )
    correlation = Number(
        required=False, min_value=0, max_value=1, help_text="of judge and people, over queries"
    )


class NewRehearsalShape(NewCampaignShape):
    """A campaign to be, how many people are expected, and what is assumed."""

    people = serializers.IntegerField(required=False, min_value=1, max_value=MOST_PEOPLE)
    assumptions = AssumptionsShape(required=False)


class ExpectedShape(serializers.Serializer[Any]):
    width = serializers.FloatField(allow_null=True, help_text="of the 95 % interval")
    units = serializers.IntegerField()
    queries = serializers.IntegerField()
    effective = serializers.FloatField(help_text="what the units are worth, were they independent")
    reason = serializers.CharField(allow_null=True, help_text="why there is no interval")


class ShareShape(serializers.Serializer[Any]):
    items = serializers.IntegerField()
    units = serializers.IntegerField()


class RehearsalShape(serializers.Serializer[Any]):
    queries = serializers.IntegerField()
    asked_queries = serializers.IntegerField(help_text="queries that people are asked")
    judge_only = serializers.IntegerField(help_text="queries for judges alone")
    roles = serializers.DictField(child=serializers.IntegerField(), help_text="queries by role")
    items = serializers.IntegerField()
    units = serializers.IntegerField()
    places = serializers.IntegerField(help_text="answers of people that the design asks for")
    several = serializers.IntegerField(help_text="items with several people")
    people = serializers.IntegerField()
    unfilled = serializers.IntegerField(help_text="places for which so many people do not suffice")
    shares = ShareShape(many=True, help_text="what each person gets, all at the same pace")
    common = serializers.ListField(
        child=serializers.IntegerField(), allow_null=True,
        help_text="the fewest and the most units that two people share",
    )  # fmt: skip
    kappa = ExpectedShape()
    share = ExpectedShape(help_text="of a share such as coverage, by people alone")
    powered = ExpectedShape(allow_null=True, help_text="the same with a judge on all queries")
    assumptions = serializers.DictField(child=serializers.FloatField())


class ChangedTermsShape(TermsShape):
    is_open = serializers.BooleanField(required=False, help_text="false closes it, true opens it")
    no_deadline = serializers.BooleanField(required=False, help_text="takes the deadline away")
    no_qualify = serializers.BooleanField(
        required=False, help_text="lets people in once their practice is done"
    )


class DrawParameters(PageParameters):
    of = serializers.ChoiceField(
        ("query", "unit"), default="query", help_text="draws of queries, or of units"
    )


class DrawShape(serializers.Serializer[Any]):
    of = serializers.ChoiceField(("query", "unit"))
    query = serializers.CharField()
    item = serializers.CharField(allow_null=True)
    unit = serializers.CharField(allow_null=True)
    unit_kind = serializers.CharField(allow_null=True)
    kind = serializers.CharField(help_text="all, simple, turns or own")
    seed = serializers.IntegerField()
    wave = serializers.IntegerField()
    stratum = serializers.CharField(allow_null=True)
    probability = serializers.FloatField(allow_null=True)
    drawn = serializers.BooleanField(allow_null=True, help_text="null: not drawn yet, or each own")
    role = serializers.CharField(help_text="development, evaluation or audit")
    role_probability = serializers.FloatField(allow_null=True)
    use = serializers.CharField(allow_null=True, help_text="study, gold or practice")


class KnownShape(Strict):
    item = serializers.CharField(max_length=600, trim_whitespace=False)
    unit = serializers.CharField(max_length=600, trim_whitespace=False)
    kind = serializers.CharField(max_length=20, required=False)
    variable = serializers.CharField(max_length=40)
    value = serializers.CharField(max_length=255)
    reason = serializers.CharField(max_length=2000, required=False)


class NewKnownShape(Strict):
    use = serializers.ChoiceField(("gold", "practice"))
    answers = serializers.ListField(child=KnownShape(), allow_empty=False, max_length=MOST_KNOWN)


class KeptKnownShape(serializers.Serializer[Any]):
    answers = serializers.IntegerField()
    items = serializers.IntegerField()
    unchanged = serializers.BooleanField(help_text="whether all of it stood before")
