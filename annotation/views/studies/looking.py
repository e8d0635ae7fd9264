"""The page of one campaign, and what may be changed there."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from annotation.design import DesignError
from annotation.drawn import COLUMNS, draws
from annotation.files.spreadsheet import write_rows
from annotation.gold.admitting import admissible, admit
from annotation.models import Campaign, User
from annotation.opening import change
from annotation.people.members import readable
from annotation.terms import Terms
from annotation.views.mine import is_blind, user_of
from annotation.views.studies.fields import add_to
from annotation.views.studies.known import AdmitForm, KnownForm, take_file, told
from annotation.views.studies.showing import context_of
from annotation.views.studies.terms import TermsForm, differing, seen_of
from audit.recording import record_export
from datasets.access import role_required
from datasets.rows import InputError

READERS = (User.Role.RESEARCHER, User.Role.ADMIN)
BLIND_KNOWN = "You have an open item in this campaign; answer it before you set what is known."
BLIND = "You have an open item in this campaign; answer it before you take the draw along."
CHANGED = (
    "Somebody changed the terms since you opened this page, and nothing of yours is saved yet. "
    "What stands: {}. Save again to put yours in its place."
)


def _campaign(request: HttpRequest, pk: int) -> Campaign:
    return get_object_or_404(
        readable(user_of(request)).select_related("batch", "practice_of"), pk=pk
    )


@require_safe
@role_required(*READERS)
def campaign(request: HttpRequest, pk: int) -> HttpResponse:
    found = _campaign(request, pk)
    return render(request, "campaigns/campaign.html", context_of(found, user_of(request)))


@require_POST
@role_required(*READERS)
def change_terms(request: HttpRequest, pk: int) -> HttpResponse:
    """The terms of the form, unless somebody changed what its writer had seen."""
    user, seen = user_of(request), request.POST.get("seen")
    with transaction.atomic():
        found = get_object_or_404(readable(user).select_for_update(), pk=pk)
        form = TermsForm(request.POST)
        form.offer_practice(user, found)
        if seen is not None and seen != seen_of(found):
            stands = "; ".join(differing(form, found)) or "the same as below"
            context = context_of(found, user, form) | {"wrong": CHANGED.format(stands)}
            return render(request, "campaigns/campaign.html", context, status=409)
        if form.is_valid():
            try:
                change(found, form.terms(found), user=user)
                return redirect("campaign", pk)
            except DesignError as error:
                add_to(form, error)
    return render(request, "campaigns/campaign.html", context_of(found, user, form), status=422)


@require_POST
@role_required(*READERS)
def turn(request: HttpRequest, pk: int) -> HttpResponse:
    """Closes a campaign, or opens it: `to` says which."""
    found, user = _campaign(request, pk), user_of(request)
    to = request.POST.get("to")
    try:
        if to in ("open", "closed"):
            change(found, Terms(), to == "open", user)
    except DesignError as error:
        context = context_of(found, user) | {"wrong": f"Campaign not opened: {error}."}
        return render(request, "campaigns/campaign.html", context, status=422)
    return redirect("campaign", pk)


@require_POST
@role_required(*READERS)
def set_known(request: HttpRequest, pk: int) -> HttpResponse:
    found, user = _campaign(request, pk), user_of(request)
    if is_blind(user, found):
        # What is refused or unchanged would tell which item is known, and its answer.
        context = context_of(found, user) | {"wrong": BLIND_KNOWN}
        return render(request, "campaigns/campaign.html", context, status=403)
    form = KnownForm(request.POST, request.FILES)
    if form.is_valid():
        data = form.cleaned_data
        try:
            take_file(found, data["file"], data["use"])
            return redirect("campaign", pk)
        except InputError as error:
            form.add_error("file", told(error))
    context = context_of(found, user, known=form)
    return render(request, "campaigns/campaign.html", context, status=422)


@require_POST
@role_required(*READERS)
def let_in(request: HttpRequest, pk: int) -> HttpResponse:
    found, user = _campaign(request, pk), user_of(request)
    form = AdmitForm(request.POST)
    if not form.is_valid():
        context = context_of(found, user) | {"wrong": "Give a reason to let somebody in."}
        return render(request, "campaigns/campaign.html", context, status=422)
    rater = get_object_or_404(admissible(found), pk=form.cleaned_data["rater"])
    admit(found, rater, form.cleaned_data["reason"], user)
    return redirect("campaign", pk)


@require_safe
@role_required(*READERS)
def draw(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The stored draw as CSV, streamed."""
    found, user = _campaign(request, pk), user_of(request)
    if is_blind(user, found):
        # A stratum tells what others, or a judge, said of a unit.
        context = context_of(found, user) | {"wrong": BLIND}
        return render(request, "campaigns/campaign.html", context, status=403)
    record_export(request, found.pk, "draws", "csv")
    lines = StreamingHttpResponse(write_rows(COLUMNS, draws(found)), content_type="text/csv")
    lines["Content-Disposition"] = f'attachment; filename="draws-{found.pk}.csv"'
    return lines
