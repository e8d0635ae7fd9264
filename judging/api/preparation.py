"""API endpoints of preparing a batch: steps, authored answers, reviews, the new batch."""

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
    checked,
    described,
    header,
    page_example,
    page_serializer,
    rendered,
)
from datasets.api.batches import visible_batch, visible_batches
from datasets.api.concurrency import check_etag, etag_of, once
from datasets.api.errors import ApiError, RefusedBodyError, StateConflictError, problem
from datasets.api.permissions import MANAGE, READ
from datasets.models import Batch
from datasets.rows import InputError
from judging.access import authored_responses, step_called, step_campaign, written_by
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
    MOST_QUERIES,
    NothingLeftError,
    UnreviewedError,
    accepted,
    build,
    numbers_of,
)
from judging.preparation.review import (
    ProblemsError,
    Written,
    accept_all,
    judge_one,
    seen_of,
    written,
)
from judging.preparation.status import WAITING, authors_of, campaign_for, works_on

STEP = OpenApiParameter("step", str, OpenApiParameter.PATH, enum=list(STEPS))
HIDDEN = "this step is another researcher's work; ask one of its people, or an administrator"
NOT_BUILT = "no batch is made"
TAKEN = "a batch has this name already; choose another"
TOO_MANY = f"this batch has more than {MOST_QUERIES} queries; build it with build_batch"


class HiddenError(ApiError):
    """The step is there, and not for this account."""

    status_code = 403


class Steps(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}

    @described(
        "List the steps of a batch's preparation",
        "All steps, each with its authors, their runs, and how much of what they wrote is "
        "reviewed and how.",
        {200: StepsSerializer},
        tag="batches",
        example={"results": [A_STEP]},
        operation_id="preparation_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        works = works_on(visible_batch(request.user, pk), get_account(request))
        return Response(StepsSerializer({"results": works}).data)


class OneStep(Resource):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (READ, MANAGE), "POST": (MANAGE,)}

    @described(
        "Read a step of a batch's preparation",
        "Its authors, their runs, and how much is reviewed.",
        {200: StepSerializer},
        tag="batches",
        example=A_STEP,
        parameters=[STEP],
        operation_id="preparation_read",
    )
    def get(self, request: Request, pk: int, step: str) -> Response:
        return _told(request, visible_batch(request.user, pk), step_called(step))

    @described(
        "Begin a step of a batch's preparation",
        "Makes the campaign in which judges write for the step; start their runs over it. A step "
        "that is begun is answered as it stands (200). 422 where the batch holds nothing for it, "
        "or where it asks nobody.",
        {201: StepSerializer, 200: StepSerializer},
        tag="batches",
        example={**A_STEP, "authors": []},
        status=201,
        refuses=(422,),
        parameters=[STEP],
        operation_id="preparation_begin",
    )
    @once
    def post(self, request: Request, pk: int, step: str) -> Response:
        batch, chosen = visible_batch(request.user, pk), step_called(step)
        (work,) = works_on(batch, get_account(request), (chosen,))
        if work.hidden:
            raise HiddenError(HIDDEN)
        try:
            campaign_for(batch, chosen, get_account(request))
        except DesignError as error:
            raise RefusedBodyError(str(error)) from error
        return _told(request, batch, chosen, 200 if work.campaign else 201)


