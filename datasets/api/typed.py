"""Serializers made from dataclasses and named tuples, whose types are the description.

A text in `Annotated` is a field's help text: `calls: Annotated[int, "requests to be sent"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from rest_framework import serializers

PLAIN: Mapping[Any, Callable[..., Any]] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    datetime: serializers.DateTimeField,
    # As text: a number would round it.
    Decimal: serializers.CharField,
}


def serializer_of(
    kind: type, name: str, leave_out: tuple[str, ...] = (), **more: Any
) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a class by its types, called NAMESerializer.

    It has no field of an attribute in `leave_out`; `more` has fields of others, such as properties.
    """
    hints = get_type_hints(kind, include_extras=True)
    fields = {each: field_of(of) for each, of in hints.items() if each not in leave_out}
    return type(f"{name}Serializer", (serializers.Serializer,), {**fields, **more})


def field_of(of: Any, **about: Any) -> Any:
    """Return the field of values of a type."""
    kind, inner = get_origin(of), get_args(of)
    if kind is Annotated:
        return field_of(inner[0], help_text=inner[1], **about)
    if kind in (Union, UnionType):
        (own,) = (each for each in inner if each is not NoneType)
        return field_of(own, allow_null=True, **about)
    if kind in (list, tuple):
        child = inner[0]
        if child in PLAIN:
            return serializers.ListField(child=field_of(child), **about)
        return _nested(child)(many=True, **about)
    if kind is dict:
        of_values = {} if inner[1] is Any else {"child": field_of(inner[1])}
        return serializers.DictField(**of_values, **about)
    return PLAIN[of](**about) if of in PLAIN else _nested(of)(**about)


@cache
def _nested(kind: type) -> type[serializers.Serializer[Any]]:
    return serializer_of(kind, kind.__name__)
