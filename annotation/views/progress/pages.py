"""How far a campaign is, and how one person in it works: pages whose numbers stay live."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.models import Campaign, Rater, User
from annotation.people.members import readable
from annotation.people.overview import standing_exclusions
from annotation.progress.standing import person_of, standing, time_left
from annotation.views.mine import is_blind, user_of
from datasets.access import role_required

READERS = (User.Role.RESEARCHER, User.Role.ADMIN)
STOP_POLLING = 286  # htmx's own status
LONGEST_POLLED = 2 * 3600
TALLEST = 24


@require_safe
@role_required(*READERS)
def campaign(request: HttpRequest, pk: int) -> HttpResponse:
    """The page; of a look by htmx only the part that moves."""
    found = campaign_of(request, pk)
    if is_over(request):
        return HttpResponse(status=STOP_POLLING)
    stands = standing(found)
    context = {
        **_shared(request, found),
        "standing": stands,
        "left": time_left(found, stands),
        "days": bars(stands.days),
    }
    part = "progress/_campaign.html" if is_look(request) else "progress/campaign.html"
    return render(request, part, context)


@require_safe
@role_required(*READERS)
def person(request: HttpRequest, pk: int, rater: int) -> HttpResponse:
    found = campaign_of(request, pk)
    if is_over(request):
        return HttpResponse(status=STOP_POLLING)
    known = person_of(found, rater)
    if known is None:
        raise Http404
    who, days = known
    context = {
        **_shared(request, found),
        "person": who,
        "exclusion": standing_exclusions(found).get(rater),
        "days": bars(days),
    }
    part = "progress/_person.html" if is_look(request) else "progress/person.html"
    return render(request, part, context)


def campaign_of(request: HttpRequest, pk: int) -> Campaign:
    """A campaign that this account may read; another is not there."""
    return get_object_or_404(
        readable(user_of(request)).select_related("batch", "practice_of"), pk=pk
    )


def rater_of_campaign(found: Campaign, rater: int) -> Rater:
    """A person who was given something in the campaign; another is not there."""
    people = Rater.objects.filter(kind=Rater.Kind.HUMAN, assignments__item__campaign=found)
    return get_object_or_404(people.distinct(), pk=rater)


def is_look(request: HttpRequest) -> bool:
    return "HX-Request" in request.headers


def is_over(request: HttpRequest) -> bool:
    """Whether a page asks again and again that somebody opened hours ago, and may have left."""
    text = request.GET.get("opened", "")
    opened = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
    return is_look(request) and 0 < opened < time.time() - LONGEST_POLLED


def bars(days: Sequence[int]) -> list[dict[str, int]]:
    """Each day's answers with its bar, a line where there were none; today's is the last."""
    most, last, found = max(days, default=0) or 1, len(days) - 1, []
    for n, number in enumerate(days):
        height = max(1, -(-TALLEST * number // most))
        found.append({"number": number, "ago": last - n, "x": 9 * n, "height": height,
                      "y": TALLEST + 2 - height})  # fmt: skip
    return found


def _shared(request: HttpRequest, found: Campaign) -> dict[str, Any]:
    opened = request.GET.get("opened", "") if is_look(request) else ""
    return {
        "campaign": found,
        "blind": is_blind(user_of(request), found),
        "opened": opened if opened.isdigit() else int(time.time()),
    }
