"""API endpoints of adjudicators: the queue, one dispute, and the decision on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

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
from annotation.adjudication.disputes import (
    DISPUTES_AMONG,
    STATES,
    Dispute,
    QueuePart,
    Split,
    adjudicable,
    queue,
    with_texts,
)
from annotation.answers.payloads import from_api
from annotation.answers.submission import Circumstances, ConflictError
from annotation.answers.types import LONGEST_SECONDS
from annotation.api.answers import HEADERS, KEY
from annotation.api.assignments import describe_text, describe_variable
from annotation.api.serializers import (
    PRESENTED,
    QUESTION,
    UNITS,
    AskedSerializer,
    EvidenceSerializer,
    TextSerializer,
)
from annotation.item_context import sheet_of
from annotation.models import Campaign, User
from annotation.models import Response as Answer
from annotation.presentation import schema
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from annotation.protocols.validation import Problem, RefusedError
from datasets.access import WORKERS
from datasets.api.base import (
    ErrorSerializer,
    List,
    Number,
    PageParameters,
    Resource,
    Strict,
    checked,
    described,
    page_example,
    page_serializer,
    rendered,
)
from datasets.api.errors import RefusedBodyError, StateConflictError, problem
from datasets.api.permissions import LABEL, READ

ANSWER = UNITS["q1:1"]
REASON = "The year stands in the second sentence."
DISPUTE: dict[str, Any] = {
    "unit": 7,
    "query": PRESENTED["query"],
    "text": QUESTION.text,
    "splits": [{"variable": "answerable", "raters": [1, 1]}],
}
NEW: dict[str, Any] = {"answer": ANSWER, "reason": REASON, "revision": 0, "seconds": 30.0}
DECISION: dict[str, Any] = {
    "revision": 1,
    "current": True,
    "answer": ANSWER,
    "reason": REASON,
    "decided_at": "2026-11-22T09:31:00Z",
    "own": True,
}
CASE: dict[str, Any] = {
    "unit": 7,
    "query": PRESENTED["query"],
    "texts": PRESENTED["texts"],
    "at_issue": None,
    "beside": None,
    "kind": "question",
    "text": QUESTION.text,
    "variables": PRESENTED["units"][0]["variables"],
    "evidence": PRESENTED["units"][0]["evidence"],
    "answer_schema": schema_of(PROTOCOLS["report-coverage"]).unit_schema("question"),
    "raters": [
        {
            "name": "Rater A",
            "values": {"answerable": "yes"},
            "spans": [{"field": "report", "start": 3, "end": 17, "text": "opened in 1901"}],
            "comment": None,
        },
        {"name": "Rater B", "values": {"answerable": "no"}, "spans": [], "comment": None},
    ],
    "revision": 0,
    "decisions": [],
}


class DisputesParameters(PageParameters):
    of = serializers.ChoiceField(
        list(DISPUTES_AMONG),
        default="all",
        help_text="where people disagree, or a judge with most of them",
    )
    state = serializers.ChoiceField(list(STATES), default="open", help_text="to decide, or decided")
    variable = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="only disputes of this variable"
    )


class SplitSerializer(serializers.Serializer[Any]):
    variable = serializers.CharField()
    raters = serializers.ListField(
        child=serializers.IntegerField(), help_text="how many raters gave each value, most first"
    )


class DisputeSerializer(serializers.Serializer[Any]):
    unit = serializers.IntegerField(help_text="what addresses call it")
    query = serializers.CharField()
    text = serializers.CharField(help_text="the words of the unit")
    splits = SplitSerializer(many=True)


class SaidSpanSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(allow_blank=True, help_text="empty where there is no such text")
    start = serializers.IntegerField(allow_null=True)
    end = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()


class RaterAnswerSerializer(serializers.Serializer[Any]):
    """What one rater said, a person or a judge, under a letter that is drawn for this unit."""

    name = serializers.CharField()
    values = serializers.DictField(child=serializers.CharField())
    spans = SaidSpanSerializer(many=True)
    comment = serializers.CharField(allow_null=True)


class DecisionSerializer(serializers.Serializer[Any]):
    revision = serializers.IntegerField(help_text="from 1")
    current = serializers.BooleanField(help_text="false where a newer one has taken its place")
    answer = serializers.DictField(help_text="as the `answer_schema` says")
    reason = serializers.CharField()
    decided_at = serializers.DateTimeField()
    own = serializers.BooleanField(
        allow_null=True, help_text="whether one decided it oneself; null where a file brought it"
    )


class CaseSerializer(serializers.Serializer[Any]):
    """A dispute as its page shows it: nothing tells who said what, or which system wrote what."""

    unit = serializers.IntegerField()
    query = serializers.CharField()
    texts = TextSerializer(many=True)
    at_issue = serializers.CharField(
        allow_null=True, help_text="the field of the one among several texts that it is about"
    )
    beside = serializers.CharField(
        allow_null=True, help_text="the field of the passage that is judged beside that answer"
    )
    kind = serializers.CharField()
    text = serializers.CharField(help_text="the words of the unit")
    variables = AskedSerializer(many=True)
    evidence = EvidenceSerializer(allow_null=True)
    answer_schema = serializers.DictField(help_text="the JSON Schema of `answer` in a decision")
    raters = RaterAnswerSerializer(many=True)
    revision = serializers.IntegerField(help_text="of the decision that stands, 0 for none")
    decisions = DecisionSerializer(many=True, help_text="the newest first")


class NewDecisionSerializer(Strict):
    answer = serializers.DictField(help_text="as the `answer_schema` says")
    reason = serializers.CharField(trim_whitespace=False)
    revision = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="of the decision that one had seen, 0 for none"
    )
    seconds = Number(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=LONGEST_SECONDS,
        help_text="time on task",
    )


class DecisionConflictSerializer(ErrorSerializer):
    current = DecisionSerializer()


class Disputes(List):
    roles = {"GET": WORKERS}
    scopes = {"GET": (READ, LABEL)}
    takes = DisputesParameters

    @described(
        "List what is to be decided",
        "The units of a campaign on which raters disagree, for its adjudicators: ties first, then "
        "small majorities, then what judges alone dispute, the units of an item together. 404 for "
        "everybody else.",
        {200: page_serializer(DisputeSerializer)},
        tag="adjudication",
        example=page_example(DISPUTE),
        operation_id="disputes_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = get_object_or_404(adjudicable(user), pk=pk)
        names = [variable.name for variable in schema(campaign).variables]
        if self.parameters["variable"] not in ("", *names):
            raise ParseError(f"there is no such variable; there are {', '.join(names)}")
        wanted = QueuePart(*(self.parameters[name] for name in ("of", "variable", "state")))

        def as_results(found: list[Dispute]) -> Sequence[Any]:
            return rendered(DisputeSerializer, list(_lines(campaign, found)))

        return self.page(cast(Any, queue(campaign, user, wanted)), as_results)


class OneDispute(Resource):
    roles = {"GET": WORKERS, "PUT": WORKERS}
    scopes = {"GET": (READ, LABEL), "PUT": (LABEL,)}

    @described(
        "Read a dispute",
        "A unit as its page shows it: the texts, what each rater said with spans, and the "
        "decisions so far. 404 where raters agree, or where one labelled it oneself.",
        {200: CaseSerializer},
        tag="adjudication",
        example=CASE,
        operation_id="disputes_read",
    )
    def get(self, request: Request, pk: int, unit: int) -> Response:
        user, case = self._case(request, pk, unit)
        return Response(CaseSerializer(as_told(case, user)).data)

    @described(
        "Decide",
        "Makes an answer the Reference's label of the unit. 201 where it is new, 200 where it "
        "stood already. 409 where a decision stands that one had not seen: read `current`, and "
        "send again with its `revision`. 422 names every problem.",
        {201: DecisionSerializer, 200: DecisionSerializer, 409: DecisionConflictSerializer},
        tag="adjudication",
        request=NewDecisionSerializer,
        sent=NEW,
        example=DECISION,
        status=201,
        refuses=(422,),
        parameters=HEADERS[:1],
        operation_id="disputes_decide",
    )
    def put(self, request: Request, pk: int, unit: int) -> Response:
        user, case = self._case(request, pk, unit)
        body = checked(NewDecisionSerializer, request.data)
        circumstances = Circumstances(
            key=_key(request), seen=body["revision"], seconds=body.get("seconds")
        )
        (name,) = case.blinding.units
        try:
            payload = from_api({"units": {name: body["answer"]}, "comment": body["reason"]})
            outcome = decide(case, user, case.blinding.for_storage(payload), circumstances, "api")
        except RefusedError as error:
            problems = [_as_problem(each) for each in error.problems]
            raise RefusedBodyError("the decision cannot be taken", problems) from error
        except ConflictError as error:
            raise _conflict(self._case(request, pk, unit)[1], user) from error
        except NotYoursError as error:
            raise Http404 from error
        told = DecisionSerializer(_decision(case, outcome.response, user)).data
        return Response(told, status=201 if outcome.created else 200)

    def _case(self, request: Request, pk: int, unit: int) -> tuple[User, Case]:
        user = get_account(request)
        campaign = get_object_or_404(adjudicable(user), pk=pk)
        case = find_case(user, campaign, unit)
        if case is None:
            raise Http404
        return user, case


def as_told(case: Case, user: User) -> dict[str, Any]:
    sheet = sheet_of(case.schema, case.spec, case.blinding.units, None, case.texts)
    (row,) = sheet.rows
    return {
        "unit": case.unit.pk,
        "query": case.unit.item.query.text,
        "texts": [describe_text(text.field, heading, text) for heading, text in sheet.texts],
        "at_issue": case.at_issue,
        "beside": case.beside,
        "kind": case.asked.kind,
        "text": row.text,
        "variables": [describe_variable(each) for each in row.variables],
        "evidence": row.rule,
        "answer_schema": case.schema.unit_schema(case.asked.kind, with_field=True),
        "raters": [_opinion(each) for each in rater_answers(case)],
        "revision": case.revision,
        "decisions": [_decision(case, each, user) for each in case.history],
    }


def _opinion(said: RaterAnswer) -> dict[str, Any]:
    return {
        "name": said.name,
        "values": said.values,
        "spans": [asdict(quote) for quote in said.quotes],
        "comment": said.comment or None,
    }


def _decision(case: Case, response: Answer, user: User) -> dict[str, Any]:
    hidden = case.blinding.for_page(response.payload) or {}
    return {
        "revision": response.revision,
        "current": response.current,
        "answer": next(iter(hidden["units"].values())),
        "reason": response.comment,
        "decided_at": response.created_at,
        "own": is_by(response, user),
    }


def _lines(campaign: Campaign, found: list[Dispute]) -> Any:
    for each, query, text in with_texts(campaign, found):
        splits = [_split(split) for split in each.splits]
        yield {"unit": each.unit, "query": query, "text": text, "splits": splits}


def _split(split: Split) -> dict[str, Any]:
    return {"variable": split.variable, "raters": split.raters}


def _key(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is not None and not KEY.fullmatch(key):
        raise ParseError("Idempotency-Key is not 1 to 64 printable ASCII characters; mend it")
    return key


def _conflict(case: Case, user: User) -> StateConflictError:
    assert case.current is not None
    current = DecisionSerializer(_decision(case, case.current, user)).data
    sentence = f"revision {case.revision} stands, which you had not seen; read it, and send again"
    return StateConflictError(sentence, more={"current": current})


def _as_problem(found: Problem) -> dict[str, str | None]:
    return problem(found.message, "reason" if found.key == "comment" else found.key)
