"""The page to which Prolific sends a participant."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from annotation.models import Campaign, ProlificStudy, User, rater_of
from annotation.people import prolific
from annotation.people.languages import sentence, translated
from annotation.people.membership import PeopleError
from annotation.people.prolific import Arrival, enter, mark_browser
from annotation.people.prolific_keys import PAUSE, KeysAwayError
from annotation.presentation import page_task
from annotation.views.intake import next_address
from annotation.views.people import BACKEND, TOO_OFTEN
from audit.recording import folded
from datasets.access import client_address
from datasets.api.throttling import seconds_to_wait, try_again_after
from tandem.messages import Message

LOGGED_IN = Message("you are logged in with an account; log out, then open the link again")


@require_http_methods(["GET", "HEAD", "POST"])
def enter_from_prolific(request: HttpRequest, pk: int) -> HttpResponse:
    """Describe the study to a participant; on POST, start or continue it."""
    campaigns = Campaign.objects.filter(prolific__isnull=False).select_related("prolific")
    study = get_object_or_404(campaigns, pk=pk).prolific
    try:
        arrival = _arrival(request, study)
        _check_no_account(request)
        if request.method != "POST":
            return _prolific_page(request, study, sealed=arrival.sealed() if study.signed else "")
        # Without a signature, a limit must prevent invented participants.
        wait = seconds_to_wait("arrive", client_address(request))
        if wait is not None:
            page = _prolific_page(request, study, translated(TOO_OFTEN), 429)
            return try_again_after(wait, page)
        participant = enter(study, arrival, prolific.participants_in(request))
    except KeysAwayError as error:
        return try_again_after(PAUSE, _prolific_page(request, study, sentence(error), 503))
    except PeopleError as error:
        return _prolific_page(request, study, sentence(error), 422)
    with folded():
        login(request, participant.user, backend=BACKEND)
    response = redirect(next_address(study.campaign, rater_of(participant.user)))
    mark_browser(request, response, participant, settings.SESSION_COOKIE_SECURE)
    return response


def _arrival(request: HttpRequest, study: ProlificStudy) -> Arrival:
    if not study.signed:
        return Arrival.read(request.GET)
    if request.method == "POST" and request.POST.get("arrival"):
        return Arrival.unseal(request.POST["arrival"])
    return Arrival.read_signed(request.GET, request.get_host())


def _check_no_account(request: HttpRequest) -> None:
    if isinstance(request.user, User) and not request.user.is_guest:
        raise PeopleError(LOGGED_IN)


def _prolific_page(
    request: HttpRequest,
    study: ProlificStudy,
    wrong: str = "",
    status: int = 200,
    sealed: str = "",
) -> HttpResponse:
    protocol = page_task(study.campaign)
    context = {
        "campaign": study.campaign,
        "protocol": protocol,
        "wrong": wrong,
        "sealed": sealed,
        "signed": study.signed,
    }
    return render(request, "people/prolific.html", context, status=status)
