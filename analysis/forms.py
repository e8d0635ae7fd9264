"""The report's options as a form, from a page's address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from datasets.option_fields import Several, form_fields
from tandem.grouping import grouped
from tandem.labels.selection import (
    KINDS,
    AvailableValues,
    ReportOptions,
    UnknownOptionError,
    read_stratum,
)
from tandem.options import options_of, values_of
from tandem.statistics.pairwise import CROWD

OPTIONS = options_of(ReportOptions)
KIND_NAMES = {"human": "all people", "judge": "all judges", "reference": "all references"}


class OptionsForm(forms.Form):
    """A form of options, whose errors a page shows as a list."""

    def problems(self) -> list[str]:
        """Return the errors, in sentences."""
        return [str(problem) for problems in self.errors.values() for problem in problems]


class ReportForm(OptionsForm):
    """A report's options from an address; `options` once the form is valid."""

    def __init__(self, data: QueryDict, available: AvailableValues) -> None:
        filled = data.copy()
        for option in OPTIONS:
            has_value = option.kind not in ("flag", "several") and option.default is not None
            if has_value and not filled.get(option.name):
                filled[option.name] = str(option.default)
        super().__init__(filled, auto_id="choose-%s")
        self.fields.update(form_fields(OPTIONS))
        self.address = data
        self.available = available
        self._offer()

    def _offer(self) -> None:
        available, judges = self.available, self.available.judges()
        kinds = [kind for kind in KINDS if kind in available.raters.values()]
        options = {
            "variable": [(name, name) for name in available.variables],
            "rater": [(kind, KIND_NAMES[kind]) for kind in kinds]
            + [(name, name) for name in available.raters if name not in judges],
            "judge": [(name, name) for name in judges],
            "stratum": [
                (f"{name}:{value}", value)
                for name, values in available.strata.items()
                for value in values
            ],
        }
        for name, choices in options.items():
            field = self.fields[name]
            assert isinstance(field, Several)
            field.choices = choices

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for name in self.address:
            if name not in self.fields:
                known = ", ".join(self.fields)
                self.add_error(None, f"There is no option {name!r}; there are {known}.")
        if not self.errors:
            self._check(data)
        return data

    def _check(self, data: Mapping[str, Any]) -> None:
        self.options = ReportOptions.of_values(values_of(OPTIONS, data))
        try:
            self.available.check(self.options)
        except UnknownOptionError as error:
            for name, problem in error.problems.items():
                self.add_error(name, problem)

    @property
    def has_references(self) -> bool:
        """Whether there is a choice other than people's majority."""
        return "reference" in self.available.raters.values()

    @property
    def has_crowd(self) -> bool:
        """Whether there are so many people that pairs appear as a distribution."""
        kinds = list(self.available.raters.values())
        return kinds.count("human") > CROWD

    def people_boxes(self) -> list[forms.boundfield.BoundWidget]:
        """Return the boxes of people and references, without those of whole kinds."""
        return [box for box in self["rater"] if box.data["value"] not in KIND_NAMES]

    def strata_boxes(self) -> dict[str, list[forms.boundfield.BoundWidget]]:
        """Return the boxes of strata, by stratum."""
        boxes = self["stratum"]
        return grouped((read_stratum(str(box.data["value"]))[0], box) for box in boxes)
