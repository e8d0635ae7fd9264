"""API endpoints of adjudicators: the queue, one dispute, and the decision on it."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from annotation.access import get_account
from annotation.adjudication.decisions import (
    Case,
    NotYoursError,
    RaterAnswer,
    decide,
    find_case,
    is_by,
    rater_answers,
)
from annotation.adjudication.dispute_queue import (
    DISPUTES_AMONG,
    STATES,
    QueuePart,
    queue,
    with_texts,
)
from annotation.adjudication.disputes import Dispute, adjudicable
from annotation.answers.payloads import from_api
from annotation.answers.submission import Circumstances
from annotation.answers.types import LONGEST_SECONDS, ConflictError
from annotation.api.answers import HEADERS
from annotation.api.assignment_serializers import (
    AskedSerializer,
    EvidenceSerializer,
    TextSerializer,
)
from annotation.api.assignments import describe_text, describe_variable
from annotation.item_context import sheet_of
from annotation.long_items import leave_if_long
from annotation.models import Campaign, User
from annotation.models import Response as Answer
from annotation.presentation import schema
from datasets.access import WORKERS, found_or_404
from datasets.api.base import (
    Number,
    PageParameters,
    RefusedBodyError,
    StateConflictError,
    Strict,
    conflict_serializer,
    problem,
)
from datasets.api.concurrency import key_of
from datasets.api.permissions import LABEL, READ
from datasets.api.routes import Reply, Routes, given
from tandem.protocols.validation import Problem, RefusedError

api = Routes("adjudication", roles=WORKERS, reads=(READ, LABEL), writes=(LABEL,))


class DisputesParameters(PageParameters):
    of = serializers.ChoiceField(
        list(DISPUTES_AMONG),
        default="all",
        help_text="disputes among people, or between a judge and most people",
    )
    state = serializers.ChoiceField(
        list(STATES), default="open", help_text="disputes to decide, or decided ones"
    )
    variable = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="only disputes about this variable"
    )


class SplitSerializer(serializers.Serializer[Any]):
    variable = serializers.CharField()
    raters = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="number of people by value, the most frequent first; a judge is not counted, so "
        "one number means that only a judge differs",
    )


class DisputeSerializer(serializers.Serializer[Any]):
    unit = serializers.IntegerField(help_text="the unit's id in addresses")
    query = serializers.CharField()
    text = serializers.CharField(help_text="the unit's text")
    splits = SplitSerializer(many=True)


class SaidSpanSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(allow_blank=True, help_text="empty if there is no such text")
    start = serializers.IntegerField(allow_null=True)
    end = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()


class RaterAnswerSerializer(serializers.Serializer[Any]):
    """The answer from a person or a judge, under a letter chosen at random for this unit."""

    name = serializers.CharField()
    values = serializers.DictField(child=serializers.CharField())
    spans = SaidSpanSerializer(many=True)
    comment = serializers.CharField(allow_null=True)


class DecisionSerializer(serializers.Serializer[Any]):
    revision = serializers.IntegerField(help_text="from 1")
    current = serializers.BooleanField(help_text="false if there is a newer decision")
    answer = serializers.DictField(help_text="in the form of the `answer_schema`")
    reason = serializers.CharField()
    decided_at = serializers.DateTimeField()
    own = serializers.BooleanField(
        allow_null=True, help_text="whether the decision is your own; null if it was imported"
    )


class CaseSerializer(serializers.Serializer[Any]):
    """A dispute as on its page, without the names of raters and systems."""

    unit = serializers.IntegerField()
    query = serializers.CharField()
    texts = TextSerializer(many=True)
    at_issue = serializers.CharField(
        allow_null=True,
        help_text="the field of the text that the unit is about, if there are several",
    )
    beside = serializers.CharField(
        allow_null=True, help_text="the field of the passage that is judged with that answer"
    )
    kind = serializers.CharField()
    text = serializers.CharField(help_text="the unit's text")
    variables = AskedSerializer(many=True)
    evidence = EvidenceSerializer(allow_null=True)
    answer_schema = serializers.DictField(help_text="the JSON Schema of a decision's `answer`")
    raters = RaterAnswerSerializer(many=True)
    revision = serializers.IntegerField(help_text="the current decision's; 0 if there is none")
    decisions = DecisionSerializer(many=True, help_text="the newest first")


class NewDecisionSerializer(Strict):
    answer = serializers.DictField(help_text="in the form of the `answer_schema`")
    reason = serializers.CharField(trim_whitespace=False)
    revision = serializers.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
        help_text="that of the decision that you read; 0 if there was none",
    )
    seconds = Number(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=LONGEST_SECONDS,
        help_text="time on task",
    )


@api.list(
    "campaigns/<int:pk>/adjudication/",
    "List disputes",
    "The units of a campaign on which raters disagree, for its adjudicators: ties first, "
    "then small majorities, then disputes by judges alone, with the units of an item "
    "together. 404 for others.",
    DisputeSerializer,
    name="disputes",
    takes=DisputesParameters,
)
def disputes_list(request: Request, pk: int) -> Any:
    user, sent = get_account(request), given(request)
    campaign = get_object_or_404(adjudicable(user), pk=pk)
    names = [variable.name for variable in schema(campaign, "people").variables]
    if sent["variable"] not in ("", *names):
        raise ParseError(f"there is no such variable; the variables are {', '.join(names)}")
    wanted = QueuePart(sent["of"], sent["variable"], sent["state"])
    return Reply(queue(campaign, user, wanted), lines=partial(_lines, campaign))


@api.get(
    "campaigns/<int:pk>/adjudication/<int:unit>/",
    "Read a dispute",
    "A unit as on its page: the texts, each rater's answer with spans, and the decisions "
    "so far. 404 if raters agree, or if you labelled it yourself.",
    CaseSerializer,
    name="dispute",
)
def disputes_read(request: Request, pk: int, unit: int) -> Any:
    user, case = _case(request, pk, unit)
    leave_if_long(request, case.assignment)
    return describe_case(case, user)


@api.put(
    "campaigns/<int:pk>/adjudication/<int:unit>/",
    "Decide",
    "Stores an answer as the Reference's label of the unit. 201 if it is new, 200 if it is "
    "unchanged. 409 if there is a decision that you had not read: read `current`, and send "
    "yours again with its `revision`. 422 names every problem.",
    DecisionSerializer,
    body=NewDecisionSerializer,
    status=201,
    also=(200,),
    conflict=conflict_serializer("DecisionConflict", current=DecisionSerializer()),
    raises={NotYoursError: Http404},
    refuses=(422,),
    parameters=HEADERS[:1],
)
def disputes_decide(request: Request, pk: int, unit: int) -> Any:
    user, case = _case(request, pk, unit)
    body = given(request)
    circumstances = Circumstances(
        key=key_of(request), seen=body["revision"], seconds=body.get("seconds")
    )
    (name,) = case.blinding.units
    try:
        payload = from_api({"units": {name: body["answer"]}, "comment": body["reason"]})
        outcome = decide(case, user, case.blinding.for_storage(payload), circumstances, "api")
    except RefusedError as error:
        problems = [_as_problem(each) for each in error.problems]
        raise RefusedBodyError("the decision was not stored", problems) from error
    except ConflictError as error:
        raise _conflict(_case(request, pk, unit)[1], user) from error
    decision = _decision(case, outcome.response, user)
    return Reply(decision, 201 if outcome.created else 200)


def _case(request: Request, pk: int, unit: int) -> tuple[User, Case]:
    user = get_account(request)
    campaign = get_object_or_404(adjudicable(user), pk=pk)
    return user, found_or_404(find_case(user, campaign, unit))


def describe_case(case: Case, user: User) -> dict[str, Any]:
    sheet = sheet_of(case.schema, case.shown, case.blinding.page_units, None, case.texts)
    (row,) = sheet.rows
    return {
        "unit": case.unit.pk,
        "query": case.unit.item.query.text,
        "texts": [describe_text(text.field, heading, text) for heading, text in sheet.texts],
        "at_issue": case.judged_text,
        "beside": case.beside,
        "kind": case.asked.kind,
        "text": row.text,
        "variables": [describe_variable(each) for each in row.variables],
        "evidence": row.rule,
        "answer_schema": case.schema.unit_schema(case.asked.kind, with_field=True),
        "raters": [_rater_answer(each) for each in rater_answers(case)],
        "revision": case.revision,
        "decisions": [_decision(case, each, user) for each in case.history],
    }


def _rater_answer(answer: RaterAnswer) -> dict[str, Any]:
    return {
        "name": answer.name,
        "values": answer.values,
        "spans": [asdict(quote) for quote in answer.quotes],
        "comment": answer.comment or None,
    }


def _decision(case: Case, response: Answer, user: User) -> dict[str, Any]:
    shown = case.blinding.for_page(response.payload) or {}
    return {
        "revision": response.revision,
        "current": response.current,
        "answer": next(iter(shown["units"].values())),
        "reason": response.comment,
        "decided_at": response.created_at,
        "own": is_by(response, user),
    }


def _lines(campaign: Campaign, found: list[Dispute]) -> list[dict[str, Any]]:
    return [
        {
            "unit": each.unit,
            "query": query,
            "text": text,
            "splits": [
                {"variable": one.variable, "raters": one.people} for one in each.disagreements
            ],
        }
        for each, query, text in with_texts(campaign, found)
    ]


def _conflict(case: Case, user: User) -> StateConflictError:
    assert case.current is not None
    current = DecisionSerializer(_decision(case, case.current, user)).data
    sentence = f"there is a newer revision, {case.revision}; read it, and send your decision again"
    return StateConflictError(sentence, more={"current": current})


def _as_problem(each: Problem) -> dict[str, str | None]:
    return problem(each.message, "reason" if each.key == "comment" else each.key)
