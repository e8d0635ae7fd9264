"""API endpoint of a campaign's sample: all queries or units, sampled or not, with probabilities."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from annotation.api.access import managed_unless_blind
from annotation.campaign_setup.replay import saw_sample
from annotation.campaigns.sampling import query_line, query_rows, unit_line, unit_rows
from datasets.api.base import PageParameters, Shape
from datasets.api.permissions import MANAGE, READ
from datasets.api.routes import Reply, Routes, given

api = Routes("campaigns", reads=(READ, MANAGE))


class SampleParameters(PageParameters):
    of = serializers.ChoiceField(
        ("query", "unit"), default="query", help_text="sample of queries, or of units"
    )


class SampleSerializer(Shape):
    of = serializers.ChoiceField(("query", "unit"))
    query = serializers.CharField()
    item = serializers.CharField(allow_null=True)
    unit = serializers.CharField(allow_null=True)
    unit_kind = serializers.CharField(allow_null=True)
    kind = serializers.CharField(help_text="all, simple, turns or own")
    seed = serializers.IntegerField()
    wave = serializers.IntegerField()
    stratum = serializers.CharField(allow_null=True)
    probability = serializers.FloatField(allow_null=True)
    drawn = serializers.BooleanField(
        allow_null=True, help_text="null if not sampled yet, or sampled for each person"
    )
    role = serializers.CharField(help_text="development, evaluation or audit")
    role_probability = serializers.FloatField(allow_null=True)
    use = serializers.CharField(allow_null=True, help_text="study, gold or practice")


@api.list(
    "campaigns/<int:pk>/draws/",
    "Read a campaign's sample",
    "All queries, or all units, sampled or not, with kind, seed, wave, probability and "
    "split. A unit's probability applies once its item is asked. `draws --check` repeats "
    "the sampling.",
    SampleSerializer,
    name="draws",
    takes=SampleParameters,
)
def campaigns_draws(request: Request, pk: int) -> Any:
    # A stratum reveals the label that others, or a judge, gave a unit.
    campaign = managed_unless_blind(request, pk)
    saw_sample(campaign)
    asks_queries = given(request)["of"] == "query"
    rows, line = (query_rows, query_line) if asks_queries else (unit_rows, unit_line)
    return Reply(rows(campaign), lines=lambda page: [line(each) for each in page])
