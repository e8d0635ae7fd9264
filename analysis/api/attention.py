"""API endpoint of the matters that need attention in a campaign, as listed on its first page."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from analysis.attention import RULES, facts_of, matters
from analysis.attention.base import SEVERITIES
from annotation.access import get_account, is_blind, readable_campaign
from annotation.people.membership import may_manage
from datasets.api.routes import Routes

api = Routes("studies")


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


@api.get(
    "campaigns/<int:pk>/attention/",
    "Read what needs attention",
    "What needs somebody's attention in a campaign, as its first page shows it. Expensive "
    "figures come from the last finished report and checks; nothing is computed here.",
    AttentionSerializer,
    name="attention",
)
def attention_read(request: Request, pk: int) -> Any:
    campaign, user = readable_campaign(request, pk), get_account(request)
    (facts,) = facts_of([campaign.pk])
    found = matters(facts, may_manage(user, campaign.pk), is_blind(user, campaign))
    shown = [each.as_json(request.build_absolute_uri) for each in found]
    return {"report_at": facts.report_at, "matters": shown}
