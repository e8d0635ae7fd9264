"""The report's options as a form, from a page's address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from analysis.data.selection import (
    BOOTSTRAPS,
    KINDS,
    LEAST_WIDTH,
    MOST_RESAMPLES,
    PAIRS,
    REFERENCES,
    ChoiceError,
    Choices,
    Offered,
    read_stratum,
)
from analysis.statistics.pairwise import CROWD

KIND_NAMES = {"human": "all people", "judge": "all judges", "reference": "all references"}


class Several(forms.MultipleChoiceField):
    """Boxes of which none means all; whether a choice is there `Offered` says."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def valid_value(self, value: str) -> bool:
        return True


def _whole(wrong: str) -> dict[str, str]:
    return dict.fromkeys(("invalid", "min_value", "max_value"), wrong)


class ChoicesForm(forms.Form):
    """What the address of a report says; `choices` once it is valid. Nothing given is the default.

    An address may leave everything out, so that no field is required.
    """

    variable = Several(label="Variables")
    rater = Several(label="Raters", help_text="Judges stay where none is chosen here or below.")
    judge = Several(label="Judges")
    stratum = Several(label="Only items of")
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        error_messages=_whole("The seed is a whole number, at least 0."),
        help_text="Of the resampling.",
    )
    resamples = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_RESAMPLES,
        error_messages=_whole(
            f"Resamples are a whole number from 1 to {MOST_RESAMPLES}; the command makes more."
        ),
        help_text=(
            f"At most {MOST_RESAMPLES} here; the command makes more. "
            "Empty: 10000 below 30 queries, else 2000; frozen reports have 10000."
        ),
    )
    epsilon = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        error_messages=_whole("Epsilon is a number from 0 to 1."),
        help_text="Of the alternative annotator test. Choose it before you look.",
    )
    width = forms.FloatField(
        label="Interval to plan for",
        required=False,
        min_value=LEAST_WIDTH,
        max_value=1,
        error_messages=_whole(f"The width is a number from {LEAST_WIDTH} to 1."),
        help_text="How wide an interval may be: what it takes is told.",
    )
    threshold = forms.FloatField(
        label="Cut ratings at",
        required=False,
        error_messages=_whole("The threshold is a number."),
        help_text="Empty: all cuts are shown.",
    )
    reference = forms.ChoiceField(
        label="Hold judges against",
        required=False,
        choices=[
            ("majority", "people's majority"),
            ("adjudicated", "adjudicators' decisions, too"),
        ],
        error_messages={"invalid_choice": f"The reference is {' or '.join(REFERENCES)}."},
        help_text="What an adjudicator decided is the Reference.",
    )
    pairs = forms.ChoiceField(
        label="Pairs of more than 30 people",
        required=False,
        choices=[
            ("distribution", "how their agreement is distributed"),
            ("all", "one by one, too, where they share 30 units"),
        ],
        error_messages={"invalid_choice": f"Pairs are {' or '.join(PAIRS)}."},
        help_text="The pairs of up to 30 people are always shown.",
    )
    bootstrap = forms.ChoiceField(
        label="Draw anew",
        required=False,
        choices=[("queries", "queries"), ("two-way", "queries and raters")],
        error_messages={"invalid_choice": f"The bootstrap is {' or '.join(BOOTSTRAPS)}."},
        help_text="With raters, intervals hold for other people too; roughly, where there are few.",
    )
    assisted = forms.BooleanField(
        label="Count labels that were made with a judge's verdict in view like all others",
        required=False,
    )

    def __init__(self, data: QueryDict, offered: Offered) -> None:
        defaults = Choices()
        filled = data.copy()
        for name in ("seed", "epsilon", "width", "reference", "pairs", "bootstrap"):
            if not filled.get(name):
                filled[name] = str(getattr(defaults, name))
        super().__init__(filled, auto_id="choose-%s")
        self.given = data
        self.offered = offered
        self._offer()

    def _offer(self) -> None:
        offered, judges = self.offered, self.offered.judges()
        kinds = [kind for kind in KINDS if kind in offered.raters.values()]
        options = {
            "variable": [(name, name) for name in offered.variables],
            "rater": [(kind, KIND_NAMES[kind]) for kind in kinds]
            + [(name, name) for name in offered.raters if name not in judges],
            "judge": [(name, name) for name in judges],
            "stratum": [
                (f"{name}:{value}", value)
                for name, values in offered.strata.items()
                for value in values
            ],
        }
        for name, choices in options.items():
            field = self.fields[name]
            assert isinstance(field, Several)
            field.choices = choices

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for name in self.given:
            if name not in self.fields:
                known = ", ".join(self.fields)
                self.add_error(None, f"There is no choice {name!r}; there are {known}.")
        if not self.errors:
            self._check(data)
        return data

    def _check(self, data: Mapping[str, Any]) -> None:
        self.choices = Choices(
            seed=data["seed"],
            resamples=data["resamples"],
            epsilon=data["epsilon"],
            width=data["width"],
            reference=data["reference"],
            pairs=data["pairs"],
            bootstrap=data["bootstrap"],
            assisted=data["assisted"],
            threshold=data["threshold"],
            variables=tuple(filter(None, data["variable"])),
            raters=tuple(filter(None, data["rater"])),
            judges=tuple(filter(None, data["judge"])),
            strata=tuple(map(read_stratum, filter(None, data["stratum"]))),
        )
        try:
            self.offered.check(self.choices)
        except ChoiceError as error:
            for name, problem in error.problems.items():
                self.add_error(name, problem)

    @property
    def has_references(self) -> bool:
        """Whether there is anything to choose but people's majority."""
        return "reference" in self.offered.raters.values()

    @property
    def has_crowd(self) -> bool:
        """Whether there are so many people that pairs are told as a distribution."""
        kinds = list(self.offered.raters.values())
        return kinds.count("human") > CROWD

    def strata_boxes(self) -> dict[str, list[forms.boundfield.BoundWidget]]:
        """The boxes of strata, by stratum."""
        found: dict[str, list[forms.boundfield.BoundWidget]] = {}
        for box in self["stratum"]:
            found.setdefault(read_stratum(str(box.data["value"]))[0], []).append(box)
        return found

    def problems(self) -> list[str]:
        """What is wrong, in sentences."""
        return [str(problem) for problems in self.errors.values() for problem in problems]
