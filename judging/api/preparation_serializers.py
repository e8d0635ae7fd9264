"""Serializers of preparation: steps, authored answers, reviews and new batches, with examples."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from datasets.api.base import (
    ErrorSerializer,
    Number,
    PageParameters,
    Strict,
)
from datasets.api.batches import A_BATCH, BatchSerializer
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
    asks = serializers.SerializerMethodField(
        help_text="whether an author is asked; a step without one follows a rule"
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

    def get_asks(self, work: StepStatus) -> bool:
        return bool(work.step.protocol)


class StepsSerializer(serializers.Serializer[Any]):
    results = StepSerializer(many=True)


class PreparedParameters(PageParameters):
    state = serializers.ChoiceField(
        (WAITING, *Review.Verdict.values),
        required=False,
        help_text="only answers without a review, or with this verdict",
    )
    author = serializers.CharField(
        required=False,
        trim_whitespace=False,
        help_text="only answers from the author of exactly this name",
    )


class PreparedSerializer(serializers.Serializer[AuthoredAnswer]):
    """An author's answer, with its review if there is one."""

    id = serializers.UUIDField(source="assignment.uid")
    item = serializers.CharField(source="assignment.item.key")
    query = serializers.CharField(source="assignment.item.query.text")
    author = serializers.CharField(source="assignment.rater.name")
    verdict = serializers.CharField(
        source="review.verdict", allow_null=True, help_text=f"{VERDICTS}; null while it waits"
    )
    note = serializers.SerializerMethodField(help_text="the reviewer's")
    reviewed_by = serializers.CharField(
        source="review.by.name", allow_null=True, help_text="the reviewer's pseudonym"
    )
    reviewed_at = serializers.DateTimeField(source="review.made_at", allow_null=True)

    def get_note(self, each: AuthoredAnswer) -> str:
        return each.review.note if each.review else ""


class ReadTextSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="its name in quotes")
    heading = serializers.CharField(allow_blank=True)
    text = serializers.CharField(allow_blank=True)


class WholePreparedSerializer(PreparedSerializer):
    step = serializers.CharField(source="step.name")
    texts = ReadTextSerializer(
        source="spec.texts", many=True, help_text="the texts that the author was shown"
    )
    units = serializers.SerializerMethodField(help_text="the text of each unit by name")
    answer = serializers.DictField(
        source="final",
        help_text="the answer that counts, by unit: the reviewer's version if it differs",
    )
    written = serializers.DictField(source="original", help_text="the author's own answer, by unit")
    problems = serializers.SerializerMethodField(
        help_text="why `answer` cannot be part of a batch; empty if it can"
    )
    answer_schema = serializers.SerializerMethodField(help_text="the JSON Schema of `answer`")

    def get_units(self, each: AuthoredAnswer) -> dict[str, str]:
        return {name: unit.text for name, unit in each.units.items()}

    def get_problems(self, each: AuthoredAnswer) -> list[str]:
        return each.problems(each.final)

    def get_answer_schema(self, each: AuthoredAnswer) -> dict[str, Any]:
        return each.schema.item_schema(each.units)


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


class ReviewedMeanwhileSerializer(ErrorSerializer):
    current = WholePreparedSerializer(help_text="the current state")


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


A_STEP: dict[str, Any] = {
    "step": "key-points",
    "title": "Key points from passages",
    "asks": True,
    "thresholds": {},
    "campaign": 3,
    "hidden": False,
    "authors": [
        {
            "author": "author",
            "answers": {"accepted": 5, "changed": 1, "rejected": 0, "waiting": 2},
            "missing": {"unreadable": 1},
            "is_ready": False,
            "runs": [{"id": 7, "state": "done"}],
        }
    ],
}
PREPARED: dict[str, Any] = {
    "id": "7d0c6d0e-3a5b-4a53-9d0f-0f2f6a4d1c11",
    "item": "q1/p1",
    "query": "How was the bridge built?",
    "author": "author",
    "verdict": None,
    "note": "",
    "reviewed_by": None,
    "reviewed_at": None,
}
POINT = {
    "text": "The bridge opened in 1901.",
    "evidence": [{"quote": "opened in 1901", "start": None}],
}
ANSWER = {"q1/p1": {"holds_points": "yes", "points": [POINT]}}
WHOLE_PREPARED: dict[str, Any] = {
    **PREPARED,
    "step": "key-points",
    "texts": [
        {"field": "passage", "heading": "The bridge", "text": "The bridge opened in 1901. …"}
    ],
    "units": {"q1/p1": "The bridge"},
    "answer": ANSWER,
    "written": ANSWER,
    "problems": [],
    "answer_schema": {"type": "object", "properties": {"q1/p1": {"type": "object"}}},
}
A_REVIEW = {"verdict": "accepted", "note": "one is enough"}
REVIEWED = {
    **WHOLE_PREPARED,
    "verdict": "accepted",
    "note": "one is enough",
    "reviewed_by": "person-4f2a",
    "reviewed_at": "2026-11-20T09:30:00Z",
}
ACCEPTED = {"accepted": 7, "left": 1, "reviewed_before": 0}
NEW_BATCH: dict[str, Any] = {"name": "pointed", "author": "author"}
BUILT: dict[str, Any] = {
    "batch": {**A_BATCH, "id": 2, "name": "pointed"},
    "queries": 2,
    "left_out": [],
}
