"""The judges of a campaign side by side: what came of their runs, and what these used."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.visible import person, visible_studies
from datasets.api.base import READERS, Resource, described
from datasets.api.permissions import JUDGE, READ
from judging.views.comparing import compared

A_ROW: dict[str, Any] = {
    "judge": 1,
    "name": "small-judge",
    "base": None,
    "prompt_sha256": "0f3a61c2b7d4",
    "done": 57,
    "missing": 3,
    "reasons": {"unreadable": 2, "timeout": 1},
    "open": 0,
    "calls": 60,
    "reused": 0,
    "prompt_tokens": 70_410,
    "cached_tokens": 0,
    "completion_tokens": 12_300,
    "cost": "0.047840",
}


class ComparedShape(serializers.Serializer[Any]):
    judge = serializers.IntegerField(source="judge.pk")
    name = serializers.CharField(source="judge.rater.name")
    base = serializers.IntegerField(
        source="judge.base_id", allow_null=True, help_text="the judge that it is a trial of"
    )
    prompt_sha256 = serializers.CharField(source="prompt", help_text="its first twelve digits")
    done = serializers.IntegerField(help_text="requests that labels came of")
    missing = serializers.IntegerField(help_text="requests that none came of")
    reasons = serializers.SerializerMethodField(help_text="why, by reason")
    open = serializers.IntegerField(help_text="requests that are still to be made")
    calls = serializers.IntegerField(source="spent.calls")
    reused = serializers.IntegerField(source="spent.reused")
    prompt_tokens = serializers.IntegerField(source="spent.prompt_tokens")
    cached_tokens = serializers.IntegerField(source="spent.cached_tokens")
    completion_tokens = serializers.IntegerField(source="spent.completion_tokens")
    cost = serializers.SerializerMethodField(help_text="in US dollars; null where unknown")

    def get_reasons(self, row: dict[str, Any]) -> dict[str, int]:
        return dict(row["reasons"])

    def get_cost(self, row: dict[str, Any]) -> str | None:
        return None if row["cost"] is None else str(row["cost"])


class ComparedListShape(serializers.Serializer[Any]):
    results = ComparedShape(many=True)


class Compared(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}

    @described(
        "Compare the judges of a campaign",
        "One entry for each judge and each trial that ran over it. How well they agree with people "
        "is in the report.",
        {200: ComparedListShape},
        tag="judges",
        example={"results": [A_ROW]},
        operation_id="campaign_judges_compare",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = get_object_or_404(visible_studies(person(request)), pk=pk)
        return Response(ComparedListShape({"results": compared(campaign)}).data)
