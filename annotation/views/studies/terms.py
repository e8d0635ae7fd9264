"""The fields of what may change while a campaign runs, shared by two forms."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django import forms
from django.utils import timezone

from annotation.models import Campaign, User
from annotation.people.members import readable
from annotation.terms import LONGEST_GUIDELINE, Terms, read_deadline


class TermsForm(forms.Form):
    """An empty field takes a thing away."""

    deadline = forms.CharField(
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"type": "datetime-local"}),
        help_text="By the server's clock, in its time zone. What comes later is kept as a draft.",
    )
    language = forms.CharField(
        required=False,
        max_length=35,
        help_text="Of the texts, as a tag such as en or pt-BR: for hyphens and screen readers.",
    )
    gold_every = forms.IntegerField(
        label="One gold item in",
        required=False,
        min_value=0,
        max_value=999,
        help_text="So many items of a person, at a drawn place. 0 or empty: none.",
    )
    practice_of = forms.ChoiceField(
        label="Practice of another campaign",
        required=False,
        help_text="People do that one's practice items first. Its own practice comes by itself.",
    )
    qualify = forms.FloatField(
        label="Share right to go on",
        required=False,
        min_value=0,
        max_value=1,
        help_text="Of the practice's known answers, such as 0.8. Empty: doing them is enough.",
    )
    guideline = forms.CharField(
        required=False,
        strip=False,
        max_length=LONGEST_GUIDELINE,
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text="Markdown, for people and judges. Empty: the protocol's own. Each change is a "
        "new version; every answer keeps which one it was given to.",
    )

    def offer_practice(self, user: User, campaign: Campaign | None = None) -> None:
        """The campaigns that have practice items and that this person may read."""
        others = readable(user).filter(items__use="practice").distinct()
        if campaign is not None:
            others = others.exclude(pk=campaign.pk)
        names = list(others.order_by("name").values_list("name", flat=True))
        standing = campaign.practice_of if campaign else None
        if standing and standing.pk != getattr(campaign, "pk", None) and standing.name not in names:
            names.append(standing.name)
        field = self.fields["practice_of"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "No"), *((name, name) for name in names)]

    def terms(self, standing: Campaign | None = None) -> Terms:
        """What a valid form says. Raises DesignError where the deadline is no moment.

        Of a campaign that stands, an empty field takes away what it had.
        """
        data = self.cleaned_data
        deadline = read_deadline(data["deadline"]) if data["deadline"] else None
        if standing is not None and data["deadline"] == initial_of(standing)["deadline"]:
            deadline = standing.deadline  # with its seconds, which the form does not show
        own = standing is not None and standing.practice_of_id == standing.pk
        practice: str | None = data["practice_of"]
        return Terms(
            deadline=deadline,
            language=data["language"],
            guideline=data["guideline"],
            gold_every=data["gold_every"] or 0,
            practice_of=None if own and not practice else practice,
            qualify=data["qualify"] or None,
            no_deadline=deadline is None,
            no_qualify=not data["qualify"],
        )


def seen_of(campaign: Campaign) -> str:
    """A digest of the terms as the form shows them, by which it is known what somebody had seen."""
    told = json.dumps(initial_of(campaign), sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:20]


def differing(form: TermsForm, campaign: Campaign) -> Iterator[str]:
    """What stands of the terms, in words, where a form says something else."""
    for name, stands in initial_of(campaign).items():
        label = str(form[name].label)
        if str(form[name].value() or "").replace("\r\n", "\n") == str(stands or ""):
            continue
        if name == "guideline":
            yield f"{label}: version {campaign.guidelines.count()} below" if stands else label
        else:
            yield f"{label}: {stands or 'none'}"


def initial_of(campaign: Campaign) -> dict[str, Any]:
    """What the form says of a campaign that stands."""
    deadline = campaign.deadline
    other = campaign.practice_of if campaign.practice_of_id != campaign.pk else None
    return {
        "deadline": timezone.localtime(deadline).strftime("%Y-%m-%dT%H:%M") if deadline else "",
        "language": campaign.language,
        "gold_every": campaign.gold_every or None,
        "practice_of": other.name if other else "",
        "qualify": campaign.qualify,
        "guideline": campaign.guideline,
    }
