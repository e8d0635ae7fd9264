"""Serializers of preparation: steps, authored answers, reviews and new batches, with examples."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from datasets.api.base import (
    Computed,
    Exact,
    Number,
    PageParameters,
    Strict,
)
from datasets.api.batches import BatchSerializer
from judging.models import Review
from judging.preparation.review import (
    LONGEST_NOTE,
    AuthoredAnswer,
)
from judging.preparation.status import WAITING, AuthorStatus, StepStatus

VERDICTS = ", ".join(f"`{verdict}`" for verdict in Review.Verdict.values)


class RunOfStepSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(help_text="the run, as in the list of runs")
    state = serializers.CharField()


class AuthorSerializer(serializers.Serializer[AuthorStatus]):
    """The progress of one author in a step."""

    author = serializers.CharField(source="rater.name")
    answers = serializers.DictField(
        source="verdicts",
        child=serializers.IntegerField(),
        help_text=f"how many, by verdict: {VERDICTS}, and `{WAITING}` without one",
    )
    missing = serializers.DictField(
        child=serializers.IntegerField(), help_text="how many answers are missing, by reason"
    )
    is_ready = serializers.BooleanField(help_text="whether a complete batch can be built")
    runs = RunOfStepSerializer(many=True, help_text="the newest first")


class StepSerializer(serializers.Serializer[StepStatus]):
    step = serializers.CharField(source="step.name")
    title = serializers.CharField(source="step.title")
    asks = Computed(
        lambda work: bool(work.step.protocol),
        bool,
        help_text="whether an author is asked; a step without one follows a rule",
    )
    thresholds = serializers.DictField(
        source="step.numbers",
        child=serializers.FloatField(),
        help_text="the default values, by name",
    )
    campaign = serializers.IntegerField(
        source="campaign.pk",
        allow_null=True,
        help_text="null if the step has not begun or is hidden",
    )
    hidden = serializers.BooleanField(help_text="whether the step is another researcher's work")
    authors = AuthorSerializer(many=True)


class PreparedParameters(PageParameters):
    state = serializers.ChoiceField(
        (WAITING, *Review.Verdict.values),
        required=False,
        help_text="only answers without a review, or with this verdict",
    )
    author = Exact("only answers from the author of exactly this name")


class PreparedSerializer(serializers.Serializer[AuthoredAnswer]):
    """An author's answer, with its review if there is one."""

    id = serializers.UUIDField(source="assignment.uid")
    item = serializers.CharField(source="assignment.item.key")
    query = serializers.CharField(source="assignment.item.query.text")
    author = serializers.CharField(source="assignment.rater.name")
    verdict = serializers.CharField(
        source="review.verdict", allow_null=True, help_text=f"{VERDICTS}; null while it waits"
    )
    note = Computed(
        lambda each: each.review.note if each.review else "", str, help_text="the reviewer's"
    )
    reviewed_by = serializers.CharField(
        source="review.by.name", allow_null=True, help_text="the reviewer's pseudonym"
    )
    reviewed_at = serializers.DateTimeField(source="review.made_at", allow_null=True)


class ReadTextSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="its name in quotes")
    heading = serializers.CharField(allow_blank=True)
    text = serializers.CharField(allow_blank=True)


class WholePreparedSerializer(PreparedSerializer):
    step = serializers.CharField(source="step.name")
    texts = ReadTextSerializer(
        source="spec.texts", many=True, help_text="the texts that the author was shown"
    )
    units = Computed(
        lambda each: {name: unit.text for name, unit in each.units.items()},
        dict[str, str],
        help_text="the text of each unit by name",
    )
    answer = serializers.DictField(
        source="final",
        help_text="the answer that counts, by unit: the reviewer's version if it differs",
    )
    written = serializers.DictField(source="original", help_text="the author's own answer, by unit")
    problems = Computed(
        lambda each: each.problems(each.final),
        list[str],
        help_text="why `answer` cannot be part of a batch; empty if it can",
    )
    answer_schema = Computed(
        lambda each: each.schema.item_schema(each.units),
        dict[str, Any],
        help_text="the JSON Schema of `answer`",
    )


class NewReviewSerializer(Strict):
    verdict = serializers.ChoiceField(
        Review.Verdict.values,
        help_text=(
            "accepted: the answer counts, or the one in `answer`; changed: the one in `answer` "
            "counts; rejected: none counts"
        ),
    )
    answer = serializers.DictField(
        required=False,
        help_text="the whole answer, in the form of `answer_schema`; by default the current one",
    )
    note = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=LONGEST_NOTE
    )


class AcceptSerializer(Strict):
    author = serializers.CharField(trim_whitespace=False, help_text="whose answers")


class AcceptedSerializer(serializers.Serializer[Any]):
    accepted = serializers.IntegerField()
    left = serializers.IntegerField(help_text="not accepted because of a problem")
    reviewed_before = serializers.IntegerField()


class NewBatchSerializer(Strict):
    name = serializers.CharField(max_length=200, help_text="the name of the new batch")
    author = serializers.CharField(
        required=False,
        trim_whitespace=False,
        help_text="the author of the answers, if the step has authors",
    )
    partial = serializers.BooleanField(  # type: ignore[assignment]
        default=False, help_text="build a batch although answers or reviews are missing"
    )
    thresholds = serializers.DictField(
        child=Number(), required=False, help_text="thresholds that differ from the defaults"
    )


class BuiltSerializer(serializers.Serializer[Any]):
    batch = BatchSerializer()
    queries = serializers.IntegerField(help_text="number of its queries")
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="the ids of queries that were left out"
    )
