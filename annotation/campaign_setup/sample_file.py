"""The job that writes a campaign's stored sample as a file: every query and unit, asked or not."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Max

from annotation.campaign_setup.replay import saw_sample
from annotation.campaigns.sampling import COLUMNS, sample_lines
from annotation.models import Campaign, QuerySampling, UnitSampling
from datasets.work import Options, Progress, Result
from tandem.files.spreadsheet import write_rows

SAMPLE = "draws"


def question(campaign: Campaign) -> dict[str, Any]:
    return {"campaign": campaign.pk}


def state(options: Options) -> Any:
    """Return a state that changes when more is sampled; the earlier sample never changes."""
    of = options["campaign"]
    rows = (
        QuerySampling.objects.filter(campaign=of),
        UnitSampling.objects.filter(item__campaign=of),
        UnitSampling.objects.filter(item__campaign=of).exclude(drawn=None),
    )
    return [each.aggregate(number=Count("pk"), newest=Max("pk")) for each in rows]


def carry_out(options: Options, progress: Progress) -> Result:
    campaign = Campaign.objects.get(pk=options["campaign"])
    saw_sample(campaign)
    lines = (each.encode() for each in write_rows(COLUMNS, sample_lines(campaign)))
    return Result(lines, f"draws-{campaign.pk}.csv", "text/csv")
