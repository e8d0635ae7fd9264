"""A campaign's people: members, the pool, exclusions, slots, and the Prolific study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_account, managed_campaign, visible_raters
from annotation.models import Campaign, Membership, Rater, User
from annotation.people import membership, prolific
from annotation.people.accounts import (
    LONGEST,
    account_known,
    campaign_raters,
    find_people,
    invitations_of,
)
from annotation.people.background import background_counts
from annotation.people.consent import counts_of_consents, revoked_raters
from annotation.people.invitations import invite
from annotation.people.leases import free, set_lease
from annotation.people.membership import PeopleError, may_manage, readable
from annotation.people.pay import PayTable, pay_table
from annotation.people.shares import share_statuses
from annotation.progress.counts import cached
from annotation.views.orders import FormError, carry_out, clean, posted_number
from annotation.views.people import (
    CAMPAIGN_ROLES,
    MAX_INVITATIONS,
    PAGE,
    TOO_MANY_INVITATIONS,
    CampaignInviteForm,
    MemberForm,
    ParticipationForm,
    ProlificForm,
    ReasonForm,
    show_link,
)
from datasets.access import READERS, role_required, there_are_several
from datasets.api.concurrency import seconds_to_wait
from datasets.sorting import other_pages, pages_of
from datasets.text import as_sentence

MemberAct = Callable[[Campaign, HttpRequest], HttpResponse | None]


@require_safe
@role_required(*READERS)
def campaign_people(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the page; for htmx, the accounts that match the words of `find`."""
    campaign = _campaign(request, pk)
    if request.htmx:  # type: ignore[attr-defined]
        context = {"campaign": campaign, **_search_context(request, campaign)}
        return render(request, "people/_found.html", context)
    return _campaign_page(request, campaign)


def _search_context(request: HttpRequest, campaign: Campaign) -> dict[str, Any]:
    """Return the template context of the search: accounts to add, in the chosen role."""
    user = get_account(request)
    find = request.GET.get("find", "").strip()
    if not may_manage(user, campaign.pk):
        return {"manages": False}
    return {
        "manages": True,
        "find": find[:LONGEST],
        "found": find_people(user, campaign, find),
        "role": _asked_role(request),
        "roles": CAMPAIGN_ROLES,
    }


def _asked_role(request: HttpRequest) -> str:
    """Return the role that the address asks for in both forms, or that of an annotator."""
    role = request.GET.get("role", "")
    return role if role in Membership.Role.values else Membership.Role.ANNOTATOR.value


@require_POST
@role_required(*READERS)
def change_people(request: HttpRequest, pk: int) -> HttpResponse:
    """Change settings, members, exclusions, slots or Prolific, as `order` says."""
    campaign = managed_campaign(request, pk)
    wrong = carry_out(MEMBER_ORDERS, campaign, request, _campaign_page, PeopleError)
    if wrong or request.POST.get("order") != "add":
        return wrong or redirect("campaign-people", pk)
    query = urlencode({"added": request.POST.get("account", "")[:LONGEST]})
    return redirect(f"{reverse('campaign-people', args=[pk])}?{query}")


@require_POST
@role_required(*READERS)
def invite_to_campaign(request: HttpRequest, pk: int) -> HttpResponse:
    campaign, user = managed_campaign(request, pk), get_account(request)
    form = CampaignInviteForm(request.POST)
    if not form.is_valid():
        return _campaign_page(request, campaign, {"invite": form}, status=422)
    if seconds_to_wait("invite", user.pk) is not None:
        return _campaign_page(request, campaign, {"invite": form}, TOO_MANY_INVITATIONS, 429)
    created = invite(User.Role.ANNOTATOR, campaign, by=user, **form.cleaned_data)
    return show_link(request, created, reverse("campaign-people", args=[pk]))


def _change_participation(campaign: Campaign, request: HttpRequest) -> None:
    data = clean(ParticipationForm(request.POST))
    with membership.record_change(campaign):
        if data["hold_minutes"] != campaign.hold_minutes:
            set_lease(campaign, data["hold_minutes"])
        if data["pool"] != campaign.pool:
            membership.set_pool(campaign, data["pool"], get_account(request))
        membership.set_most_items(campaign, data["items_per_person"])


def _add_member(campaign: Campaign, request: HttpRequest) -> HttpResponse | None:
    """Give an account a role, or create a link for a person whose account the user may not see."""
    form, by = MemberForm(request.POST), get_account(request)
    data = clean(form)
    name, role = data["account"].strip(), data["role"]
    if user := account_known(by, name, campaign):
        membership.add_member(campaign, user, role, by)
        return None
    if by.role == User.Role.ADMIN or not there_are_several():
        form.add_error("account", "No account has this name; invite the person.")
        raise FormError(form)
    if seconds_to_wait("invite", by.pk) is not None:
        raise PeopleError(TOO_MANY_INVITATIONS)
    created = invite(User.Role.ANNOTATOR, campaign, role, note=name, by=by)
    return show_link(request, created, reverse("campaign-people", args=[campaign.pk]))


def _remove_member(campaign: Campaign, request: HttpRequest) -> None:
    rows = campaign.memberships.select_related("user").filter(pk=posted_number(request, "member"))
    for member in rows:
        if member.user == request.user:
            raise PeopleError("you cannot remove yourself; ask another researcher or an admin")
        membership.end_membership(campaign, member.user, get_account(request))


