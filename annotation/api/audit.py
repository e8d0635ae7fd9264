"""API endpoint of the audit trail."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import get_account, readable_campaign
from annotation.audit_log import EventFilter, describe_events, filter_events, visible_events
from audit.models import Event
from audit.recording import EVENTS
from datasets.access import ADMIN, READERS
from datasets.api.base import LARGEST_PAGE, PAGE, Shape, Strict, address_with
from datasets.api.routes import Routes, given

api = Routes("people", roles=(ADMIN,))


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


class EventsPage(Shape):
    next = serializers.URLField(allow_null=True)
    results = EventSerializer(many=True)


def _page(request: Request, rows: QuerySet[Event], whole: bool) -> dict[str, Any]:
    filters = dict(given(request))
    size = filters.pop("page_size")
    page = list(filter_events(rows, EventFilter(**filters), whole)[: size + 1])
    following = address_with(request, before=page[size - 1].pk) if len(page) > size else None
    shown = [each.as_json() for each in describe_events(page[:size], whole)]
    return {"next": following, "results": shown}


@api.get(
    "audit/",
    "Read the audit trail",
    "Events of the site and of all campaigns, the newest first, for admins.",
    EventsPage,
    name="audit",
    takes=TrailParameters,
)
def audit_list(request: Request) -> Any:
    return _page(request, visible_events(get_account(request)), whole=True)


@api.get(
    "campaigns/<int:pk>/audit/",
    "Read a campaign's audit trail",
    "Events of a campaign, the newest first. Raters appear under their pseudonyms.",
    EventsPage,
    name="campaign-audit",
    roles=READERS,
    tag="studies",
    takes=TrailParameters,
)
def campaign_audit_list(request: Request, pk: int) -> Any:
    campaign = readable_campaign(request, pk)
    return _page(request, visible_events(get_account(request), campaign), whole=False)
