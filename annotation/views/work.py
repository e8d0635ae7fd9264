"""Pages of a person's work: the list, the next item, an item by its number, practice feedback."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from annotation import prerequisites
from annotation.access import (
    get_account,
    my_assignment,
    my_assignments,
    my_declined_assignments,
    open_campaigns,
    own,
)
from annotation.adjudication import adjudicable, disputed_units, own_sizes
from annotation.assignments.queue import REASONS, decline, take_up_again
from annotation.blinding import blinding_of
from annotation.exposure.ledger import saw_figures
from annotation.gold.scoring import GoldComparison, compare_with_gold, passes, score, shows_feedback
from annotation.item_context import with_headings, word_of
from annotation.long_items import leave_if_long
from annotation.models import Assignment, Campaign, Draft, Item, Response, Unit, User, rater_of
from annotation.people.consent import asked_for_consent
from annotation.people.languages import translated
from annotation.people.prolific import completion
from annotation.presentation import asked_units, ordered_texts, page_schema, page_task, present
from annotation.progress import cached
from annotation.progress.person import Progress, minutes_left, progress_of, seconds_per_item
from annotation.views.intake import gone_address, next_address
from datasets.access import WORKERS, role_required
from tandem.grouping import grouped
from tandem.protocols.base import ItemSpec, Variable

Study = dict[str, Any]
"""A campaign with a person's progress in it, as the page lists it."""

RECENT = 200
MAX_DIGITS = 9


@require_safe
@role_required(*WORKERS)
def work(request: HttpRequest) -> HttpResponse:
    user = get_account(request)
    campaigns = list(open_campaigns(user))
    numbers = progress_of(user, campaigns)
    keys = [campaign.pk for campaign in campaigns]
    done, declined = _submitted_items(user, keys), _declined_items(user, keys)
    seconds = seconds_per_item(user, keys)
    studies = [
        {
            "campaign": campaign,
            "title": page_task(campaign).title,
            "progress": numbers[campaign.pk],
            "prerequisite": translated(prerequisites.describe_waits(campaign)),
            "done": done.get(campaign.pk, []),
            "declined": declined.get(campaign.pk, []),
            "minutes": minutes_left(numbers[campaign.pk], seconds.get(campaign.pk)),
        }
        for campaign in campaigns
        if numbers[campaign.pk].total or campaign.pk in declined
    ]
    listed = in_order(study for study in studies if not _is_finished(study))
    context = {
        "first": listed[0] if listed else None,
        "rest": listed[1:],
        "finished": [study["campaign"] for study in studies if _is_finished(study)],
        "adjudicating": [(each, _queue_sizes(user, each)) for each in adjudicable(user)],
        "consents": asked_for_consent(user),
        "languages": settings.LANGUAGES,
        "joined": _joined_team(user, request.GET.get("joined", "")),
        "gone": "gone" in request.GET,
    }
    return render(request, "work/list.html", context)


def _joined_team(user: User, number: str) -> str:
    """Return the name of the team that the person has just joined by an invitation."""
    if not number.isdecimal() or len(number) > MAX_DIGITS:
        return ""
    mine = user.teams.filter(team=int(number))
    return mine.values_list("team__name", flat=True).first() or ""


def _queue_sizes(user: User, campaign: Campaign) -> dict[str, int]:
    """Return how many disputes an adjudicator has to decide and how many are decided.

    For a large campaign, disputes are counted again after a minute, while decisions count at once.
    """

    def find() -> tuple[tuple[frozenset[int], int], int]:
        units = Unit.objects.filter(item__campaign=campaign).count()
        return (disputed_units(campaign), units), units

    disputed, units = cached(f"disputed-{campaign.pk}", find)
    saw_figures("disputes", campaign, units)
    sizes = own_sizes(user, campaign, disputed)
    return {"open": sizes["open"], "decided": sizes["decided"], "all": sum(sizes.values())}


@require_POST
@role_required(*WORKERS)
def take_next(request: HttpRequest, pk: int) -> HttpResponse:
    user = get_account(request)
    campaign = get_object_or_404(open_campaigns(user), pk=pk)
    return redirect(next_address(campaign, rater_of(user)))


