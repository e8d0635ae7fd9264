"""API endpoints of preparation: steps, authored answers, their reviews, and the new batch."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account
from annotation.api.access import check_blind
from annotation.campaigns.design import DesignError
from annotation.models import Campaign, Rater, rater_of
from annotation.preparation.base import Step
from annotation.registry import STEPS
from datasets.access import READERS
from datasets.api.base import (
    List,
    Resource,
    describe_endpoint,
    header,
    page_example,
    page_serializer,
    serialize,
    validate,
)
from datasets.api.batches import visible_batch, visible_batches
from datasets.api.concurrency import (
    check_etag,
    etag_of,
    has_stored_answer,
    idempotent,
    mark_idempotent,
    run_once,
)
from datasets.api.errors import ApiError, RefusedBodyError, StateConflictError, problem
from datasets.api.jobs import JobSerializer, accepted_response, current_job
from datasets.api.permissions import MANAGE, READ
from datasets.jobs import results
from datasets.jobs.queue import is_requested
from datasets.models import Batch
from datasets.teams import check_managed
from judging.access import (
    authored_responses,
    check_reviewer,
    find_authored_answer,
    find_step,
    step_campaign,
)
from judging.api.preparation_serializers import (
    A_REVIEW,
    A_STEP,
    ACCEPTED,
    BUILT,
    NEW_BATCH,
    PREPARED,
    REVIEWED,
    WHOLE_PREPARED,
    AcceptedSerializer,
    AcceptSerializer,
    BuiltSerializer,
    NewBatchSerializer,
    NewReviewSerializer,
    PreparedParameters,
    PreparedSerializer,
    ReviewedMeanwhileSerializer,
    StepSerializer,
    StepsSerializer,
    WholePreparedSerializer,
)
from judging.models import Review
from judging.preparation.build import (
    is_taken,
    read_thresholds,
)
from judging.preparation.jobs import BUILD, question
from judging.preparation.review import (
    AuthoredAnswer,
    InvalidReviewError,
    accept_all,
    authored_answers,
    review_version,
    store_review,
)
from judging.preparation.status import WAITING, author_statuses, campaign_for, step_statuses

STEP = OpenApiParameter("step", str, OpenApiParameter.PATH, enum=list(STEPS))
NOT_VISIBLE = "this step is another researcher's work; ask one of its people, or an administrator"
NOT_BUILT = "no batch was created"
NAME_TAKEN = "a batch has this name already; choose another"


class HiddenError(ApiError):
    """The step exists, but the account may not read it."""

    status_code = 403


class Steps(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}

    @describe_endpoint(
        "List the steps of a batch's preparation",
        "All steps, each with its authors, their runs, and the numbers of their answers by review.",
        {200: StepsSerializer},
        tag="batches",
        example={"results": [A_STEP]},
        operation_id="preparation_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        works = step_statuses(visible_batch(request.user, pk), get_account(request))
        return Response(StepsSerializer({"results": works}).data)


class OneStep(Resource):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (READ, MANAGE), "POST": (MANAGE,)}

    @describe_endpoint(
        "Read a step of a batch's preparation",
        "The step with its authors, their runs, and the numbers of their answers by review.",
        {200: StepSerializer},
        tag="batches",
        example=A_STEP,
        parameters=[STEP],
        operation_id="preparation_read",
    )
    def get(self, request: Request, pk: int, step: str) -> Response:
        return _step_response(request, visible_batch(request.user, pk), find_step(step))

    @describe_endpoint(
        "Begin a step of a batch's preparation",
        "Creates the campaign in which judges write for the step. Then start their runs over "
        "it. A step that has begun is returned unchanged (200). 422 if the batch has nothing "
        "for the step, or if the step asks nobody.",
        {201: StepSerializer, 200: StepSerializer},
        tag="batches",
        example={**A_STEP, "authors": []},
        status=201,
        refuses=(422,),
        parameters=[STEP],
        operation_id="preparation_begin",
    )
    @idempotent
    def post(self, request: Request, pk: int, step: str) -> Response:
        batch, chosen = visible_batch(request.user, pk), find_step(step)
        check_managed(request.user, batch)
        (work,) = step_statuses(batch, get_account(request), (chosen,))
        if work.hidden:
            raise HiddenError(NOT_VISIBLE)
        try:
            campaign_for(batch, chosen, get_account(request))
        except DesignError as error:
            raise RefusedBodyError(str(error)) from error
        return _step_response(request, batch, chosen, 200 if work.campaign else 201)


class AcceptAll(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Accept all answers without a problem",
        "Accepts an author's answers that have no review and no problem. 403 while you have an "
        "open item in the campaign.",
        {200: AcceptedSerializer},
        tag="batches",
        request=AcceptSerializer,
        sent={"author": "author"},
        example=ACCEPTED,
        refuses=(422,),
        parameters=[STEP],
        operation_id="preparation_accept",
    )
    @idempotent
    def post(self, request: Request, pk: int, step: str) -> Response:
        batch, chosen = visible_batch(request.user, pk), find_step(step)
        campaign = step_campaign(request, batch, chosen)
        check_reviewer(get_account(request), campaign)
        check_blind(get_account(request), campaign)
        author = _author(campaign, validate(AcceptSerializer, request.data)["author"])
        outcomes = accept_all(
            campaign, authored_answers(chosen, campaign, author), rater_of(get_account(request))
        )
        counts = {
            "accepted": outcomes["accepted"],
            "left": outcomes["left, with a problem"],
            "reviewed_before": outcomes["reviewed before"],
        }
        return Response(AcceptedSerializer(counts).data)


class BuildBatch(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Build a batch from a step",
        "Creates a new batch from an author's accepted answers; the step's own batch does not "
        "change. 409 if answers or reviews are missing, unless a partial batch is wanted. 202 with "
        "a job if it takes more than 20 seconds: repeat the request, which joins the same job.",
        {201: BuiltSerializer, 202: JobSerializer},
        tag="batches",
        request=NewBatchSerializer,
        sent=NEW_BATCH,
        example=BUILT,
        status=201,
        refuses=(409, 422),
        parameters=[STEP],
        operation_id="preparation_build",
    )
    @mark_idempotent
    def post(self, request: Request, pk: int, step: str) -> Response:
        if has_stored_answer(request):
            return run_once(request, lambda: Response())
        user, batch = get_account(request), visible_batch(request.user, pk)
        chosen = find_step(step)
        campaign = step_campaign(request, batch, chosen) if chosen.protocol else None
        check_managed(user, batch)
        if campaign is not None:
            check_blind(user, campaign)
        given = validate(NewBatchSerializer, request.data)
        author = _batch_author(campaign, given.get("author"))
        try:
            numbers = read_thresholds(chosen, given.get("thresholds", {}))
        except ValueError as error:
            raise RefusedBodyError(NOT_BUILT, [problem(str(error), "thresholds")]) from error
        name, partial = given["name"], given["partial"]
        asked = question(chosen, batch, campaign, author, numbers, name, partial, user)
        if is_taken(name) and not is_requested(BUILD, asked, user):
            raise RefusedBodyError(NOT_BUILT, [problem(NAME_TAKEN, "name")])
        # Outside the transaction of `run_once`, in which no worker would see the job.
        job = current_job(request, BUILD, asked, address="")
        if job is None:
            return accepted_response(request, address="")
        found = results.value(job)
        return run_once(request, lambda: _build_response(request, found))


def _step_response(request: Request, batch: Batch, step: Step, status: int = 200) -> Response:
    (work,) = step_statuses(batch, get_account(request), (step,))
    return Response(StepSerializer(work).data, status=status)


def _author(campaign: Campaign, name: str) -> Rater:
    """Return the author of exactly this name. Raises RefusedBodyError."""
    found = [each.rater for each in author_statuses(campaign) if each.rater.name == name]
    if not found:
        wrong = problem("is not an author of this step; see its authors", "author")
        raise RefusedBodyError("nothing was changed", [wrong])
    return found[0]


def _build_response(request: Request, found: dict[str, Any]) -> Response:
    """Return what a job built. Raises StateConflictError or RefusedBodyError."""
    if "refused" in found:
        if found["open"]:
            raise StateConflictError(found["refused"])
        raise RefusedBodyError(found["refused"])
    new = visible_batches(request.user).get(pk=found["batch"])
    return Response(BuiltSerializer({**found, "batch": new}).data, status=201)


def _batch_author(campaign: Campaign | None, name: str | None) -> Rater | None:
    """Return the author whose answers form the batch, or None if the step asks nobody."""
    if campaign is None and name is not None:
        wrong = problem("this step asks nobody; leave it out", "author")
        raise RefusedBodyError(NOT_BUILT, [wrong])
    if campaign is None:
        return None
    if name is None:
        raise RefusedBodyError(NOT_BUILT, [problem("name the author", "author")])
    return _author(campaign, name)


IN_ORDER = ("assignment__item__position", "assignment__scope", "pk")
RELATED = ("assignment__item__query", "assignment__rater", "review__by")
REVIEW_NOT_STORED = "the review was not stored"
REVIEWED_MEANWHILE = (
    "the answer was reviewed in the meantime; read `current`, and send the review again with "
    "its ETag"
)
IF_MATCH = header(
    "If-Match",
    "The ETag of the answer that you read: 409 if it was reviewed since then. Without this "
    "header, 409 if it has any review.",
)


class Prepared(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}
    takes = PreparedParameters

    @describe_endpoint(
        "List the authored answers of a step",
        "The answers of its authors with their reviews, in the order of the items. 403 while "
        "you have an open item in the campaign.",
        {200: page_serializer(PreparedSerializer)},
        tag="batches",
        example=page_example(PREPARED),
        parameters=[STEP, PreparedParameters],
        operation_id="prepared_list",
    )
    def get(self, request: Request, pk: int, step: str) -> Response:
        chosen = find_step(step)
        campaign = step_campaign(request, visible_batch(request.user, pk), chosen)
        check_blind(get_account(request), campaign)
        rows = authored_responses(get_account(request)).filter(assignment__item__campaign=campaign)
        if "author" in self.parameters:
            rows = rows.filter(assignment__rater__name=self.parameters["author"])
        if "state" in self.parameters:
            state = self.parameters["state"]
            rows = rows.filter(review__verdict=None if state == WAITING else state)

        def as_results(found: Sequence[Any]) -> list[Any]:
            return serialize(PreparedSerializer, [AuthoredAnswer(chosen, each) for each in found])

        return self.page(rows.select_related(*RELATED).order_by(*IN_ORDER), as_results)


class OnePrepared(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}

    @describe_endpoint(
        "Read an authored answer",
        "An author's answer with its texts, problems and review. 403 while you have an open "
        "item in the campaign.",
        {200: WholePreparedSerializer},
        tag="batches",
        example=WHOLE_PREPARED,
        operation_id="prepared_read",
    )
    def get(self, request: Request, uid: uuid.UUID) -> Response:
        each = find_authored_answer(get_account(request), uid)
        check_blind(get_account(request), each.assignment.item.campaign)
        return _answer_response(each)


class Reviewed(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Review an authored answer",
        "Accepts an answer, unchanged or changed, or rejects it. The author's own answer is "
        "kept. 409 if there is a review that you had not read. 422 names every problem of an "
        "answer that cannot be accepted.",
        {200: WholePreparedSerializer, 409: ReviewedMeanwhileSerializer},
        tag="batches",
        request=NewReviewSerializer,
        sent=A_REVIEW,
        example=REVIEWED,
        refuses=(422,),
        parameters=[IF_MATCH],
        operation_id="prepared_review",
    )
    @idempotent
    def post(self, request: Request, uid: uuid.UUID) -> Response:
        user = get_account(request)
        with transaction.atomic():
            rows = authored_responses(user).select_for_update(of=("self",))
            get_object_or_404(rows, assignment__uid=uid)
            each = find_authored_answer(user, uid)
            check_reviewer(user, each.assignment.item.campaign)
            check_blind(user, each.assignment.item.campaign)
            body = validate(NewReviewSerializer, request.data)
            _check_read(request, each)
            _review(each, body, request)
        return _answer_response(find_authored_answer(user, uid))


def _check_read(request: Request, each: AuthoredAnswer) -> None:
    """Raise StateConflictError if the client had not read the current review."""

    def current() -> Any:
        return WholePreparedSerializer(each).data

    if request.headers.get("If-Match") is not None:
        check_etag(request, _tag(each), current)
    elif each.review is not None:
        raise StateConflictError(REVIEWED_MEANWHILE, more={"current": current()})


def _review(each: AuthoredAnswer, body: dict[str, Any], request: Request) -> None:
    """Store a review. Raises RefusedBodyError."""
    verdict = body["verdict"]
    if verdict == Review.Verdict.CHANGED and "answer" not in body:
        raise RefusedBodyError(REVIEW_NOT_STORED, [problem("send the changed answer", "answer")])
    answer = body.get("answer", each.final)
    try:
        store_review(each, verdict, answer, body["note"], rater_of(get_account(request)))
    except InvalidReviewError as error:
        found = [problem(message, "answer") for message in error.problems or (str(error),)]
        raise RefusedBodyError(f"{REVIEW_NOT_STORED}; {error.remedy}", found) from error


def _tag(each: AuthoredAnswer) -> str:
    return etag_of(each.response.pk, review_version(each))


def _answer_response(each: AuthoredAnswer) -> Response:
    return Response(WholePreparedSerializer(each).data, headers={"ETag": _tag(each)})
