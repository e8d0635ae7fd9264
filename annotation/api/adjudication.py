"""The queue of an adjudicator, one dispute, and the decision on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.adjudication.case import Case, case_of, is_by
from annotation.adjudication.deciding import NotYoursError, decide
from annotation.adjudication.disputes import Dispute, Split
from annotation.adjudication.queue import Wanted, queue
from annotation.adjudication.side_by_side import Opinion, opinions
from annotation.adjudication.wording import worded
from annotation.api import adjudication_examples as examples
from annotation.api.adjudication_shapes import (
    CaseShape,
    DecisionConflictShape,
    DecisionShape,
    DisputeShape,
    DisputesParameters,
    NewDecisionShape,
)
from annotation.api.answers import HEADERS, KEY
from annotation.api.assignments import asked_shape, text_shape
from annotation.api.visible import person, visible_adjudications
from annotation.doors import from_api
from annotation.models import Campaign, User
from annotation.models import Response as Answer
from annotation.presenting import schema
from annotation.protocols.checking import Problem, RefusedError
from annotation.submit import Circumstances, ConflictError
from annotation.views.sheet import sheet_of
from datasets.api.base import WORKERS, List, Resource, checked, described, page_shape, rendered
from datasets.api.errors import RefusedBodyError, StandingError, problem
from datasets.api.permissions import LABEL, READ


class Disputes(List):
    roles = {"GET": WORKERS}
    scopes = {"GET": (READ, LABEL)}
    takes = DisputesParameters

    @described(
        "List what is to be decided",
        "The units of a campaign on which raters disagree, for its adjudicators: ties first, then "
        "small majorities, then what judges alone dispute, the units of an item together. 404 for "
        "everybody else.",
        {200: page_shape(DisputeShape)},
        tag="adjudication",
        example={"count": 1, "next": None, "previous": None, "results": [examples.DISPUTE]},
        operation_id="disputes_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = person(request)
        campaign = get_object_or_404(visible_adjudications(user), pk=pk)
        names = [variable.name for variable in schema(campaign).variables]
        if self.chosen["variable"] not in ("", *names):
            raise ParseError(f"there is no such variable; there are {', '.join(names)}")
        wanted = Wanted(*(self.chosen[name] for name in ("of", "variable", "state")))

        def as_results(found: list[Dispute]) -> Sequence[Any]:
            return rendered(DisputeShape, list(_lines(campaign, found)))

        return self.page(cast(Any, queue(campaign, user, wanted)), as_results)


class OneDispute(Resource):
    roles = {"GET": WORKERS, "PUT": WORKERS}
    scopes = {"GET": (READ, LABEL), "PUT": (LABEL,)}

    @described(
        "Read a dispute",
        "A unit as its page shows it: the texts, what each rater said with spans, and the "
        "decisions so far. 404 where raters agree, or where one labelled it oneself.",
        {200: CaseShape},
        tag="adjudication",
        example=examples.CASE,
        operation_id="disputes_read",
    )
    def get(self, request: Request, pk: int, unit: int) -> Response:
        user, case = self._case(request, pk, unit)
        return Response(CaseShape(as_told(case, user)).data)

    @described(
        "Decide",
        "Makes an answer the Reference's label of the unit. 201 where it is new, 200 where it "
        "stood already. 409 where a decision stands that one had not seen: read `current`, and "
        "send again with its `revision`. 422 names every problem.",
        {201: DecisionShape, 200: DecisionShape, 409: DecisionConflictShape},
        tag="adjudication",
        request=NewDecisionShape,
        sent=examples.NEW,
        example=examples.DECISION,
        status=201,
        refuses=(422,),
        parameters=HEADERS[:1],
        operation_id="disputes_decide",
    )
    def put(self, request: Request, pk: int, unit: int) -> Response:
        user, case = self._case(request, pk, unit)
        body = checked(NewDecisionShape, request.data)
        circumstances = Circumstances(
            key=_key(request), seen=body["revision"], seconds=body.get("seconds")
        )
        (name,) = case.blinding.units
        try:
            payload = from_api({"units": {name: body["answer"]}, "comment": body["reason"]})
            outcome = decide(case, user, case.blinding.revealed(payload), circumstances, "api")
        except RefusedError as error:
            problems = [_as_problem(each) for each in error.problems]
            raise RefusedBodyError("the decision cannot be taken", problems) from error
        except ConflictError as error:
            raise _conflict(self._case(request, pk, unit)[1], user) from error
        except NotYoursError as error:
            raise Http404 from error
        told = DecisionShape(_decision(case, outcome.response, user)).data
        return Response(told, status=201 if outcome.created else 200)

    def _case(self, request: Request, pk: int, unit: int) -> tuple[User, Case]:
        user = person(request)
        campaign = get_object_or_404(visible_adjudications(user), pk=pk)
        case = case_of(user, campaign, unit)
        if case is None:
            raise Http404
        return user, case


def as_told(case: Case, user: User) -> dict[str, Any]:
    sheet = sheet_of(case.schema, case.spec, case.blinding.units, None, case.texts)
    (row,) = sheet.rows
    return {
        "unit": case.unit.pk,
        "query": case.unit.item.query.text,
        "texts": [text_shape(text.field, heading, text) for heading, text in sheet.texts],
        "at_issue": case.at_issue,
        "beside": case.beside,
        "kind": case.asked.kind,
        "text": row.text,
        "variables": [asked_shape(each) for each in row.variables],
        "evidence": row.rule,
        "answer_schema": case.schema.unit_schema(case.asked.kind, placed=True),
        "raters": [_opinion(each) for each in opinions(case)],
        "revision": case.revision,
        "decisions": [_decision(case, each, user) for each in case.history],
    }


def _opinion(said: Opinion) -> dict[str, Any]:
    return {
        "name": said.name,
        "values": said.values,
        "spans": [asdict(quote) for quote in said.quotes],
        "comment": said.comment or None,
    }


def _decision(case: Case, response: Answer, user: User) -> dict[str, Any]:
    hidden = case.blinding.hidden(response.payload) or {}
    return {
        "revision": response.revision,
        "current": response.current,
        "answer": next(iter(hidden["units"].values())),
        "reason": response.comment,
        "decided_at": response.created_at,
        "own": is_by(response, user),
    }


def _lines(campaign: Campaign, found: list[Dispute]) -> Any:
    for each, query, text in worded(campaign, found):
        splits = [_split(split) for split in each.splits]
        yield {"unit": each.unit, "query": query, "text": text, "splits": splits}


def _split(split: Split) -> dict[str, Any]:
    return {"variable": split.variable, "raters": split.raters}


def _key(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is not None and not KEY.fullmatch(key):
        raise ParseError("Idempotency-Key is not 1 to 64 printable ASCII characters; mend it")
    return key


def _conflict(case: Case, user: User) -> StandingError:
    assert case.current is not None
    current = DecisionShape(_decision(case, case.current, user)).data
    sentence = f"revision {case.revision} stands, which you had not seen; read it, and send again"
    return StandingError(sentence, more={"current": current})


def _as_problem(found: Problem) -> dict[str, str | None]:
    return problem(found.message, "reason" if found.key == "comment" else found.key)
