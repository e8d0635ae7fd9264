"""API endpoint of the bench of a campaign's judges: the same JSON as the command's."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.bench.jobs import BENCH, question
from annotation.access import get_account, readable_campaign
from annotation.api.access import check_blind
from audit.recording import record_export
from datasets.access import READERS
from datasets.api.base import Resource, describe_endpoint
from datasets.api.jobs import JobKey, JobSerializer, accepted_response, current_job
from datasets.api.permissions import READ
from datasets.api.throttling import PerReport
from datasets.jobs import results
from datasets.option_fields import serializer_fields
from tandem.labels.selection import ReportOptions
from tandem.options import options_of, values_of
from tandem.verbs import verb_of

RESAMPLING = options_of(ReportOptions)[:2]
AN_ESTIMATE: dict[str, Any] = {
    "value": 0.62,
    "low": 0.51,
    "high": 0.72,
    "n": 203,
    "method": "Cohen's kappa",
}


class BenchParameters(JobKey):
    judge = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="only these judges"
    )

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **serializer_fields(RESAMPLING)}


class BenchSerializer(serializers.Serializer[Any]):
    campaign = serializers.CharField()
    protocol = serializers.CharField()
    batch = serializers.CharField()
    generated_at = serializers.DateTimeField()
    version = serializers.CharField()
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField()
    chosen_items = serializers.IntegerField(
        help_text="how many items the campaign has if they were chosen, not sampled; else 0"
    )
    judges = serializers.ListField(
        child=serializers.DictField(), help_text="what each judge is, its cost, time and trials"
    )
    variables = serializers.DictField(
        child=serializers.DictField(),
        help_text="by name: each judge against people, and how similarly the judges err",
    )


class CampaignBench(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    takes = BenchParameters

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @describe_endpoint(
        "Bench the judges of a campaign",
        "Each judge with labels in the campaign: agreement with people, difference to people, the "
        "baseline, missing labels, robustness, cost and time; and the correlation of the judges' "
        "errors with the number of independent judges that they amount to. The same object as "
        f"`{verb_of('bench_judges')} --no-run --format json`. 202 with a job if computing "
        "it takes more than 20 seconds, as for the report.",
        {200: BenchSerializer, 202: JobSerializer},
        tag="studies",
        example={
            "campaign": "pilot-coverage",
            "protocol": "report-coverage",
            "batch": "pilot",
            "generated_at": "2026-11-20T09:40:00+00:00",
            "version": "0.5",
            "seed": 0,
            "resamples": 10000,
            "chosen_items": 0,
            "judges": [{"name": "small-judge", "scripted": False, "cost": "0.047840"}],
            "variables": {"answerable": {"errors": {"effective_judges": AN_ESTIMATE}}},
        },
        refuses=(422,),
        parameters=[BenchParameters],
        operation_id="judges_bench",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = readable_campaign(request, pk)
        check_blind(get_account(request), campaign)
        options = ReportOptions(**values_of(RESAMPLING, self.parameters))
        asked = question(campaign, self.parameters.get("judge", ()), options)
        job = current_job(request, BENCH, asked, self.parameters.get("job"))
        if job is None:
            return accepted_response(request)
        record_export(request, pk, "bench", "json")
        return Response(results.value(job))
