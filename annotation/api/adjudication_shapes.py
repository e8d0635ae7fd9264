"""The shapes of disputes and decisions, as the API gives and takes them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.adjudication.queue import OF, STATES
from annotation.api.shapes import AskedShape, EvidenceShape, TextShape
from annotation.views.saving import LONGEST
from datasets.api.base import ErrorShape, Number, PageParameters, Strict


class DisputesParameters(PageParameters):
    of = serializers.ChoiceField(
        list(OF), default="all", help_text="where people disagree, or a judge with most of them"
    )
    state = serializers.ChoiceField(list(STATES), default="open", help_text="to decide, or decided")
    variable = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="only disputes of this variable"
    )


class SplitShape(serializers.Serializer[Any]):
    variable = serializers.CharField()
    raters = serializers.ListField(
        child=serializers.IntegerField(), help_text="how many raters gave each value, most first"
    )


class DisputeShape(serializers.Serializer[Any]):
    unit = serializers.IntegerField(help_text="what addresses call it")
    query = serializers.CharField()
    text = serializers.CharField(help_text="the words of the unit")
    splits = SplitShape(many=True)


class SaidSpanShape(serializers.Serializer[Any]):
    field = serializers.CharField(allow_blank=True, help_text="empty where there is no such text")
    start = serializers.IntegerField(allow_null=True)
    end = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()


class OpinionShape(serializers.Serializer[Any]):
    """What one rater said, a person or a judge, under a letter that is drawn for this unit."""

    name = serializers.CharField()
    values = serializers.DictField(child=serializers.CharField())
    spans = SaidSpanShape(many=True)
    comment = serializers.CharField(allow_null=True)


class DecisionShape(serializers.Serializer[Any]):
    revision = serializers.IntegerField(help_text="from 1")
    current = serializers.BooleanField(help_text="false where a newer one has taken its place")
    answer = serializers.DictField(help_text="as the `answer_schema` says")
    reason = serializers.CharField()
    decided_at = serializers.DateTimeField()
    own = serializers.BooleanField(
        allow_null=True, help_text="whether one decided it oneself; null where a file brought it"
    )


class CaseShape(serializers.Serializer[Any]):
    """A dispute as its page shows it: nothing tells who said what, or which system wrote what."""

    unit = serializers.IntegerField()
    query = serializers.CharField()
    texts = TextShape(many=True)
    at_issue = serializers.CharField(
        allow_null=True, help_text="the field of the one among several texts that it is about"
    )
    beside = serializers.CharField(
        allow_null=True, help_text="the field of the passage that is judged beside that answer"
    )
    kind = serializers.CharField()
    text = serializers.CharField(help_text="the words of the unit")
    variables = AskedShape(many=True)
    evidence = EvidenceShape(allow_null=True)
    answer_schema = serializers.DictField(help_text="the JSON Schema of `answer` in a decision")
    raters = OpinionShape(many=True)
    revision = serializers.IntegerField(help_text="of the decision that stands, 0 for none")
    decisions = DecisionShape(many=True, help_text="the newest first")


class NewDecisionShape(Strict):
    answer = serializers.DictField(help_text="as the `answer_schema` says")
    reason = serializers.CharField(trim_whitespace=False)
    revision = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="of the decision that one had seen, 0 for none"
    )
    seconds = Number(
        required=False, allow_null=True, min_value=0, max_value=LONGEST, help_text="time on task"
    )


class DecisionConflictShape(ErrorShape):
    current = DecisionShape()
