"""API endpoints of a campaign's items and assignments, without answers."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import (
    get_account,
    is_blind,
    readable_campaign,
    visible_assignments,
    visible_items,
)
from annotation.api.access import check_blind, readable_unless_blind
from annotation.exports.rows import units_of
from annotation.models import Assignment, Item
from datasets.api.base import Computed, Exact, PageParameters
from datasets.api.permissions import MANAGE, READ
from datasets.api.routes import Reply, Routes, given, given_filters

api = Routes("campaigns", reads=(READ, MANAGE))

REVEALING = {"item", "system"}
"Filters that would reveal whose text is whose."


class ItemParameters(PageParameters):
    item = Exact("only the item with exactly this key; refused while you have an open item")
    query = Exact("only items of the query with this id")
    system = Exact("only items from this system; refused while you have an open item")


class ItemSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField(help_text="its position in the campaign, from 0")
    item = Computed(
        lambda item: item.key,
        str | None,
        help_text="its key as in exports, which may be a report's id; null like `use`",
    )
    query = serializers.CharField(source="query.key")
    system = Computed(
        lambda item: item.report.system if item.report else None,
        str | None,
        help_text="null if no system wrote it, and like `use`",
    )
    use = Computed(
        lambda item: item.use,
        str | None,
        help_text="study, gold or practice; null while you have an open item in the campaign",
    )
    probability = serializers.FloatField(
        help_text="probability with which the item was sampled for people"
    )
    quota = Computed(
        lambda item: item.quota,
        int | None,
        help_text="number of people that it needs; null like `use`, since a gold item has no limit",
    )
    taken = Computed(
        lambda item: item.taken,
        int | None,
        help_text="number of people who have taken it; null like `use`",
    )
    units = serializers.IntegerField(source="units_total", help_text="number of its units")

    def to_representation(self, instance: Item) -> dict[str, Any]:
        shown: dict[str, Any] = super().to_representation(instance)
        hidden = ("item", "system", "use", "quota", "taken") if self.context["is_blind"] else ()
        return shown | dict.fromkeys(hidden)


class AskedUnitSerializer(serializers.Serializer[Any]):
    unit = serializers.CharField()
    kind = serializers.CharField()
    variables = serializers.ListField(child=serializers.CharField())


class WholeItemSerializer(ItemSerializer):
    texts = serializers.DictField(
        child=serializers.CharField(), help_text="the texts that spans may refer to, by field"
    )
    asked = AskedUnitSerializer(many=True)


@api.list(
    "campaigns/<int:pk>/items/",
    "List the items of a campaign",
    "The items with the numbers of people that they need, without any answers.",
    ItemSerializer,
    name="items",
    takes=ItemParameters,
)
def items_list(request: Request, pk: int) -> Any:
    campaign = readable_campaign(request, pk)
    filters = given_filters(request, item="key", query="query__key", system="report__system")
    if given(request).keys() & REVEALING:
        check_blind(get_account(request), campaign)
    context = {"is_blind": is_blind(get_account(request), campaign)}
    return Reply(visible_items(campaign).filter(**filters), context=context)


@api.get(
    "campaigns/<int:pk>/items/<int:position>/",
    "Read an item",
    "The item with its texts and units, under their stored names. 403 while you have an "
    "open item in the campaign. Your own items are at `assignments/`.",
    WholeItemSerializer,
    name="item",
)
def items_read(request: Request, pk: int, position: int) -> Any:
    campaign = readable_unless_blind(request, pk)
    item: Any = get_object_or_404(visible_items(campaign), position=position)
    lines = units_of(campaign, position)
    item.asked, item.texts = lines, lines[0]["texts"] if lines else {}
    return Reply(item, context={"is_blind": False})


KINDS = ("human", "judge", "reference")


class AskedParameters(PageParameters):
    item = Exact("only assignments of the item with exactly this key")
    rater = Exact("only assignments of the rater with exactly this name")
    rater_kind = serializers.ChoiceField(
        KINDS, required=False, help_text="only assignments of raters of this kind"
    )
    status = serializers.ChoiceField(
        Assignment.Status.values, required=False, help_text="only assignments with this status"
    )


class AskedOfSerializer(serializers.Serializer[Assignment]):
    item = serializers.CharField(source="item.key")
    rater = serializers.CharField(source="rater.name", help_text="as in exports")
    rater_kind = serializers.ChoiceField(KINDS, source="rater.kind")
    replicate = serializers.IntegerField()
    scope = serializers.CharField(help_text="the unit, if a judge is asked unit by unit")
    units = Computed(lambda row: len(row.asked), int, help_text="number of units asked")
    status = serializers.ChoiceField(Assignment.Status.values)
    reason = Computed(
        lambda row: row.reason or None, str | None, help_text="why there is no answer"
    )
    seconds = serializers.FloatField(allow_null=True, help_text="time on task")
    assisted_by = Computed(
        lambda row: row.assisted_by or None,
        str | None,
        help_text="the judge whose labels were shown",
    )
    held_until = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


@api.list(
    "campaigns/<int:pk>/assignments/",
    "List the assignments of a campaign",
    "The assignments of people and judges with their status. 403 while you have an open "
    "item in the campaign. Your own assignments are at `assignments/`.",
    AskedOfSerializer,
    name="campaign-assignments",
    scopes=(READ,),
    tag="studies",
    takes=AskedParameters,
)
def campaign_assignments_list(request: Request, pk: int) -> Any:
    campaign = readable_unless_blind(request, pk)
    filters = given_filters(
        request, "status", item="item__key", rater="rater__name", rater_kind="rater__kind"
    )
    return visible_assignments(campaign).filter(**filters)
