"""A person's work: campaigns to go on with, items done, and taking the next one."""

from __future__ import annotations

from dataclasses import replace

from django.db.models import Exists, OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation import follows
from annotation.adjudication.members import adjudicable
from annotation.declared import declared
from annotation.models import Assignment, Campaign, Draft, Rater, Response, User
from annotation.models.people import rater_of
from annotation.opening import open_now
from annotation.people.members import workable
from annotation.people.prolific import completion
from annotation.places import next_assignment
from annotation.views.mine import MAY_WORK, Progress, my_assignments, progress_of, user_of
from datasets.access import role_required

RECENT = 200


@require_safe
@role_required(*MAY_WORK)
def work(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    campaigns = list(workable(user).filter(open_now()))
    numbers = progress_of(user, campaigns)
    done = _done(user, [campaign.pk for campaign in campaigns])
    studies = [
        {
            "campaign": campaign,
            "title": declared(campaign).title,
            "progress": numbers[campaign.pk],
            "waits_for": follows.why(campaign),
            "done": done.get(campaign.pk, []),
        }
        for campaign in campaigns
        if numbers[campaign.pk].total
    ]
    context = {"studies": studies, "adjudicating": list(adjudicable(user))}
    return render(request, "work/list.html", context)


@require_POST
@role_required(*MAY_WORK)
def take_next(request: HttpRequest, pk: int) -> HttpResponse:
    user = user_of(request)
    campaign = get_object_or_404(workable(user).filter(open_now()), pk=pk)
    return redirect(next_address(campaign, rater_of(user)))


@require_safe
@role_required(*MAY_WORK)
def finished(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = get_object_or_404(Campaign, pk=pk)
    user = user_of(request)
    numbers: Progress = progress_of(user, [campaign])[campaign.pk]
    theirs = workable(user).filter(open_now())
    if not theirs.filter(pk=pk).exists():
        if not numbers.own:
            raise Http404
        numbers = replace(numbers, free=0, waiting=0)
    others = list(theirs.exclude(pk=pk))
    context = {
        "campaign": campaign,
        "progress": numbers,
        "waiting": sum(p.left for p in progress_of(user, others).values()),
        "waits_for": follows.why(campaign),
        "completion": completion(user, campaign) if user.is_guest else None,
    }
    return render(request, "work/finished.html", context)


def next_address(campaign: Campaign, rater: Rater) -> str:
    """Where a person goes on in a campaign: the next item, taken for them, or the closing page."""
    return address_of(next_assignment(campaign, rater), campaign)


def address_of(assignment: Assignment | None, campaign: Campaign) -> str:
    if assignment is None:
        return reverse("finished", args=[campaign.pk])
    return reverse("item", args=[assignment.uid])


def _done(user: User, campaigns: list[int]) -> dict[int, list[Assignment]]:
    """The items that a person has submitted, the last `RECENT` of them, by campaign."""
    answers = Response.objects.filter(assignment=OuterRef("pk"))
    rows = (
        my_assignments(user)
        .filter(status="done", item__campaign__in=campaigns)
        .select_related("item__query")
        .annotate(
            submitted_at=Subquery(answers.order_by("-created_at").values("created_at")[:1]),
            has_draft=Exists(Draft.objects.filter(assignment=OuterRef("pk"))),
        )
        .order_by("-pk")[:RECENT]
    )
    found: dict[int, list[Assignment]] = {}
    for row in rows:
        found.setdefault(row.item.campaign_id, []).append(row)
    return found
