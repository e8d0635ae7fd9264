"""API endpoint of the audit trail."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, readable_campaign
from annotation.audit_log import EventFilter, describe_events, filter_events, visible_events
from audit.models import Event
from audit.recording import EVENTS
from datasets.access import ADMIN, READERS
from datasets.api.base import (
    LARGEST_PAGE,
    PAGE,
    Resource,
    Strict,
    describe_endpoint,
)

AN_EVENT = {
    "id": 81,
    "at": "2026-11-20T09:31:00.125000+00:00",
    "event": "member.added",
    "who": "rita",
    "object": "an annotator",
    "campaign": 1,
    "facts": {"was": None, "now": "annotator"},
    "before": None,
    "after": "9f2c" + "0" * 60,
    "request": "4f0c8f0c5c3f4b0b9d5c1a2b3c4d5e6f",
    "address": "private",
    "seal": 3,
}
PAGE_OF_EVENTS = {"next": None, "results": [AN_EVENT]}


class TrailParameters(Strict):
    event = serializers.ChoiceField(tuple(EVENTS), required=False, help_text="only these")
    person = serializers.CharField(
        max_length=150, required=False, help_text="only events by this person, as in `who`"
    )
    since = serializers.DateTimeField(required=False, help_text="only events from this time on")
    until = serializers.DateTimeField(required=False, help_text="only events up to this time")
    before = serializers.IntegerField(
        min_value=0, max_value=2**63 - 1, required=False, help_text="only events with a lower id"
    )
    page_size = serializers.IntegerField(
        min_value=1, max_value=LARGEST_PAGE, default=PAGE, help_text="number of events on a page"
    )


class EventSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    at = serializers.DateTimeField(help_text="by the database's clock")
    event = serializers.ChoiceField(tuple(EVENTS))
    who = serializers.CharField()
    object = serializers.CharField(allow_blank=True)
    campaign = serializers.IntegerField(allow_null=True)
    facts = serializers.DictField(help_text="further facts, as numbers and codes")
    before = serializers.CharField(allow_null=True, help_text="a keyed digest of the state")
    after = serializers.CharField(allow_null=True)
    request = serializers.CharField(allow_null=True)
    address = serializers.CharField(allow_null=True, help_text="loopback, private, public …")
    seal = serializers.IntegerField(allow_null=True, help_text="null if not sealed yet")


class EventsPage(serializers.Serializer[Any]):
    next = serializers.URLField(allow_null=True)
    results = EventSerializer(many=True)


class _AuditTrail(Resource):
    takes = TrailParameters

    def page(self, rows: QuerySet[Event], whole: bool) -> Response:
        filters = dict(self.parameters)
        size = filters.pop("page_size")
        page = list(filter_events(rows, EventFilter(**filters), whole)[: size + 1])
        results = [each.as_json() for each in describe_events(page[:size], whole)]
        next_page = self._address(page[size - 1].pk) if len(page) > size else None
        return Response({"next": next_page, "results": results})

    def _address(self, before: int) -> str:
        parameters = self.request.query_params.copy()
        parameters["before"] = str(before)
        return self.request.build_absolute_uri(f"{self.request.path}?{parameters.urlencode()}")


class AuditTrail(_AuditTrail):
    roles = {"GET": (ADMIN,)}

    @describe_endpoint(
        "Read the audit trail",
        "Events of the site and of all campaigns, the newest first, for admins.",
        {200: EventsPage},
        tag="people",
        example=PAGE_OF_EVENTS,
        parameters=[TrailParameters],
        operation_id="audit_list",
    )
    def get(self, request: Request) -> Response:
        return self.page(visible_events(get_account(request)), whole=True)


class CampaignAuditTrail(_AuditTrail):
    roles = {"GET": READERS}

    @describe_endpoint(
        "Read a campaign's audit trail",
        "Events of a campaign, the newest first. Raters appear under their pseudonyms.",
        {200: EventsPage},
        tag="studies",
        example=PAGE_OF_EVENTS,
        parameters=[TrailParameters],
        operation_id="campaign_audit_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = readable_campaign(request, pk)
        return self.page(visible_events(get_account(request), campaign), whole=False)
