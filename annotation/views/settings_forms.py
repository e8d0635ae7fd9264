"""Forms of a campaign's settings, gold answers and admissions."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from annotation.campaigns.declaration import Setting
from annotation.campaigns.design import DesignError
from annotation.campaigns.settings import CONSENT, OPTIONS, SETTINGS, CampaignSettings
from annotation.gold.scoring import MAX_ADMISSION_REASON
from annotation.imports.gold import GoldCounts, set_known
from annotation.models import Campaign, User
from annotation.people.membership import readable
from datasets.option_fields import form_fields
from datasets.text import as_sentence
from tandem.files.rows import InputError
from tandem.verbs import verb_of


def add_design_error(form: forms.Form, error: DesignError) -> None:
    """Add an error of the design or the settings to its field, or to the form if it has none."""
    form.add_error(error.field if error.field in form.fields else None, as_sentence(error))


class SettingsForm(forms.Form):
    """The settings of a campaign. An empty field removes a setting."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields = {**form_fields(OPTIONS, names_errors=False), **self.fields}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for setting in SETTINGS:
            if data.get(setting.name):
                try:
                    data[setting.name] = setting.read_value(data[setting.name])
                except DesignError as error:
                    add_design_error(self, error)
        return data

    def listed(self) -> list[forms.BoundField]:
        """Return the fields of the settings that have no part of the page to themselves."""
        return self._fields_of("")

    def intake(self) -> list[forms.BoundField]:
        return self._fields_of(CONSENT)

    def has_intake(self) -> bool:
        """Whether people are asked before their first item, or a field of that has an error."""
        fields = self._fields_of(CONSENT)
        return any(each.errors or (each.value() and not each.field.initial) for each in fields)

    def _fields_of(self, group: str) -> list[forms.BoundField]:
        return [self[setting.name] for setting in SETTINGS if setting.option.group == group]

    def offer_practice(self, user: User, campaign: Campaign | None = None) -> None:
        """Offer the campaigns with practice items that this user may read."""
        others = readable(user).filter(items__use="practice").distinct()
        if campaign is not None:
            others = others.exclude(pk=campaign.pk)
        names = list(others.order_by("name").values_list("name", flat=True))
        current = campaign.practice_of if campaign else None
        if current and current.pk != getattr(campaign, "pk", None) and current.name not in names:
            names.append(current.name)
        self.offer("practice_of", names)

    def offer(self, field: str, names: Iterable[str]) -> None:
        """Add names to a field's choices."""
        found: Any = self.fields[field]
        found.choices = [*found.choices, *((name, name) for name in names)]

    def settings(self, campaign: Campaign | None = None) -> CampaignSettings:
        """Return the settings of a valid form.

        For an existing campaign, an empty field removes a setting, and one that shows the current
        value changes nothing: not the seconds of a deadline, or a campaign's own practice.
        """
        given: dict[str, Any] = {}
        removed: list[str] = []
        for setting in SETTINGS:
            value, option = self.cleaned_data[setting.name], setting.option
            if campaign is not None and _is_shown(self[setting.name], setting, campaign):
                continue
            if value:
                given[setting.name] = value
            elif not option.may_lack:
                given[setting.name] = option.empty
            elif setting.removal:
                removed.append(setting.name)
        return CampaignSettings(**given, removed=tuple(removed))


def _is_shown(field: forms.BoundField, setting: Setting, campaign: Campaign) -> bool:
    """Return whether a field has the value that it shows of a campaign."""
    typed = str(field.value() or "").replace("\r\n", "\n")
    return typed == str(setting.field_value(campaign) or "")


def settings_digest(campaign: Campaign) -> str:
    """Return a digest of the settings as the form shows them, to detect a change meanwhile."""
    shown = json.dumps(initial_settings(campaign), sort_keys=True)
    return hashlib.sha256(shown.encode()).hexdigest()[:20]


def describe_differences(form: SettingsForm, campaign: Campaign) -> Iterator[str]:
    """Yield the current settings that differ from the submitted form, as text."""
    for setting in SETTINGS:
        field, current = form[setting.name], setting.field_value(campaign)
        if _is_shown(field, setting, campaign):
            continue
        if setting.name == "guideline":
            number = campaign.guidelines.count()
            yield f"{field.label}: version {number} below" if current else str(field.label)
        elif setting.option.lines:
            yield f"{field.label}: changed"
        else:
            yield f"{field.label}: {current or 'none'}"


def initial_settings(campaign: Campaign) -> dict[str, Any]:
    """Return the values with which the form of an existing campaign is filled."""
    return {setting.name: setting.field_value(campaign) for setting in SETTINGS}


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
