"""The admin's pages of accounts: the list, one person, and what can be done about one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Assignment, Campaign, Exclusion, Rater, User
from annotation.people import accounts
from annotation.people.errors import PeopleError
from annotation.people.overview import accounts as all_accounts
from annotation.people.overview import invitations_of
from annotation.views.mine import user_of
from datasets.access import role_required

PAGE = 50
SHOWN = 50
OWN = "this is your own account; let another admin do it"


@require_safe
@role_required(User.Role.ADMIN)
def people(request: HttpRequest) -> HttpResponse:
    guests = request.GET.get("guests") == "1"
    page = Paginator(all_accounts(guests), PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "guests": guests,
        "number_of_guests": User.objects.filter(is_guest=True).count(),
        "invitations": invitations_of(user_of(request))[:SHOWN],
    }
    return render(request, "people/list.html", context)


@require_safe
@role_required(User.Role.ADMIN)
def person(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, _account(pk))


@require_POST
@role_required(User.Role.ADMIN)
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Another role or pseudonym, an end of sessions, switched off or on, forgotten."""
    user, wanted = _account(pk), request.POST.get("order", "")
    act = ORDERS.get(wanted)
    if act is None:
        return redirect("person", pk)
    try:
        if user == request.user and wanted in ("role", "off", "forget"):
            raise PeopleError(OWN)
        act(user, request)
    except PeopleError as error:
        return _page(request, user, f"{str(error)[:1].upper()}{str(error)[1:]}.", 409)
    return redirect("people") if wanted == "forget" else redirect("person", pk)


def _forget(user: User, request: HttpRequest) -> None:
    """Nobody's finger slips that far: the name has to be typed."""
    if request.POST.get("name", "").strip() != user.username:
        raise PeopleError("type the account's name to delete it")
    accounts.forget(user)


Act = Callable[[User, HttpRequest], object]
ORDERS: dict[str, Act] = {
    "role": lambda user, request: accounts.change_role(user, request.POST.get("role", "")),
    "off": lambda user, request: accounts.switch_off(user),
    "on": lambda user, request: accounts.switch_on(user),
    "end-sessions": lambda user, request: accounts.end_sessions(user),
    "pseudonym": lambda user, request: accounts.rename(user, request.POST.get("name", "")),
    "forget": _forget,
}


def _page(request: HttpRequest, user: User, wrong: str = "", status: int = 200) -> HttpResponse:
    rater = Rater.objects.select_related("user").filter(user=user).first()
    context = {
        "account": user,
        "rater": rater,
        "tells": rater is not None and accounts.tells_the_account(rater),
        "rows": _campaigns(user, rater),
        "roles": User.Role.choices,
        "wrong": wrong,
    }
    return render(request, "people/person.html", context, status=status)


def _campaigns(user: User, rater: Rater | None) -> list[dict[str, Any]]:
    """The campaigns in which somebody has a role or an answer, with both."""
    roles = {each.campaign_id: each for each in user.memberships.all()}
    mine = Assignment.objects.filter(rater=rater) if rater else Assignment.objects.none()
    counted = (
        mine.order_by()
        .values_list("item__campaign")
        .annotate(
            done=Count("pk", filter=Q(status="done")),
            held=Count("pk", filter=Q(status="open", slot__isnull=False)),
        )
    )
    counts = {pk: (done, held) for pk, done, held in counted}
    out = Exclusion.objects.filter(rater=rater, undone_at=None) if rater else ()
    reasons = {each.campaign_id: each.reason for each in out}
    return [
        {
            "campaign": campaign,
            "membership": roles.get(campaign.pk),
            "done": counts.get(campaign.pk, (0, 0))[0],
            "held": counts.get(campaign.pk, (0, 0))[1],
            "excluded": reasons.get(campaign.pk),
        }
        for campaign in Campaign.objects.filter(pk__in={*roles, *counts}).order_by("name")
    ]


def _account(pk: int) -> User:
    return get_object_or_404(User, pk=pk)
