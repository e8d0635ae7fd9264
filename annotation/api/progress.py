"""API endpoints of progress: a campaign's status, and how each person works."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, is_blind, readable_campaign
from annotation.gold.scoring import Score
from annotation.models import Campaign
from annotation.progress.status import CampaignStatus, Person, find_person, forecast_end, get_status
from datasets.access import READERS
from datasets.api.base import (
    Resource,
    describe_endpoint,
)

HIDDEN = "you have an open item in this campaign; answer it first"
NO_GOLD = "no gold item was answered"
A_SPEED: dict[str, Any] = {"timed": 58, "median": 41.0, "recent": 38.5, "before": 44.0}
A_PERSON: dict[str, Any] = {
    "id": 5,
    "name": "person-7kq2mx",
    "answered": 58,
    "placed": 58,
    "held": 1,
    "first_at": "2026-11-18T09:02:11Z",
    "newest_at": "2026-11-20T09:31:40Z",
    "seconds": {**A_SPEED, "reason": None, "reason_recent": None},
    "gold": {"right": 9, "asked": 10, "items": 5, "of": 6},
    "practice": None,
    "known_reason": None,
    "excluded": None,
    "allotted": None,
}
A_STATUS: dict[str, Any] = {
    "at": "2026-11-20T09:40:00Z",
    "items": 200,
    "places": 600,
    "answered": 312,
    "imported": 0,
    "held": 3,
    "seconds": 41.0,
    "days": [0] * 10 + [60, 84, 96, 72],
    "left": {
        "answers": 288,
        "hours": 3.28,
        "hours_reason": None,
        "per_day": 78.0,
        "end": "2026-11-24T02:16:00Z",
        "end_reason": None,
        "deadline": "2026-12-01T00:00:00Z",
        "late": False,
    },
    "people": [A_PERSON],
}


class SpeedSerializer(serializers.Serializer[Any]):
    timed = serializers.IntegerField(help_text="answers with a time")
    median = serializers.FloatField(allow_null=True, help_text="seconds on task per item")
    recent = serializers.FloatField(allow_null=True, help_text="median of the newest 20")
    before = serializers.FloatField(allow_null=True, help_text="median of the 20 before them")
    reason = serializers.CharField(allow_null=True, help_text="why there is no median")
    reason_recent = serializers.CharField(
        allow_null=True, help_text="why there is no median of the newest"
    )


class ScoreSerializer(serializers.Serializer[Score]):
    right = serializers.IntegerField(help_text="number of matching answers")
    asked = serializers.IntegerField(help_text="gold answers of the answered items")
    items = serializers.IntegerField(help_text="answered")
    of = serializers.IntegerField(help_text="items with gold answers")


class ProgressOfPersonSerializer(serializers.Serializer[Person]):
    id = serializers.IntegerField(source="rater", help_text="the rater's id, for other addresses")
    name = serializers.CharField(help_text="the pseudonym, as in exports")
    answered = serializers.IntegerField(source="counted.done", help_text="study items")
    placed = serializers.IntegerField(
        source="counted.placed", help_text="of these, answers given here and not imported"
    )
    held = serializers.IntegerField(
        source="counted.held", help_text="reserved slots without an answer"
    )
    first_at = serializers.DateTimeField(allow_null=True)
    newest_at = serializers.DateTimeField(allow_null=True)
    seconds = SpeedSerializer(source="speed")
    gold = ScoreSerializer(allow_null=True, help_text="null if `known_reason` says why")
    practice = ScoreSerializer(allow_null=True, help_text="null if `known_reason` says why")
    known_reason = serializers.SerializerMethodField(help_text="why there is no score")
    excluded = serializers.CharField(allow_null=True, help_text="why the person is excluded")
    allotted = serializers.IntegerField(
        allow_null=True, help_text="the number of items in the person's fixed share, if any"
    )

    def get_known_reason(self, found: Person) -> str | None:
        if self.context.get("blind"):
            return HIDDEN
        return None if found.gold or found.practice else NO_GOLD

    def to_representation(self, instance: Person) -> dict[str, Any]:
        shown: dict[str, Any] = super().to_representation(instance)
        if self.context.get("blind"):
            shown["gold"] = shown["practice"] = None
        return shown


class LeftSerializer(serializers.Serializer[Any]):
    answers = serializers.IntegerField(help_text="answers still to give")
    hours = serializers.FloatField(
        allow_null=True, help_text="hours of work, at `seconds` per answer"
    )
    hours_reason = serializers.CharField(allow_null=True)
    per_day = serializers.FloatField(
        allow_null=True, help_text="answers per day over the last week"
    )
    end = serializers.DateTimeField(allow_null=True, help_text="the end at that pace")
    end_reason = serializers.CharField(allow_null=True)
    deadline = serializers.DateTimeField(allow_null=True)
    late = serializers.BooleanField(help_text="whether the end is after the deadline")


class CampaignProgressSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField(
        help_text="when speeds and scores were computed; counts are current"
    )
    items = serializers.IntegerField(
        source="total.items", help_text="items without gold and practice items"
    )
    places = serializers.IntegerField(source="total.places", help_text="annotator slots")
    answered = serializers.IntegerField(source="done", help_text="slots that are answered")
    imported = serializers.IntegerField(help_text="people's imported answers, in addition")
    held = serializers.IntegerField(help_text="reserved slots without an answer")
    seconds = serializers.FloatField(allow_null=True, help_text="the median of people's medians")
    days = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="answers a day over the last 14 days, today last",
    )
    left = LeftSerializer()
    people = ProgressOfPersonSerializer(many=True)


class CampaignProgress(Resource):
    roles = {"GET": READERS}

    @describe_endpoint(
        "Read the progress of a campaign",
        "The numbers of people's answers, their speed, what is left, and a forecast of the "
        "end. Each null has a reason. Scores on gold answers are null while you have an open "
        "item in the campaign.",
        {200: CampaignProgressSerializer},
        tag="studies",
        example=A_STATUS,
        operation_id="progress_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = readable_campaign(request, pk)
        status = get_status(campaign)
        shown = CampaignProgressSerializer(
            _describe(campaign, status), context=_context(request, campaign)
        )
        return Response(shown.data)


class PersonProgress(Resource):
    roles = {"GET": READERS}

    @describe_endpoint(
        "Read the progress of a person",
        "One person's progress in a campaign.",
        {200: ProgressOfPersonSerializer},
        tag="studies",
        example=A_PERSON,
        operation_id="progress_of_person_read",
    )
    def get(self, request: Request, pk: int, rater: int) -> Response:
        campaign = readable_campaign(request, pk)
        found = find_person(campaign, rater)
        if found is None:
            raise Http404
        return Response(
            ProgressOfPersonSerializer(found[0], context=_context(request, campaign)).data
        )


def _describe(campaign: Campaign, found: CampaignStatus) -> dict[str, Any]:
    left = forecast_end(campaign, found)
    names = ("at", "total", "done", "imported", "held", "seconds", "days", "people")
    return {
        **{name: getattr(found, name) for name in names},
        "left": {
            **{name: getattr(left, name) for name in A_STATUS["left"] if name != "deadline"},
            "deadline": campaign.deadline,
        },
    }


def _context(request: Request, campaign: Campaign) -> dict[str, Any]:
    return {"blind": is_blind(get_account(request), campaign)}
