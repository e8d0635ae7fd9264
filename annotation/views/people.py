"""Pages of accounts and invitations, with the forms of people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.password_validation import password_validators_help_texts
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account, visible_accounts
from annotation.models import (
    MAX_REASON,
    Assignment,
    Campaign,
    Exclusion,
    Invitation,
    Membership,
    Rater,
    User,
)
from annotation.people import accounts, identities, login_limits, second_factor
from annotation.people.accounts import accounts as all_accounts
from annotation.people.accounts import invitations_of
from annotation.people.identities import log_in_key
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
from annotation.people.leases import MAX_LEASE
from annotation.people.membership import PeopleError, readable
from annotation.views.orders import carry_out
from audit.recording import folded
from datasets.access import (
    ADMIN,
    READERS,
    client_address,
    found_or_404,
    managed_teams,
    role_required,
    there_are_several,
)
from datasets.api.concurrency import seconds_to_wait, try_again_after
from datasets.models import Team
from datasets.option_fields import set_rows
from datasets.text import as_sentence
from tandem.messages import Message

ACCOUNT_ROLES = (
    (User.Role.ANNOTATOR, "Annotator: labels, and sees only their own work"),
    (User.Role.RESEARCHER, "Researcher: also labels, and reads campaigns and reports"),
    (User.Role.ADMIN, "Admin: manages people and reads everything, but does not label"),
)
CAMPAIGN_ROLES = (
    (Membership.Role.ANNOTATOR, "Annotator: labels items"),
    (
        Membership.Role.ADJUDICATOR,
        "Adjudicator: decides where people disagree; labels no items",
    ),
    (Membership.Role.RESEARCHER, "Researcher: sees the campaign’s people, answers and reports"),
)


class InviteForm(forms.Form):
    """An invitation to the site, perhaps to a campaign, too."""

    role = forms.ChoiceField(label="Account", choices=ACCOUNT_ROLES, widget=forms.RadioSelect)
    campaign = forms.ModelChoiceField(
        Campaign.objects.none(),
        required=False,
        empty_label="No campaign in particular",
        help_text="A person who already has an account can use it with the same link.",
    )
    campaign_role = forms.ChoiceField(
        label="Role in the campaign", choices=CAMPAIGN_ROLES, widget=forms.RadioSelect
    )
    team = forms.ModelChoiceField(
        Team.objects.none(),
        required=False,
        empty_label="No team",
        to_field_name="name",
        help_text="The account becomes a member, and sees what the team has.",
    )
    note = forms.CharField(
        label="For whom",
        required=False,
        max_length=150,
        help_text="For your list of invitations. No export contains it.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_rows(self, "team", managed_teams(user))
        if not there_are_several():
            # Everybody joins the only team anyway.
            del self.fields["team"]
        set_rows(self, "campaign", readable(user))


class CampaignInviteForm(forms.Form):
    """An invitation to a campaign."""

    campaign_role = forms.ChoiceField(
        label="Role here", choices=CAMPAIGN_ROLES[:2], initial=Membership.Role.ANNOTATOR
    )
    note = forms.CharField(label="For whom", required=False, max_length=150)


def _password_help() -> str:
    return " ".join(password_validators_help_texts())


class JoinForm(forms.Form):
    """The name and password that an invited person chooses."""

    name = forms.CharField(
        label=gettext("Name"),
        max_length=150,
        error_messages={"required": gettext("Choose a name to log in with.")},
        help_text=gettext(
            "To log in with. Your answers are stored under a pseudonym, not under this name."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    password = forms.CharField(
        label=gettext("Password"),
        strip=False,
        max_length=4096,
        error_messages={"required": gettext("Choose a password.")},
        help_text=lazy(_password_help, str)(),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label=gettext("Repeat the password"),
        strip=False,
        max_length=4096,
        error_messages={"required": gettext("Repeat the password.")},
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        first, second = data.get("password"), data.get("again")
        if None not in (first, second) and first != second:
            self.add_error("again", gettext("The two passwords differ; type both again."))
        return data


class ParticipationForm(forms.Form):
    """The pool of a campaign, the items per person, and how long a slot is reserved."""

    pool = forms.ChoiceField(choices=Campaign.Pool.choices, widget=forms.RadioSelect)
    hold_minutes = forms.IntegerField(
        label="Slot reserved for, in minutes",
        required=False,
        min_value=5,
        max_value=MAX_LEASE,
        help_text="The slot becomes free this long after the person’s last activity. "
        "Empty: no limit. 1440 is a day.",
    )
    items_per_person = forms.IntegerField(
        label="Items per person",
        required=False,
        min_value=1,
        max_value=10**6,
        help_text="The maximum that one person answers. Empty: no limit.",
    )


class MemberForm(forms.Form):
    """A role in a campaign for an existing account."""

    account = forms.CharField(
        max_length=150, error_messages={"required": "Enter the name of an account."}
    )
    role = forms.ChoiceField(
        label="Role here", choices=CAMPAIGN_ROLES, initial=Membership.Role.ANNOTATOR
    )


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON,
        error_messages={"required": "Give a reason; the report shows it."},
    )


class ProlificForm(forms.Form):
    """A campaign as a study on Prolific."""

    study_id = forms.CharField(
        label="Study ID", max_length=64, help_text="The last part of its address on Prolific."
    )
    completion_code = forms.CharField(
        max_length=64, help_text="Shown to a participant who has answered all of their items."
    )
    most_people = forms.IntegerField(
        label="People",
        min_value=1,
        max_value=10_000,
        help_text="The number of places of the study on Prolific; further people are turned away.",
    )
    signed = forms.BooleanField(
        label="Only by links that Prolific has signed",
        required=False,
        help_text="Switch on “secure URL parameters” for the study on Prolific, too.",
    )


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
