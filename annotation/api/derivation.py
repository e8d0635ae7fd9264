"""API endpoints of derived batches: derive one by a rule, its lineage, and what it left out."""

from __future__ import annotations

from functools import partial
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account
from annotation.api.access import check_blind
from annotation.derivation.decisions import ADJUDICATED, TIES
from annotation.derivation.jobs import DERIVATION, question
from annotation.derivation.rules import RULES
from annotation.derivation.service import DerivationRequest, check_campaigns, left_out_of
from annotation.people.membership import readable
from datasets.access import READERS
from datasets.api.base import (
    List,
    PageParameters,
    Resource,
    Strict,
    describe_endpoint,
    page_example,
    page_serializer,
    serialize,
    validate,
)
from datasets.api.batches import A_BATCH, BatchSerializer, visible_batch, visible_batches
from datasets.api.concurrency import has_stored_answer, mark_idempotent, run_once
from datasets.api.errors import RefusedBodyError, StateConflictError, problem
from datasets.api.jobs import JobSerializer, accepted_response, current_job
from datasets.api.permissions import MANAGE, READ
from datasets.behind import behind_for
from datasets.derivation import DerivationError
from datasets.jobs import results
from datasets.jobs.queue import is_requested
from datasets.lineage import as_tree
from datasets.models import LeftOut
from datasets.teams import check_managed

NOT_DERIVED = "no batch was created"
TAKEN = "a batch has this name already; choose another"
NEW = {
    "name": "points",
    "rule": "verified-key-points",
    "campaigns": ["verify"],
    "decided_by": ADJUDICATED,
    "ties": "refuse",
    "options": {"key": "agree"},
}
COUNTS = {
    "kept": {"key points": 41, "queries": 2},
    "dropped": {"key points": {"not grounded": 7}},
    "undecided": {},
}
DERIVED = {"batch": {**A_BATCH, "name": "points"}, "queries": 2, **COUNTS, "facts": {}}
TREE = {
    "batch": "points",
    "digest": "3f0c…",
    "queries": 2,
    "kind": "rule",
    "rule": "verified-key-points",
    "behind": 0,
    **COUNTS,
    "source": {"batch": "documents", "files": [{"name": "documents.jsonl", "sha256": "9a1b…"}]},
}


class NewDerivedSerializer(Strict):
    name = serializers.CharField(max_length=200, help_text="the name of the new batch")
    rule = serializers.ChoiceField(tuple(RULES), help_text="the rule that derives the batch")
    campaigns = serializers.ListField(
        child=serializers.CharField(max_length=200),
        default=list,
        help_text="names of campaigns over the batch, whose labels decide",
    )
    decided_by = serializers.CharField(
        default=ADJUDICATED,
        max_length=150,
        help_text="adjudicated, majority, unanimous, or the name of one rater",
    )
    ties = serializers.ChoiceField(
        TIES, default=TIES[0], help_text="what happens to ties, and to what nobody labelled"
    )
    options = serializers.DictField(default=dict, help_text="options of the rule, by name")
    dry_run = serializers.BooleanField(default=False, help_text="count, and store nothing")


class DerivedSerializer(serializers.Serializer[Any]):
    batch = BatchSerializer(allow_null=True, help_text="null for a dry run")
    queries = serializers.IntegerField()
    kept = serializers.DictField(child=serializers.IntegerField())
    dropped = serializers.DictField(help_text="the number of parts left out, by kind and reason")
    undecided = serializers.DictField(child=serializers.IntegerField())
    facts = serializers.DictField(help_text="other numbers of the rule")


class TreeSerializer(serializers.Serializer[Any]):
    """A batch, how it was created, and under `source` the batch that it was created from."""

    batch = serializers.CharField()
    digest = serializers.CharField()
    queries = serializers.IntegerField()
    kind = serializers.CharField(required=False, help_text="rule, step or extended")
    rule = serializers.CharField(required=False)
    behind = serializers.IntegerField(
        required=False,
        allow_null=True,
        help_text="how many units have other labels since; null while that is being counted",
    )
    files = serializers.ListField(child=serializers.DictField(), required=False)
    source = serializers.DictField(required=False)  # type: ignore[assignment]


