"""The door for people who come from Prolific."""

from __future__ import annotations

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from annotation.declared import declared
from annotation.models import Campaign, ProlificStudy, User
from annotation.models.people import rater_of
from annotation.people.errors import PeopleError
from annotation.people.prolific import Arrival, enter
from annotation.views.people.inviting import BACKEND, TOO_OFTEN
from annotation.views.work import next_address
from audit.recording import folded
from datasets.access import client_address
from datasets.api.throttling import seconds_to_wait

OTHER = "you are logged in with an account; log out, then open the link again"


@require_http_methods(["GET", "HEAD", "POST"])
def arrive(request: HttpRequest, pk: int) -> HttpResponse:
    """What the study is; with a POST its beginning, or where somebody left it."""
    campaigns = Campaign.objects.filter(prolific__isnull=False).select_related("prolific")
    study = get_object_or_404(campaigns, pk=pk).prolific
    try:
        arrival = Arrival.read(request.GET)
        _check_nobody_else(request)
        if request.method != "POST":
            return _page(request, study)
        # Prolific signs nothing: whoever knows the study could make up people until it is full.
        wait = seconds_to_wait("arrive", client_address(request))
        if wait is not None:
            refused = _page(request, study, TOO_OFTEN, 429)
            refused["Retry-After"] = str(wait)
            return refused
        user = enter(study, arrival)
    except PeopleError as error:
        return _page(request, study, f"{str(error)[:1].upper()}{str(error)[1:]}.", 422)
    with folded():
        login(request, user, backend=BACKEND)
    return redirect(next_address(study.campaign, rater_of(user)))


def _check_nobody_else(request: HttpRequest) -> None:
    if isinstance(request.user, User) and not request.user.is_guest:
        raise PeopleError(OTHER)


def _page(
    request: HttpRequest, study: ProlificStudy, wrong: str = "", status: int = 200
) -> HttpResponse:
    protocol = declared(study.campaign)
    context = {"campaign": study.campaign, "protocol": protocol, "wrong": wrong}
    return render(request, "people/prolific.html", context, status=status)
