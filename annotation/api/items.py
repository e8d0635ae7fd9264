"""API endpoints of a campaign's items and assignments, without answers."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import (
    get_account,
    is_blind,
    readable_campaign,
    visible_assignments,
    visible_items,
)
from annotation.api.access import check_blind
from annotation.exports.rows import units_of
from annotation.models import Assignment, Item
from datasets.access import READERS
from datasets.api.base import (
    List,
    PageParameters,
    Resource,
    describe_endpoint,
    page_example,
    page_serializer,
    serialize,
)
from datasets.api.permissions import MANAGE, READ

AN_ITEM: dict[str, Any] = {
    "position": 0,
    "item": "r1",
    "query": "q1",
    "system": "one",
    "use": "study",
    "probability": 1.0,
    "quota": 2,
    "taken": 1,
    "units": 4,
}
WHOLE_ITEM: dict[str, Any] = {
    **AN_ITEM,
    "texts": {"report": "It opened in 1901."},
    "asked": [{"unit": "q1:1", "kind": "question", "variables": ["answerable"]}],
}


REVEALING = {"item", "system"}
"Filters that would reveal whose text is whose."


class ItemParameters(PageParameters):
    item = serializers.CharField(
        required=False,
        trim_whitespace=False,
        help_text="only the item with exactly this key; refused while you have an open item",
    )
    query = serializers.CharField(
        required=False, trim_whitespace=False, help_text="only items of the query with this id"
    )
    system = serializers.CharField(
        required=False,
        trim_whitespace=False,
        help_text="only items from this system; refused while you have an open item",
    )


class ItemSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField(help_text="its position in the campaign, from 0")
    item = serializers.SerializerMethodField(
        help_text="its key as in exports, which may be a report's id; null like `use`"
    )
    query = serializers.CharField(source="query.key")
    system = serializers.SerializerMethodField(
        help_text="null if no system wrote it, and like `use`"
    )
    use = serializers.SerializerMethodField(
        help_text="study, gold or practice; null while you have an open item in the campaign"
    )
    probability = serializers.FloatField(
        help_text="probability with which the item was sampled for people"
    )
    quota = serializers.SerializerMethodField(
        help_text="number of people that it needs; null like `use`, since a gold item has no limit"
    )
    taken = serializers.SerializerMethodField(
        help_text="number of people who have taken it; null like `use`"
    )
    units = serializers.IntegerField(source="units_total", help_text="number of its units")

    def get_item(self, item: Item) -> str | None:
        return None if self.context["is_blind"] else str(item.key)

    def get_system(self, item: Item) -> str | None:
        if self.context["is_blind"] or item.report is None:
            return None
        return item.report.system

    def get_use(self, item: Item) -> str | None:
        return None if self.context["is_blind"] else str(item.use)

    def get_taken(self, item: Item) -> int | None:
        return None if self.context["is_blind"] else int(item.taken)

    def get_quota(self, item: Item) -> int | None:
        return None if self.context["is_blind"] else int(item.quota)


class AskedUnitSerializer(serializers.Serializer[Any]):
    unit = serializers.CharField()
    kind = serializers.CharField()
    variables = serializers.ListField(child=serializers.CharField())


class WholeItemSerializer(ItemSerializer):
    texts = serializers.DictField(
        child=serializers.CharField(), help_text="the texts that spans may refer to, by field"
    )
    asked = AskedUnitSerializer(many=True)


class Items(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}
    takes = ItemParameters

    @describe_endpoint(
        "List the items of a campaign",
        "The items with the numbers of people that they need, without any answers.",
        {200: page_serializer(ItemSerializer)},
        tag="campaigns",
        example=page_example(AN_ITEM),
        parameters=[ItemParameters],
        operation_id="items_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = readable_campaign(request, pk)
        paths = {"item": "key", "query": "query__key", "system": "report__system"}
        exact = {
            path: self.parameters[name] for name, path in paths.items() if name in self.parameters
        }
        rows = visible_items(campaign).filter(**exact)
        context = {"is_blind": is_blind(user, campaign)}
        if self.parameters.keys() & REVEALING:
            check_blind(user, campaign)
        return self.page(rows, partial(serialize, partial(ItemSerializer, context=context)))


class OneItem(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}

    @describe_endpoint(
        "Read an item",
        "The item with its texts and units, under their stored names. 403 while you have an "
        "open item in the campaign. Your own items are at `assignments/`.",
        {200: WholeItemSerializer},
        tag="campaigns",
        example=WHOLE_ITEM,
        operation_id="items_read",
    )
    def get(self, request: Request, pk: int, position: int) -> Response:
        user = get_account(request)
        campaign = readable_campaign(request, pk)
        check_blind(user, campaign)
        item: Any = get_object_or_404(visible_items(campaign), position=position)
        lines = units_of(campaign, position)
        item.asked, item.texts = lines, lines[0]["texts"] if lines else {}
        return Response(WholeItemSerializer(item, context={"is_blind": False}).data)


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
        required=False,
        trim_whitespace=False,
        help_text="only assignments of the item with exactly this key",
    )
    rater = serializers.CharField(
        required=False,
        trim_whitespace=False,
        help_text="only assignments of the rater with exactly this name",
    )
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
    units = serializers.SerializerMethodField(help_text="number of units asked")
    status = serializers.ChoiceField(Assignment.Status.values)
    reason = serializers.SerializerMethodField(help_text="why there is no answer")
    seconds = serializers.FloatField(allow_null=True, help_text="time on task")
    assisted_by = serializers.SerializerMethodField(help_text="the judge whose labels were shown")
    held_until = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()

    def get_units(self, asked: Assignment) -> int:
        return len(asked.asked)

    def get_reason(self, asked: Assignment) -> str | None:
        return asked.reason or None

    def get_assisted_by(self, asked: Assignment) -> str | None:
        return asked.assisted_by or None


class AskedInCampaign(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    takes = AskedParameters

    @describe_endpoint(
        "List the assignments of a campaign",
        "The assignments of people and judges with their status. 403 while you have an open "
        "item in the campaign. Your own assignments are at `assignments/`.",
        {200: page_serializer(AskedOfSerializer)},
        tag="studies",
        example=page_example(ASKED),
        parameters=[AskedParameters],
        operation_id="campaign_assignments_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = readable_campaign(request, pk)
        check_blind(user, campaign)
        paths = {
            "item": "item__key",
            "rater": "rater__name",
            "rater_kind": "rater__kind",
            "status": "status",
        }
        exact = {
            path: self.parameters[name] for name, path in paths.items() if name in self.parameters
        }
        rows = visible_assignments(campaign).filter(**exact)
        return self.page(rows, partial(serialize, AskedOfSerializer))
