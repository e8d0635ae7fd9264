"""API endpoints of preparing a batch: steps, authored answers, reviews, the new batch."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account
from annotation.api.access import check_blind
from annotation.campaigns.design import DesignError
from annotation.models import Campaign, Rater, rater_of
from annotation.preparation.base import Step
from annotation.presentation import schema
from annotation.registry import STEPS
from datasets.access import READERS
from datasets.api.base import (
    ErrorSerializer,
    List,
    Number,
    PageParameters,
    Resource,
    Strict,
    checked,
    described,
    header,
    page_example,
    page_serializer,
    rendered,
)
from datasets.api.batches import A_BATCH, BatchSerializer, visible_batch, visible_batches
from datasets.api.concurrency import check_etag, etag_of, once
from datasets.api.errors import ApiError, RefusedBodyError, StateConflictError, problem
from datasets.api.permissions import MANAGE, READ
from datasets.models import Batch
from datasets.rows import InputError
from judging.access import authored_responses, step_called, step_campaign, written_by
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
    LONGEST_NOTE,
    ProblemsError,
    Written,
    accept_all,
    judge_one,
    seen_of,
    written,
)
from judging.preparation.status import WAITING, Author, Work, authors_of, campaign_for, works_on

VERDICTS = ", ".join(f"`{verdict}`" for verdict in Review.Verdict.values)


class RunOfStepSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(help_text="of the run, as the list of runs has it")
    state = serializers.CharField()


class AuthorSerializer(serializers.Serializer[Author]):
    """What one author wrote for a step."""

    author = serializers.CharField(source="rater.name")
    answers = serializers.DictField(
        source="verdicts",
        child=serializers.IntegerField(),
        help_text=f"how many, by verdict: {VERDICTS}, and `{WAITING}` without one",
    )
    missing = serializers.DictField(
        child=serializers.IntegerField(), help_text="how much has no answer, by reason"
    )
    is_ready = serializers.BooleanField(
        help_text="whether a batch can be built of it that leaves nothing open"
    )
    runs = RunOfStepSerializer(many=True, help_text="the newest first")


class StepSerializer(serializers.Serializer[Work]):
    step = serializers.CharField(source="step.name")
    title = serializers.CharField(source="step.title")
    asks = serializers.SerializerMethodField(help_text="whether an author is asked, or by rule")
    thresholds = serializers.DictField(
        source="step.numbers", child=serializers.FloatField(), help_text="with their defaults"
    )
    campaign = serializers.IntegerField(
        source="campaign.pk", allow_null=True, help_text="null where nobody has begun, or hidden"
    )
    hidden = serializers.BooleanField(help_text="whether it is another researcher's work")
    authors = AuthorSerializer(many=True)

    def get_asks(self, work: Work) -> bool:
        return bool(work.step.protocol)


class StepsSerializer(serializers.Serializer[Any]):
    results = StepSerializer(many=True)


class PreparedParameters(PageParameters):
    state = serializers.ChoiceField(
        (WAITING, *Review.Verdict.values), required=False, help_text="waiting, or with this verdict"
    )
    author = serializers.CharField(
        required=False, trim_whitespace=False, help_text="only what exactly this author wrote"
    )


class PreparedSerializer(serializers.Serializer[Written]):
    """An author's answer with its review, if there is one yet."""

    id = serializers.UUIDField(source="assignment.uid")
    item = serializers.CharField(source="assignment.item.key")
    query = serializers.CharField(source="assignment.item.query.text")
    author = serializers.CharField(source="assignment.rater.name")
    verdict = serializers.CharField(
        source="review.verdict", allow_null=True, help_text=f"{VERDICTS}; null while it waits"
    )
    note = serializers.SerializerMethodField(help_text="the reviewer's")
    reviewed_by = serializers.CharField(
        source="review.by.name", allow_null=True, help_text="the reviewer's pseudonym"
    )
    reviewed_at = serializers.DateTimeField(source="review.made_at", allow_null=True)

    def get_note(self, each: Written) -> str:
        return each.review.note if each.review else ""


class ReadTextSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="what quotes of it call it")
    heading = serializers.CharField(allow_blank=True)
    text = serializers.CharField(allow_blank=True)


