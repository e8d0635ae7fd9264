"""API endpoint of gold answers: store them, which makes their items gold or practice items."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from annotation.api.access import managed_unless_blind
from annotation.imports.gold import GoldCounts, store_gold_answers
from datasets.api.base import Strict, refusal
from datasets.api.routes import Routes, given
from datasets.api.typed import serializer_of
from tandem.files.rows import InputError, Place
from tandem.labels.file.rows import LabelRow

api = Routes("campaigns")

MAX_ANSWERS = 5_000


class GoldAnswerSerializer(Strict):
    item = serializers.CharField(max_length=600, trim_whitespace=False)
    unit = serializers.CharField(max_length=600, trim_whitespace=False)
    kind = serializers.CharField(max_length=20, required=False)
    variable = serializers.CharField(max_length=40)
    value = serializers.CharField(max_length=255)
    reason = serializers.CharField(max_length=2000, required=False)


class NewGoldAnswersSerializer(Strict):
    use = serializers.ChoiceField(("gold", "practice"))
    answers = serializers.ListField(
        child=GoldAnswerSerializer(), allow_empty=False, max_length=MAX_ANSWERS
    )


StoredGoldAnswersSerializer = serializer_of(GoldCounts, "StoredGoldAnswers")


@api.post(
    "campaigns/<int:pk>/known/",
    "Set gold answers",
    "Stores gold answers, all or nothing. Their items become gold items (mixed in, never "
    "revealed) or practice items (first, with feedback), and leave the study. Gold answers "
    "cannot be read back.",
    StoredGoldAnswersSerializer,
    name="known",
    body=NewGoldAnswersSerializer,
    raises={InputError: refusal("no gold answer was stored")},
    refuses=(422,),
    once=True,
)
def campaigns_known(request: Request, pk: int) -> Any:
    # A refused or unchanged answer would reveal the gold items and their answers.
    campaign, body = managed_unless_blind(request, pk), given(request)
    rows = [_row(each, n) for n, each in enumerate(body["answers"], start=1)]
    return store_gold_answers(rows, campaign, body["use"])


def _row(answer: dict[str, Any], number: int) -> LabelRow:
    reason = answer.get("reason")
    return LabelRow(
        item=answer["item"],
        unit=answer["unit"],
        kind=answer.get("kind"),
        variable=answer["variable"],
        value=answer["value"],
        rater="known",
        meta={"reason": reason} if reason else None,
        place=Place("answers", number),
    )
