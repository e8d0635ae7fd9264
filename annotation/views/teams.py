"""Pages of teams: the list, and one team with its people, and what an admin shares and moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account
from annotation.models import User
from annotation.people import teams as service
from annotation.people.accounts import account_known, invitations_of
from annotation.people.invitations import invite
from annotation.views.orders import FormError, carry_out, clean, posted_number
from annotation.views.people import MAX_INVITATIONS, TOO_MANY_INVITATIONS, show_link
from datasets.access import (
    READERS,
    NotManagedError,
    TeamError,
    kinds,
    managed_teams,
    role_required,
    there_are_several,
    visible_teams,
)
from datasets.api.concurrency import seconds_to_wait
from datasets.models import Share, Team, TeamMember
from datasets.option_fields import set_choices
from datasets.text import as_sentence

NO_ACCOUNT = "No account has this name; invite the person first."
ROLES = (
    (TeamMember.Role.MEMBER, "Member: reads, or labels"),
    (TeamMember.Role.MANAGER, "Manager: changes, exports and invites"),
    (TeamMember.Role.OWNER, "Owner"),
)


class NameForm(forms.Form):
    name = forms.CharField(max_length=service.LONGEST, label="Name of the team")


class MemberForm(forms.Form):
    account = forms.CharField(
        max_length=150,
        help_text="The name that the person logs in with.",
        error_messages={"required": "Enter the name of an account."},
    )
    role = forms.ChoiceField(choices=ROLES)


class ThingForm(forms.Form):
    """A batch, campaign, judge or key that an admin shares with this team or moves to it."""

    kind = forms.ChoiceField(label="What")
    name = forms.CharField(max_length=200)
    what = forms.ChoiceField(
        label="What happens",
        choices=(
            ("read", "This team may read it"),
            ("manage", "This team may manage it"),
            ("none", "No longer share it with this team"),
            ("move", "Move it to this team"),
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "kind", [(kind, kind.capitalize()) for kind in kinds()])


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def teams(request: HttpRequest) -> HttpResponse:
    """List the teams of an account; an admin creates one."""
    user, is_post = get_account(request), request.method == "POST"
    if is_post and user.role != User.Role.ADMIN:
        raise NotManagedError
    form = NameForm(request.POST if is_post else None)
    if is_post and form.is_valid():
        try:
            return redirect("team", service.create_team(form.cleaned_data["name"]).pk)
        except TeamError as error:
            form.add_error("name", as_sentence(error))
    rows = [
        {"team": team, "has": _owned_counts(team), "role": _role(team, user)}
        for team in visible_teams(user).annotate(number=Count("members"))
    ]
    context = {"rows": rows, "form": form}
    return render(request, "teams/list.html", context, status=422 if is_post else 200)


def _owned_counts(team: Team) -> list[tuple[str, int]]:
    counts = (
        (kind, model._default_manager.filter(team=team).count()) for kind, model in kinds().items()
    )
    return [(kind, count) for kind, count in counts if count]


def _role(team: Team, user: User) -> str:
    found = TeamMember.objects.filter(team=team, user=user).values_list("role", flat=True).first()
    return found or ""


@require_safe
@role_required(*READERS)
def team(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, _visible(request, pk))


@require_POST
@role_required(*READERS)
def change_team(request: HttpRequest, pk: int) -> HttpResponse:
    """Change a team's people or name, leave or hand it over, or give it something (`order`)."""
    found = _visible(request, pk)
    if wrong := carry_out(ORDERS, found, request, _page, TeamError):
        return wrong
    left = not visible_teams(get_account(request)).filter(pk=pk).exists()
    return redirect("teams") if left else redirect("team", pk)


def _visible(request: HttpRequest, pk: int) -> Team:
    return get_object_or_404(visible_teams(get_account(request)), pk=pk)


def _add(team: Team, request: HttpRequest) -> HttpResponse | None:
    """Give an account a role, or create a link for a person whose account the user may not see."""
    form, by = MemberForm(request.POST), get_account(request)
    service.check_lets_in(team, by)
    data = clean(form)
    name = data["account"].strip()
    if user := account_known(by, name):
        service.set_role(team, user, data["role"], by)
        return None
    if by.role == User.Role.ADMIN or not there_are_several():
        form.add_error("account", NO_ACCOUNT)
        raise FormError(form)
    if seconds_to_wait("invite", by.pk) is not None:
        raise TeamError(TOO_MANY_INVITATIONS)
    created = invite(User.Role.ANNOTATOR, team=team, note=name, by=by)
    more = "" if data["role"] == TeamMember.Role.MEMBER else data["role"]
    return show_link(request, created, reverse("team", args=[team.pk]), team_role=more)


def _remove(team: Team, request: HttpRequest) -> None:
    service.leave(team, _member(team, request), get_account(request))


def _leave(team: Team, request: HttpRequest) -> None:
    user = get_account(request)
    service.leave(team, user, user)


def _hand_over(team: Team, request: HttpRequest) -> None:
    service.hand_over(team, _member(team, request), get_account(request))


def _rename(team: Team, request: HttpRequest) -> None:
    service.check_lets_in(team, get_account(request), TeamMember.Role.OWNER)
    service.rename_team(team, clean(NameForm(request.POST))["name"])


def _share_or_move(team: Team, request: HttpRequest) -> None:
    user = get_account(request)
    if user.role != User.Role.ADMIN:
        raise NotManagedError
    data = clean(ThingForm(request.POST))
    thing, what = service.thing_named(data["kind"], data["name"].strip()), data["what"]
    if what == "move":
        service.move(thing, team, user)
    else:
        service.share(thing, team, what if what in Share.Right.values else None, user)


def _member(team: Team, request: HttpRequest) -> User:
    found = team.members.filter(pk=posted_number(request, "member"))
    return get_object_or_404(User, pk__in=found.values("user"))


ORDERS: dict[str, Callable[[Team, HttpRequest], HttpResponse | None]] = {
    "add": _add,
    "remove": _remove,
    "leave": _leave,
    "hand-over": _hand_over,
    "rename": _rename,
    "give": _share_or_move,
}


def _page(
    request: HttpRequest,
    found: Team,
    bound: dict[str, forms.Form] | None = None,
    wrong: str = "",
    status: int = 200,
) -> HttpResponse:
    user, bound = get_account(request), bound or {}
    role = _role(found, user)
    is_admin = user.role == User.Role.ADMIN
    context = {
        "team": found,
        "role": role,
        "members": found.members.select_related("user").order_by("user__username"),
        "has": _owned_counts(found),
        "manages": managed_teams(user).filter(pk=found.pk).exists(),
        "invitations": invitations_of(user).filter(team=found)[:MAX_INVITATIONS],
        "owns": is_admin or role == TeamMember.Role.OWNER,
        "add": bound.get("add") or MemberForm(),
        "rename": bound.get("rename") or NameForm(initial={"name": found.name}),
        "give": (bound.get("give") or ThingForm()) if is_admin else None,
        "wrong": wrong,
    }
    return render(request, "teams/team.html", context, status=status)
