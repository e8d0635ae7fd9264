"""The job of the bench of a campaign's judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Count, Max

from analysis.bench.numbers import BenchError, bench
from analysis.campaigns.cache import state_of
from analysis.campaigns.evaluators import declared_for
from analysis.campaigns.report_job import campaign_of, may_see, restore_dataclass
from annotation.models import Campaign
from datasets.work import JobError, Kind, Options, Progress, Result
from judging.models import JudgeCall, Price
from tandem.labels.selection import ReportOptions

BENCH = "bench"


def question(campaign: Campaign, judges: Sequence[str], options: ReportOptions) -> dict[str, Any]:
    """Return the question of a bench, for `datasets.work.ask`."""
    return {"campaign": campaign.pk, "judges": list(judges), "options": asdict(options)}


def calls_of(campaign: Campaign) -> dict[str, Any]:
    """Return the number and the newest of the calls of judges over a campaign."""
    calls = JudgeCall.objects.filter(run__campaign=campaign)
    return calls.aggregate(number=Count("pk"), newest=Max("pk"))


def _state(options: Options) -> Any:
    campaign = campaign_of(options)
    prices = Price.objects.aggregate(number=Count("pk"), newest=Max("pk"))
    return [state_of(campaign), calls_of(campaign), prices, declared_for(campaign)]


def _carry_out(options: Options, progress: Progress) -> Result:
    chosen = restore_dataclass(ReportOptions, options["options"])
    try:
        found = bench(campaign_of(options), options["judges"], chosen, progress)
    except BenchError as error:
        raise JobError(str(error)) from error
    return Result.of(found)


BENCH_KIND = Kind(BENCH, "Bench", _state, _carry_out, may_see, heavy=True)