@require_safe
@role_required(*WORKERS)
def finished(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = get_object_or_404(Campaign, pk=pk)
    user = get_account(request)
    numbers: Progress = progress_of(user, [campaign])[campaign.pk]
    available = open_campaigns(user)
    if not available.filter(pk=pk).exists():
        if not numbers.own:
            raise Http404
        numbers = replace(numbers, free=0, waiting=0)
    others = list(available.exclude(pk=pk))
    done, declined = _submitted_items(user, [pk]), _declined_items(user, [pk])
    context = {
        "study": {"done": done.get(pk, []), "declined": declined.get(pk, []), "progress": numbers},
        "campaign": campaign,
        "progress": numbers,
        "waiting": sum(p.left for p in progress_of(user, others).values()),
        "prerequisite": translated(prerequisites.describe_waits(campaign)),
        "completion": completion(user, campaign) if user.is_guest else None,
        "agreed": campaign in asked_for_consent(user),
    }
    return render(request, "work/finished.html", context)


def _submitted_items(user: User, campaigns: list[int]) -> dict[int, list[Assignment]]:
    """Return the last `RECENT` items that a person has submitted, by campaign."""
    current = Response.objects.filter(assignment=OuterRef("pk"), current=True)
    rows = (
        my_assignments(user)
        .filter(status="done", item__campaign__in=campaigns)
        .select_related("item__query")
        .annotate(
            submitted_at=Subquery(current.values("created_at")),
            has_draft=Exists(Draft.objects.filter(assignment=OuterRef("pk"))),
        )
        .order_by("-pk")[:RECENT]
    )
    return grouped((row.item.campaign_id, row) for row in rows)


def in_order(studies: Iterable[Study]) -> list[Study]:
    """Return campaigns in the order in which to work on them.

    Those with items for the person come first, by deadline; of equal ones, those that are begun.
    """

    def order(study: Study) -> tuple[Any, ...]:
        numbers, deadline = study["progress"], study["campaign"].deadline
        begun = bool(numbers.begun) + bool(numbers.begun or numbers.done)
        return not numbers.left, deadline is None, deadline, -begun, study["campaign"].name

    return sorted(studies, key=order)


def _is_finished(study: Study) -> bool:
    """Whether a campaign has nothing more for a person to do, not even a changed answer to send."""
    numbers: Progress = study["progress"]
    unsent = any(assignment.has_draft for assignment in study["done"])
    return not numbers.left and not numbers.waiting and not unsent


def _declined_items(user: User, campaigns: list[int]) -> dict[int, list[Assignment]]:
    """Return the last `RECENT` items that a person could not judge, by campaign."""
    declined = my_declined_assignments(user).filter(item__campaign__in=campaigns)
    rows = declined.select_related("item__query").order_by("-pk")[:RECENT]
    return grouped((row.item.campaign_id, row) for row in rows)


@require_POST
@role_required(*WORKERS)
def cannot_judge(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Close an item with a reason in place of an answer, and continue with the next one."""
    assignment = my_assignment(get_account(request), uid)
    reason = request.POST.get("reason", "")
    if reason not in REASONS or not decline(assignment, reason):
        return redirect("item", uid)
    return redirect(next_address(assignment.item.campaign, assignment.rater))


@require_POST
@role_required(*WORKERS)
def take_up(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Open an item again that a person could not judge, if nobody else has its slot."""
    mine = my_declined_assignments(get_account(request)).select_related("item__campaign", "rater")
    assignment = get_object_or_404(mine, uid=uid)
    return redirect("item", uid) if take_up_again(assignment) else redirect(gone_address())


@require_safe
@role_required(*WORKERS)
def jump(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Go to item `number`, or to the last one if there are fewer; without a number, stay here."""
    assignment = my_assignment(get_account(request), uid)
    text = request.GET.get("number", "").strip()
    if not text.isdecimal() or len(text) > MAX_DIGITS:
        return redirect("item", uid)
    rows = _rater_assignments(assignment).order_by("pk")
    number = min(max(1, int(text)), rows.count())
    return redirect("item", rows.values_list("uid", flat=True)[number - 1])


def _rater_assignments(assignment: Assignment) -> QuerySet[Assignment]:
    return own(
        Assignment.objects.filter(
            rater=assignment.rater_id, item__campaign=assignment.item.campaign_id
        )
    )


@dataclass(frozen=True)
class FeedbackRow:
    """One gold answer beside the person's own, as text."""

    heading: str
    text: str
    question: str
    answer: str
    gold: str
    reason: str
    is_right: bool


def feedback_address(assignment: Assignment) -> str:
    return reverse("feedback", args=[assignment.uid])


@require_safe
@role_required(*WORKERS)
def feedback(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    assignment = my_assignment(get_account(request), uid)
    if not shows_feedback(assignment) or assignment.status != Assignment.Status.DONE:
        raise Http404
    campaign, rater = assignment.item.campaign, assignment.rater
    leave_if_long(request, assignment)
    spec = present(assignment.item)
    total = score(campaign, rater, Item.Use.PRACTICE)
    context = {
        "assignment": assignment,
        "campaign": campaign,
        "rows": list(_feedback_rows(assignment, spec)),
        "texts": with_headings(ordered_texts(assignment, spec)),
        "score": total,
        "passed": passes(campaign, total),
        "percent": None if total.share is None else round(100 * total.share),
        "pass_mark": None if campaign.qualify is None else round(100 * campaign.qualify),
    }
    return render(request, "work/feedback.html", context)


def _feedback_rows(assignment: Assignment, spec: ItemSpec) -> Iterator[FeedbackRow]:
    asked, units = page_schema(assignment.item.campaign), asked_units(assignment, spec)
    swapped = blinding_of(assignment, spec).swapped
    for each in compare_with_gold(assignment):
        unit = units[each.unit]
        variable = asked.variable(each.variable, unit.kind)
        if variable is not None:
            yield _feedback_row(each, unit.text, variable, swapped)


def _feedback_row(
    each: GoldComparison, text: str, variable: Variable, swapped: bool
) -> FeedbackRow:
    return FeedbackRow(
        heading=variable.name,
        text=text,
        question=gettext(variable.question),
        answer=_word(variable, each.answer, swapped) if each.answer else gettext("nothing"),
        gold=_word(variable, each.gold, swapped),
        reason=each.reason,
        is_right=each.is_correct,
    )


def _word(variable: Variable, code: str, swapped: bool) -> str:
    """Return a code as text; in a swapped pair, first and second follow the page."""
    if swapped:
        code = {"first": "second", "second": "first"}.get(code, code)
    return word_of(variable, code)
