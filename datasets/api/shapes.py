"""Shapes that every part of the API uses: closed ones for what is sent, and that of an error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

LARGEST_PAGE, PAGE = 200, 50


class Strict(serializers.Serializer[Any]):
    """What a client sends: a field that is not declared is refused by its name."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(set(map(str, data)) - {*self.fields})):
            raise serializers.ValidationError(
                {name[:200]: "is not a field here; leave it out" for name in unknown}
            )
        return super().to_internal_value(data)


class NoParameters(Strict):
    pass


class PageParameters(Strict):
    page = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, default=1, help_text="which page, from 1"
    )
    page_size = serializers.IntegerField(
        min_value=1, max_value=LARGEST_PAGE, default=PAGE, help_text="how many on a page"
    )


class Number(serializers.FloatField):
    """A finite number; neither NaN nor a boolean."""

    def to_internal_value(self, data: Any) -> float:
        number = super().to_internal_value(data)
        if isinstance(data, bool) or not math.isfinite(number):
            raise serializers.ValidationError("is not a number; give one")
        return number


class ProblemShape(serializers.Serializer[Any]):
    unit = serializers.CharField(allow_null=True, help_text="the unit's name, if one is meant")
    field = serializers.CharField(allow_null=True, help_text="the field's name, if one is meant")
    wrong = serializers.CharField(help_text="what is wrong, and what to do")


class ErrorShape(serializers.Serializer[Any]):
    error = serializers.CharField(help_text="what is wrong, and what to do, in one sentence")
    problems = ProblemShape(many=True)
