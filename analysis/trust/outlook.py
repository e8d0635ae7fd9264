"""What a plan can reach and costs before its first label, by people's pace and judges' errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np
from django.db.models import Avg, Count

from analysis.campaigns.frames import campaign_frame
from analysis.trust.cells import read_cells, variable_of
from analysis.trust.counted import cells_of_draws
from annotation.models import Assignment, Item, QuerySampling, Rater, TrustPlan, Unit
from tandem.trust.cells import Cells, people_of
from tandem.trust.certificate import Floor
from tandem.trust.curve import INFORMATIVE, LABELLED, WEAK, DevelopmentErrors, Errors
from tandem.trust.evidence import cells_without_error
from tandem.trust.plan import Plan, plan_of
from tandem.trust.price import Asked, Outlook, Pace

FEWEST_TIMED, FEWEST_QUERIES, STUDIES = 3, 10, 50


def outlook_of(plan: TrustPlan) -> Outlook:
    """Simulate a plan with the judge's errors on development queries, else with assumed ones."""
    found = _errors(plan)
    assumed: Sequence[Errors] = (found,) if found else (INFORMATIVE, WEAK)
    of_plan = plan_of(plan.document)
    asked = None if of_plan.k is None else _asked(plan, of_plan)
    return Outlook.of(of_plan, assumed, Floor(), _pace(plan), STUDIES, asked)


def _asked(plan: TrustPlan, of_plan: Plan) -> Asked:
    """Return what people are asked for the first draws of cells, which the seed gives already."""
    assert plan.judge is not None
    variable, keys = (
        variable_of(plan.campaign, plan.variable),
        plan.document["population"]["queries"],
    )
    cells = read_cells(plan.campaign, variable, plan.judge, keys)
    rows_of = Unit.objects.filter(item__campaign=plan.campaign, item__use=Item.Use.STUDY)
    item_of = dict(rows_of.order_by().values_list("pk", "item"))
    units_of = Counter(item_of.values())
    most = max(*LABELLED, cells_without_error(of_plan.risk, of_plan.delta))
    items, places, rows = set[int](), set[int](), []
    for _, drawn in islice(cells_of_draws(plan, of_plan, cells), most):
        places.update(drawn.tolist())
        items.update(item_of[unit] for unit in cells.unit[drawn].tolist())
        rows.append((len(items), sum(units_of[item] for item in items), len(places)))
    return Asked(*np.array(rows, dtype=np.int64).T)


def _pace(plan: TrustPlan) -> Pace:
    """Return how long a person takes for a query, by what people have done in the campaign.

    Where cells are drawn, it is for an item.
    """
    items = plan.campaign.items.filter(use=Item.Use.STUDY)
    timed = Assignment.objects.filter(
        item__in=items,
        rater__kind=Rater.Kind.HUMAN,
        status=Assignment.Status.DONE,
        seconds__gt=0,
    ).aggregate(mean=Avg("seconds"), number=Count("pk"))
    each = items.aggregate(items=Count("pk"), queries=Count("query", distinct=True))
    asked = each["items"] if plan.document["form"] == "cells" else each["queries"]
    seconds = None
    if timed["number"] >= FEWEST_TIMED:
        seconds = timed["mean"] * each["items"] / asked
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
