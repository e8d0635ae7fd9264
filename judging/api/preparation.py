"""API endpoints of preparation: steps, authored answers, their reviews, and the new batch."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from annotation.access import get_account
from annotation.api.access import check_blind
from annotation.campaigns.design import DesignError
from annotation.models import Campaign, Rater, rater_of
from annotation.preparation.base import Step
from annotation.registry import STEPS
from datasets.access import check_managed
from datasets.api.base import (
    ApiError,
    RefusedBodyError,
    StateConflictError,
    conflict_serializer,
    header,
    problem,
    results_serializer,
)
from datasets.api.batches import visible_batch, visible_batches
from datasets.api.concurrency import check_etag, etag_of
from datasets.api.permissions import MANAGE, READ
from datasets.api.routes import Reply, Routes, given, given_filters, result_of
from datasets.models import Batch
from datasets.work.queue import is_requested
from judging.access import (
    authored_responses,
    check_reviewer,
    find_authored_answer,
    find_step,
    step_campaign,
)
from judging.api.preparation_serializers import (
    AcceptedSerializer,
    AcceptSerializer,
    BuiltSerializer,
    NewBatchSerializer,
    NewReviewSerializer,
    PreparedParameters,
    PreparedSerializer,
    StepSerializer,
    WholePreparedSerializer,
)
from judging.models import Review
from judging.preparation.build import (
    is_taken,
    read_thresholds,
)
from judging.preparation.build_job import BUILD, question
from judging.preparation.review import (
    AuthoredAnswer,
    InvalidReviewError,
    accept_all,
    authored_answers,
    review_version,
    store_review,
)
from judging.preparation.status import (
    WAITING,
    StepStatus,
    author_statuses,
    campaign_for,
    step_statuses,
)

api = Routes("batches", reads=(READ, MANAGE))

STEP = OpenApiParameter("step", str, OpenApiParameter.PATH, enum=list(STEPS))
NOT_VISIBLE = "this step is another researcher's work; ask one of its people, or an administrator"
NOT_BUILT = "no batch was created"
NAME_TAKEN = "a batch has this name already; choose another"


class HiddenError(ApiError):
    """The step exists, but the account may not read it."""

    status_code = 403


@api.get(
    "batches/<int:pk>/preparation/",
    "List the steps of a batch's preparation",
    "All steps, each with its authors, their runs, and the numbers of their answers by review.",
    results_serializer("Steps", StepSerializer),
    name="preparation",
)
def preparation_list(request: Request, pk: int) -> Any:
    works = step_statuses(visible_batch(request.user, pk), get_account(request))
    return {"results": works}


@api.get(
    "batches/<int:pk>/preparation/<slug:step>/",
    "Read a step of a batch's preparation",
    "The step with its authors, their runs, and the numbers of their answers by review.",
    StepSerializer,
    name="preparation-step",
    parameters=[STEP],
)
def preparation_read(request: Request, pk: int, step: str) -> Any:
    return _status_of(request, visible_batch(request.user, pk), find_step(step))


@api.post(
    "batches/<int:pk>/preparation/<slug:step>/",
    "Begin a step of a batch's preparation",
    "Creates the campaign in which judges write for the step. Then start their runs over "
    "it. A step that has begun is returned unchanged (200). 422 if the batch has nothing "
    "for the step, or if the step asks nobody.",
    StepSerializer,
    status=201,
    also=(200,),
    raises={DesignError: 422},
    parameters=[STEP],
    once=True,
)
def preparation_begin(request: Request, pk: int, step: str) -> Any:
    batch, chosen = visible_batch(request.user, pk), find_step(step)
    check_managed(request.user, batch)
    work = _status_of(request, batch, chosen)
    if work.hidden:
        raise HiddenError(NOT_VISIBLE)
    campaign_for(batch, chosen, get_account(request))
    return Reply(_status_of(request, batch, chosen), 200 if work.campaign else 201)


@api.post(
    "batches/<int:pk>/preparation/<slug:step>/accept/",
    "Accept all answers without a problem",
    "Accepts an author's answers that have no review and no problem. 403 while you have an "
    "open item in the campaign.",
    AcceptedSerializer,
    name="preparation-accept",
    body=AcceptSerializer,
    refuses=(422,),
    parameters=[STEP],
    once=True,
)
def preparation_accept(request: Request, pk: int, step: str) -> Any:
    user, chosen = get_account(request), find_step(step)
    campaign = step_campaign(request, visible_batch(request.user, pk), chosen)
    check_reviewer(user, campaign)
    check_blind(user, campaign)
    author = _author(campaign, given(request)["author"])
    answers = authored_answers(chosen, campaign, author)
    outcomes = accept_all(campaign, answers, rater_of(user))
    return {
        "accepted": outcomes["accepted"],
        "left": outcomes["left, with a problem"],
        "reviewed_before": outcomes["reviewed before"],
    }


@api.post(
    "batches/<int:pk>/preparation/<slug:step>/build/",
    "Build a batch from a step",
    "Creates a new batch from an author's accepted answers; the step's own batch does not "
    "change. 409 if answers or reviews are missing, unless a partial batch is wanted. 202 with "
    "a job if it takes more than 20 seconds: repeat the request, which joins the same job.",
    BuiltSerializer,
    name="preparation-build",
    body=NewBatchSerializer,
    status=201,
    job=True,
    refuses=(409, 422),
    parameters=[STEP],
    once_last=True,
)
def preparation_build(request: Request, pk: int, step: str) -> Any:
    user, batch = get_account(request), visible_batch(request.user, pk)
    chosen = find_step(step)
    campaign = step_campaign(request, batch, chosen) if chosen.protocol else None
    check_managed(user, batch)
    if campaign is not None:
        check_blind(user, campaign)
    body = given(request)
    author = _batch_author(campaign, body.get("author"))
    try:
        numbers = read_thresholds(chosen, body.get("thresholds", {}))
    except ValueError as error:
        raise RefusedBodyError(NOT_BUILT, [problem(str(error), "thresholds")]) from error
    name, partial = body["name"], body["partial"]
    asked = question(chosen, batch, campaign, author, numbers, name, partial, user)
    if is_taken(name) and not is_requested(BUILD, asked, user):
        raise RefusedBodyError(NOT_BUILT, [problem(NAME_TAKEN, "name")])
    found = result_of(request, BUILD, asked, address="")
    return lambda: _built(request, found)


def _status_of(request: Request, batch: Batch, step: Step) -> StepStatus:
    (work,) = step_statuses(batch, get_account(request), (step,))
    return work


def _author(campaign: Campaign, name: str) -> Rater:
    """Return the author of exactly this name. Raises RefusedBodyError."""
    found = [each.rater for each in author_statuses(campaign) if each.rater.name == name]
    if not found:
        wrong = problem("is not an author of this step; see its authors", "author")
        raise RefusedBodyError("nothing was changed", [wrong])
    return found[0]


def _built(request: Request, found: dict[str, Any]) -> dict[str, Any]:
    """Return what a job built. Raises StateConflictError or RefusedBodyError."""
    if "refused" in found:
        if found["open"]:
            raise StateConflictError(found["refused"])
        raise RefusedBodyError(found["refused"])
    return {**found, "batch": visible_batches(request.user).get(pk=found["batch"])}


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


@api.list(
    "batches/<int:pk>/preparation/<slug:step>/answers/",
    "List the authored answers of a step",
    "The answers of its authors with their reviews, in the order of the items. 403 while "
    "you have an open item in the campaign.",
    PreparedSerializer,
    name="prepared-list",
    takes=PreparedParameters,
    parameters=[STEP],
)
def prepared_list(request: Request, pk: int, step: str) -> Any:
    chosen = find_step(step)
    campaign = step_campaign(request, visible_batch(request.user, pk), chosen)
    check_blind(get_account(request), campaign)
    filters = given_filters(request, author="assignment__rater__name", state="review__verdict")
    if filters.get("review__verdict") == WAITING:
        filters["review__verdict"] = None
    rows = authored_responses(get_account(request)).filter(
        assignment__item__campaign=campaign, **filters
    )
    return Reply(
        rows.select_related(*RELATED).order_by(*IN_ORDER),
        lines=lambda found: [AuthoredAnswer(chosen, each) for each in found],
    )


@api.get(
    "preparation/<uuid:uid>/",
    "Read an authored answer",
    "An author's answer with its texts, problems and review. 403 while you have an open "
    "item in the campaign.",
    WholePreparedSerializer,
    name="prepared",
)
def prepared_read(request: Request, uid: uuid.UUID) -> Any:
    each = find_authored_answer(get_account(request), uid)
    check_blind(get_account(request), each.assignment.item.campaign)
    return _with_tag(each)


@api.post(
    "preparation/<uuid:uid>/review/",
    "Review an authored answer",
    "Accepts an answer, unchanged or changed, or rejects it. The author's own answer is "
    "kept. 409 if there is a review that you had not read. 422 names every problem of an "
    "answer that cannot be accepted.",
    WholePreparedSerializer,
    name="review",
    body=NewReviewSerializer,
    conflict=conflict_serializer(
        "ReviewedMeanwhile", current=WholePreparedSerializer(help_text="the current state")
    ),
    refuses=(422,),
    parameters=[IF_MATCH],
    once=True,
)
def prepared_review(request: Request, uid: uuid.UUID) -> Any:
    user = get_account(request)
    with transaction.atomic():
        rows = authored_responses(user).select_for_update(of=("self",))
        get_object_or_404(rows, assignment__uid=uid)
        each = find_authored_answer(user, uid)
        check_reviewer(user, each.assignment.item.campaign)
        check_blind(user, each.assignment.item.campaign)
        body = given(request)
        _check_read(request, each)
        _review(each, body, rater_of(user))
    return _with_tag(find_authored_answer(user, uid))


def _check_read(request: Request, each: AuthoredAnswer) -> None:
    """Raise StateConflictError if the client had not read the current review."""

    def current() -> Any:
        return WholePreparedSerializer(each).data

    if request.headers.get("If-Match") is not None:
        check_etag(request, _tag(each), current)
    elif each.review is not None:
        raise StateConflictError(REVIEWED_MEANWHILE, more={"current": current()})


def _review(each: AuthoredAnswer, body: dict[str, Any], by: Rater) -> None:
    """Store a review. Raises RefusedBodyError."""
    verdict = body["verdict"]
    if verdict == Review.Verdict.CHANGED and "answer" not in body:
        raise RefusedBodyError(REVIEW_NOT_STORED, [problem("send the changed answer", "answer")])
    answer = body.get("answer", each.final)
    try:
        store_review(each, verdict, answer, body["note"], by)
    except InvalidReviewError as error:
        found = [problem(message, "answer") for message in error.problems or (str(error),)]
        raise RefusedBodyError(f"{REVIEW_NOT_STORED}; {error.remedy}", found) from error


def _tag(each: AuthoredAnswer) -> str:
    return etag_of(each.response.pk, review_version(each))


def _with_tag(each: AuthoredAnswer) -> Reply:
    return Reply(each, headers={"ETag": _tag(each)})
