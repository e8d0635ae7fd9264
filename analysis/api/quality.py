"""API endpoints of live agreement among people, and of quality flags."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from analysis.monitoring.agreement import WithOthers
from analysis.monitoring.flags import Quality
from analysis.monitoring.views import QUALITY, labels_address, quality_in, question
from annotation.api.access import readable_unless_blind
from annotation.models import Campaign
from annotation.progress.flags import TITLES, Flag
from datasets.api.base import Shape
from datasets.api.concurrency import PerReport
from datasets.api.routes import JobKey, Routes, finished_job, given

api = Routes("studies")


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


class QualitySerializer(Shape):
    labels = serializers.IntegerField(help_text="the number of people's labels examined")
    is_part = serializers.BooleanField(help_text="whether only the newest labels were examined")
    people = RaterQualitySerializer(many=True)


@api.get(
    "campaigns/<int:pk>/quality/",
    "Read the quality flags on people's work",
    "How each person agrees with the others, by variable, and flags with their evidence, which "
    "are not verdicts. Estimates are `{value, low, high, n, method}`, or a null `value` with a "
    "`reason`. If there are very many labels, only the newest are examined. 202 with a job "
    "if it takes "
    "more than 20 seconds, as for the report.",
    QualitySerializer,
    name="quality",
    takes=JobKey,
    job=True,
    throttles=(PerReport,),
)
def quality_read(request: Request, pk: int) -> Any:
    campaign = readable_unless_blind(request, pk)
    job = finished_job(request, QUALITY, question(campaign), given(request).get("job"))
    found = quality_in(job)
    people = [_person(request, campaign, found, rater) for rater in found.names]
    return {"labels": found.labels, "is_part": found.is_part, "people": people}


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
