"""Inviting people, and the page that an invited person opens."""

from __future__ import annotations

from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models import Invitation, User
from annotation.people.errors import PeopleError
from annotation.people.invitations import (
    LIFE,
    AccountError,
    Invited,
    accept,
    invitation_of,
    invite,
    join,
    revoke,
)
from annotation.people.overview import invitations_of
from annotation.views.mine import user_of
from annotation.views.people.forms import InviteForm, JoinForm
from audit.recording import folded
from datasets.access import client_address, role_required
from datasets.api.throttling import seconds_to_wait

BACKEND = "django.contrib.auth.backends.ModelBackend"
TOO_MANY = "Sixty invitations an hour are the most. Come again a little later."
TOO_OFTEN = "Too many tries came from your address. Come again within the hour."
INITIAL = {"role": User.Role.ANNOTATOR, "campaign_role": "annotator"}


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(User.Role.ADMIN)
def new_invitation(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if request.method != "POST":
        return _form_page(request, InviteForm(user=user, initial=INITIAL))
    form = InviteForm(request.POST, user=user)
    if not form.is_valid():
        return _form_page(request, form, 422)
    if seconds_to_wait("invite", user.pk) is not None:
        form.add_error(None, TOO_MANY)
        return _form_page(request, form, 429)
    try:
        made = invite(by=user, **form.cleaned_data)
    except PeopleError as error:
        form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
        return _form_page(request, form, 422)
    return show_link(request, made, reverse("people"))


def show_link(request: HttpRequest, made: Invited, back: str) -> HttpResponse:
    """The link, this once: only its digest is kept."""
    address = request.build_absolute_uri(f"{reverse('join')}?key={made.key}")
    context = {"invitation": made.invitation, "address": address, "back": back, "life": LIFE.days}
    return render(request, "people/invited.html", context)


def _form_page(request: HttpRequest, form: InviteForm, status: int = 200) -> HttpResponse:
    return render(request, "people/invite.html", {"form": form, "life": LIFE.days}, status=status)


@require_POST
@role_required(User.Role.RESEARCHER, User.Role.ADMIN)
def take_back(request: HttpRequest, pk: int) -> HttpResponse:
    user = user_of(request)
    invitation = get_object_or_404(invitations_of(user), pk=pk)
    revoke(invitation)
    if user.role == User.Role.ADMIN and request.POST.get("from") != "campaign":
        return redirect("people")
    return redirect("campaign-people", invitation.campaign_id)


@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation(request: HttpRequest) -> HttpResponse:
    """The page behind a link. To look at it uses nothing up: programs look at links, too."""
    invitation = invitation_of(request.GET.get("key", ""))
    if invitation is None:
        raise Http404
    if invitation.state != "open":
        return _over(request, invitation)
    form = JoinForm(request.POST if request.method == "POST" and not _is_here(request) else None)
    if request.method != "POST":
        return _join_page(request, invitation, form)
    # Whoever has a link could try for ever which names there are.
    wait = seconds_to_wait("join", client_address(request))
    if wait is not None:
        refused = _join_page(request, invitation, form, TOO_OFTEN, 429)
        refused["Retry-After"] = str(wait)
        return refused
    try:
        if isinstance(request.user, User):
            join(invitation, request.user)
        elif form.is_valid():
            _make_account(request, invitation, form)
        else:
            return _join_page(request, invitation, form, status=422)
    except AccountError as error:
        for name, problems in error.problems.items():
            for problem in problems:
                form.add_error(name, problem)
        return _join_page(request, invitation, form, status=422)
    except PeopleError as error:
        wrong = f"{str(error)[:1].upper()}{str(error)[1:]}."
        return _join_page(request, invitation, form, wrong, 409)
    return redirect("home")


def _make_account(request: HttpRequest, invitation: Invitation, form: JoinForm) -> None:
    given = form.cleaned_data
    user = accept(invitation, given["name"], given["password"])
    with folded():
        login(request, user, backend=BACKEND)


def _is_here(request: HttpRequest) -> bool:
    return bool(request.user.is_authenticated)


def _over(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    return render(request, "people/join_over.html", {"invitation": invitation}, status=410)


def _join_page(
    request: HttpRequest, invitation: Invitation, form: JoinForm, wrong: str = "", status: int = 200
) -> HttpResponse:
    context = {"invitation": invitation, "form": form, "wrong": wrong}
    return render(request, "people/join.html", context, status=status)