class LeftOutSerializer(serializers.Serializer[LeftOut]):
    what = serializers.CharField(help_text="the kind of part")
    key = serializers.CharField(help_text="its id in the source batch")
    reason = serializers.CharField()


class LeftOutParameters(PageParameters):
    reason = serializers.CharField(required=False, help_text="only parts with this reason")


class DerivedBatches(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Derive a batch",
        "Creates a new batch from this one by a rule, all or nothing; this batch does not change. "
        "409 if labels are missing or tied, with the units and the option that would decide. A dry "
        "run stores nothing (200). 202 with a job if it takes more than 20 seconds: repeat the "
        "request, which joins the same job. 403 while you have an open item in one of the "
        "campaigns.",
        {201: DerivedSerializer, 200: DerivedSerializer, 202: JobSerializer},
        tag="batches",
        request=NewDerivedSerializer,
        sent=NEW,
        example=DERIVED,
        status=201,
        refuses=(409, 422),
        operation_id="batches_derive",
    )
    @mark_idempotent
    def post(self, request: Request, pk: int) -> Response:
        if has_stored_answer(request):
            return run_once(request, lambda: Response())
        user, batch = get_account(request), visible_batch(request.user, pk)
        check_managed(user, batch)
        given = validate(NewDerivedSerializer, request.data)
        for campaign in readable(user).filter(name__in=given["campaigns"]):
            check_blind(user, campaign)
        names = ("name", "rule", "campaigns", "decided_by", "ties", "options")
        order = DerivationRequest(
            batch=batch, by=user, reader=user, **{name: given[name] for name in names}
        )
        asked = question(order, given["dry_run"])
        taken = not given["dry_run"] and visible_batches(user).filter(name=order.name).exists()
        if taken and not is_requested(DERIVATION, asked, user):
            raise RefusedBodyError(NOT_DERIVED, [problem(TAKEN, "name")])
        try:
            check_campaigns(order)
        except DerivationError as error:
            raise _refusal(str(error), error.field) from error
        # Outside the transaction of `run_once`, in which no worker would see the job.
        job = current_job(request, DERIVATION, asked, address="")
        if job is None:
            return accepted_response(request, address="")
        found = results.value(job)
        return run_once(request, lambda: _derived_response(request, found))


def _refusal(why: str, field: str) -> RefusedBodyError:
    named = {"from": "campaigns", "set": "options"}.get(field, field)
    return RefusedBodyError(NOT_DERIVED, [problem(why, named)])


def _derived_response(request: Request, found: dict[str, Any]) -> Response:
    """Return what a job derived. Raises StateConflictError or RefusedBodyError."""
    if "refused" in found:
        if found["undecided"]:
            raise StateConflictError(found["refused"])
        raise _refusal(found["refused"], found["field"])
    batch = visible_batches(request.user).filter(pk=found["batch"]).first()
    answer = DerivedSerializer({**found, "batch": batch}).data
    return Response(answer, status=200 if batch is None else 201)


class BatchLineage(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}

    @describe_endpoint(
        "Read the lineage of a batch",
        "How the batch was derived, back to the files, and by how many units it is behind the "
        "labels that it is based on.",
        {200: TreeSerializer},
        tag="batches",
        example=TREE,
        operation_id="batches_lineage",
    )
    def get(self, request: Request, pk: int) -> Response:
        user, batch = request.user, visible_batch(request.user, pk)
        return Response(as_tree(batch, visible_batches(user), behind_for(user, wait=True)))


class LeftOutParts(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}
    takes = LeftOutParameters

    @describe_endpoint(
        "List what a derived batch left out",
        "The parts of the source batch that this batch does not have, each with the reason.",
        {200: page_serializer(LeftOutSerializer)},
        tag="batches",
        example=page_example({"what": "key points", "key": "k7", "reason": "not grounded"}),
        parameters=[LeftOutParameters],
        operation_id="batches_left_out",
    )
    def get(self, request: Request, pk: int) -> Response:
        rows = left_out_of(visible_batch(request.user, pk))
        if "reason" in self.parameters:
            rows = rows.filter(reason=self.parameters["reason"])
        return self.page(rows.order_by("pk"), partial(serialize, LeftOutSerializer))
