"""Pages of a person's work: the list, the next item, going to an item, practice feedback."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation import prerequisites
from annotation.access import (
    MAY_WORK,
    Progress,
    my_assignment,
    my_assignments,
    own,
    progress_of,
    user_of,
)
from annotation.adjudication.disputes import adjudicable
from annotation.assignments.queue import next_assignment
from annotation.campaigns.settings import open_now
from annotation.gold.scoring import GoldComparison, compare_with_gold, passes, score, shows_feedback
from annotation.models import Assignment, Campaign, Draft, Item, Rater, Response, User, rater_of
from annotation.people.membership import workable
from annotation.people.prolific import completion
from annotation.presentation import asked_units, blinding_of, ordered_texts, present, schema
from annotation.protocols.base import ItemSpec, Text, Variable
from annotation.protocols.schema import Schema
from annotation.registry import declared
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
            "waits_for": prerequisites.describe_waits(campaign),
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
        "waits_for": prerequisites.describe_waits(campaign),
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


@dataclass(frozen=True)
class Told:
    """One known answer in the words of the page."""

    heading: str
    text: str
    question: str
    said: str
    known: str
    reason: str
    is_right: bool


def feedback_address(assignment: Assignment) -> str:
    return reverse("feedback", args=[assignment.uid])


@require_safe
@role_required(*MAY_WORK)
def feedback(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    assignment = my_assignment(user_of(request), uid)
    if not shows_feedback(assignment) or assignment.status != Assignment.Status.DONE:
        raise Http404
    campaign, rater = assignment.item.campaign, assignment.rater
    spec = present(assignment.item)
    told = score(campaign, rater, Item.Use.PRACTICE)
    context = {
        "assignment": assignment,
        "campaign": campaign,
        "rows": list(_told(assignment, spec)),
        "texts": _texts(assignment, spec),
        "score": told,
        "passed": passes(campaign, told),
        "percent": None if told.share is None else round(100 * told.share),
        "wanted": None if campaign.qualify is None else round(100 * campaign.qualify),
    }
    return render(request, "work/feedback.html", context)


def _texts(assignment: Assignment, spec: ItemSpec) -> list[tuple[str, Text]]:
    texts = ordered_texts(assignment, spec)
    return [(text.heading or f"Text {n}", text) for n, text in enumerate(texts, start=1)]


def _told(assignment: Assignment, spec: ItemSpec) -> Iterator[Told]:
    asked, units = schema(assignment.item.campaign), asked_units(assignment, spec)
    turned = blinding_of(assignment, spec).turned
    for each in compare_with_gold(assignment):
        unit = units[each.unit]
        variable = asked.variable(each.variable, unit.kind)
        if variable is not None:
            yield _row(each, unit.text, variable, asked, turned)


def _row(each: GoldComparison, text: str, variable: Variable, asked: Schema, turned: bool) -> Told:
    return Told(
        heading=variable.name,
        text=text,
        question=variable.question,
        said=_word(variable, each.answer, turned) if each.answer is not None else "nothing",
        known=_word(variable, each.gold, turned),
        reason=each.reason,
        is_right=each.is_correct,
    )


def _word(variable: Variable, code: str, turned: bool) -> str:
    """A code as people read it; a pair's sides are those that were shown."""
    if turned:
        code = {"first": "second", "second": "first"}.get(code, code)
    return variable.words.get(code, code)
