"""API endpoints of progress: a campaign's status, and how each person works."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import get_account, is_blind, readable_campaign
from annotation.gold.scoring import Score
from annotation.models import Campaign
from annotation.progress.status import (
    CampaignStatus,
    Forecast,
    Person,
    Speed,
    find_person,
    forecast_end,
    get_status,
)
from datasets.access import found_or_404
from datasets.api.base import Computed
from datasets.api.routes import Reply, Routes
from datasets.api.typed import serializer_of

api = Routes("studies")

HIDDEN = "you have an open item in this campaign; answer it first"
NO_GOLD = "no gold item was answered"


SpeedSerializer = serializer_of(
    Speed,
    "Speed",
    reason=serializers.CharField(allow_null=True, help_text="why there is no median"),
    reason_recent=serializers.CharField(
        allow_null=True, help_text="why there is no median of the newest"
    ),
)
ScoreSerializer = serializer_of(Score, "Score")
LeftSerializer = serializer_of(
    Forecast, "Left", deadline=serializers.DateTimeField(allow_null=True)
)


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
    known_reason = Computed(
        lambda found: None if found.gold or found.practice else NO_GOLD,
        str | None,
        help_text="why there is no score",
    )
    excluded = serializers.CharField(allow_null=True, help_text="why the person is excluded")
    allotted = serializers.IntegerField(
        allow_null=True, help_text="the number of items in the person's fixed share, if any"
    )

    def to_representation(self, instance: Person) -> dict[str, Any]:
        shown: dict[str, Any] = super().to_representation(instance)
        hidden = {"gold": None, "practice": None, "known_reason": HIDDEN}
        return shown | hidden if self.context.get("blind") else shown


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


@api.get(
    "campaigns/<int:pk>/progress/",
    "Read the progress of a campaign",
    "The numbers of people's answers, their speed, what is left, and a forecast of the "
    "end. Each null has a reason. Scores on gold answers are null while you have an open "
    "item in the campaign.",
    CampaignProgressSerializer,
    name="progress",
)
def progress_read(request: Request, pk: int) -> Any:
    campaign = readable_campaign(request, pk)
    return Reply(_described(campaign, get_status(campaign)), context=_context(request, campaign))


@api.get(
    "campaigns/<int:pk>/raters/<int:rater>/progress/",
    "Read the progress of a person",
    "One person's progress in a campaign.",
    ProgressOfPersonSerializer,
    name="rater-progress",
)
def progress_of_person_read(request: Request, pk: int, rater: int) -> Any:
    campaign = readable_campaign(request, pk)
    person, _ = found_or_404(find_person(campaign, rater))
    return Reply(person, context=_context(request, campaign))


def _described(campaign: Campaign, found: CampaignStatus) -> dict[str, Any]:
    left = {**asdict(forecast_end(campaign, found)), "deadline": campaign.deadline}
    names = ("at", "total", "done", "imported", "held", "seconds", "days", "people")
    return {**{name: getattr(found, name) for name in names}, "left": left}


def _context(request: Request, campaign: Campaign) -> dict[str, Any]:
    return {"blind": is_blind(get_account(request), campaign)}
