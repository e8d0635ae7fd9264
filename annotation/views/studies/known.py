"""Known answers sent as a file, and people let in without them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from annotation.gold.admitting import LONGEST
from annotation.gold.setting import Known, set_known
from annotation.models import Campaign
from datasets.rows import InputError

LARGEST = 7 * 1024 * 1024
"""A little less than a form may have: more than that the site reads of nobody."""
USES = (
    ("gold", "Gold: mixed in among the others, never told apart"),
    ("practice", "Practice: first of all, with feedback"),
)


class KnownForm(forms.Form):
    use = forms.ChoiceField(
        label="Their items become", choices=USES, widget=forms.RadioSelect, initial="gold"
    )
    file = forms.FileField(
        label="Labels file",
        help_text="JSON Lines or CSV: item, unit, variable, value, rater. meta.reason is told in "
        "the feedback.",
    )

    def clean_file(self) -> UploadedFile[Any]:
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > LARGEST:
            raise forms.ValidationError("It is larger than 7 MB; use set_known on the server.")
        return file


class AdmitForm(forms.Form):
    rater = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)
    reason = forms.CharField(max_length=LONGEST)


def take_file(campaign: Campaign, file: UploadedFile[Any], use: str) -> Known:
    """The known answers of a file that was sent. Raises InputError, in which it has its own name.

    It is read from a place of our own: what somebody calls a file is no path.
    """
    is_csv = (file.name or "").lower().endswith(".csv")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "known.csv" if is_csv else "known.jsonl")
        with path.open("wb") as written:
            for chunk in file.chunks():
                written.write(chunk)
        return set_known([path], campaign, use)


def told(error: InputError) -> str:
    """An error about the file without the place where it was read."""
    where = f"Line {error.place.line}: " if error.place.line else ""
    return f"{where}{error.wrong}; {error.mend}."
