"""The preparation of a batch by the API: its steps, all accepted at once, and the new batch."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.visible import check_blind, person
from annotation.design import DesignError
from annotation.models import Campaign, Rater
from annotation.models.people import rater_of
from annotation.preparation.base import Step
from annotation.preparation.steps import STEPS
from datasets.api.base import READERS, Resource, checked, described
from datasets.api.batches import visible_batch, visible_batches
from datasets.api.concurrency import once
from datasets.api.errors import RefusedBodyError, StandingError, TellingError, problem
from datasets.api.permissions import MANAGE, READ
from datasets.models import Batch
from datasets.rows import InputError
from judging.api import preparation_examples as examples
from judging.api.preparation_shapes import (
    AcceptedShape,
    AcceptShape,
    BuiltShape,
    NewBatchShape,
    StepShape,
    StepsShape,
)
from judging.api.visible import step_campaign
from judging.preparation.building import (
    NothingLeftError,
    UnreviewedError,
    accepted,
    build,
    numbers_of,
)
from judging.preparation.reviewing import accept_all
from judging.preparation.running import campaign_for
from judging.preparation.standing import authors_of, works_on
from judging.preparation.written import written
from judging.views.preparing.building import MOST_QUERIES
from judging.views.preparing.finding import step_called

STEP = OpenApiParameter("step", str, OpenApiParameter.PATH, enum=list(STEPS))
HIDDEN = "this step is another researcher's work; ask one of its people, or an administrator"
NOT_BUILT = "no batch is made"
TAKEN = "a batch has this name already; choose another"
TOO_MANY = f"this batch has more than {MOST_QUERIES} queries; build it with build_batch"


class HiddenError(TellingError):
    """The step is there, and not for this account."""

    status_code = 403


class Steps(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}

    @described(
        "List the steps of a batch's preparation",
        "All steps, each with its authors, their runs, and how much of what they wrote is "
        "reviewed and how.",
        {200: StepsShape},
        tag="batches",
        example={"results": [examples.A_STEP]},
        operation_id="preparation_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        works = works_on(visible_batch(request.user, pk), person(request))
        return Response(StepsShape({"results": works}).data)


class OneStep(Resource):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (READ, MANAGE), "POST": (MANAGE,)}

    @described(
        "Read a step of a batch's preparation",
        "Its authors, their runs, and how much is reviewed.",
        {200: StepShape},
        tag="batches",
        example=examples.A_STEP,
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
        {201: StepShape, 200: StepShape},
        tag="batches",
        example={**examples.A_STEP, "authors": []},
        status=201,
        refuses=(422,),
        parameters=[STEP],
        operation_id="preparation_begin",
    )
    @once
    def post(self, request: Request, pk: int, step: str) -> Response:
        batch, chosen = visible_batch(request.user, pk), step_called(step)
        (work,) = works_on(batch, person(request), (chosen,))
        if work.hidden:
            raise HiddenError(HIDDEN)
        try:
            campaign_for(batch, chosen, person(request))
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
        {200: AcceptedShape},
        tag="batches",
        request=AcceptShape,
        sent={"author": "author"},
        example=examples.ACCEPTED,
        refuses=(422,),
        parameters=[STEP],
        operation_id="preparation_accept",
    )
    @once
    def post(self, request: Request, pk: int, step: str) -> Response:
        batch, chosen = visible_batch(request.user, pk), step_called(step)
        campaign = step_campaign(request, batch, chosen)
        check_blind(person(request), campaign)
        author = _author(campaign, checked(AcceptShape, request.data)["author"])
        told = accept_all(campaign, written(chosen, campaign, author), rater_of(person(request)))
        counts = {
            "accepted": told["accepted"],
            "left": told["left, with a problem"],
            "reviewed_before": told["reviewed before"],
        }
        return Response(AcceptedShape(counts).data)


class BuildBatch(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @described(
        "Build a batch from a step",
        "Makes a new batch of what was accepted of an author; the batch that the step began with "
        f"stays as it is. For up to {MOST_QUERIES:,} queries. 409 where answers are missing or "
        "wait for their review, unless a partial batch is wanted.",
        {201: BuiltShape},
        tag="batches",
        request=NewBatchShape,
        sent=examples.NEW_BATCH,
        example=examples.BUILT,
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
            check_blind(person(request), campaign)
        wanted = checked(NewBatchShape, request.data)
        there = visible_batches(request.user).filter(name=wanted["name"])
        if there.exists():
            raise RefusedBodyError(NOT_BUILT, [problem(TAKEN, "name")])
        if batch.counts.get("queries", 0) > MOST_QUERIES:
            raise RefusedBodyError(TOO_MANY)
        return _built(request, batch, chosen, campaign, wanted)


def _told(request: Request, batch: Batch, step: Step, status: int = 200) -> Response:
    (work,) = works_on(batch, person(request), (step,))
    return Response(StepShape(work).data, status=status)


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
    """The new batch with what became of the queries. Raises TellingError."""
    author = _author_of(campaign, wanted.get("author"))
    try:
        numbers = numbers_of(step, wanted.get("thresholds", {}))
    except ValueError as error:
        raise RefusedBodyError(NOT_BUILT, [problem(str(error), "thresholds")]) from error
    try:
        results = accepted(step, campaign, author, wanted["partial"]) if campaign and author else {}
        built, _ = build(step, batch, results, numbers, wanted["name"])
    except UnreviewedError as error:
        raise StandingError(str(error)) from error
    except NothingLeftError as error:
        raise RefusedBodyError(str(error)) from error
    except InputError as error:
        # Its place is a file that nobody but the server has seen.
        raise RefusedBodyError(NOT_BUILT, [problem(f"{error.wrong}; {error.mend}")]) from error
    made = visible_batches(request.user).get(name=wanted["name"])
    told = {"batch": made, "queries": built.queries, "left_out": built.left_out}
    return Response(BuiltShape(told).data, status=201)


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
