"""Form fields and serializer fields of declared options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from rest_framework import serializers

from datasets.api.base import Number, Strict
from tandem.options import Option

Field = serializers.Field[Any, Any, Any, Any]
LARGEST = 2**31 - 1
LONGEST = 300


class Several(forms.MultipleChoiceField):
    """Check boxes. None checked means all; the reader of the options checks which values exist."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def valid_value(self, value: str) -> bool:
        return True


def form_fields(options: Iterable[Option]) -> dict[str, forms.Field]:
    """Return the fields of a page's form. None is required, since an address may omit them."""
    return {option.name: _form_field(option) for option in options if "page" in option.faces}


def _form_field(option: Option) -> forms.Field:
    about: dict[str, Any] = {"label": option.label, "help_text": option.hint}
    if option.kind == "several":
        return Several(**about)
    about["required"] = False
    if option.kind == "flag":
        return forms.BooleanField(**about)
    wrong = f"{option.label} {option.rule}."
    if option.values:
        errors = {"invalid_choice": wrong}
        return forms.ChoiceField(
            choices=list(option.values.items()), error_messages=errors, **about
        )
    if option.kind == "text":
        return forms.CharField(max_length=LONGEST, **about)
    errors = dict.fromkeys(("invalid", "min_value", "max_value"), wrong)
    if option.kind == "number":
        return forms.FloatField(
            min_value=option.least, max_value=option.most, error_messages=errors, **about
        )
    return forms.IntegerField(
        min_value=None if option.least is None else int(option.least),
        max_value=LARGEST if option.most is None else int(option.most),
        error_messages=errors,
        **about,
    )


def serializer_fields(options: Iterable[Option], has_defaults: bool = True) -> dict[str, Field]:
    """Return the fields of a strict serializer, for the parameters of an address or for a body."""
    return {
        option.name: _serializer_field(option, has_defaults)
        for option in options
        if "api" in option.faces
    }


class OptionFields(Strict):
    # The base class of serializers of parameters, or of a body, with declared options.
    options: ClassVar[Iterable[Option]] = ()

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **serializer_fields(self.options)}


def _serializer_field(option: Option, has_default: bool) -> Field:
    about: dict[str, Any] = {"help_text": option.help}
    if has_default:
        about["default"] = list if option.kind == "several" else option.default
    else:
        about["required"] = False
    if option.kind == "several":
        return serializers.ListField(child=serializers.CharField(max_length=LONGEST), **about)
    if option.kind == "flag":
        return serializers.BooleanField(**about)
    if option.values:
        return serializers.ChoiceField(tuple(option.values), **about)
    if option.kind == "text":
        return serializers.CharField(
            max_length=LONGEST, allow_blank=has_default, trim_whitespace=False, **about
        )
    if option.kind == "number":
        return Number(min_value=option.least, max_value=option.most, **about)
    return serializers.IntegerField(
        min_value=None if option.least is None else int(option.least),
        max_value=LARGEST if option.most is None else int(option.most),
        **about,
    )
