"""The options of a paper's tables: those of its preset, changed by the study file, then by a user.

`tandem.scores.options` declares them. A paper has those that its measures read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from django import forms
from django.http import QueryDict

from analysis.evaluation.selection import (
    MEASURES_OPTIONS,
    OPERATORS,
    check_web_bounds,
    check_web_names,
    option_field,
)
from analysis.evaluation.system_values import options_as_json
from analysis.forms import OptionsForm
from analysis.models import Study
from analysis.papers.base import Paper
from tandem.options import Option, options_of
from tandem.scores import ir_measures
from tandem.scores.answers.refusals import FILE, refusal_list
from tandem.scores.options import IR_MEASURES, TableOptions, format_value, tokenizer
from tandem.similar import did_you_mean
from tandem.types import JSON

OPTION: Option = next(each for each in MEASURES_OPTIONS if each.name == "option")


def table_options(paper: Paper, study: Study, given: Mapping[str, str]) -> TableOptions:
    """Return the options of a paper's tables. Raises ValueError for an invalid one.

    Of the study file's options, those that another paper lacks do not count for it.
    """
    for name in given:
        if name in _names(TableOptions) and name not in paper.options:
            there = ", ".join(paper.options)
            raise ValueError(
                f"{name} changes nothing in the tables of {paper.title}; their options are {there}"
            )
    own = {name: text for name, text in study.options.items() if name in paper.options}
    chosen = check_files(TableOptions.of(paper.name).changed({**own, **given}))
    _check_left_out(chosen, study)
    return chosen


def _check_left_out(chosen: TableOptions, study: Study) -> None:
    if not chosen.left_out:
        return
    campaigns = list(study.parts.filter(kind="campaign").values_list("name", flat=True))
    for name in chosen.left_out:
        if name not in campaigns:
            mend = did_you_mean(name, campaigns, f"there are {', '.join(campaigns)}")
            raise ValueError(f"the study has no campaign {name} to leave out; {mend}")


def check_files(chosen: TableOptions) -> TableOptions:
    """Return the options if their files and packages are there. Raises ValueError."""
    tokenizer(chosen.tokenizer)
    refusal_list(chosen.refusals)
    if chosen.alpha_ndcg == IR_MEASURES:
        ir_measures.library()
    return chosen


def options_over_the_web(paper: Paper, study: Study, given: Mapping[str, str]) -> TableOptions:
    """Return the options for a page or the API. Raises ValueError if they are out of bounds."""
    check_web_names(given)
    chosen = table_options(paper, study, given)
    check_web_bounds(chosen)
    return chosen


def file_states(chosen: TableOptions) -> list[list[Any]]:
    """Return the size and the time of the files that options name."""
    named = (chosen.tokenizer, chosen.refusals)
    found = [Path(name.removeprefix(FILE)).stat() for name in named if name.startswith(FILE)]
    return [[each.st_size, each.st_mtime_ns] for each in found]


def described(paper: Paper, chosen: TableOptions) -> JSON:
    """Return a paper's options with their values and reasons, and the texts of the changed ones."""
    known = options_as_json(chosen)
    own = {name: known[name] for name in paper.options}
    usual = TableOptions.of(paper.name)
    changed = [name for name in own if getattr(chosen, name) != getattr(usual, name)]
    return {
        "options": own,
        "changed": {name: format_value(own[name]["value"]) for name in changed},
    }


def _names(declaration: type) -> list[str]:
    return [each.name for each in fields(declaration)]


class TableForm(OptionsForm):
    """A paper's options from an address; `given` once the form is valid."""

    def __init__(self, data: QueryDict, paper: Paper, study: Study) -> None:
        super().__init__(data, auto_id="tables-%s")
        self.paper, self.study, self.address = paper, study, data
        own = table_options(paper, study, {})
        for option in options_of(TableOptions):
            if option.name in paper.options and option.name not in OPERATORS:
                self.fields[option.name] = option_field(option, getattr(own, option.name))

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        self.given = {name: value for name, value in data.items() if value}
        for name in self.address:
            if name not in self.fields:
                there = ", ".join(self.fields)
                self.add_error(None, f"There is no option {name!r}; there are {there}.")
        try:
            options_over_the_web(self.paper, self.study, self.given)
        except ValueError as error:
            self.add_error(None, f"{error}.")
        return data

    def options(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields]

    def changed(self) -> bool:
        """Return whether the address changes an option."""
        return any(self.address.get(name) for name in self.fields)
