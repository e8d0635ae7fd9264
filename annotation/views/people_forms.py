"""Forms of invitations, accounts, and the people of a campaign."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.password_validation import password_validators_help_texts
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as gettext

from annotation.models import MAX_REASON, Campaign, Membership, User
from annotation.people.leases import MAX_LEASE
from annotation.people.membership import readable
from datasets.models import Team
from datasets.option_fields import set_rows
from datasets.teams import managed_teams, there_are_several

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
