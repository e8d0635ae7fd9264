"""Pages of people: accounts and invitations for admins, members for researchers, Prolific."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account, managed_campaign, visible_accounts, visible_raters
from annotation.models import (
    Assignment,
    Campaign,
    Exclusion,
    Invitation,
    ProlificStudy,
    Rater,
    User,
    rater_of,
)
from annotation.people import (
    accounts,
    identities,
    login_limits,
    membership,
    prolific,
    second_factor,
)
from annotation.people.accounts import accounts as all_accounts
from annotation.people.accounts import campaign_raters, invitations_of
from annotation.people.invitations import (
    LIFE,
    AccountError,
    NewInvitation,
    accept,
    invitation_of,
    invite,
    join,
    revoke,
)
from annotation.people.leases import free, set_lease
from annotation.people.membership import PeopleError, readable
from annotation.people.prolific import Arrival, enter, mark_browser
from annotation.people.prolific_keys import PAUSE, KeysAwayError
from annotation.registry import declared
from annotation.views.people_forms import (
    CampaignInviteForm,
    InviteForm,
    JoinForm,
    MemberForm,
    ParticipationForm,
    ProlificForm,
    ReasonForm,
)
from annotation.views.work import next_address
from audit.recording import folded
from datasets.access import ADMIN, READERS, client_address, role_required
from datasets.api.throttling import seconds_to_wait
from datasets.paging import other_pages, pages_of
from datasets.text import as_sentence

PAGE = 50
MAX_INVITATIONS = 50
BACKEND = "django.contrib.auth.backends.ModelBackend"
INITIAL = {"role": User.Role.ANNOTATOR, "campaign_role": "annotator"}
OWN_ACCOUNT = "you cannot change your own account; ask another admin"
LOGGED_IN = "you are logged in with an account; log out, then open the link again"
NO_PASSWORDS = "passwords are switched off on this site; use the other button"
TOO_MANY = "The limit is sixty invitations per hour. Try again later."
TOO_OFTEN = "Too many attempts came from your network address. Try again within the hour."

Act = Callable[[User, HttpRequest], object]
MemberAct = Callable[[Campaign, HttpRequest], None]


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
    """Change role or pseudonym, end sessions, unlock, disable or delete, as `order` says."""
    user, order = _account(request, pk), request.POST.get("order", "")
    act = ACCOUNT_ORDERS.get(order)
    if act is None:
        return redirect("person", pk)
    try:
        if user == request.user and order in ("role", "off", "forget"):
            raise PeopleError(OWN_ACCOUNT)
        act(user, request)
    except PeopleError as error:
        return _account_page(request, user, as_sentence(error), 409)
    return redirect("people") if order == "forget" else redirect("person", pk)


def _forget(user: User, request: HttpRequest) -> None:
    """Delete an account, if its name was typed as a confirmation."""
    if request.POST.get("name", "").strip() != user.username:
        raise PeopleError("type the account's name to delete it")
    accounts.forget(user)


ACCOUNT_ORDERS: dict[str, Act] = {
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
        form.add_error(None, TOO_MANY)
        return _form_page(request, form, 429)
    try:
        created = invite(by=user, **form.cleaned_data)
    except PeopleError as error:
        form.add_error(None, as_sentence(error))
        return _form_page(request, form, 422)
    return show_link(request, created, reverse("people"))


def show_link(request: HttpRequest, created: NewInvitation, back: str) -> HttpResponse:
    """Show the link once, since only its digest is stored."""
    address = request.build_absolute_uri(f"{reverse('join')}?key={created.key}")
    invitation = created.invitation
    context = {"invitation": invitation, "address": address, "back": back, "life": LIFE.days}
    return render(request, "people/invited.html", context)


def _form_page(request: HttpRequest, form: InviteForm, status: int = 200) -> HttpResponse:
    return render(request, "people/invite.html", {"form": form, "life": LIFE.days}, status=status)


@require_POST
@role_required(*READERS)
def revoke_invitation(request: HttpRequest, pk: int) -> HttpResponse:
    user = get_account(request)
    invitation = get_object_or_404(invitations_of(user), pk=pk)
    revoke(invitation)
    if user.role == User.Role.ADMIN and request.POST.get("from") != "campaign":
        return redirect("people")
    return redirect("campaign-people", invitation.campaign_id)


@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation(request: HttpRequest) -> HttpResponse:
    """Show the page behind a link, or accept the invitation.

    A GET does not use the invitation up, since programs open links, too.
    """
    invitation = invitation_of(request.GET.get("key", ""))
    if invitation is None:
        raise Http404
    if invitation.state != "open":
        return render(request, "people/join_over.html", {"invitation": invitation}, status=410)
    makes_account = request.method == "POST" and not request.user.is_authenticated
    form = JoinForm(request.POST if makes_account else None)
    if request.method != "POST":
        return _join_page(request, invitation, form)
    # Without a limit, a link would let its holder probe which account names exist.
    wait = seconds_to_wait("join", client_address(request))
    if wait is not None:
        refused = _join_page(request, invitation, form, TOO_OFTEN, 429)
        refused["Retry-After"] = str(wait)
        return refused
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
                form.add_error(name, problem)
        return _join_page(request, invitation, form, status=422)
    except PeopleError as error:
        return _join_page(request, invitation, form, as_sentence(error), 409)
    return redirect("home")


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


@require_safe
@role_required(*READERS)
def campaign_people(request: HttpRequest, pk: int) -> HttpResponse:
    return _campaign_page(request, _campaign(request, pk))


@require_POST
@role_required(*READERS)
def change_people(request: HttpRequest, pk: int) -> HttpResponse:
    """Change settings, members, exclusions, slots or Prolific, as `order` says."""
    campaign, order = managed_campaign(request, pk), request.POST.get("order", "")
    act = MEMBER_ORDERS.get(order)
    if act is None:
        return redirect("campaign-people", pk)
    try:
        act(campaign, request)
    except _FormError as error:
        return _campaign_page(request, campaign, {order: error.form}, status=422)
    except PeopleError as error:
        return _campaign_page(request, campaign, wrong=as_sentence(error), status=409)
    return redirect("campaign-people", pk)


@require_POST
@role_required(*READERS)
def invite_to_campaign(request: HttpRequest, pk: int) -> HttpResponse:
    campaign, user = managed_campaign(request, pk), get_account(request)
    form = CampaignInviteForm(request.POST)
    if not form.is_valid():
        return _campaign_page(request, campaign, {"invite": form}, status=422)
    if seconds_to_wait("invite", user.pk) is not None:
        return _campaign_page(request, campaign, {"invite": form}, TOO_MANY, 429)
    created = invite(User.Role.ANNOTATOR, campaign, by=user, **form.cleaned_data)
    return show_link(request, created, reverse("campaign-people", args=[pk]))


class _FormError(Exception):
    """An invalid form."""

    def __init__(self, form: forms.Form) -> None:
        self.form = form
        super().__init__(str(form.errors))


def _clean(form: forms.Form) -> dict[str, Any]:
    if not form.is_valid():
        raise _FormError(form)
    return form.cleaned_data


def _change_participation(campaign: Campaign, request: HttpRequest) -> None:
    data = _clean(ParticipationForm(request.POST))
    with membership.recorded_change(campaign):
        if data["hold_minutes"] != campaign.hold_minutes:
            set_lease(campaign, data["hold_minutes"])
        if data["pool"] != campaign.pool:
            membership.set_pool(campaign, data["pool"], get_account(request))
        membership.set_most_items(campaign, data["items_per_person"])


def _add_member(campaign: Campaign, request: HttpRequest) -> None:
    form = MemberForm(request.POST)
    data = _clean(form)
    user = User.objects.filter(username=data["account"].strip()).first()
    if user is None:
        form.add_error("account", "No account has this name; invite the person.")
        raise _FormError(form)
    membership.add_member(campaign, user, data["role"], get_account(request))


def _remove_member(campaign: Campaign, request: HttpRequest) -> None:
    rows = campaign.memberships.select_related("user").filter(pk=_number(request, "member"))
    for member in rows:
        if member.user == request.user:
            raise PeopleError("you cannot remove yourself; ask another researcher or an admin")
        membership.end_membership(campaign, member.user, get_account(request))


def _exclude(campaign: Campaign, request: HttpRequest) -> None:
    rater, data = _rater(campaign, request), _clean(ReasonForm(request.POST))
    membership.exclude(campaign, rater, data["reason"], get_account(request))


def _include(campaign: Campaign, request: HttpRequest) -> None:
    membership.include(campaign, _rater(campaign, request), get_account(request))


def _release_slots(campaign: Campaign, request: HttpRequest) -> None:
    free(campaign, _number(request, "rater"))


def _set_prolific_study(campaign: Campaign, request: HttpRequest) -> None:
    form = ProlificForm(request.POST)
    data = _clean(form)
    try:
        names = ("study_id", "completion_code", "most_people", "signed")
        prolific.set_study(campaign, *(data[name] for name in names))
    except PeopleError as error:
        form.add_error(None, as_sentence(error))
        raise _FormError(form) from error


def _end_participant(campaign: Campaign, request: HttpRequest) -> None:
    status = request.POST.get("status", "")
    study = getattr(campaign, "prolific", None)
    if study is None or status not in (prolific.Status.RETURNED, prolific.Status.TIMED_OUT):
        return
    for each in study.participants.filter(pk=_number(request, "participant")):
        prolific.end(each, status)


def _open_for_participant(campaign: Campaign, request: HttpRequest) -> None:
    study = getattr(campaign, "prolific", None)
    if study is not None:
        for each in study.participants.filter(pk=_number(request, "participant")):
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
        "invite": bound.get("invite") or CampaignInviteForm(),
        "study": study,
        "prolific": bound.get("prolific") or ProlificForm(initial=_initial_study(study)),
        "entry": _entry_address(request, campaign),
        "participants": pages["participants"],
        "wrong": wrong,
    }
    return render(request, "people/campaign.html", context, status=status)


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
    return get_object_or_404(visible_raters(campaign), pk=_number(request, "rater"))


def _number(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _campaign(request: HttpRequest, pk: int) -> Campaign:
    found = readable(get_account(request)).select_related("prolific", "batch")
    return get_object_or_404(found, pk=pk)


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
            refused = _prolific_page(request, study, TOO_OFTEN, 429)
            refused["Retry-After"] = str(wait)
            return refused
        participant = enter(study, arrival, prolific.participants_in(request))
    except KeysAwayError as error:
        away = _prolific_page(request, study, as_sentence(error), 503)
        away["Retry-After"] = str(PAUSE)
        return away
    except PeopleError as error:
        return _prolific_page(request, study, as_sentence(error), 422)
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
    protocol = declared(study.campaign)
    context = {
        "campaign": study.campaign,
        "protocol": protocol,
        "wrong": wrong,
        "sealed": sealed,
        "signed": study.signed,
    }
    return render(request, "people/prolific.html", context, status=status)
