"""The page of one item, and the parts of it that are fetched later."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from annotation.basis import basis_of
from annotation.blinding import blinding_of
from annotation.declared import declared
from annotation.drafts import standing
from annotation.follows.grounded_answer import shown_beside
from annotation.guideline import render as render_guideline
from annotation.presenting import ordered_texts, present, schema
from annotation.verdicts import verdicts_of
from annotation.views.mine import (
    MAY_WORK,
    my_assignment,
    progress_here,
    user_of,
    with_neighbours,
)
from annotation.views.pages import page_of
from annotation.views.sheet import sheet_of
from datasets.access import role_required


@require_safe
@role_required(*MAY_WORK)
def item(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    user = user_of(request)
    assignment, beside = with_neighbours(user, uid)
    campaign = assignment.item.campaign
    spec, asked = present(assignment.item), schema(campaign)
    there, page = standing(assignment), page_of(declared(campaign).slug)
    texts = ordered_texts(assignment, spec)
    blinding = blinding_of(assignment, spec)
    sheet = sheet_of(asked, spec, blinding.units, blinding.hidden(there.payload), texts)
    context = {
        "assignment": assignment,
        "campaign": campaign,
        "protocol": declared(campaign),
        "page": page,
        "sheet": sheet,
        "basis": basis_of(asked, spec, blinding.units.values(), shown_beside(assignment)),
        "standing": there,
        "verdicts": verdicts_of(assignment, spec, blinding),
        "verdicts_placed": set(),
        "progress": progress_here(user, campaign),
        "number": beside.number,
        "previous": beside.previous,
        "following": beside.following,
        **page.facts(assignment, spec, sheet),
    }
    response = render(request, page.template, context)
    # A page from the browser's own store would show an older version as if it were the newest.
    patch_cache_control(response, no_store=True, private=True)
    return response


@require_safe
@role_required(*MAY_WORK)
def guideline(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    campaign = my_assignment(user_of(request), uid).item.campaign
    html = render_guideline(schema(campaign).protocol.guideline)
    return render(request, "work/guideline.html", {"html": html})


@require_safe
@role_required(*MAY_WORK)
def how_far(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """The progress in the page's foot, asked for again when a late answer got through."""
    user = user_of(request)
    campaign = my_assignment(user, uid).item.campaign
    numbers = progress_here(user, campaign)
    return render(request, "work/_progress.html", {"progress": numbers})
