"""A person's own work: the list of it, the next item, and an item as its page shows it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import examples
from annotation.api.answers import answer_of
from annotation.api.blind import shown_names
from annotation.api.rounds import first_answer_of
from annotation.api.shapes import (
    AssignmentParameters,
    AssignmentShape,
    GuidelineShape,
    PresentedShape,
)
from annotation.api.visible import mine, person, visible_assignments, visible_open_campaigns
from annotation.blinding import blinding_of, hidden_fields
from annotation.drafts import standing
from annotation.models import Assignment, Draft
from annotation.models import Response as Answer
from annotation.models.people import rater_of
from annotation.places import next_assignment
from annotation.presenting import ordered_texts, present, schema
from annotation.protocols.schema import Schema
from annotation.verdicts import verdicts_of
from annotation.views.sheet import Asked, Row, sheet_of
from datasets.api.base import WORKERS, List, Resource, described, page_shape, rendered
from datasets.api.concurrency import once
from datasets.api.permissions import LABEL, READ


class Assignments(List):
    roles = {"GET": WORKERS}
    scopes = {"GET": (READ, LABEL)}
    takes = AssignmentParameters

    @described(
        "List one's own assignments",
        "The items that one has taken, by campaign and as one took them; nobody else's.",
        {200: page_shape(AssignmentShape)},
        tag="work",
        example={"count": 1, "next": None, "previous": None, "results": [examples.LISTED]},
        parameters=[AssignmentParameters],
        operation_id="assignments_list",
    )
    def get(self, request: Request) -> Response:
        rows = _with_answers(visible_assignments(person(request)))
        if "campaign" in self.chosen:
            rows = rows.filter(item__campaign=self.chosen["campaign"])
        if "status" in self.chosen:
            rows = rows.filter(status=self.chosen["status"])
        order = ("item__campaign__name", "pk")
        return self.page(rows.order_by(*order), partial(rendered, AssignmentShape))


class NextAssignment(Resource):
    roles = {"POST": WORKERS}
    scopes = {"POST": (LABEL,)}

    @described(
        "Take the next item",
        "One's open assignment in an open campaign, or a new one on the next item with a place; "
        "204 where nothing is left. Asking again gives the same one until it is submitted.",
        {200: PresentedShape, 204: None},
        tag="work",
        example=examples.PRESENTED,
        operation_id="assignments_next",
    )
    @once
    def post(self, request: Request, pk: int) -> Response:
        user = person(request)
        campaign = get_object_or_404(visible_open_campaigns(user), pk=pk)
        taken = next_assignment(campaign, rater_of(user))
        if taken is None:
            return Response(status=204)
        return Response(presented(visible_assignments(user).get(pk=taken.pk)))


class OneAssignment(Resource):
    roles = {"GET": WORKERS}
    scopes = {"GET": (READ, LABEL)}

    @described(
        "Read one's own assignment",
        "The item as its page shows it: the texts, the units that are asked in their order, the "
        "JSON Schema of an answer, and one's own answer and draft.",
        {200: PresentedShape},
        tag="work",
        example=examples.PRESENTED,
        operation_id="assignments_read",
    )
    def get(self, request: Request, uid: uuid.UUID) -> Response:
        return Response(presented(mine(request, uid)))


class Guideline(Resource):
    roles = {"GET": WORKERS}
    scopes = {"GET": (READ, LABEL)}

    @described(
        "Read the guideline",
        "How an item of this campaign is to be answered, as Markdown.",
        {200: GuidelineShape},
        tag="work",
        example={"markdown": "# Report coverage\n…"},
        operation_id="assignments_guideline",
    )
    def get(self, request: Request, uid: uuid.UUID) -> Response:
        campaign = mine(request, uid).item.campaign
        return Response({"markdown": schema(campaign).protocol.guideline})


def _with_answers(rows: QuerySet[Assignment]) -> QuerySet[Any]:
    current = Answer.objects.filter(assignment=OuterRef("pk"), current=True)
    return rows.annotate(
        standing_revision=Coalesce(Subquery(current.values("revision")), 0),
        submitted_at=Subquery(current.values("created_at")),
        has_draft=Exists(Draft.objects.filter(assignment=OuterRef("pk"))),
    )


def presented(assignment: Assignment) -> Mapping[str, Any]:
    """An assignment as its page shows it, with the same names and order where these would tell
    whose text is whose. What is matched to one's own list has no words before that is complete.
    """
    campaign = assignment.item.campaign
    spec, asked = present(assignment.item), schema(campaign)
    blinding, fields = blinding_of(assignment, spec), hidden_fields(assignment, spec)
    units, texts = blinding.units, ordered_texts(assignment, spec)
    sheet = sheet_of(asked, spec, units, blinding.hidden(standing(assignment).payload), texts)
    verdicts = verdicts_of(assignment, spec, blinding)
    draft = Draft.objects.filter(assignment=assignment).first()
    answer = assignment.responses.filter(current=True).first()
    return PresentedShape(
        {
            "uid": assignment.uid,
            "campaign": campaign.pk,
            "protocol": campaign.protocol,
            "title": sheet.title,
            "is_open": campaign.takes_answers,
            "status": assignment.status,
            "assisted_by": assignment.assisted_by,
            "query": assignment.item.query.text,
            "texts": [
                text_shape(fields.get(text.field, text.field), heading, text)
                for heading, text in sheet.texts
            ],
            "units": [
                {
                    **_unit(asked, row, units[row.name].kind),
                    "text": "" if row.matching and not sheet.list_is_complete else row.text,
                    "verdict": verdicts.get(row.name),
                }
                for row in sheet.rows
            ],
            "first_answer": first_answer_of(assignment),
            "answer_schema": asked.item_schema(units, placed=True),
            "seconds": assignment.seconds,
            "response": answer_of(answer) if answer else None,
            "draft": _draft(assignment, draft) if draft else None,
        }
    ).data


def text_shape(field: str, heading: str, text: Any) -> dict[str, Any]:
    return {
        "field": field,
        "heading": heading,
        "text": text.text,
        "facts": [{"name": name, "value": value} for name, value in text.facts],
        "suggested": list(text.suggested),
    }


def asked_shape(variable: Asked) -> dict[str, Any]:
    return {
        "name": variable.name,
        "question": variable.question,
        "codes": [{"code": c.code, "word": c.word} for c in variable.choices],
        "asked_if": _conditions(variable.conditions),
    }


def _unit(asked: Schema, row: Row, kind: str) -> dict[str, Any]:
    written = asked.written(kind)
    return {
        "name": row.name,
        "text": row.text,
        "heading": row.heading,
        "variables": [asked_shape(variable) for variable in row.variables],
        "evidence": row.rule,
        "written": {
            "name": written.name,
            "question": row.prose.question,
            "asked_if": _conditions(row.prose.conditions),
            "sources": [key for key, _, _ in row.prose.sources],
        }
        if written and row.prose
        else None,
        "listed": {
            "name": row.listed.name,
            "question": row.listed.question,
            "field": row.listed.field,
            "asked_if": dict(row.listed.asked_if),
        }
        if row.listed
        else None,
        "matching": {
            "name": row.matching.matches,
            "variable": row.matching.match,
            "code": row.matching.match_code,
        }
        if row.matching
        else None,
    }


def _conditions(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(text) if text else {}
    return found


def _draft(assignment: Assignment, draft: Draft) -> dict[str, Any]:
    payload = shown_names(assignment, draft.payload)
    return {
        "version": draft.version,
        "saved_at": draft.saved_at,
        "units": payload["units"],
        "comment": payload.get("comment"),
    }
