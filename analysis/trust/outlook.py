"""What a plan can reach and costs before its first label, by people's pace and judges' errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.db.models import Avg, Count

from analysis.campaigns.frames import campaign_frame
from annotation.models import Assignment, Item, QuerySampling, Rater, TrustPlan
from tandem.trust.cells import Cells, people_of
from tandem.trust.certificate import Floor
from tandem.trust.curve import INFORMATIVE, WEAK, DevelopmentErrors, Errors
from tandem.trust.plan import plan_of
from tandem.trust.price import Outlook, Pace

FEWEST_TIMED, FEWEST_QUERIES, STUDIES = 3, 10, 50


def outlook_of(plan: TrustPlan) -> Outlook:
    """Simulate a plan with the judge's errors on development queries, else with assumed ones."""
    found = _errors(plan)
    assumed: Sequence[Errors] = (found,) if found else (INFORMATIVE, WEAK)
    return Outlook.of(plan_of(plan.document), assumed, Floor(), _pace(plan), STUDIES)


def _pace(plan: TrustPlan) -> Pace:
    """Return how long a person takes for a query, by what people have done in the campaign."""
    items = plan.campaign.items.filter(use=Item.Use.STUDY)
    timed = Assignment.objects.filter(
        item__in=items,
        rater__kind=Rater.Kind.HUMAN,
        status=Assignment.Status.DONE,
        seconds__gt=0,
    ).aggregate(mean=Avg("seconds"), number=Count("pk"))
    each = items.aggregate(items=Count("pk"), queries=Count("query", distinct=True))
    seconds = None
    if timed["number"] >= FEWEST_TIMED:
        seconds = timed["mean"] * each["items"] / each["queries"]
    return Pace(plan.document["people"], seconds)


def _errors(plan: TrustPlan) -> DevelopmentErrors | None:
    """Return the judge's errors on development queries with labels, if there are enough."""
    splits = QuerySampling.objects.filter(campaign=plan.campaign, role="development")
    development = set(splits.values_list("query__key", flat=True))
    if len(development) < FEWEST_QUERIES:
        return None
    frame = campaign_frame(plan.campaign, kind="trust")
    variable, judge = frame.variables[plan.variable], plan.document["judge"]["name"]
    column = next(n for n in variable.columns("judge") if variable.raters[n].name == judge)
    cells = Cells.of(variable, frame.items, column, people_of(variable))
    labelled = {cells.keys[query] for query in cells.query[cells.labelled]}
    if len(keys := sorted(labelled & development)) < FEWEST_QUERIES:
        return None
    cells = cells.only(keys)
    cuts = [cells.labelled & (cells.sure >= cut["threshold"]) for cut in plan.document["cuts"]]
    return DevelopmentErrors(
        np.stack([cells.by_query(cut) for cut in cuts], axis=1),
        np.stack([cells.by_query(cut & cells.wrong) for cut in cuts], axis=1),
    )