class AcceptAll(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @described(
        "Accept all that has no problem",
        "Accepts what an author wrote for a step and nobody has reviewed yet, but for what has a "
        "problem; not while one has an open item in its campaign.",
        {200: AcceptedSerializer},
        tag="batches",
        request=AcceptSerializer,
        sent={"author": "author"},
        example=ACCEPTED,
        refuses=(422,),
        parameters=[STEP],
        operation_id="preparation_accept",
    )
    @once
    def post(self, request: Request, pk: int, step: str) -> Response:
        batch, chosen = visible_batch(request.user, pk), step_called(step)
        campaign = step_campaign(request, batch, chosen)
        check_blind(get_account(request), campaign)
        author = _author(campaign, checked(AcceptSerializer, request.data)["author"])
        told = accept_all(
            campaign, written(chosen, campaign, author), rater_of(get_account(request))
        )
        counts = {
            "accepted": told["accepted"],
            "left": told["left, with a problem"],
            "reviewed_before": told["reviewed before"],
        }
        return Response(AcceptedSerializer(counts).data)


class BuildBatch(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @described(
        "Build a batch from a step",
        "Makes a new batch of what was accepted of an author; the batch that the step began with "
        f"stays as it is. For up to {MOST_QUERIES:,} queries. 409 where answers are missing or "
        "wait for their review, unless a partial batch is wanted.",
        {201: BuiltSerializer},
        tag="batches",
        request=NewBatchSerializer,
        sent=NEW_BATCH,
        example=BUILT,
        status=201,
        refuses=(409, 422),
        parameters=[STEP],
        operation_id="preparation_build",
    )
    @once
    def post(self, request: Request, pk: int, step: str) -> Response:
        batch, chosen = visible_batch(request.user, pk), step_called(step)
        campaign = step_campaign(request, batch, chosen) if chosen.protocol else None
        if campaign is not None:
            check_blind(get_account(request), campaign)
        wanted = checked(NewBatchSerializer, request.data)
        there = visible_batches(request.user).filter(name=wanted["name"])
        if there.exists():
            raise RefusedBodyError(NOT_BUILT, [problem(TAKEN, "name")])
        if batch.counts.get("queries", 0) > MOST_QUERIES:
            raise RefusedBodyError(TOO_MANY)
        return _built(request, batch, chosen, campaign, wanted)


def _told(request: Request, batch: Batch, step: Step, status: int = 200) -> Response:
    (work,) = works_on(batch, get_account(request), (step,))
    return Response(StepSerializer(work).data, status=status)


def _author(campaign: Campaign, name: str) -> Rater:
    """The author of exactly this name. Raises RefusedBodyError."""
    found = [each.rater for each in authors_of(campaign) if each.rater.name == name]
    if not found:
        wrong = problem("names nobody who wrote for this step; see its authors", "author")
        raise RefusedBodyError("nothing is done", [wrong])
    return found[0]


def _built(
    request: Request, batch: Batch, step: Step, campaign: Campaign | None, wanted: dict[str, Any]
) -> Response:
    """The new batch with what became of the queries. Raises ApiError."""
    author = _author_of(campaign, wanted.get("author"))
    try:
        numbers = numbers_of(step, wanted.get("thresholds", {}))
    except ValueError as error:
        raise RefusedBodyError(NOT_BUILT, [problem(str(error), "thresholds")]) from error
    try:
        results = accepted(step, campaign, author, wanted["partial"]) if campaign and author else {}
        built, _ = build(step, batch, results, numbers, wanted["name"])
    except UnreviewedError as error:
        raise StateConflictError(str(error)) from error
    except NothingLeftError as error:
        raise RefusedBodyError(str(error)) from error
    except InputError as error:
        # Its place is a file that nobody but the server has seen.
        raise RefusedBodyError(NOT_BUILT, [problem(f"{error.wrong}; {error.mend}")]) from error
    made = visible_batches(request.user).get(name=wanted["name"])
    told = {"batch": made, "queries": built.queries, "left_out": built.left_out}
    return Response(BuiltSerializer(told).data, status=201)


def _author_of(campaign: Campaign | None, name: str | None) -> Rater | None:
    """Whose answers a batch is to be made of; nobody's where the step asks nobody."""
    if campaign is None and name is not None:
        wrong = problem("this step asks nobody; leave it out", "author")
        raise RefusedBodyError(NOT_BUILT, [wrong])
    if campaign is None:
        return None
    if name is None:
        raise RefusedBodyError(NOT_BUILT, [problem("say whose answers", "author")])
    return _author(campaign, name)


IN_ORDER = ("assignment__item__position", "assignment__scope", "pk")
BESIDE = ("assignment__item__query", "assignment__rater", "review__by")
NOT_KEPT = "the review is not kept"
MEANWHILE = (
    "somebody has reviewed this answer already; look at `current`, and send again with its ETag"
)
SEEN = header(
    "If-Match",
    "The ETag of the answer as one had read it: 409 where it was reviewed since. Without it, 409 "
    "where it was reviewed at all.",
)


class Prepared(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}
    takes = PreparedParameters

    @described(
        "List what was written for a step",
        "The answers of its authors with their reviews, in the order of the items; not while one "
        "has an open item in its campaign.",
        {200: page_serializer(PreparedSerializer)},
        tag="batches",
        example=page_example(PREPARED),
        parameters=[STEP, PreparedParameters],
        operation_id="prepared_list",
    )
    def get(self, request: Request, pk: int, step: str) -> Response:
        chosen = step_called(step)
        campaign = step_campaign(request, visible_batch(request.user, pk), chosen)
        check_blind(get_account(request), campaign)
        rows = authored_responses(get_account(request)).filter(assignment__item__campaign=campaign)
        if "author" in self.parameters:
            rows = rows.filter(assignment__rater__name=self.parameters["author"])
        if "state" in self.parameters:
            state = self.parameters["state"]
            rows = rows.filter(review__verdict=None if state == WAITING else state)

        def as_results(found: Sequence[Any]) -> list[Any]:
            return rendered(PreparedSerializer, [Written(chosen, each) for each in found])

        return self.page(rows.select_related(*BESIDE).order_by(*IN_ORDER), as_results)


class OnePrepared(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}

    @described(
        "Read what was written",
        "An author's answer with the texts that it was given to, its problems and its review; not "
        "while one has an open item in its campaign.",
        {200: WholePreparedSerializer},
        tag="batches",
        example=WHOLE_PREPARED,
        operation_id="prepared_read",
    )
    def get(self, request: Request, uid: uuid.UUID) -> Response:
        each = written_by(get_account(request), uid)
        check_blind(get_account(request), each.assignment.item.campaign)
        return _whole(each)


class Reviewed(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @described(
        "Review what was written",
        "Accepts an answer, as it stands or changed, or rejects it; what the author wrote is kept. "
        "409 where a review stands that one had not seen. 422 names what is wrong with an answer "
        "that is to be accepted.",
        {200: WholePreparedSerializer, 409: ReviewedMeanwhileSerializer},
        tag="batches",
        request=NewReviewSerializer,
        sent=A_REVIEW,
        example=REVIEWED,
        refuses=(422,),
        parameters=[SEEN],
        operation_id="prepared_review",
    )
    @once
    def post(self, request: Request, uid: uuid.UUID) -> Response:
        user = get_account(request)
        with transaction.atomic():
            rows = authored_responses(user).select_for_update(of=("self",))
            get_object_or_404(rows, assignment__uid=uid)
            each = written_by(user, uid)
            check_blind(user, each.assignment.item.campaign)
            wanted = checked(NewReviewSerializer, request.data)
            _check_seen(request, each)
            _review(each, wanted, request)
        return _whole(written_by(user, uid))


def _check_seen(request: Request, each: Written) -> None:
    """Raises StateConflictError for whoever has not seen the review that stands."""

    def current() -> Any:
        return WholePreparedSerializer(each).data

    if request.headers.get("If-Match") is not None:
        check_etag(request, _tag(each), current)
    elif each.review is not None:
        raise StateConflictError(MEANWHILE, more={"current": current()})


def _review(each: Written, wanted: dict[str, Any], request: Request) -> None:
    """Keeps a review. Raises RefusedBodyError."""
    verdict = wanted["verdict"]
    if verdict == Review.Verdict.CHANGED and "answer" not in wanted:
        raise RefusedBodyError(NOT_KEPT, [problem("say what it is to be", "answer")])
    answer = wanted.get("answer", each.standing)
    try:
        judge_one(each, verdict, answer, wanted["note"], rater_of(get_account(request)))
    except ProblemsError as error:
        found = [problem(told, "answer") for told in error.problems or (str(error),)]
        raise RefusedBodyError(f"{NOT_KEPT}; {error.mend}", found) from error


def _tag(each: Written) -> str:
    return etag_of(each.response.pk, seen_of(each))


def _whole(each: Written) -> Response:
    return Response(WholePreparedSerializer(each).data, headers={"ETag": _tag(each)})
