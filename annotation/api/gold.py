"""API endpoint of gold answers: store them, which makes their items gold or practice items."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, managed_campaign
from annotation.api.access import check_blind
from annotation.imports.gold import store_gold_answers
from datasets.access import READERS
from datasets.api.base import (
    Resource,
    Strict,
    describe_endpoint,
    validate,
)
from datasets.api.concurrency import idempotent
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.permissions import MANAGE
from tandem.files.rows import InputError, Place
from tandem.labels.file.rows import LabelRow

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


class StoredGoldAnswersSerializer(serializers.Serializer[Any]):
    answers = serializers.IntegerField()
    items = serializers.IntegerField()
    unchanged = serializers.BooleanField(help_text="whether all of it was stored before")


class GoldAnswers(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Set gold answers",
        "Stores gold answers, all or nothing. Their items become gold items (mixed in, never "
        "revealed) or practice items (first, with feedback), and leave the study. Gold answers "
        "cannot be read back.",
        {200: StoredGoldAnswersSerializer},
        tag="campaigns",
        request=NewGoldAnswersSerializer,
        sent={
            "use": "gold",
            "answers": [{"item": "r1", "unit": "q1:a", "variable": "answerable", "value": "no"}],
        },
        example={"answers": 1, "items": 1, "unchanged": False},
        refuses=(422,),
        operation_id="campaigns_known",
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        campaign = managed_campaign(request, pk)
        # A refused or unchanged answer would reveal the gold items and their answers.
        check_blind(get_account(request), campaign)
        body = validate(NewGoldAnswersSerializer, request.data)
        rows = [_row(each, n) for n, each in enumerate(body["answers"], start=1)]
        try:
            stored = store_gold_answers(rows, campaign, body["use"])
        except InputError as error:
            sentence = "no gold answer was stored"
            raise RefusedBodyError(sentence, [problem(str(error))]) from error
        return Response(asdict(stored))


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
