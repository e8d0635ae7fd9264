"""API endpoint of the bench of a campaign's judges: the same JSON as the command's."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from analysis.api.reports import ComputedSerializer
from analysis.bench.numbers import BENCH, question
from annotation.api.access import readable_unless_blind
from audit.recording import record_export
from datasets.api.concurrency import PerReport
from datasets.api.routes import JobKey, Routes, given, result_of
from datasets.option_fields import OptionFields
from tandem.labels.selection import ReportOptions
from tandem.options import options_of, values_of
from tandem.verbs import verb_of

api = Routes("studies")

RESAMPLING = options_of(ReportOptions)[:2]


class BenchParameters(JobKey, OptionFields):
    options = RESAMPLING
    judge = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="only these judges"
    )


class BenchSerializer(ComputedSerializer):
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


@api.get(
    "campaigns/<int:pk>/bench/",
    "Bench the judges of a campaign",
    "Each judge with labels in the campaign: agreement with people, difference to people, the "
    "baseline, missing labels, robustness, cost and time; and the correlation of the judges' "
    "errors with the number of independent judges that they amount to. The same object as "
    f"`{verb_of('bench_judges')} --no-run --format json`. 202 with a job if computing "
    "it takes more than 20 seconds, as for the report.",
    BenchSerializer,
    name="bench",
    takes=BenchParameters,
    job=True,
    refuses=(422,),
    throttles=(PerReport,),
)
def judges_bench(request: Request, pk: int) -> Any:
    campaign, sent = readable_unless_blind(request, pk), given(request)
    options = ReportOptions(**values_of(RESAMPLING, sent))
    asked = question(campaign, sent.get("judge", ()), options)
    found = result_of(request, BENCH, asked, sent.get("job"))
    record_export(request, pk, "bench", "json")
    return found
