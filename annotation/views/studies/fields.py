"""Which field of a form an error of the design is about, and its words as a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from django import forms

_OPTION = re.compile(r"^option ([a-z_]+)")
STARTS: Mapping[str, str] = {
    "a campaign called": "name",
    "its name": "name",
    "raters per item": "raters_per_item",
    "overlap": "overlap",
    "human share": "human_share",
    "development and audit": "development",
    "the roles of queries": "development",
    "deadline": "deadline",
    "its deadline": "deadline",
    "language": "language",
    "the guideline": "guideline",
    "gold every": "gold_every",
    "practice names": "practice_of",
    "a campaign's own practice": "practice_of",
    "qualify": "qualify",
    "people are": "people",
    "kappa is": "kappa",
    "prevalence is": "prevalence",
    "icc is": "icc",
    "correlation is": "correlation",
}


def field_of(error: Exception, fields: Iterable[str]) -> str | None:
    """The field that an error names; None where it names none, or one that is not there."""
    said, known = str(error), set(fields)
    option = _OPTION.match(said)
    name = option[1] if option else next(
        (field for start, field in STARTS.items() if said.startswith(start)), ""
    )  # fmt: skip
    return name if name in known else None


def sentence(error: Exception) -> str:
    said = str(error)
    return f"{said[:1].upper()}{said[1:]}."


def add_to(form: forms.Form, error: Exception) -> None:
    """Shows an error where it belongs."""
    form.add_error(field_of(error, form.fields), sentence(error))
