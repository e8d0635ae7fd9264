"""A researcher's home: the campaigns, and how far people are in each."""

from __future__ import annotations

from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.declared import declared
from annotation.models import Campaign, Item, Rater, User
from annotation.people.members import readable
from annotation.tallies.counts import answers
from annotation.tallies.reading import raters_with, tallied
from annotation.views.mine import user_of
from datasets.access import role_required

STUDY = Item.Use.STUDY.value
PLACED, IMPORTED = (answers(STUDY, "done", placed) for placed in (True, False))
PEOPLE, JUDGES = (Q(rater__kind=kind.value) for kind in (Rater.Kind.HUMAN, Rater.Kind.JUDGE))


@require_safe
@role_required(User.Role.RESEARCHER, User.Role.ADMIN)
def campaigns(request: HttpRequest) -> HttpResponse:
    rows = [
        {"campaign": campaign, "title": declared(campaign).title}
        for campaign in counted(readable(user_of(request))).order_by("-is_open", "name")
    ]
    return render(request, "campaigns/list.html", {"rows": rows})


def counted(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """The campaigns with `items_total`, `places`, and what people and judges have submitted.

    `people_done` holds both the answers of people with a place and those that were `imported`.
    Gold and practice items, which have no end of places, are left out.
    """
    return campaigns.select_related("batch").annotate(
        items_total=tallied(f"items/{STUDY}"),
        places=tallied(f"places/{STUDY}"),
        places_done=tallied(PLACED, raters=PEOPLE),
        imported=tallied(IMPORTED, raters=PEOPLE),
        people_done=F("places_done") + F("imported"),
        people=raters_with(PLACED, IMPORTED, raters=PEOPLE),
        judges=raters_with(PLACED, IMPORTED, raters=JUDGES),
    )