def _exclude(campaign: Campaign, request: HttpRequest) -> None:
    rater, data = _rater(campaign, request), clean(ReasonForm(request.POST))
    membership.exclude(campaign, rater, data["reason"], get_account(request))


def _include(campaign: Campaign, request: HttpRequest) -> None:
    membership.include(campaign, _rater(campaign, request), get_account(request))


def _release_slots(campaign: Campaign, request: HttpRequest) -> None:
    free(campaign, posted_number(request, "rater"))


def _set_prolific_study(campaign: Campaign, request: HttpRequest) -> None:
    form = ProlificForm(request.POST)
    data = clean(form)
    try:
        names = ("study_id", "completion_code", "most_people", "signed")
        prolific.set_study(campaign, *(data[name] for name in names))
    except PeopleError as error:
        form.add_error(None, as_sentence(error))
        raise FormError(form) from error


def _end_participant(campaign: Campaign, request: HttpRequest) -> None:
    status = request.POST.get("status", "")
    study = getattr(campaign, "prolific", None)
    if study is None or status not in (prolific.Status.RETURNED, prolific.Status.TIMED_OUT):
        return
    for each in study.participants.filter(pk=posted_number(request, "participant")):
        prolific.end(each, status)


def _open_for_participant(campaign: Campaign, request: HttpRequest) -> None:
    study = getattr(campaign, "prolific", None)
    if study is not None:
        for each in study.participants.filter(pk=posted_number(request, "participant")):
            prolific.open_once(each)


MEMBER_ORDERS: dict[str, MemberAct] = {
    "settings": _change_participation,
    "add": _add_member,
    "remove": _remove_member,
    "exclude": _exclude,
    "include": _include,
    "free": _release_slots,
    "prolific": _set_prolific_study,
    "ended": _end_participant,
    "open-once": _open_for_participant,
}


def _campaign_page(
    request: HttpRequest,
    campaign: Campaign,
    bound: dict[str, forms.Form] | None = None,
    wrong: str = "",
    status: int = 200,
) -> HttpResponse:
    bound, study = bound or {}, getattr(campaign, "prolific", None)
    if "exclude" in bound:
        wrong = "Give a reason; the report shows it."
    lists = {
        "raters": campaign_raters(campaign),
        "members": campaign.memberships.filter(ended_at=None)
        .select_related("user", "by")
        .order_by("pk"),
        "participants": prolific.participants(study).order_by("pk") if study else [],
    }
    pages = pages_of(lists, request.GET.dict(), PAGE)
    context = {
        "campaign": campaign,
        "pages": pages,
        "others": other_pages(lists, request.GET.dict()),
        "rows": pages["raters"],
        "members": pages["members"],
        "invitations": invitations_of(get_account(request)).filter(campaign=campaign)[
            :MAX_INVITATIONS
        ],
        "settings": bound.get("settings") or ParticipationForm(initial=_initial(campaign)),
        "add": bound.get("add") or MemberForm(),
        "invite": bound.get("invite")
        or CampaignInviteForm(initial={"campaign_role": _asked_role(request)}),
        "study": study,
        "prolific": bound.get("prolific") or ProlificForm(initial=_initial_study(study)),
        "entry": _entry_address(request, campaign),
        "participants": pages["participants"],
        "pay": current_pay(campaign),
        "shares": share_statuses(campaign),
        "consents": counts_of_consents(campaign) if campaign.consent_texts.exists() else None,
        "background": background_counts(campaign, revoked_raters(campaign)),
        "wrong": wrong,
        "added": _new_member(request, campaign),
        **_search_context(request, campaign),
    }
    return render(request, "people/campaign.html", context, status=status)


def _new_member(request: HttpRequest, campaign: Campaign) -> Membership | None:
    """Return the member that was just added, whom the address names."""
    members = campaign.memberships.filter(ended_at=None).select_related("user")
    return members.filter(user__username=request.GET.get("added", "")).first()


def current_pay(campaign: Campaign) -> PayTable:
    """Return the table of pay and time; of a large campaign it may be a minute old."""

    def make() -> tuple[PayTable, int]:
        table = pay_table(campaign)
        return table, table.everybody.items

    return cached(f"pay-{campaign.pk}-{campaign.pay.replace(' ', '-')}", make)


def _initial(campaign: Campaign) -> dict[str, Any]:
    names = ("pool", "hold_minutes", "items_per_person")
    return {name: getattr(campaign, name) for name in names}


def _initial_study(study: Any) -> dict[str, Any]:
    names = ("study_id", "completion_code", "most_people", "signed")
    return {name: getattr(study, name) for name in names} if study else {}


def _entry_address(request: HttpRequest, campaign: Campaign) -> str:
    address = request.build_absolute_uri(reverse("prolific", args=[campaign.pk]))
    return f"{address}{prolific.ENTRY}"


def _rater(campaign: Campaign, request: HttpRequest) -> Rater:
    return get_object_or_404(visible_raters(campaign), pk=posted_number(request, "rater"))


def _campaign(request: HttpRequest, pk: int) -> Campaign:
    found = readable(get_account(request)).select_related("prolific", "batch")
    return get_object_or_404(found, pk=pk)
