"""Form fields and serializer fields of declared options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.db.models import QuerySet
from rest_framework import serializers

from datasets.api.base import LARGEST, Number, Strict
from tandem.options import Option

Field = serializers.Field[Any, Any, Any, Any]
LONGEST = 300


class Several(forms.MultipleChoiceField):
    """Check boxes. None checked means all; the reader of the options checks which values exist."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def valid_value(self, value: str) -> bool:
        return True


def set_choices(form: forms.Form, name: str, choices: list[tuple[Any, Any]]) -> None:
    """Set the choices of a field, which depend on the request."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


def set_rows(form: forms.Form, name: str, rows: QuerySet[Any]) -> None:
    """Set the rows among which a field chooses, which depend on the account."""
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = rows


def form_fields(options: Iterable[Option], names_errors: bool = True) -> dict[str, forms.Field]:
    """Return the fields of a page's form. Few are required, since an address may omit them.

    `names_errors` has each error name its field, for a page that lists the errors of all fields.
    """
    return {
        option.name: _form_field(option.on_page, names_errors)
        for option in options
        if "page" in option.faces
    }


def _form_field(option: Option, names_errors: bool) -> forms.Field:
    about: dict[str, Any] = {"label": option.label, "help_text": option.hint}
    if option.kind == "several":
        return Several(**about)
    about |= {"required": option.required, "initial": option.initial}
    if option.kind == "names":
        return forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, **about)
    if option.kind == "flag":
        return forms.BooleanField(**about)
    if option.kind == "name":
        return forms.ChoiceField(choices=option.choices, **about)
    if option.kind in ("text", "moment", "pairs"):
        return forms.CharField(
            max_length=option.longest or LONGEST,
            strip=not option.lines,
            widget=_text_widget(option),
            **about,
        )
    wrong = f"{option.label} {option.rule}."
    kinds = ("invalid", "invalid_choice", "min_value", "max_value")
    errors = dict.fromkeys(kinds, wrong) if names_errors else {}
    if option.values:
        if option.initial is not None:
            about["widget"] = forms.RadioSelect
        return forms.ChoiceField(choices=option.choices, error_messages=errors, **about)
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


def _text_widget(option: Option) -> forms.Widget:
    if option.lines:
        code = {"spellcheck": "false", "class": "code"} if option.is_code else {}
        return forms.Textarea(attrs={"rows": str(option.lines), **code})
    return forms.TextInput(attrs={"type": "datetime-local"} if option.kind == "moment" else {})


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
    if option.required and option.default is None:
        return _field(option, False, required=True)
    default = list if option.kind == "several" else option.default
    about = {"default": default} if has_default else {"required": False}
    return _field(option, has_default or option.empty == "", **about)


def _field(option: Option, may_be_blank: bool, **about: Any) -> Field:
    about["help_text"] = option.api_help
    if option.kind == "several":
        return serializers.ListField(child=serializers.CharField(max_length=LONGEST), **about)
    if option.kind == "flag":
        return serializers.BooleanField(**about)
    if option.values:
        return serializers.ChoiceField(tuple(option.values), **about)
    if option.kind in ("text", "name", "moment"):
        is_line = not option.lines and option.kind != "name"
        return serializers.CharField(
            max_length=(option.longest or LONGEST) if is_line else None,
            allow_blank=may_be_blank,
            trim_whitespace=is_line and option.longest is not None,
            **about,
        )
    if option.kind == "pairs":
        return serializers.DictField(child=_number(option), **about)
    if option.kind == "number":
        return _number(option, **about)
    return serializers.IntegerField(
        min_value=None if option.least is None else int(option.least),
        max_value=LARGEST if option.most is None else int(option.most),
        **about,
    )


def _number(option: Option, **about: Any) -> Number:
    return Number(min_value=option.least, max_value=option.most, **about)


def answer_fields(options: Iterable[Option]) -> dict[str, Field]:
    """Return the fields of an answer that states options. What may lack a value may be null."""
    return {option.name: _answer_field(option) for option in options}


def _answer_field(option: Option) -> Field:
    lacks = option.may_lack and option.kind in ("moment", "whole", "number")
    about: dict[str, Any] = {"allow_null": True} if lacks else {}
    if option.kind == "moment":
        return serializers.DateTimeField(help_text=option.api_help, **about)
    return _field(option, True, **about)
