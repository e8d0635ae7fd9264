"""A person's work: campaigns to go on with, items done, and taking the next one."""

from __future__ import annotations

from django.db.models import Exists, Max, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Assignment, Campaign, Draft, User
from annotation.models.people import rater_of
from annotation.places import next_assignment
from annotation.protocols import PROTOCOLS
from annotation.views.mine import MAY_WORK, Progress, my_assignments, progress, user_of
from datasets.access import role_required

RECENT = 200


@require_safe
@role_required(*MAY_WORK)
def work(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    campaigns = list(Campaign.objects.filter(is_open=True))
    numbers = progress(user, [campaign.pk for campaign in campaigns])
    done = _done(user, [campaign.pk for campaign in campaigns])
    studies = [
        {
            "campaign": campaign,
            "title": PROTOCOLS[campaign.protocol].title,
            "progress": numbers[campaign.pk],
            "done": done.get(campaign.pk, []),
        }
        for campaign in campaigns
        if numbers[campaign.pk].total
    ]
    return render(request, "work/list.html", {"studies": studies})


@require_POST
@role_required(*MAY_WORK)
def take_next(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = get_object_or_404(Campaign, pk=pk, is_open=True)
    return redirect(next_address(campaign, user_of(request)))


@require_safe
@role_required(*MAY_WORK)
def finished(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = get_object_or_404(Campaign, pk=pk)
    user = user_of(request)
    numbers: Progress = progress(user, [campaign.pk])[campaign.pk]
    others = [c.pk for c in Campaign.objects.filter(is_open=True).exclude(pk=pk)]
    waiting = sum(p.left for p in progress(user, others).values())
    return render(
        request,
        "work/finished.html",
        {"campaign": campaign, "progress": numbers, "waiting": waiting},
    )


def next_address(campaign: Campaign, user: User) -> str:
    """Where a person goes on in a campaign: the next item, taken for them, or the closing page."""
    assignment = next_assignment(campaign, rater_of(user))
    if assignment is None:
        return reverse("finished", args=[campaign.pk])
    return reverse("item", args=[assignment.uid])


def _done(user: User, campaigns: list[int]) -> dict[int, list[Assignment]]:
    """The items that a person has submitted, the last `RECENT` of them, by campaign."""
    rows = (
        my_assignments(user)
        .filter(status="done", item__campaign__in=campaigns)
        .select_related("item__query")
        .annotate(
            submitted_at=Max("responses__created_at"),
            has_draft=Exists(Draft.objects.filter(assignment=OuterRef("pk"))),
        )
        .order_by("-item__position")[:RECENT]
    )
    found: dict[int, list[Assignment]] = {}
    for row in rows:
        found.setdefault(row.item.campaign_id, []).append(row)
    return found
