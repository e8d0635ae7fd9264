"""Options are declared once for commands, pages and the API."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass, field
from pathlib import Path
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
from datasets.option_fields import answer_fields, form_fields, serializer_fields
from tandem.labels.selection import ReportOptions
from tandem.options import (
    add_arguments,
    check_bounds,
    declared,
    named_options,
    options_of,
    values_of,
)


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


@dataclass(frozen=True)
class Cups:
    cups: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "which",
            "label": "{Many}",
            "initial": ["mug"],
            "required": True,
            "page": {"kind": "names", "values": {"mug": "A {one}"}, "unset": "No {one}"},
        },
    )


def test_an_option_may_differ_on_a_page_and_name_what_it_is_about() -> None:
    (cups,) = options_of(Cups)
    worded = cups.on_page.worded(one="cup", Many="Cups")
    assert worded.choices == [("", "No cup"), ("mug", "A cup")]
    (on_page,) = form_fields([worded]).values()
    assert isinstance(on_page, forms.MultipleChoiceField)
    assert (on_page.label, on_page.required, on_page.initial) == ("Cups", True, ["mug"])
    (of_api,) = serializer_fields([cups]).values()
    assert isinstance(of_api, serializers.ListField)


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


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "about", "text", "value"),
    [
        (int, {"least": 1, "most": 4}, "4", 4),
        (float, {"least": 0}, "0.5", 0.5),
        (bool, {}, "yes", True),
        (bool, {}, "false", False),
        (str, {}, " as it is ", " as it is "),
        (str, {"values": {"oat": "Oat milk"}}, "oat", "oat"),
        (str, {"read": str.upper, "values": {"OAT": ""}}, "oat", "OAT"),
    ],
)
def test_a_value_is_read_from_text_by_its_kind_or_its_own_reader(
    kind: type, about: dict[str, Any], text: str, value: Any
) -> None:
    assert declared("it", kind, "what it is", **about).read(text) == value


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "about", "text", "rule"),
    [
        (int, {"least": 1, "most": 4}, "5", "must be a whole number from 1 to 4"),
        (int, {"least": 1}, "0", "must be a whole number of at least 1"),
        (int, {}, "1.5", "invalid literal"),
        (float, {"least": 0, "most": 1}, "nan", "must be a number from 0 to 1"),
        (bool, {}, "perhaps", "must be yes or no"),
        (str, {"values": {"oat": "", "none": ""}}, "soy", "must be oat or none"),
    ],
)
def test_a_text_that_is_no_value_is_refused(
    kind: type, about: dict[str, Any], text: str, rule: str
) -> None:
    with pytest.raises(ValueError, match=rule):
        declared("it", kind, "what it is", **about).read(text)


def test_a_page_offers_the_choices_with_words_and_an_empty_one() -> None:
    about = {"values": {"none": "No milk", "oat": "Oat milk", "raw": ""}}
    assert declared("milk", str, "which", **about).choices == [
        ("none", "No milk"),
        ("oat", "Oat milk"),
    ]
    assert declared("milk", str, "which", empty="none", **about).choices[0] == ("", "No milk")
    assert declared("milk", str, "which", unset="Any", **about).choices[0] == ("", "Any")


def test_a_text_of_several_lines_is_a_file_for_a_command_and_an_area_on_a_page() -> None:
    option = declared("recipe", str, "a file", lines=3, longest=9, empty="", api_help="a text")
    parser = ArgumentParser()
    add_arguments(parser, [option])
    assert parser.parse_args(["--recipe", "a/b"]).recipe == Path("a/b")
    area = form_fields([option])["recipe"]
    assert isinstance(area.widget, forms.Textarea)
    assert area.clean(" x\n") == " x\n"
    with pytest.raises(forms.ValidationError):
        area.clean("x" * 10)
    body = serializer_fields([option])["recipe"]
    assert (body.help_text, body.run_validation(" " + "x" * 10)) == ("a text", " " + "x" * 10)


def test_pairs_are_given_one_by_one_to_a_command_and_as_an_object_to_the_api() -> None:
    option = declared("shares", dict[str, float], "share", command="share", least=0, most=1)
    parser = ArgumentParser()
    add_arguments(parser, [option])
    assert parser.parse_args(["--share", "a=1", "--share", "b=0"]).share == ["a=1", "b=0"]
    field = serializer_fields([option])["shares"]
    assert field.run_validation({"a": 0.5}) == {"a": 0.5}
    with pytest.raises(serializers.ValidationError):
        field.run_validation({"a": 2})


def test_an_answer_states_each_option_and_null_only_where_it_may_lack_a_value() -> None:
    found = answer_fields(OPTIONS)
    values = {"shots": None, "strength": 0.5, "milk": "oat", "syrup": ["mint"], "decaf": True}
    assert {n: f.to_representation(values[n]) for n, f in found.items() if n != "shots"} == {
        name: value for name, value in values.items() if name != "shots"
    }
    assert found["shots"].allow_null
    nothing = answer_fields([declared("shots", int, "how many", empty=0)])["shots"]
    assert not nothing.allow_null
