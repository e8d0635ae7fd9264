"""The job of a judge's robustness sheet over a campaign."""

from __future__ import annotations

from typing import Any

from analysis.campaigns.cache import state_of
from analysis.campaigns.report_job import campaign_of, may_see
from analysis.robustness.sheet import sheet
from annotation.models import Campaign
from datasets.work import Kind, Options, Progress, Result
from judging.models import Judge

ROBUSTNESS = "robustness"


def question(campaign: Campaign, judge: Judge) -> dict[str, Any]:
    """Return the question of a sheet, for `datasets.work.ask`."""
    return {"campaign": campaign.pk, "judge": judge.pk}


def _state(options: Options) -> Any:
    trials = Judge.objects.filter(base=options["judge"]).order_by("pk")
    return [state_of(campaign_of(options)), list(trials.values_list("pk", flat=True))]


def _carry_out(options: Options, progress: Progress) -> Result:
    judge = Judge.objects.select_related("rater", "base").get(pk=options["judge"])
    return Result.of(sheet(campaign_of(options), judge, progress=progress))


ROBUSTNESS_KIND = Kind(ROBUSTNESS, "Robustness sheet", _state, _carry_out, may_see, heavy=True)
