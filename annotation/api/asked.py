"""Who was asked what in a campaign, and how it went; no answer of anybody."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.visible import check_blind, person, visible_studies
from annotation.models import Assignment, Campaign, Rater, User
from datasets.api.base import READERS, List, PageParameters, described, page_shape, rendered
from datasets.api.permissions import READ

KINDS = ("human", "judge", "reference")
ASKED: dict[str, Any] = {
    "item": "r1",
    "rater": "person-7kq2mx",
    "rater_kind": "human",
    "replicate": 0,
    "scope": "",
    "units": 4,
    "status": "done",
    "reason": None,
    "seconds": 41.5,
    "assisted_by": None,
    "held_until": None,
    "created_at": "2026-11-20T09:30:00Z",
}


class AskedParameters(PageParameters):
    item = serializers.CharField(
        required=False, trim_whitespace=False, help_text="only of the item of exactly this key"
    )
    rater = serializers.CharField(
        required=False, trim_whitespace=False, help_text="only of the rater of exactly this name"
    )
    rater_kind = serializers.ChoiceField(KINDS, required=False, help_text="only of such raters")
    status = serializers.ChoiceField(
        Assignment.Status.values, required=False, help_text="only those that stand so"
    )


class AskedOfShape(serializers.Serializer[Assignment]):
    item = serializers.CharField(source="item.key")
    rater = serializers.CharField(source="rater.name", help_text="as exports have it")
    rater_kind = serializers.ChoiceField(KINDS, source="rater.kind")
    replicate = serializers.IntegerField()
    scope = serializers.CharField(help_text="the unit, where a judge is asked unit by unit")
    units = serializers.SerializerMethodField(help_text="how many units were asked")
    status = serializers.ChoiceField(Assignment.Status.values)
    reason = serializers.SerializerMethodField(help_text="why there is no answer")
    seconds = serializers.FloatField(allow_null=True, help_text="time on task")
    assisted_by = serializers.SerializerMethodField(help_text="whose verdict was in view")
    held_until = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()

    def get_units(self, asked: Assignment) -> int:
        return len(asked.asked)

    def get_reason(self, asked: Assignment) -> str | None:
        return asked.reason or None

    def get_assisted_by(self, asked: Assignment) -> str | None:
        return asked.assisted_by or None


def visible_asked(user: User, campaign: Campaign) -> QuerySet[Assignment]:
    """All that was asked in a campaign that the account may read, trials of judges left out."""
    if user.role not in READERS:
        return Assignment.objects.none()
    rows = Assignment.objects.filter(item__campaign=campaign)
    rows = rows.exclude(rater__kind=Rater.Kind.TRIAL).select_related("item", "rater")
    return rows.order_by("item__position", "pk")


class AskedInCampaign(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    takes = AskedParameters

    @described(
        "List the assignments of a campaign",
        "Who was asked what, people and judges alike, and how it stands; not while one has an open "
        "item in the campaign. One's own work is at `assignments/`.",
        {200: page_shape(AskedOfShape)},
        tag="studies",
        example={"count": 1, "next": None, "previous": None, "results": [ASKED]},
        parameters=[AskedParameters],
        operation_id="campaign_assignments_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = person(request)
        campaign = get_object_or_404(visible_studies(user), pk=pk)
        check_blind(user, campaign)
        paths = {"item": "item__key", "rater": "rater__name", "rater_kind": "rater__kind",
                 "status": "status"}  # fmt: skip
        exact = {path: self.chosen[name] for name, path in paths.items() if name in self.chosen}
        rows = visible_asked(user, campaign).filter(**exact)
        return self.page(rows, partial(rendered, AskedOfShape))
