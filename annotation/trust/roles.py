"""Queries whose labels certify a judge: nothing that could change the judge may read them.

A query is *certify* from the moment when a plan draws it until the plan has ended. People's labels
of such queries are left out wherever labels are read for a report, a list, a prompt or a file;
judges' labels stay, as they do for queries that people have not labelled.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from annotation.models import Campaign, Rater, TrustDraw, TrustPlan, Unit

REASON = "a plan drew their queries, and their labels are not read before it has ended"
ADJUDICATED = "adjudicated"
_PEOPLE = (Rater.Kind.HUMAN, Rater.Kind.REFERENCE)
Row = TypeVar("Row", bound=Model)


def certify_queries(campaign: Campaign) -> frozenset[int]:
    """Return the primary keys of a campaign's certify queries."""
    if not campaign.has_plan:
        return frozenset()
    return frozenset(_drawn(campaign).values_list("query", flat=True))


def certify_units(campaign: Campaign, units: Collection[int]) -> frozenset[int]:
    """Return those of some units, by primary key, that belong to certify queries."""
    if not campaign.has_plan:
        return frozenset()
    found = Unit.objects.filter(pk__in=list(units), item__query__in=_drawn(campaign))
    return frozenset(found.order_by().values_list("pk", flat=True))


def without_certify(
    rows: QuerySet[Row, Any], campaign: Campaign, assignment: str = "response__assignment"
) -> QuerySet[Row, Any]:
    """Leave out what people said about certify queries; `assignment` is the path to their rows."""
    return rows.exclude(_of_people(campaign, assignment)) if campaign.has_plan else rows


def for_adjudicators(rows: QuerySet[Row, Any], campaign: Campaign) -> QuerySet[Row, Any]:
    """Leave out of labels what adjudicators may not see of certify queries.

    Where the truth of a plan is adjudicated, they see people's labels, but none of a judge: a unit
    that came to them because the judge differs would be decided in its light.
    """
    plan = running(campaign) if campaign.has_plan else None
    if plan is None or plan.document["truth"] != ADJUDICATED:
        return without_certify(rows, campaign)
    judged = Q(response__assignment__rater__kind=Rater.Kind.JUDGE)
    return rows.exclude(judged, response__assignment__item__query__in=_drawn(campaign))


def state_of(campaign: Campaign) -> int | None:
    """Return what decides which labels may be read: the plan that runs, by primary key, or None.

    Its draws need not be known: nobody has labelled a query before it is drawn.
    """
    plan = running(campaign) if campaign.has_plan else None
    return plan.pk if plan else None


def _of_people(campaign: Campaign, assignment: str) -> Q:
    to = f"{assignment}__" if assignment else ""
    said = {f"{to}rater__kind__in": _PEOPLE, f"{to}item__query__in": _drawn(campaign)}
    return Q(**said)


def _drawn(campaign: Campaign) -> QuerySet[TrustDraw, Any]:
    drawn = TrustDraw.objects.filter(plan__campaign=campaign, plan__end=None)
    return drawn.order_by().values("query")


def running(campaign: Campaign) -> TrustPlan | None:
    """Return the plan that runs in a campaign; there is at most one."""
    return TrustPlan.objects.filter(campaign=campaign, end=None).first()
