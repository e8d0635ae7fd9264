"""The people of a campaign, for its researchers: who takes part, who answers, who is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Campaign, Rater, User
from annotation.people import exclusions, members, prolific
from annotation.people.errors import PeopleError
from annotation.people.invitations import invite
from annotation.people.leases import free, set_hold
from annotation.people.members import readable
from annotation.people.overview import answering, invitations_of
from annotation.views.mine import user_of
from annotation.views.people.forms import (
    CampaignInviteForm,
    MemberForm,
    ProlificForm,
    ReasonForm,
    SettingsForm,
)
from annotation.views.people.inviting import TOO_MANY, show_link
from datasets.access import role_required
from datasets.api.throttling import seconds_to_wait

READERS = (User.Role.RESEARCHER, User.Role.ADMIN)
SHOWN = 50
Act = Callable[[Campaign, HttpRequest], None]


@require_safe
@role_required(*READERS)
def people(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, _campaign(request, pk))


@require_POST
@role_required(*READERS)
def order(request: HttpRequest, pk: int) -> HttpResponse:
    """Settings, members, exclusions, places and Prolific, each by its own small form."""
    campaign, wanted = _campaign(request, pk), request.POST.get("order", "")
    act = ORDERS.get(wanted)
    if act is None:
        return redirect("campaign-people", pk)
    try:
        act(campaign, request)
    except _FormError as error:
        return _page(request, campaign, {wanted: error.form}, status=422)
    except PeopleError as error:
        return _page(request, campaign, wrong=_sentence(error), status=409)
    return redirect("campaign-people", pk)


@require_POST
@role_required(*READERS)
def invite_here(request: HttpRequest, pk: int) -> HttpResponse:
    campaign, user = _campaign(request, pk), user_of(request)
    form = CampaignInviteForm(request.POST)
    if not form.is_valid():
        return _page(request, campaign, {"invite": form}, status=422)
    if seconds_to_wait("invite", user.pk) is not None:
        return _page(request, campaign, {"invite": form}, TOO_MANY, 429)
    made = invite(User.Role.ANNOTATOR, campaign, by=user, **form.cleaned_data)
    return show_link(request, made, reverse("campaign-people", args=[pk]))


class _FormError(Exception):
    """A form that cannot be taken as it is."""

    def __init__(self, form: forms.Form) -> None:
        self.form = form
        super().__init__(str(form.errors))


def _valid(form: forms.Form) -> dict[str, Any]:
    if not form.is_valid():
        raise _FormError(form)
    return form.cleaned_data


def _settings(campaign: Campaign, request: HttpRequest) -> None:
    given = _valid(SettingsForm(request.POST))
    with members.arranging(campaign):
        if given["hold_minutes"] != campaign.hold_minutes:
            set_hold(campaign, given["hold_minutes"])
        if given["pool"] != campaign.pool:
            members.set_pool(campaign, given["pool"], user_of(request))
        members.set_most_items(campaign, given["items_per_person"])


def _add(campaign: Campaign, request: HttpRequest) -> None:
    form = MemberForm(request.POST)
    given = _valid(form)
    user = User.objects.filter(username=given["account"].strip()).first()
    if user is None:
        form.add_error("account", "There is no account of this name; invite the person.")
        raise _FormError(form)
    members.add_member(campaign, user, given["role"], user_of(request))


def _remove(campaign: Campaign, request: HttpRequest) -> None:
    rows = campaign.memberships.select_related("user").filter(pk=_number(request, "member"))
    for member in rows:
        if member.user == request.user:
            raise PeopleError("you cannot put yourself out; ask another researcher or an admin")
        members.end_membership(campaign, member.user, user_of(request))


def _exclude(campaign: Campaign, request: HttpRequest) -> None:
    rater, given = _rater(campaign, request), _valid(ReasonForm(request.POST))
    exclusions.exclude(campaign, rater, given["reason"], user_of(request))


def _include(campaign: Campaign, request: HttpRequest) -> None:
    exclusions.include(campaign, _rater(campaign, request), user_of(request))


def _free(campaign: Campaign, request: HttpRequest) -> None:
    free(campaign, _number(request, "rater"))


def _study(campaign: Campaign, request: HttpRequest) -> None:
    form = ProlificForm(request.POST)
    given = _valid(form)
    try:
        prolific.set_study(
            campaign, given["study_id"], given["completion_code"], given["most_people"]
        )
    except PeopleError as error:
        form.add_error(None, _sentence(error))
        raise _FormError(form) from error


def _ended(campaign: Campaign, request: HttpRequest) -> None:
    status = request.POST.get("status", "")
    study = getattr(campaign, "prolific", None)
    if study is None or status not in (prolific.Status.RETURNED, prolific.Status.TIMED_OUT):
        return
    for each in study.participants.filter(pk=_number(request, "participant")):
        prolific.end(each, status)


ORDERS: dict[str, Act] = {
    "settings": _settings,
    "add": _add,
    "remove": _remove,
    "exclude": _exclude,
    "include": _include,
    "free": _free,
    "prolific": _study,
    "ended": _ended,
}


def _page(
    request: HttpRequest,
    campaign: Campaign,
    bound: dict[str, forms.Form] | None = None,
    wrong: str = "",
    status: int = 200,
) -> HttpResponse:
    bound, study = bound or {}, getattr(campaign, "prolific", None)
    if "exclude" in bound:
        wrong = "Give a reason; the report says it."
    context = {
        "campaign": campaign,
        "rows": answering(campaign),
        "members": campaign.memberships.filter(ended_at=None).select_related("user", "by"),
        "invitations": invitations_of(user_of(request)).filter(campaign=campaign)[:SHOWN],
        "settings": bound.get("settings") or SettingsForm(initial=_settings_of(campaign)),
        "add": bound.get("add") or MemberForm(),
        "invite": bound.get("invite") or CampaignInviteForm(),
        "study": study,
        "prolific": bound.get("prolific") or ProlificForm(initial=_study_of(study)),
        "entry": _entry(request, campaign),
        "participants": prolific.participants(study) if study else [],
        "wrong": wrong,
    }
    return render(request, "people/campaign.html", context, status=status)


def _settings_of(campaign: Campaign) -> dict[str, Any]:
    names = ("pool", "hold_minutes", "items_per_person")
    return {name: getattr(campaign, name) for name in names}


def _study_of(study: Any) -> dict[str, Any]:
    names = ("study_id", "completion_code", "most_people")
    return {name: getattr(study, name) for name in names} if study else {}


def _entry(request: HttpRequest, campaign: Campaign) -> str:
    address = request.build_absolute_uri(reverse("prolific", args=[campaign.pk]))
    return f"{address}{prolific.ENTRY}"


def _rater(campaign: Campaign, request: HttpRequest) -> Rater:
    """One of those who were asked anything here; of others not even the name is told."""
    here = Rater.objects.filter(assignments__item__campaign=campaign).distinct()
    return get_object_or_404(here, pk=_number(request, "rater"))


def _number(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _sentence(error: Exception) -> str:
    return f"{str(error)[:1].upper()}{str(error)[1:]}."


def _campaign(request: HttpRequest, pk: int) -> Campaign:
    found = readable(user_of(request)).select_related("prolific", "batch")
    return get_object_or_404(found, pk=pk)
