"""Forms of a campaign's settings, gold answers and admissions."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from annotation.campaigns.design import DesignError
from annotation.campaigns.settings import (
    ASKED,
    LONGEST_GUIDELINE,
    WHOLE,
    CampaignSettings,
    consent_of,
    read_deadline,
    shown_guideline,
)
from annotation.gold.scoring import MAX_ADMISSION_REASON
from annotation.imports.gold import GoldCounts, set_known
from annotation.models import Campaign, User
from annotation.people.background import (
    LONGEST_SOURCE,
    BackgroundError,
    Question,
    as_toml,
    questions_of,
    read_toml,
)
from annotation.people.consent import LONGEST_CONSENT
from annotation.people.membership import readable
from annotation.people.shares import ShareError, current_shares, read_shares, written_shares
from datasets.text import as_sentence
from tandem.files.rows import InputError
from tandem.verbs import verb_of

SHOWN = (
    (ASKED, "The parts about the variables that this campaign asks"),
    (WHOLE, "All of it"),
)
REVOKED_ANSWERS = (
    ("keep", "Keep the answers, for an audit or in case the person agrees again"),
    ("delete", "Delete the answers, with the background that the person gave"),
)


def add_design_error(form: forms.Form, error: DesignError) -> None:
    """Add an error of the design or the settings to its field, or to the form if it has none."""
    form.add_error(error.field if error.field in form.fields else None, as_sentence(error))


class SettingsForm(forms.Form):
    """The settings of a campaign. An empty field removes a setting."""

    deadline = forms.CharField(
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"type": "datetime-local"}),
        help_text="In the server’s time zone. Answers submitted later are kept as drafts.",
    )
    language = forms.CharField(
        required=False,
        max_length=35,
        help_text="Language tag of the texts, such as en or pt-BR, for hyphens and screen readers.",
    )
    text_view = forms.ChoiceField(
        label="Texts in Markdown",
        required=False,
        choices=(("", "As they were written"), ("rendered", "Rendered")),
        help_text="What annotators see at first; each can switch. Highlights are the same in both.",
    )
    gold_every = forms.IntegerField(
        label="Gold item every N items",
        required=False,
        min_value=0,
        max_value=999,
        help_text="One gold item at a random place in every N items of a person. 0 or empty: none.",
    )
    practice_of = forms.ChoiceField(
        label="Practice of another campaign",
        required=False,
        help_text="People do its practice items first. Leave “No” if this campaign has its own.",
    )
    qualify = forms.FloatField(
        label="Pass mark",
        required=False,
        min_value=0,
        max_value=1,
        help_text="Share of correct practice answers, such as 0.8. Empty: any share will do.",
    )
    guideline = forms.CharField(
        required=False,
        strip=False,
        max_length=LONGEST_GUIDELINE,
        widget=forms.Textarea(attrs={"rows": "14"}),
        help_text="Markdown, for people and judges. Empty: the protocol’s own. Each change creates "
        "a new version, and every answer records the version that it followed.",
    )

    consent = forms.CharField(
        label="Consent text",
        required=False,
        strip=False,
        max_length=LONGEST_CONSENT,
        widget=forms.Textarea(attrs={"rows": "8"}),
        help_text="Markdown that people agree to before their first item. Each change is a new "
        "version, and asks everybody again. Empty: no consent is asked for.",
    )
    revoked = forms.ChoiceField(
        label="When a person revokes their consent",
        required=False,
        choices=REVOKED_ANSWERS,
        widget=forms.RadioSelect,
        initial="keep",
        help_text="Reports and exports leave the answers out in either case.",
    )
    background = forms.CharField(
        label="Background questions",
        required=False,
        strip=False,
        max_length=LONGEST_SOURCE,
        widget=forms.Textarea(attrs={"rows": "8", "spellcheck": "false", "class": "code"}),
        help_text="TOML, one table for each question: [first_language], then question = "
        "“Your first language?”, kind = “choice”, choices = [“German”, “another”], required = "
        "true, all with straight quotes. Kinds: choice, several, text, number. People answer "
        "once, before their first item.",
    )

    pay = forms.CharField(
        required=False,
        max_length=60,
        help_text="For the table of pay and time: 0.35 EUR per item, 14 EUR per hour, or 20 EUR "
        "per person.",
    )
    shares = forms.CharField(
        label="Fixed shares",
        required=False,
        max_length=5000,
        help_text="Who gives which share of all answers, by account: ada=0.25, ben=0.25. What is "
        "left is for everybody else. Empty: whoever comes first.",
    )
    guideline_shown = forms.ChoiceField(
        label="Of the protocol’s guideline, people and judges see",
        required=False,
        choices=SHOWN,
        widget=forms.RadioSelect,
        initial=ASKED,
    )

    def clean_shares(self) -> dict[str, float]:
        pairs = [each for each in self.cleaned_data["shares"].split(",") if each.strip()]
        try:
            return read_shares(pairs)
        except ShareError as error:
            raise forms.ValidationError(as_sentence(error)) from error

    def clean_background(self) -> tuple[Question, ...]:
        try:
            return read_toml(self.cleaned_data["background"].replace("\r\n", "\n"))
        except BackgroundError as error:
            raise forms.ValidationError(as_sentence(error)) from error

    def offer_practice(self, user: User, campaign: Campaign | None = None) -> None:
        """Offer the campaigns with practice items that this user may read."""
        others = readable(user).filter(items__use="practice").distinct()
        if campaign is not None:
            others = others.exclude(pk=campaign.pk)
        names = list(others.order_by("name").values_list("name", flat=True))
        current = campaign.practice_of if campaign else None
        if current and current.pk != getattr(campaign, "pk", None) and current.name not in names:
            names.append(current.name)
        field = self.fields["practice_of"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "No"), *((name, name) for name in names)]

    def settings(self, campaign: Campaign | None = None) -> CampaignSettings:
        """Return the settings of a valid form. Raises DesignError if the deadline is not a date.

        For an existing campaign, an empty field removes the setting.
        """
        data = self.cleaned_data
        deadline = read_deadline(data["deadline"]) if data["deadline"] else None
        if campaign is not None and data["deadline"] == initial_settings(campaign)["deadline"]:
            deadline = campaign.deadline  # with its seconds, which the form does not show
        own = campaign is not None and campaign.practice_of_id == campaign.pk
        practice: str | None = data["practice_of"]
        return CampaignSettings(
            deadline=deadline,
            language=data["language"],
            text_view=data["text_view"] or "source",
            guideline=data["guideline"],
            gold_every=data["gold_every"] or 0,
            practice_of=None if own and not practice else practice,
            qualify=data["qualify"] or None,
            consent=data["consent"],
            revoked=data["revoked"] or None,
            background=data["background"],
            pay=data["pay"],
            shares=data["shares"],
            guideline_shown=data["guideline_shown"] or None,
            no_deadline=deadline is None,
            no_qualify=not data["qualify"],
        )


def settings_digest(campaign: Campaign) -> str:
    """Return a digest of the settings as the form shows them, to detect a change meanwhile."""
    shown = json.dumps(initial_settings(campaign), sort_keys=True)
    return hashlib.sha256(shown.encode()).hexdigest()[:20]


def describe_differences(form: SettingsForm, campaign: Campaign) -> Iterator[str]:
    """Yield the current settings that differ from the submitted form, as text."""
    for name, current in initial_settings(campaign).items():
        label = str(form[name].label)
        if str(form[name].value() or "").replace("\r\n", "\n") == str(current or ""):
            continue
        if name in ("consent", "background"):
            yield f"{label}: changed"
        elif name == "guideline":
            yield f"{label}: version {campaign.guidelines.count()} below" if current else label
        else:
            yield f"{label}: {current or 'none'}"


def initial_settings(campaign: Campaign) -> dict[str, Any]:
    """Return the values with which the form of an existing campaign is filled."""
    deadline = campaign.deadline
    other = campaign.practice_of if campaign.practice_of_id != campaign.pk else None
    return {
        "deadline": timezone.localtime(deadline).strftime("%Y-%m-%dT%H:%M") if deadline else "",
        "language": campaign.language,
        "text_view": "" if campaign.text_view == "source" else campaign.text_view,
        "gold_every": campaign.gold_every or None,
        "practice_of": other.name if other else "",
        "qualify": campaign.qualify,
        "guideline": campaign.guideline,
        "consent": consent_of(campaign),
        "revoked": campaign.revoked,
        "background": as_toml(questions_of(campaign)),
        "pay": campaign.pay,
        "shares": written_shares(current_shares(campaign)),
        "guideline_shown": shown_guideline(campaign),
    }


MAX_GOLD_FILE = 7 * 1024 * 1024
"""Bytes of a file of gold answers, just under the limit of a request."""
GOLD_USES = (
    ("gold", "Gold: mixed in among the others, and looks like them"),
    ("practice", "Practice: comes first, with feedback"),
)


class GoldForm(forms.Form):
    use = forms.ChoiceField(
        label="Use their items as", choices=GOLD_USES, widget=forms.RadioSelect, initial="gold"
    )
    file = forms.FileField(
        label="Labels file",
        help_text="JSON, CSV, Parquet or xlsx: item, unit, variable, value, rater. The feedback "
        "shows meta.reason.",
    )

    def clean_file(self) -> UploadedFile[Any]:
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > MAX_GOLD_FILE:
            raise forms.ValidationError(
                f"This file exceeds 7 MB; use {verb_of('set_known')} on the server."
            )
        return file


class AdmitForm(forms.Form):
    rater = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)
    reason = forms.CharField(max_length=MAX_ADMISSION_REASON)


def store_gold_file(campaign: Campaign, file: UploadedFile[Any], use: str) -> GoldCounts:
    """Store the gold answers of an uploaded file. Raises InputError if a line is wrong.

    The file is read from a temporary path, since an uploaded name is not trusted as a path.
    """
    is_csv = (file.name or "").lower().endswith(".csv")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gold.csv" if is_csv else "gold.jsonl")
        with path.open("wb") as written:
            for chunk in file.chunks():
                written.write(chunk)
        return set_known([path], campaign, use)


def describe_file_error(error: InputError) -> str:
    """Return the message of an error in the file, without the temporary path."""
    where = f"Line {error.place.line}: " if error.place.line else ""
    return f"{where}{error.wrong}; {error.remedy}."
