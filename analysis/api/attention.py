"""API endpoint of the matters that need attention in a campaign, as listed on its first page."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.attention import RULES, facts_of, matters
from analysis.attention.base import SEVERITIES
from annotation.access import get_account, is_blind, readable_campaign
from annotation.people.membership import may_manage
from datasets.access import READERS
from datasets.api.base import Resource, describe_endpoint

A_MATTER: dict[str, Any] = {
    "code": "disputes",
    "topic": "labels",
    "severity": "warning",
    "text": "224 disagreements. To adjudicate: 228 questions, none decided.",
    "actions": [
        {"name": "Look", "address": "https://tandem.example/campaigns/1/disagreements/"},
    ],
}


class ActionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    address = serializers.URLField(help_text="the page where it is done")


class MatterSerializer(serializers.Serializer[Any]):
    code = serializers.ChoiceField([rule.code for rule in RULES], help_text="the rule")
    topic = serializers.ChoiceField(("people", "judges", "labels", "design"))
    severity = serializers.ChoiceField(SEVERITIES)
    text = serializers.CharField(help_text="one sentence")
    actions = ActionSerializer(many=True)


class AttentionSerializer(serializers.Serializer[Any]):
    report_at = serializers.DateTimeField(
        allow_null=True, help_text="when the report behind some matters was computed"
    )
    matters = MatterSerializer(many=True, help_text="most urgent first")


class CampaignAttention(Resource):
    roles = {"GET": READERS}

    @describe_endpoint(
        "Read what needs attention",
        "What needs somebody's attention in a campaign, as its first page shows it. Expensive "
        "figures come from the last finished report and checks; nothing is computed here.",
        {200: AttentionSerializer},
        tag="studies",
        example={"report_at": "2026-11-26T14:12:00Z", "matters": [A_MATTER]},
        operation_id="attention_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign, user = readable_campaign(request, pk), get_account(request)
        (facts,) = facts_of([campaign.pk])
        manages = may_manage(user, campaign.pk)
        found = matters(facts, manages, is_blind(user, campaign))
        site = request.build_absolute_uri
        answer = {"report_at": facts.report_at, "matters": [each.as_json(site) for each in found]}
        return Response(AttentionSerializer(answer).data)
