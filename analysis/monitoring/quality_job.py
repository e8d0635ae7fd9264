"""The job of people's agreement and quality flags while a campaign runs."""

from __future__ import annotations

from typing import Any

from analysis.campaigns.cache import state_of
from analysis.campaigns.report_job import campaign_of, may_see
from analysis.monitoring.flags import Quality, quality
from annotation.models import Campaign
from datasets.models import Job
from datasets.work import Kind, Options, Progress, Result, results

QUALITY = "quality"


def question(campaign: Campaign) -> dict[str, Any]:
    """Return the question of a campaign's quality, for `datasets.work.ask`."""
    return {"campaign": campaign.pk}


def quality_in(job: Job) -> Quality:
    """Return the result of a finished job. Raises GoneError."""
    return Quality.from_json(results.value(job))


def _state(options: Options) -> Any:
    return state_of(campaign_of(options))


def _carry_out(options: Options, progress: Progress) -> Result:
    return Result.of(quality(campaign_of(options)).as_json())


QUALITY_KIND = Kind(QUALITY, "Quality flags", _state, _carry_out, may_see, listed=False)
