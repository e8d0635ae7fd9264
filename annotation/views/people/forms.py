"""The forms of people: an invitation, what an invited person chooses, a campaign's settings."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.password_validation import password_validators_help_texts

from annotation.models import Campaign, Membership, User
from annotation.models.taking_part import LONGEST_REASON
from annotation.people.leases import LONGEST
from annotation.people.members import readable

ROLES = (
    (User.Role.ANNOTATOR, "Annotator: labels, and sees their own work"),
    (User.Role.RESEARCHER, "Researcher: labels too, and reads campaigns and reports"),
    (User.Role.ADMIN, "Admin: looks after people and reads everything; does not label"),
)
CAMPAIGN_ROLES = (
    (Membership.Role.ANNOTATOR, "Annotator: is given items"),
    (Membership.Role.ADJUDICATOR, "Adjudicator: decides where people disagree, is given no items"),
    (Membership.Role.RESEARCHER, "Researcher: reads its people, answers and reports"),
)
POOLS = (
    (Campaign.Pool.OPEN, "Open: every account that may label takes part"),
    (Campaign.Pool.NAMED, "Named: only its members take part, and only they and admins see it"),
)


class InviteForm(forms.Form):
    """Whom to invite, and to what."""

    role = forms.ChoiceField(label="Account", choices=ROLES, widget=forms.RadioSelect)
    campaign = forms.ModelChoiceField(
        Campaign.objects.none(),
        required=False,
        empty_label="No campaign in particular",
        help_text="Whoever has an account already can take part with it by the same link.",
    )
    campaign_role = forms.ChoiceField(
        label="Role in the campaign", choices=CAMPAIGN_ROLES, widget=forms.RadioSelect
    )
    note = forms.CharField(
        label="For whom",
        required=False,
        max_length=150,
        help_text="For your own list of invitations. It stands in no export.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["campaign"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = readable(user)


class CampaignInviteForm(forms.Form):
    """Whom to invite to a campaign."""

    campaign_role = forms.ChoiceField(
        label="Role here", choices=CAMPAIGN_ROLES[:2], initial=Membership.Role.ANNOTATOR
    )
    note = forms.CharField(label="For whom", required=False, max_length=150)


class JoinForm(forms.Form):
    """What an invited person chooses."""

    name = forms.CharField(
        max_length=150,
        error_messages={"required": "Choose a name to log in with."},
        help_text="To log in with. Your answers stand under a pseudonym, not under this name.",
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    password = forms.CharField(
        strip=False,
        max_length=4096,
        error_messages={"required": "Choose a password."},
        help_text=" ".join(password_validators_help_texts()),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="The password again",
        strip=False,
        max_length=4096,
        error_messages={"required": "Type the password a second time."},
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        given = found.get("password"), found.get("again")
        if None not in given and given[0] != given[1]:
            self.add_error("again", "The two passwords differ; type both again.")
        return found


class SettingsForm(forms.Form):
    """Who takes part in a campaign, how much, and how long a place is held."""

    pool = forms.ChoiceField(choices=POOLS, widget=forms.RadioSelect)
    hold_minutes = forms.IntegerField(
        label="A place is held, in minutes",
        required=False,
        min_value=5,
        max_value=LONGEST,
        help_text="After the last sign of life it goes to somebody else. Empty: it is held for "
        "good. 1440 is a day.",
    )
    items_per_person = forms.IntegerField(
        label="Items for one person",
        required=False,
        min_value=1,
        max_value=10**6,
        help_text="The most that one person answers. Empty: as many as there are.",
    )


class MemberForm(forms.Form):
    """A role for an account that is there."""

    account = forms.CharField(
        max_length=150, error_messages={"required": "Give the name of an account."}
    )
    role = forms.ChoiceField(
        label="Role here", choices=CAMPAIGN_ROLES, initial=Membership.Role.ANNOTATOR
    )


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=LONGEST_REASON, error_messages={"required": "Give a reason; the report says it."}
    )


class ProlificForm(forms.Form):
    """A campaign as a study on Prolific."""

    study_id = forms.CharField(
        label="Study id", max_length=64, help_text="The last part of its address on Prolific."
    )
    completion_code = forms.CharField(
        max_length=64, help_text="Shown to whoever has answered all items that they were given."
    )
    most_people = forms.IntegerField(
        label="People",
        min_value=1,
        max_value=10_000,
        help_text="As many as the study has places on Prolific; no more are let in.",
    )
