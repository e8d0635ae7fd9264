"""Options are declared once for commands, pages and the API."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass, field
from typing import Any

import pytest
from django import forms
from rest_framework import serializers

from analysis.api.measures import MeasuresParameters
from analysis.api.reports import ReportParameters
from analysis.evaluation.display import DISPLAY_OPTIONS
from analysis.evaluation.selection import MEASURES_OPTIONS
from analysis.management.commands.measures import Command as MeasuresCommand
from analysis.management.commands.report import Command as ReportCommand
from datasets.option_fields import form_fields, serializer_fields
from tandem.labels.selection import ReportOptions
from tandem.options import add_arguments, check_bounds, named_options, options_of, values_of


@dataclass(frozen=True)
class Coffee:
    shots: int | None = field(default=None, metadata={"help": "how many", "least": 1, "most": 4})
    strength: float = field(default=0.5, metadata={"help": "of it", "least": 0, "most": 1})
    milk: str = field(
        default="none", metadata={"help": "which", "values": {"none": "no milk", "oat": "oat milk"}}
    )
    syrups: tuple[str, ...] = field(default=(), metadata={"help": "also", "name": "syrup"})
    decaf: bool = field(default=False, metadata={"help": "without", "faces": ("command",)})
    price: int = 0


OPTIONS = options_of(Coffee)


def parsed(*words: str) -> dict[str, Any]:
    parser = ArgumentParser()
    add_arguments(parser, OPTIONS)
    return vars(parser.parse_args(words))


class Form(forms.Form):
    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data)
        self.fields.update(form_fields(OPTIONS))


class Body(serializers.Serializer[Any]):
    def get_fields(self) -> dict[str, Any]:
        return {**serializer_fields(OPTIONS)}


def test_a_field_without_help_is_not_an_option() -> None:
    assert [option.name for option in OPTIONS] == ["shots", "strength", "milk", "syrup", "decaf"]
    assert [option.kind for option in OPTIONS] == ["whole", "number", "choice", "several", "flag"]


def test_command_page_and_api_read_the_same_values() -> None:
    words = ("--shots", "2", "--strength", ".25", "--milk", "oat", "--syrup", "a", "--syrup", "b")
    made = Coffee(shots=2, strength=0.25, milk="oat", syrups=("a", "b"))
    assert Coffee(**values_of(OPTIONS, parsed(*words))) == made
    data = {"shots": 2, "strength": 0.25, "milk": "oat", "syrup": ["a", "b"]}
    form, body = Form(data), Body(data=data)
    assert form.is_valid(), form.errors
    assert body.is_valid(), body.errors
    assert Coffee(**values_of(OPTIONS, form.cleaned_data)) == made
    assert Coffee(**values_of(OPTIONS, body.validated_data)) == made


def test_an_option_left_out_keeps_its_default_in_command_page_and_api() -> None:
    form, body = Form({}), Body(data={})
    assert form.is_valid(), form.errors
    assert body.is_valid(), body.errors
    for given in (parsed(), form.cleaned_data, body.validated_data):
        assert Coffee(**values_of(OPTIONS, given)) == Coffee()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--shots", "0"), "--shots must be a whole number of at least 1."),
        (("--strength", "1.5"), "--strength must be a number from 0 to 1."),
        (("--strength", "nan"), "--strength must be a number from 0 to 1."),
    ],
)
def test_a_number_out_of_bounds_is_refused_by_the_command(
    words: tuple[str, ...], says: str
) -> None:
    with pytest.raises(ValueError, match=f"^{says}$"):
        check_bounds(OPTIONS, parsed(*words))


def test_a_command_accepts_whole_numbers_above_the_limit_of_a_page() -> None:
    check_bounds(OPTIONS, parsed("--shots", "5"))
    assert Form({"shots": 5}).errors == {"shots": ["Shots must be a whole number from 1 to 4."]}
    body = Body(data={"shots": 5})
    assert not body.is_valid()
    assert set(body.errors) == {"shots"}


def test_an_option_exists_only_in_the_interfaces_it_is_declared_for() -> None:
    assert "decaf" in parsed()
    assert "decaf" not in Form({}).fields
    assert "decaf" not in Body().fields


def test_all_interfaces_of_reports_and_measures_take_the_declared_options() -> None:
    every = options_of(ReportOptions)
    assert set(ReportParameters().fields) == {each.name for each in every} - {"check"}
    flags = _flags(ReportCommand())
    assert {each.flag for each in every} <= flags
    assert set(MeasuresParameters().fields) - {"job"} == {
        each.name for each in (*MEASURES_OPTIONS, *DISPLAY_OPTIONS)
    }
    assert {each.flag for each in MEASURES_OPTIONS} <= _flags(MeasuresCommand())


def _flags(command: Any) -> set[str]:
    parser = command.create_parser("manage.py", "x")
    return {flag for action in parser._actions for flag in action.option_strings}


def test_a_message_names_options_as_the_reader_can_write_them() -> None:
    said = "there is a tie; give --ties keep or --ties drop, or name a rater by --decided-by"
    assert named_options(said) == (
        "there is a tie; give ties=keep or ties=drop, or name a rater by decided_by"
    )
    assert named_options(said, '{name} = "{value}"', ["ties"]) == (
        'there is a tie; give ties = "keep" or ties = "drop", or name a rater by --decided-by'
    )
    assert named_options("give --option A=B; --seed is not 1") == "give option A=B; seed is not 1"
