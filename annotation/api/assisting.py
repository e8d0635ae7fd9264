"""The shapes of a judge's verdict, and of the name of who assisted an answer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

ASSISTANT = "the judge whose verdicts one sees and confirms or corrects; null in most campaigns"


class Assistant(serializers.CharField):
    """A judge's name; nobody's is stored as an empty one."""

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(value) or None


class CitedShape(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="the text that it is of")
    quote = serializers.CharField()
    start = serializers.IntegerField(
        allow_null=True, help_text="in code points; null where it stands nowhere in the text"
    )


class VerdictShape(serializers.Serializer[Any]):
    """What the judge said that one confirms or corrects."""

    judge = serializers.CharField()
    answer = serializers.DictField(help_text="the unit's answer of somebody who confirms all of it")
    scores = serializers.DictField(
        child=serializers.FloatField(), help_text="by variable, where the judge gave one"
    )
    quotes = CitedShape(many=True)