class WholePreparedSerializer(PreparedSerializer):
    step = serializers.CharField(source="step.name")
    texts = ReadTextSerializer(source="spec.texts", many=True, help_text="what it was written from")
    units = serializers.SerializerMethodField(help_text="the words of each unit, by its name")
    answer = serializers.DictField(
        source="standing", help_text="what holds, by unit: the reviewer's words where these differ"
    )
    written = serializers.DictField(source="own", help_text="what the author wrote, by unit")
    problems = serializers.SerializerMethodField(
        help_text="why `answer` cannot become a part of a batch; empty where it can"
    )
    answer_schema = serializers.SerializerMethodField(help_text="the JSON Schema of `answer`")

    def get_units(self, each: Written) -> dict[str, str]:
        return {name: unit.text for name, unit in each.units.items()}

    def get_problems(self, each: Written) -> list[str]:
        return each.problems(each.standing)

    def get_answer_schema(self, each: Written) -> dict[str, Any]:
        return schema(each.assignment.item.campaign).item_schema(each.units)


class NewReviewSerializer(Strict):
    verdict = serializers.ChoiceField(
        Review.Verdict.values,
        help_text="accepted: it holds as it stands, or as `answer` says; changed: as `answer` says;"
        " rejected: it becomes no part of a batch",
    )
    answer = serializers.DictField(
        required=False, help_text="all of it, as the `answer_schema` says; what stands if left out"
    )
    note = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=LONGEST_NOTE
    )


class ReviewedMeanwhileSerializer(ErrorSerializer):
    current = WholePreparedSerializer(help_text="as it stands")


class AcceptSerializer(Strict):
    author = serializers.CharField(trim_whitespace=False, help_text="whose answers")


class AcceptedSerializer(serializers.Serializer[Any]):
    accepted = serializers.IntegerField()
    left = serializers.IntegerField(help_text="not accepted, since they have a problem")
    reviewed_before = serializers.IntegerField()


class NewBatchSerializer(Strict):
    name = serializers.CharField(max_length=200, help_text="of the new batch")
    author = serializers.CharField(
        required=False, trim_whitespace=False, help_text="whose answers, if the step asks anybody"
    )
    partial = serializers.BooleanField(  # type: ignore[assignment]
        default=False, help_text="even where answers are missing or wait for their review"
    )
    thresholds = serializers.DictField(
        child=Number(), required=False, help_text="those of the step that are not the defaults"
    )


class BuiltSerializer(serializers.Serializer[Any]):
    batch = BatchSerializer()
    queries = serializers.IntegerField(help_text="how many it holds")
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="the ids of queries of which nothing was left"
    )


A_STEP: dict[str, Any] = {
    "step": "key-points",
    "title": "Key points from passages",
    "asks": True,
    "thresholds": {},
    "campaign": 3,
    "hidden": False,
    "authors": [
        {
            "author": "author",
            "answers": {"accepted": 5, "changed": 1, "rejected": 0, "waiting": 2},
            "missing": {"unreadable": 1},
            "is_ready": False,
            "runs": [{"id": 7, "state": "done"}],
        }
    ],
}
PREPARED: dict[str, Any] = {
    "id": "7d0c6d0e-3a5b-4a53-9d0f-0f2f6a4d1c11",
    "item": "q1/p1",
    "query": "How was the bridge built?",
    "author": "author",
    "verdict": None,
    "note": "",
    "reviewed_by": None,
    "reviewed_at": None,
}
POINT = {
    "text": "The bridge opened in 1901.",
    "evidence": [{"quote": "opened in 1901", "start": None}],
}
ANSWER = {"q1/p1": {"holds_points": "yes", "points": [POINT]}}
WHOLE_PREPARED: dict[str, Any] = {
    **PREPARED,
    "step": "key-points",
    "texts": [
        {"field": "passage", "heading": "The bridge", "text": "The bridge opened in 1901. …"}
    ],
    "units": {"q1/p1": "The bridge"},
    "answer": ANSWER,
    "written": ANSWER,
    "problems": [],
    "answer_schema": {"type": "object", "properties": {"q1/p1": {"type": "object"}}},
}
A_REVIEW = {"verdict": "accepted", "note": "one is enough"}
REVIEWED = {
    **WHOLE_PREPARED,
    "verdict": "accepted",
    "note": "one is enough",
    "reviewed_by": "person-4f2a",
    "reviewed_at": "2026-11-20T09:30:00Z",
}
ACCEPTED = {"accepted": 7, "left": 1, "reviewed_before": 0}
NEW_BATCH: dict[str, Any] = {"name": "pointed", "author": "author"}
BUILT: dict[str, Any] = {
    "batch": {**A_BATCH, "id": 2, "name": "pointed"},
    "queries": 2,
    "left_out": [],
}


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
