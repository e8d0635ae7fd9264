"""API endpoints of derived batches: derive one by a rule, its lineage, and what it left out."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import get_account
from annotation.api.access import check_blind
from annotation.derivation.decisions import ADJUDICATED, TIES
from annotation.derivation.rules import RULES
from annotation.derivation.service import (
    DERIVATION,
    DerivationRequest,
    check_campaigns,
    left_out_of,
    question,
)
from annotation.people.membership import readable
from datasets.access import check_managed
from datasets.api.base import (
    PageParameters,
    RefusedBodyError,
    Shape,
    StateConflictError,
    Strict,
    problem,
)
from datasets.api.batches import BatchSerializer, visible_batch, visible_batches
from datasets.api.permissions import MANAGE, READ
from datasets.api.routes import Reply, Routes, given, given_filters, result_of
from datasets.derivation import DerivationError
from datasets.lineage import as_tree, behind_for
from datasets.models import LeftOut
from datasets.work.queue import is_requested

api = Routes("batches", reads=(READ, MANAGE))

NOT_DERIVED = "no batch was created"
TAKEN = "a batch has this name already; choose another"


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


class TreeSerializer(Shape):
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


def _refusal(error: DerivationError) -> RefusedBodyError:
    named = {"from": "campaigns", "set": "options"}.get(error.field, error.field)
    return RefusedBodyError(NOT_DERIVED, [problem(str(error), named)])


@api.post(
    "batches/<int:pk>/derive/",
    "Derive a batch",
    "Creates a new batch from this one by a rule, all or nothing; this batch does not change. "
    "409 if labels are missing or tied, with the units and the option that would decide. A dry "
    "run stores nothing (200). 202 with a job if it takes more than 20 seconds: repeat the "
    "request, which joins the same job. 403 while you have an open item in one of the "
    "campaigns.",
    DerivedSerializer,
    name="derive",
    body=NewDerivedSerializer,
    status=201,
    also=(200,),
    job=True,
    raises={DerivationError: _refusal},
    refuses=(409, 422),
    once_last=True,
)
def batches_derive(request: Request, pk: int) -> Any:
    user, batch = get_account(request), visible_batch(request.user, pk)
    check_managed(user, batch)
    body = given(request)
    for campaign in readable(user).filter(name__in=body["campaigns"]):
        check_blind(user, campaign)
    dry_run = body.pop("dry_run")
    order = DerivationRequest(batch=batch, by=user, reader=user, **body)
    asked = question(order, dry_run)
    taken = not dry_run and visible_batches(user).filter(name=order.name).exists()
    if taken and not is_requested(DERIVATION, asked, user):
        raise RefusedBodyError(NOT_DERIVED, [problem(TAKEN, "name")])
    check_campaigns(order)
    found = result_of(request, DERIVATION, asked, address="")
    return lambda: _derived(request, found)


def _derived(request: Request, found: dict[str, Any]) -> Reply:
    """Return what a job derived. Raises StateConflictError or DerivationError."""
    if "refused" in found:
        if found["undecided"]:
            raise StateConflictError(found["refused"])
        raise DerivationError(found["refused"], found["field"])
    batch = visible_batches(request.user).filter(pk=found["batch"]).first()
    return Reply({**found, "batch": batch}, 200 if batch is None else 201)


@api.get(
    "batches/<int:pk>/lineage/",
    "Read the lineage of a batch",
    "How the batch was derived, back to the files, and by how many units it is behind the "
    "labels that it is based on.",
    TreeSerializer,
    name="lineage",
)
def batches_lineage(request: Request, pk: int) -> Any:
    user, batch = request.user, visible_batch(request.user, pk)
    return as_tree(batch, visible_batches(user), behind_for(user, wait=True))


@api.list(
    "batches/<int:pk>/left-out/",
    "List what a derived batch left out",
    "The parts of the source batch that this batch does not have, each with the reason.",
    LeftOutSerializer,
    name="left-out",
    takes=LeftOutParameters,
)
def batches_left_out(request: Request, pk: int) -> Any:
    rows = left_out_of(visible_batch(request.user, pk))
    return rows.filter(**given_filters(request, "reason")).order_by("pk")
