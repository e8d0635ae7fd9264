"""API endpoint of a campaign's sample: all queries or units, sampled or not, with probabilities."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, managed_campaign
from annotation.api.access import check_blind
from annotation.campaign_setup.replay import saw_sample
from annotation.campaigns.sampling import query_line, query_rows, unit_line, unit_rows
from datasets.access import READERS
from datasets.api.base import (
    List,
    PageParameters,
    describe_endpoint,
    page_example,
    page_serializer,
)
from datasets.api.permissions import MANAGE, READ


class SampleParameters(PageParameters):
    of = serializers.ChoiceField(
        ("query", "unit"), default="query", help_text="sample of queries, or of units"
    )


class SampleSerializer(serializers.Serializer[Any]):
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


A_SAMPLED_QUERY = {
    "of": "query",
    "query": "q1",
    "item": None,
    "unit": None,
    "unit_kind": None,
    "kind": "simple",
    "seed": 7,
    "wave": 1,
    "stratum": None,
    "probability": 0.2,
    "drawn": True,
    "role": "evaluation",
    "role_probability": 0.8,
    "use": None,
}


class Sample(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}
    takes = SampleParameters

    @describe_endpoint(
        "Read a campaign's sample",
        "All queries, or all units, sampled or not, with kind, seed, wave, probability and "
        "split. A unit's probability applies once its item is asked. `draws --check` repeats "
        "the sampling.",
        {200: page_serializer(SampleSerializer)},
        tag="campaigns",
        example=page_example(A_SAMPLED_QUERY),
        parameters=[SampleParameters],
        operation_id="campaigns_draws",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = managed_campaign(request, pk)
        # A stratum reveals the label that others, or a judge, gave a unit.
        check_blind(user, campaign)
        saw_sample(campaign)
        if self.parameters["of"] == "query":
            return self.page(query_rows(campaign), lambda r: [*map(query_line, r)])
        return self.page(unit_rows(campaign), lambda r: [*map(unit_line, r)])
