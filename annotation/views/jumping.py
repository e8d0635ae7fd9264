"""Going to an item of one's own in a campaign by its number, counted from 1 as they were taken."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from annotation.models import Assignment
from annotation.views.mine import MAY_WORK, my_assignment, own, user_of
from datasets.access import role_required

LONGEST = 9


@require_safe
@role_required(*MAY_WORK)
def jump(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """To item `number`; one beyond the last is the last, and no number stays where it is."""
    assignment = my_assignment(user_of(request), uid)
    wanted = request.GET.get("number", "").strip()
    if not wanted.isdecimal() or len(wanted) > LONGEST:
        return redirect("item", uid)
    rows = _all_of(assignment).order_by("pk")
    number = min(max(1, int(wanted)), rows.count())
    return redirect("item", rows.values_list("uid", flat=True)[number - 1])


def _all_of(assignment: Assignment) -> QuerySet[Assignment]:
    return own(
        Assignment.objects.filter(
            rater=assignment.rater_id, item__campaign=assignment.item.campaign_id
        )
    )
