"""How wrong a campaign's judges are where they are surest, by the labels that it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analysis.campaigns.frames import campaign_frame, campaign_strata
from analysis.campaigns.people_sample import query_draw
from analysis.trust.looks import look_at
from annotation.models import Campaign, TrustPlan
from annotation.presentation import schema
from tandem.labels.selection import ReportOptions
from tandem.sections.check import check_report
from tandem.trust.check import Committed
from tandem.trust.options import CheckOptions
from tandem.types import JSON


def campaign_check(campaign: Campaign, options: ReportOptions, wanted: CheckOptions) -> JSON:
    """Return the check of a campaign's judges, as JSON. Nobody has to say how it drew queries."""
    frame = campaign_frame(campaign, options, campaign_strata(campaign), kind="report")
    head = {
        "campaign": campaign.name,
        "protocol": campaign.protocol,
        "batch": campaign.batch.name,
    }
    draw = query_draw(campaign, with_assisted=options.assisted)
    draw = replace(draw, plans=dict(_ended_plans(campaign)))
    return check_report(head, frame, options, draw, wanted, schema(campaign).nouns())


def _ended_plans(campaign: Campaign) -> Iterator[tuple[tuple[str, str], Committed]]:
    """Yield what the plans that have ended drew, by variable and judge, the newest last."""
    plans = TrustPlan.objects.filter(
        campaign=campaign, kind=TrustPlan.Kind.CERTIFY, end__isnull=False
    )
    for plan in plans.select_related("campaign__batch", "judge").order_by("id"):
        if plan.document["form"] != "whole":
            # Of a query with drawn cells not all items are asked.
            continue
        document, labelled = plan.document, look_at(plan).state.labelled
        queries = tuple(document["population"]["queries"])
        yield (
            (plan.variable, document["judge"]["name"]),
            Committed(
                queries,
                tuple(cut["threshold"] for cut in document["cuts"]),
                document["seed"],
                document["risk"],
                document["level"],
                tuple(queries[number] for number in labelled),
            ),
        )
