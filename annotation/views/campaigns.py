"""A researcher's home: the campaigns, and how far people are in each."""

from __future__ import annotations

from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.models import Assignment, Campaign, Item, User
from annotation.people.members import readable
from annotation.protocols import PROTOCOLS
from annotation.views.mine import user_of
from datasets.access import role_required


@require_safe
@role_required(User.Role.RESEARCHER, User.Role.ADMIN)
def campaigns(request: HttpRequest) -> HttpResponse:
    rows = [
        {"campaign": campaign, "title": PROTOCOLS[campaign.protocol].title}
        for campaign in counted(readable(user_of(request))).order_by("-is_open", "name")
    ]
    return render(request, "campaigns/list.html", {"rows": rows})


def counted(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """The campaigns with `items_total`, `places`, and what people and judges have submitted.

    `people_done` holds both the answers of people with a place and those that were `imported`.
    """
    people = Q(rater__kind="human")
    return campaigns.select_related("batch").annotate(
        items_total=_number(_study(), "campaign", Count("pk")),
        places=_number(_study(), "campaign", Sum("quota")),
        people_done=_number(_done(people), "item__campaign", Count("pk")),
        places_done=_number(_done(people & Q(slot__isnull=False)), "item__campaign", Count("pk")),
        imported=_number(_done(people & Q(slot=None)), "item__campaign", Count("pk")),
        people=_number(_done(people), "item__campaign", Count("rater", distinct=True)),
        judges=_number(
            _done(Q(rater__kind="judge")), "item__campaign", Count("rater", distinct=True)
        ),
    )


def _study() -> QuerySet[Item]:
    """Without gold and practice items, which have no end of places."""
    return Item.objects.filter(campaign=OuterRef("pk"), use=Item.Use.STUDY)


def _done(raters: Q) -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        raters, item__campaign=OuterRef("pk"), item__use=Item.Use.STUDY, status="done"
    )


def _number(rows: QuerySet, group: str, measure: Count | Sum) -> Coalesce:
    counted = rows.order_by().values(group).annotate(number=measure).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)
