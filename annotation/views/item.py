"""The page of one item, and the parts of it that are fetched later."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from annotation.drafts import standing
from annotation.guideline import render as render_guideline
from annotation.models import Assignment, User
from annotation.presenting import asked_units, present, schema
from annotation.protocols import PROTOCOLS
from annotation.views.mine import (
    MAY_WORK,
    my_assignment,
    my_assignments,
    progress,
    user_of,
)
from annotation.views.sheet import sheet_of
from datasets.access import role_required


@require_safe
@role_required(*MAY_WORK)
def item(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    user = user_of(request)
    assignment = my_assignment(user, uid)
    campaign = assignment.item.campaign
    spec, asked = present(assignment.item), schema(campaign)
    there = standing(assignment)
    context = {
        "assignment": assignment,
        "campaign": campaign,
        "protocol": PROTOCOLS[campaign.protocol],
        "sheet": sheet_of(asked, spec, asked_units(assignment, spec), there.payload),
        "standing": there,
        "progress": progress(user, [campaign.pk])[campaign.pk],
        **_neighbours(user, assignment),
    }
    response = render(request, "work/item.html", context)
    # A page from the browser's own store would show an older version as if it were the newest.
    patch_cache_control(response, no_store=True, private=True)
    return response


@require_safe
@role_required(*MAY_WORK)
def guideline(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    campaign = my_assignment(user_of(request), uid).item.campaign
    html = render_guideline(PROTOCOLS[campaign.protocol].guideline)
    return render(request, "work/guideline.html", {"html": html})


@require_safe
@role_required(*MAY_WORK)
def how_far(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """The progress in the page's foot, asked for again when a late answer got through."""
    user = user_of(request)
    campaign = my_assignment(user, uid).item.campaign
    numbers = progress(user, [campaign.pk])[campaign.pk]
    return render(request, "work/_progress.html", {"progress": numbers})


def _neighbours(user: User, assignment: Assignment) -> dict[str, Assignment | None]:
    """One's own items before and after this one in the campaign's order."""
    mine = my_assignments(user).filter(item__campaign=assignment.item.campaign_id)
    place = assignment.item.position
    return {
        "previous": mine.filter(item__position__lt=place).order_by("-item__position").first(),
        "following": mine.filter(item__position__gt=place).order_by("item__position").first(),
    }
