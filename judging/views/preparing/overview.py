"""The steps over a batch: who writes, what was reviewed, and what can be built of it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from annotation.design import DesignError
from annotation.models import Campaign, Rater
from annotation.models.people import rater_of
from annotation.people.members import readable
from annotation.preparation.base import Step
from datasets.access import role_required
from datasets.models import Batch
from judging.models import Judge
from judging.preparation.reviewing import accept_all
from judging.preparation.running import campaign_for, name_of
from judging.preparation.standing import queue_of, works_on
from judging.preparation.written import written
from judging.views.access import READERS, blind_page, person
from judging.views.preparing.finding import step_called

HIDDEN = (
    "This step is another researcher's work. Its people are named on the campaign's page; ask one "
    "of them, or an administrator."
)
NO_JUDGE = "Choose the judge that is to write."


@require_safe
@role_required(*READERS)
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, get_object_or_404(Batch, pk=pk))


@require_POST
@role_required(*READERS)
def begin(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Makes the step's campaign at first need, and leads to the run of the judge that is chosen."""
    batch, chosen = get_object_or_404(Batch, pk=pk), step_called(step)
    if not chosen.protocol:
        raise Http404
    given = request.POST.get("judge", "")
    judge = Judge.objects.filter(pk=int(given)).first() if _is_key(given) else None
    if judge is None:
        return _page(request, batch, NO_JUDGE, 422)
    there = Campaign.objects.filter(name=name_of(batch, chosen))
    if there.exists() and not readable(person(request)).filter(pk__in=there).exists():
        return _page(request, batch, HIDDEN, 403)
    try:
        campaign = campaign_for(batch, chosen, person(request))
    except DesignError as error:
        return _page(request, batch, f"{str(error)[:1].upper()}{str(error)[1:]}.", 409)
    return redirect(
        f"{reverse('judge-start', args=[judge.pk])}?{urlencode({'campaign': campaign.pk})}"
    )


@require_POST
@role_required(*READERS)
def accept(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Accepts what nobody has reviewed yet of an author, but for what has a problem."""
    batch, chosen = get_object_or_404(Batch, pk=pk), step_called(step)
    campaign = _campaign(request, batch, chosen)
    author = _author(request, campaign)
    if blind := blind_page(request, campaign):
        return blind
    accept_all(campaign, written(chosen, campaign, author), rater_of(person(request)))
    left = queue_of(campaign, author).next_waiting
    return redirect("review", left) if left else redirect("preparation", pk)


def _page(request: HttpRequest, batch: Batch, wrong: str = "", status: int = 200) -> HttpResponse:
    rows = [
        {
            "work": work,
            "authors": [(a, queue_of(work.campaign, a.rater)) for a in work.authors]
            if work.campaign
            else [],
        }
        for work in works_on(batch, person(request))
    ]
    judges = Judge.objects.filter(base=None).select_related("rater").order_by("rater__name")
    context = {"batch": batch, "rows": rows, "judges": judges, "wrong": wrong}
    return render(request, "preparation/overview.html", context, status=status)


def _campaign(request: HttpRequest, batch: Batch, step: Step) -> Campaign:
    mine = readable(person(request)).filter(batch=batch, protocol=step.protocol)
    return get_object_or_404(mine, name=name_of(batch, step))


def _author(request: HttpRequest, campaign: Campaign) -> Rater:
    given = request.POST.get("author", "")
    wrote = Rater.objects.filter(assignments__item__campaign=campaign).distinct()
    return get_object_or_404(wrote, pk=int(given) if _is_key(given) else 0)


def _is_key(given: str) -> bool:
    return given.isascii() and given.isdigit() and len(given) < 10
