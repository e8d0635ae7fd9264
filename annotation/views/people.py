"""Pages of accounts and invitations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account, visible_accounts
from annotation.models import Assignment, Campaign, Exclusion, Invitation, Rater, User
from annotation.people import accounts, identities, login_limits, second_factor
from annotation.people.accounts import accounts as all_accounts
from annotation.people.accounts import invitations_of
from annotation.people.invitations import (
    LIFE,
    AccountError,
    NewInvitation,
    accept,
    invitation_of,
    invite,
    join,
    landing,
    revoke,
)
from annotation.people.languages import sentence, translated
from annotation.people.log_in_links import log_in_key
from annotation.people.membership import PeopleError
from annotation.views.orders import carry_out
from annotation.views.people_forms import InviteForm, JoinForm
from audit.recording import folded
from datasets.access import ADMIN, READERS, client_address, found_or_404, role_required
from datasets.api.throttling import seconds_to_wait, try_again_after
from datasets.text import as_sentence
from tandem.messages import Message

PAGE = 50
MAX_INVITATIONS = 50
BACKEND = "django.contrib.auth.backends.ModelBackend"
INITIAL = {"role": User.Role.ANNOTATOR, "campaign_role": "annotator"}
OWN_ACCOUNT = "you cannot change your own account; ask another admin"
NO_PASSWORDS = Message("passwords are switched off on this site; use the other button")
TOO_MANY_INVITATIONS = "The limit is sixty invitations per hour. Try again later."
TOO_OFTEN = Message("Too many attempts came from your network address. Try again within the hour.")

Act = Callable[[User, HttpRequest], object]


@require_safe
@role_required(ADMIN)
def people(request: HttpRequest) -> HttpResponse:
    guests = request.GET.get("guests") == "1"
    page = Paginator(all_accounts(guests), PAGE).get_page(request.GET.get("page"))
    guesses = login_limits.statuses(page.object_list)
    context = {
        "page": page,
        "closed": {pk for pk, each in guesses.items() if each.closed_until or each.slowed},
        "guests": guests,
        "number_of_guests": User.objects.filter(is_guest=True).count(),
        "invitations": invitations_of(get_account(request))[:MAX_INVITATIONS],
    }
    return render(request, "people/list.html", context)


@require_safe
@role_required(ADMIN)
def person(request: HttpRequest, pk: int) -> HttpResponse:
    return _account_page(request, _account(request, pk))


@require_POST
@role_required(ADMIN)
def change_account(request: HttpRequest, pk: int) -> HttpResponse:
    """Change role or pseudonym, end sessions, unlock, disable or delete, as `order` says.

    The order `link` shows a link that logs the account in, once.
    """
    user, order = _account(request, pk), request.POST.get("order", "")
    if user == request.user and order in ("role", "off", "forget"):
        return _account_page(request, user, as_sentence(OWN_ACCOUNT), 409)
    if answer := carry_out(ACCOUNT_ORDERS, user, request, _account_page, PeopleError):
        return answer
    return redirect("people") if order == "forget" else redirect("person", pk)


def _log_in_link(user: User, request: HttpRequest) -> HttpResponse:
    address = request.build_absolute_uri(f"{reverse('log-in-link')}?key={log_in_key(user)}")
    return render(request, "people/log_in_link.html", {"account": user, "address": address})


def _forget(user: User, request: HttpRequest) -> None:
    """Delete an account, if its name was typed as a confirmation."""
    if request.POST.get("name", "").strip() != user.username:
        raise PeopleError("type the account’s name to delete it")
    accounts.forget(user)


ACCOUNT_ORDERS: dict[str, Act] = {
    "link": _log_in_link,
    "role": lambda user, request: accounts.change_role(user, request.POST.get("role", "")),
    "off": lambda user, request: accounts.switch_off(user),
    "on": lambda user, request: accounts.switch_on(user),
    "end-sessions": lambda user, request: accounts.end_sessions(user),
    "email": lambda user, request: identities.set_email(user, request.POST.get("email", "")),
    "unlink": lambda user, request: identities.unlink(user),
    "factors": lambda user, request: second_factor.remove_all(user),
    "unlock": lambda user, request: login_limits.unlock(user),
    "pseudonym": lambda user, request: accounts.rename(user, request.POST.get("name", "")),
    "forget": _forget,
}


def _account_page(
    request: HttpRequest, user: User, wrong: str = "", status: int = 200
) -> HttpResponse:
    rater = Rater.objects.select_related("user").filter(user=user).first()
    context = {
        "account": user,
        "rater": rater,
        "tells": rater is not None and accounts.uses_account_name(rater),
        "rows": _campaigns(user, rater),
        "roles": User.Role.choices,
        "guesses": login_limits.status(user),
        "factors": second_factor.kinds_of([user]).get(user.pk, []),
        "single_sign_on": settings.TANDEM_OIDC_NAME,
        "email": identities.email_of(user),
        "linked": identities.is_linked(user),
        "wrong": wrong,
    }
    return render(request, "people/person.html", context, status=status)


def _campaigns(user: User, rater: Rater | None) -> list[dict[str, Any]]:
    """Return the campaigns in which an account has a role or an assignment, with both."""
    roles = {each.campaign_id: each for each in user.memberships.all()}
    assignments = Assignment.objects.filter(rater=rater) if rater else Assignment.objects.none()
    counted = (
        assignments.order_by()
        .values_list("item__campaign")
        .annotate(
            done=Count("pk", filter=Q(status="done")),
            held=Count("pk", filter=Q(status="open", slot__isnull=False)),
        )
    )
    counts = {pk: (done, held) for pk, done, held in counted}
    exclusions = Exclusion.objects.filter(rater=rater, undone_at=None) if rater else ()
    reasons = {each.campaign_id: each.reason for each in exclusions}
    rows = []
    for campaign in Campaign.objects.filter(pk__in={*roles, *counts}).order_by("name"):
        done, held = counts.get(campaign.pk, (0, 0))
        rows.append(
            {
                "campaign": campaign,
                "membership": roles.get(campaign.pk),
                "done": done,
                "held": held,
                "excluded": reasons.get(campaign.pk),
            }
        )
    return rows


def _account(request: HttpRequest, pk: int) -> User:
    return get_object_or_404(visible_accounts(get_account(request)), pk=pk)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(ADMIN)
def new_invitation(request: HttpRequest) -> HttpResponse:
    user = get_account(request)
    if request.method != "POST":
        return _form_page(request, InviteForm(user=user, initial=INITIAL))
    form = InviteForm(request.POST, user=user)
    if not form.is_valid():
        return _form_page(request, form, 422)
    if seconds_to_wait("invite", user.pk) is not None:
        form.add_error(None, TOO_MANY_INVITATIONS)
        return _form_page(request, form, 429)
    try:
        created = invite(by=user, **form.cleaned_data)
    except PeopleError as error:
        form.add_error(None, as_sentence(error))
        return _form_page(request, form, 422)
    return show_link(request, created, reverse("people"))


def show_link(
    request: HttpRequest, created: NewInvitation, back: str, team_role: str = ""
) -> HttpResponse:
    """Show the link once, since only its digest is stored.

    `team_role` is the role in the team that was chosen, but that the link does not give.
    """
    address = request.build_absolute_uri(f"{reverse('join')}?key={created.key}")
    invitation = created.invitation
    context = {"invitation": invitation, "address": address, "back": back, "team_role": team_role}
    return render(request, "people/invited.html", context)


def _form_page(request: HttpRequest, form: InviteForm, status: int = 200) -> HttpResponse:
    return render(request, "people/invite.html", {"form": form, "life": LIFE.days}, status=status)


@require_POST
@role_required(*READERS)
def revoke_invitation(request: HttpRequest, pk: int) -> HttpResponse:
    user = get_account(request)
    invitation = get_object_or_404(invitations_of(user), pk=pk)
    revoke(invitation)
    place = request.POST.get("from")
    if place == "team" and invitation.team_id is not None:
        return redirect("team", invitation.team_id)
    if user.role == User.Role.ADMIN and place != "campaign":
        return redirect("people")
    return redirect("campaign-people", invitation.campaign_id)


@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation(request: HttpRequest) -> HttpResponse:
    """Show the page behind a link, or accept the invitation.

    A GET does not use the invitation up, since programs open links, too.
    """
    invitation = found_or_404(invitation_of(request.GET.get("key", "")))
    if invitation.state != "open":
        return render(request, "people/join_over.html", {"invitation": invitation}, status=410)
    makes_account = request.method == "POST" and not request.user.is_authenticated
    form = JoinForm(request.POST if makes_account else None)
    if request.method != "POST":
        return _join_page(request, invitation, form)
    # Without a limit, a link would let its holder probe which account names exist.
    wait = seconds_to_wait("join", client_address(request))
    if wait is not None:
        page = _join_page(request, invitation, form, translated(TOO_OFTEN), 429)
        return try_again_after(wait, page)
    try:
        if isinstance(request.user, User):
            join(invitation, request.user)
        elif not settings.TANDEM_PASSWORDS:
            raise PeopleError(NO_PASSWORDS)
        elif form.is_valid():
            _make_account(request, invitation, form)
        else:
            return _join_page(request, invitation, form, status=422)
    except AccountError as error:
        for name, problems in error.problems.items():
            for problem in problems:
                form.add_error(name, translated(problem))
        return _join_page(request, invitation, form, status=422)
    except PeopleError as error:
        return _join_page(request, invitation, form, sentence(error), 409)
    return redirect(landing(invitation, get_account(request)))


def _make_account(request: HttpRequest, invitation: Invitation, form: JoinForm) -> None:
    data = form.cleaned_data
    user = accept(invitation, data["name"], data["password"])
    with folded():
        login(request, user, backend=BACKEND)


def _join_page(
    request: HttpRequest, invitation: Invitation, form: JoinForm, wrong: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "invitation": invitation,
        "form": form,
        "wrong": wrong,
        "key": request.GET.get("key", ""),
        "passwords": settings.TANDEM_PASSWORDS,
        "single_sign_on": settings.TANDEM_OIDC_NAME,
    }
    return render(request, "people/join.html", context, status=status)
