"""What authors wrote for a step of preparation, by the API: the list, one answer, its review."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.visible import check_blind, person
from annotation.models.people import rater_of
from datasets.api.base import (
    READERS,
    List,
    Resource,
    checked,
    described,
    header,
    page_shape,
    rendered,
)
from datasets.api.batches import visible_batch
from datasets.api.concurrency import check_seen, etag_of, once
from datasets.api.errors import RefusedBodyError, StandingError, problem
from datasets.api.permissions import MANAGE, READ
from judging.api import preparation_examples as examples
from judging.api.preparation import STEP
from judging.api.preparation_shapes import (
    NewReviewShape,
    PreparedParameters,
    PreparedShape,
    ReviewedMeanwhileShape,
    WholePreparedShape,
)
from judging.api.visible import step_campaign, visible_written
from judging.models import Review
from judging.preparation.reviewing import ProblemsError, judge_one
from judging.preparation.standing import WAITING
from judging.preparation.written import Written
from judging.views.preparing.finding import step_called, written_by
from judging.views.preparing.reviewing import seen_of

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
        {200: page_shape(PreparedShape)},
        tag="batches",
        example={"count": 1, "next": None, "previous": None, "results": [examples.PREPARED]},
        parameters=[STEP, PreparedParameters],
        operation_id="prepared_list",
    )
    def get(self, request: Request, pk: int, step: str) -> Response:
        chosen = step_called(step)
        campaign = step_campaign(request, visible_batch(request.user, pk), chosen)
        check_blind(person(request), campaign)
        rows = visible_written(person(request)).filter(assignment__item__campaign=campaign)
        if "author" in self.chosen:
            rows = rows.filter(assignment__rater__name=self.chosen["author"])
        if "state" in self.chosen:
            state = self.chosen["state"]
            rows = rows.filter(review__verdict=None if state == WAITING else state)

        def as_results(found: Sequence[Any]) -> list[Any]:
            return rendered(PreparedShape, [Written(chosen, each) for each in found])

        return self.page(rows.select_related(*BESIDE).order_by(*IN_ORDER), as_results)


class OnePrepared(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}

    @described(
        "Read what was written",
        "An author's answer with the texts that it was given to, its problems and its review; not "
        "while one has an open item in its campaign.",
        {200: WholePreparedShape},
        tag="batches",
        example=examples.WHOLE_PREPARED,
        operation_id="prepared_read",
    )
    def get(self, request: Request, uid: uuid.UUID) -> Response:
        each = written_by(person(request), uid)
        check_blind(person(request), each.assignment.item.campaign)
        return _whole(each)


class Reviewed(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @described(
        "Review what was written",
        "Accepts an answer, as it stands or changed, or rejects it; what the author wrote is kept. "
        "409 where a review stands that one had not seen. 422 names what is wrong with an answer "
        "that is to be accepted.",
        {200: WholePreparedShape, 409: ReviewedMeanwhileShape},
        tag="batches",
        request=NewReviewShape,
        sent=examples.A_REVIEW,
        example=examples.REVIEWED,
        refuses=(422,),
        parameters=[SEEN],
        operation_id="prepared_review",
    )
    @once
    def post(self, request: Request, uid: uuid.UUID) -> Response:
        user = person(request)
        with transaction.atomic():
            rows = visible_written(user).select_for_update(of=("self",))
            get_object_or_404(rows, assignment__uid=uid)
            each = written_by(user, uid)
            check_blind(user, each.assignment.item.campaign)
            wanted = checked(NewReviewShape, request.data)
            _check_seen(request, each)
            _review(each, wanted, request)
        return _whole(written_by(user, uid))


def _check_seen(request: Request, each: Written) -> None:
    """Raises StandingError for whoever has not seen the review that stands."""

    def current() -> Any:
        return WholePreparedShape(each).data

    if request.headers.get("If-Match") is not None:
        check_seen(request, _tag(each), current)
    elif each.review is not None:
        raise StandingError(MEANWHILE, more={"current": current()})


def _review(each: Written, wanted: dict[str, Any], request: Request) -> None:
    """Keeps a review. Raises RefusedBodyError."""
    verdict = wanted["verdict"]
    if verdict == Review.Verdict.CHANGED and "answer" not in wanted:
        raise RefusedBodyError(NOT_KEPT, [problem("say what it is to be", "answer")])
    answer = wanted.get("answer", each.standing)
    try:
        judge_one(each, verdict, answer, wanted["note"], rater_of(person(request)))
    except ProblemsError as error:
        found = [problem(told, "answer") for told in error.problems or (str(error),)]
        raise RefusedBodyError(f"{NOT_KEPT}; {error.mend}", found) from error


def _tag(each: Written) -> str:
    return etag_of(each.response.pk, seen_of(each))


def _whole(each: Written) -> Response:
    return Response(WholePreparedShape(each).data, headers={"ETag": _tag(each)})
