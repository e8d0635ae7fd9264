"""The live report by the API: the same object as the command's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.choices import (
    LEAST_WIDTH,
    MOST_RESAMPLES,
    REFERENCES,
    ChoiceError,
    Choices,
    read_stratum,
)
from analysis.reports import campaign_report
from analysis.strata import campaign_offers, campaign_strata
from annotation.api.access import check_blind, person, visible_studies
from annotation.models import Campaign
from audit.recording import record_export
from datasets.api.base import READERS, Number, Resource, Strict, described
from datasets.api.permissions import READ
from datasets.api.throttling import PerReport

LONGEST = 300
LARGEST = 2**31 - 1
NAMES = {"variable": "variables", "rater": "raters", "judge": "judges"}
"""Parameters of several names, and the choices that they make."""


def _several(words: str) -> serializers.ListField:
    """A choice that an address may state several times."""
    return serializers.ListField(
        child=serializers.CharField(max_length=LONGEST), default=list, help_text=words
    )


class ReportParameters(Strict):
    seed = serializers.IntegerField(
        min_value=0, max_value=LARGEST, default=0, help_text="of the resampling"
    )
    resamples = serializers.IntegerField(
        min_value=1,
        max_value=MOST_RESAMPLES,
        default=None,
        help_text="how many; else 10,000 below 30 queries, and 2,000; the command makes more",
    )
    epsilon = Number(
        min_value=0, max_value=1, default=0.2, help_text="of the alternative annotator test"
    )
    assisted = serializers.BooleanField(
        default=False, help_text="take labels made with a judge's verdict in view like all others"
    )
    width = Number(
        min_value=LEAST_WIDTH, max_value=1, default=0.1, help_text="of intervals that plans aim at"
    )
    reference = serializers.ChoiceField(
        REFERENCES,
        default="majority",
        help_text="hold judges against adjudicators' decisions, too",
    )
    threshold = Number(required=False, help_text="show only the cut of ratings at this one")
    variable = _several("only this variable; may be given several times, as the next three")
    rater = _several("only this rater, or all of a kind: human, judge or reference")
    judge = _several("of the judges only this one")
    stratum = _several("only items of it, as NAME:VALUE, such as system:bm25")


class RaterShape(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(("human", "judge", "reference"))
    responses = serializers.IntegerField()
    labels = serializers.IntegerField()
    excluded = serializers.CharField(allow_null=True)


class ReportShape(serializers.Serializer[Any]):
    campaign = serializers.CharField()
    protocol = serializers.CharField()
    batch = serializers.CharField()
    generated_at = serializers.DateTimeField()
    version = serializers.CharField()
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField()
    choices = serializers.DictField(help_text="epsilon, and what of the labels was taken")
    inputs = serializers.DictField(help_text="how many labels there are, and their digest")
    queries = serializers.IntegerField()
    assisted_labels = serializers.IntegerField()
    assisted = serializers.DictField(
        help_text="how labels made with a judge's verdict in view stand to it"
    )
    raters = RaterShape(many=True)
    warnings = serializers.ListField(
        child=serializers.DictField(), help_text="what to know before a number is believed"
    )
    variables = serializers.DictField(
        child=serializers.DictField(),
        help_text="by variable: agreement among people, each judge against them, and strata",
    )
    scores = serializers.DictField(
        child=serializers.DictField(), help_text="scores per report, such as coverage"
    )


class CampaignReport(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    takes = ReportParameters

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @described(
        "Read the report of a campaign",
        "Agreement among people, judges against people, and the scores of systems: the same object "
        "as `report --campaign`. Every estimate is `{value, low, high, n, method}` with a 95 % "
        "interval, or a null `value` with a `reason`. It is computed anew for each request. The "
        "parameters are the choices in the address of the report's page.",
        {200: ReportShape},
        tag="studies",
        example={
            "campaign": "pilot-coverage",
            "protocol": "report-coverage",
            "batch": "pilot",
            "generated_at": "2026-11-20T09:40:00+00:00",
            "version": "0.3",
            "seed": 0,
            "resamples": 10000,
            "choices": {
                "epsilon": 0.2,
                "width": 0.1,
                "threshold": None,
                "variables": [],
                "raters": [],
                "judges": [],
                "strata": {},
                "reference": "majority",
            },
            "inputs": {"labels": 435, "missing": 0, "sha256": "9b74c9897bac770ffc029102a200c5de…"},
            "queries": 10,
            "assisted_labels": 0,
            "assisted": {
                "labels": 0,
                "confirmed": 0,
                "corrected": 0,
                "unmatched": 0,
                "included": False,
                "by": {},
            },
            "raters": [
                {"name": "ada", "kind": "human", "responses": 30, "labels": 435, "excluded": None}
            ],
            "warnings": [],
            "variables": {},
            "scores": {},
        },
        parameters=[ReportParameters],
        operation_id="reports_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = get_object_or_404(visible_studies(person(request)), pk=pk)
        check_blind(person(request), campaign)
        choices = choices_of(self.chosen)
        offered_check(campaign, choices)
        found = campaign_report(campaign, choices)
        record_export(request, pk, "report", "json")
        return Response(found)


def offered_check(campaign: Campaign, choices: Choices) -> None:
    """Raises ValidationError where something is chosen that the campaign does not have."""
    try:
        campaign_offers(campaign, campaign_strata(campaign)).check(choices)
    except ChoiceError as error:
        raise serializers.ValidationError(dict(error.problems)) from error


def choices_of(chosen: Mapping[str, Any]) -> Choices:
    """The same choices as an address of the report's page makes."""
    plain = {name: value for name, value in chosen.items() if name not in {*NAMES, "stratum"}}
    named: dict[str, Any] = {choice: tuple(chosen[name]) for name, choice in NAMES.items()}
    return Choices(**plain, **named, strata=tuple(map(read_stratum, chosen["stratum"])))
