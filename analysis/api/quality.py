"""API endpoints of live agreement among people, and of quality flags."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.monitoring.agreement import KAPPA, PERCENT, WithOthers
from analysis.monitoring.flags import Quality
from analysis.monitoring.jobs import QUALITY, quality_in, question
from analysis.monitoring.views import labels_address
from annotation.access import get_account, readable_campaign
from annotation.api.access import check_blind
from annotation.models import Campaign
from annotation.progress.flags import TITLES, Flag
from datasets.access import READERS
from datasets.api.base import (
    Resource,
    describe_endpoint,
)
from datasets.api.jobs import JobKey, JobSerializer, accepted_response, current_job
from datasets.api.throttling import PerReport

AN_ESTIMATE: dict[str, Any] = {
    "value": 0.81,
    "low": 0.74,
    "high": 0.88,
    "n": 174,
    "method": PERCENT,
}
A_KAPPA: dict[str, Any] = {"value": 0.52, "low": None, "high": None, "n": 174, "method": KAPPA}
A_HINT: dict[str, Any] = {
    "code": "in_a_row",
    "variable": "answerable",
    "text": "“yes” 24 times in a row; on the same units the others gave it in 19 of 46 labels.",
    "labels": "https://tandem.example/campaigns/1/raters/5/labels/?variable=answerable&first=…",
}
A_RATER: dict[str, Any] = {
    "id": 5,
    "name": "person-7kq2mx",
    "excluded": None,
    "agreement": {
        "answerable": {"units": 174, "percent": AN_ESTIMATE, "kappa": A_KAPPA, "others": A_KAPPA}
    },
    "hints": [A_HINT],
}


class AgreementSerializer(serializers.Serializer[Any]):
    units = serializers.IntegerField(help_text="units that the person and others labelled")
    percent = serializers.DictField(help_text="estimate: the share of equal labels from others")
    kappa = serializers.DictField(help_text="estimate: Cohen's kappa, mean over the other people")
    others = serializers.DictField(help_text="estimate: the kappa of the others with each other")


class FlagSerializer(serializers.Serializer[Any]):
    code = serializers.ChoiceField(tuple(TITLES))
    variable = serializers.CharField(allow_null=True)
    text = serializers.CharField(help_text="the evidence; a flag is not a verdict")
    labels = serializers.URLField(help_text="the page with the labels that the flag is about")


class RaterQualitySerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField(help_text="the pseudonym, as in exports")
    excluded = serializers.CharField(allow_null=True, help_text="why the person is excluded")
    agreement = serializers.DictField(child=AgreementSerializer(), help_text="by variable")
    hints = FlagSerializer(many=True)


class QualitySerializer(serializers.Serializer[Any]):
    labels = serializers.IntegerField(help_text="the number of people's labels examined")
    is_part = serializers.BooleanField(help_text="whether only the newest labels were examined")
    people = RaterQualitySerializer(many=True)


class CampaignQuality(Resource):
    roles = {"GET": READERS}
    takes = JobKey

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @describe_endpoint(
        "Read the quality flags on people's work",
        "How each person agrees with the others, by variable, and flags with their evidence, which "
        "are not verdicts. Estimates are `{value, low, high, n, method}`, or a null `value` with a "
        "`reason`. If there are very many labels, only the newest are examined. 202 with a job "
        "if it takes "
        "more than 20 seconds, as for the report.",
        {200: QualitySerializer, 202: JobSerializer},
        tag="studies",
        example={"labels": 522, "is_part": False, "people": [A_RATER]},
        parameters=[JobKey],
        operation_id="quality_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = readable_campaign(request, pk)
        check_blind(get_account(request), campaign)
        job = current_job(request, QUALITY, question(campaign), self.parameters.get("job"))
        if job is None:
            return accepted_response(request)
        found = quality_in(job)
        people = [_person(request, campaign, found, rater) for rater in found.names]
        return Response({"labels": found.labels, "is_part": found.is_part, "people": people})


def _person(request: Request, campaign: Campaign, found: Quality, rater: int) -> dict[str, Any]:
    return {
        "id": rater,
        "name": found.names[rater],
        "excluded": found.excluded.get(rater),
        "agreement": {name: _agreement(each) for name, each in found.agreement_of(rater).items()},
        "hints": [_hint(request, campaign, each) for each in found.hints if each.rater == rater],
    }


def _agreement(found: WithOthers) -> dict[str, Any]:
    estimates = {"percent": found.percent, "kappa": found.kappa, "others": found.others}
    return {"units": found.units, **{name: of.as_json() for name, of in estimates.items()}}


def _hint(request: Request, campaign: Campaign, hint: Flag) -> dict[str, Any]:
    address = request.build_absolute_uri(labels_address(campaign, hint))
    return {"code": hint.code, "variable": hint.variable, "text": hint.text, "labels": address}
