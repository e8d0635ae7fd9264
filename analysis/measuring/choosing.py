"""The choices of the measures as an address or a form tells them, checked against what there is."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django import forms
from django.http import QueryDict

from analysis.choices import MOST_RESAMPLES, Choices
from analysis.choosing import Several
from analysis.measures.answers.refusal_lists import refusal_lists
from analysis.measures.options import PRESETS, Options
from analysis.measuring.asking import (
    NAMES,
    Asked,
    options_over_the_web,
    passages_called,
    passages_offered,
    points_called,
    points_offered,
    slices_called,
    slices_offered,
)
from analysis.measuring.shown import Shown
from annotation.models import Campaign, User

TITLES = {
    "tandem": "Tandem's defaults",
    "crux": "CRUX",
    "long2rag": "Long²RAG",
    "garage": "GaRAGe",
    "clapnq": "CLAPnq",
}
SEVERAL = {"measure": "measures", "evaluator": "evaluators", "system": "systems", "cut": "cuts"}
"""What is shown, and the name under which `Shown` has it."""


class MeasuresForm(forms.Form):
    """What the address says: `asked` and `shown` once it is valid. Nothing given is the default."""

    preset = forms.ChoiceField(
        required=False,
        choices=list(TITLES.items()),
        help_text="What one paper chose, where the papers leave a choice open.",
        error_messages={"invalid_choice": f"A preset is one of {', '.join(PRESETS)}."},
    )
    passages = forms.ChoiceField(
        label="Count only sub-questions that passages answer",
        required=False,
        help_text="By whose ratings of passages.",
    )
    points = forms.ChoiceField(
        label="Points of answers",
        required=False,
        help_text="The campaign in which they are held against their context: for KPP and KPF.",
    )
    slices = Several(label="Slice by the labels of")
    seed = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    resamples = forms.IntegerField(required=False, min_value=1, max_value=MOST_RESAMPLES)
    measure = Several(label="Measures")
    evaluator = Several(label="Evaluators")
    system = Several(label="Systems")
    cut = Several(label="Cuts of rankings")
    order = forms.CharField(required=False, max_length=200)

    def __init__(self, data: QueryDict, user: User, campaign: Campaign) -> None:
        super().__init__(data, auto_id="choose-%s")
        self.user, self.campaign, self.given = user, campaign, data
        preset = data.get("preset", "")
        own = PRESETS.get(preset, PRESETS["tandem"])
        for each in fields(Options):
            if each.name in NAMES:
                self.fields[each.name] = _field(each.name, getattr(own, each.name), each.metadata)
        offered = [(name, name) for name in passages_offered(user, campaign)]
        self.has_passages = bool(offered)
        passages = self.fields["passages"]
        assert isinstance(passages, forms.ChoiceField)
        passages.choices = [("", "all count"), *offered]
        supported = [(name, name) for name in points_offered(user, campaign)]
        self.has_points = bool(supported)
        points = self.fields["points"]
        assert isinstance(points, forms.ChoiceField)
        points.choices = [("", "none: KPP and KPF have no value"), *supported]
        slices = self.fields["slices"]
        assert isinstance(slices, Several)
        slices.choices = [(name, name) for name in slices_offered(user, campaign)]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for name in self.given:
            if name not in self.fields:
                self.add_error(
                    None, f"There is no choice {name!r}; there are {', '.join(self.fields)}."
                )
        if not self.errors:
            self._check(data)
        return data

    def _check(self, data: dict[str, Any]) -> None:
        preset = data["preset"] or "tandem"
        given = {name: data[name] for name in NAMES if data[name]}
        choices = Choices(seed=data["seed"] or 0, resamples=data["resamples"])
        try:
            options = options_over_the_web(preset, given)
            passages = passages_called(self.user, self.campaign, data["passages"])
            slices = slices_called(self.user, self.campaign, data["slices"])
            points = points_called(self.user, self.campaign, data["points"])
        except ValueError as error:
            self.add_error(None, _sentence(str(error)))
            return
        self.asked = Asked(preset, options, choices, passages, slices, points)
        several = {to: tuple(filter(None, data[name])) for name, to in SEVERAL.items()}
        self.shown = Shown(**several, order=data["order"])

    def options(self) -> list[forms.BoundField]:
        return [self[name] for name in NAMES]

    def changed(self) -> bool:
        """Whether an option differs from the preset."""
        return any(self.given.get(name) for name in NAMES)

    def problems(self) -> list[str]:
        """What is wrong, in sentences."""
        return [str(problem) for problems in self.errors.values() for problem in problems]


def _field(name: str, own: Any, metadata: Any) -> forms.Field:
    """An option; left empty it is the preset's."""
    about: dict[str, Any] = {
        "label": name,
        "required": False,
        "help_text": metadata["reason"].replace("`", ""),
    }
    values = refusal_lists() if name == "refusals" else list(metadata["values"])
    if isinstance(own, bool):
        values = ["yes", "no"]
    if values:
        empty = ("", f"as the preset: {words(own)}")
        return forms.ChoiceField(choices=[empty, *((v, v) for v in values)], **about)
    widget = forms.TextInput(attrs={"placeholder": words(own)})
    return forms.CharField(max_length=60, widget=widget, **about)


def words(value: Any) -> str:
    """An option's value as it is written."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
