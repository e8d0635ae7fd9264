"""API endpoints of a person's own work: the list, the next item, an item, practice feedback."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, my_assignments, open_campaigns
from annotation.answers.drafts import read_saved_state
from annotation.api.access import RELATED, my_assignment
from annotation.api.answers import answer_of, with_aliases
from annotation.api.assignment_serializers import (
    AssignmentParameters,
    AssignmentSerializer,
    GuidelineSerializer,
    PresentedSerializer,
    first_answer_of,
)
from annotation.api.progress import ScoreSerializer
from annotation.assignments.context import judge_answers_for
from annotation.assignments.queue import next_assignment
from annotation.blinding import SWAPPED_CODES, blinding_of, field_aliases
from annotation.gold.scoring import GoldComparison, compare_with_gold, passes, score, shows_feedback
from annotation.item_context import AskedVariable, Row, sheet_of
from annotation.long_items import leave_if_long
from annotation.models import Assignment, Draft, Item, rater_of
from annotation.models import Response as Answer
from annotation.presentation import (
    ordered_texts,
    present,
    schema,
    whole_guideline,
)
from datasets.access import WORKERS
from datasets.api.permissions import LABEL, READ
from datasets.api.routes import Routes, given_filters
from tandem.protocols.schema import Schema

api = Routes("work", roles=WORKERS, reads=(READ, LABEL), writes=(LABEL,))


@api.list(
    "assignments/",
    "List your own assignments",
    "The items that you have taken, by campaign, in the order in which you took them.",
    AssignmentSerializer,
    name="assignments",
    takes=AssignmentParameters,
)
def assignments_list(request: Request) -> Any:
    filters = given_filters(request, "status", campaign="item__campaign")
    rows = my_assignments(get_account(request)).filter(**filters).select_related(*RELATED)
    return _with_answers(rows).order_by("item__campaign__name", "pk")


@api.post(
    "campaigns/<int:pk>/next/",
    "Take the next item",
    "Your open assignment in an open campaign, or a new one for the next item with a free "
    "slot; 204 if nothing is left. Repeating the request returns the same assignment until "
    "it is submitted.",
    {200: PresentedSerializer, 204: None},
    name="next",
    once=True,
)
def assignments_next(request: Request, pk: int) -> Any:
    user = get_account(request)
    campaign = get_object_or_404(open_campaigns(user), pk=pk)
    taken = next_assignment(campaign, rater_of(user))
    if taken is None:
        return Response(status=204)
    mine = my_assignments(user).select_related(*RELATED).get(pk=taken.pk)
    return Response(describe_assignment(mine))


@api.get(
    "assignments/<uuid:uid>/",
    "Read your own assignment",
    "The item as on its page: the texts, the units in the order of the page, the JSON "
    "Schema of an answer, and your own answer and draft.",
    PresentedSerializer,
    name="assignment",
)
def assignments_read(request: Request, uid: uuid.UUID) -> Any:
    assignment = my_assignment(request, uid)
    leave_if_long(request, assignment)
    return Response(describe_assignment(assignment))


@api.get(
    "assignments/<uuid:uid>/guideline/",
    "Read the guideline",
    "The campaign's guideline as Markdown: as it is shown, and with the parts about what the "
    "campaign does not ask.",
    GuidelineSerializer,
    name="guideline",
)
def assignments_guideline(request: Request, uid: uuid.UUID) -> Any:
    campaign = my_assignment(request, uid).item.campaign
    shown = schema(campaign, "people").protocol.guideline
    return {"markdown": shown, "whole": whole_guideline(campaign)}


def _with_answers(rows: QuerySet[Assignment]) -> QuerySet[Any]:
    current = Answer.objects.filter(assignment=OuterRef("pk"), current=True)
    return rows.annotate(
        standing_revision=Coalesce(Subquery(current.values("revision")), 0),
        submitted_at=Subquery(current.values("created_at")),
        has_draft=Exists(Draft.objects.filter(assignment=OuterRef("pk"))),
    )


def describe_assignment(assignment: Assignment) -> Mapping[str, Any]:
    """Return an assignment as its page shows it, with the aliases and the order of the page.

    A unit that is matched to the person's own list has no text before that list is complete.
    """
    campaign = assignment.item.campaign
    spec, asked = present(assignment.item), schema(campaign, "people")
    blinding, fields = blinding_of(assignment, spec), field_aliases(assignment, spec)
    units, texts = blinding.page_units, ordered_texts(assignment, spec)
    payload = blinding.for_page(read_saved_state(assignment).payload)
    sheet = sheet_of(asked, blinding.blind(spec), units, payload, texts)
    judge_labels = judge_answers_for(assignment, spec, blinding)
    draft = Draft.objects.filter(assignment=assignment).first()
    answer = assignment.responses.filter(current=True).first()
    return PresentedSerializer(
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
                describe_text(fields.get(text.field, text.field), heading, text)
                for heading, text in sheet.texts
            ],
            "units": [
                {
                    **_unit(asked, row, units[row.name].kind),
                    "texts": [fields.get(each, each) for each in units[row.name].of],
                    "text": "" if row.matching and not sheet.list_is_complete else row.text,
                    "verdict": judge_labels.get(row.name),
                }
                for row in sheet.rows
            ],
            "first_answer": first_answer_of(assignment),
            "answer_schema": asked.item_schema(units, with_field=True),
            "seconds": assignment.seconds,
            "response": answer_of(answer) if answer else None,
            "draft": _draft(assignment, draft) if draft else None,
        }
    ).data


def describe_text(field: str, heading: str, text: Any) -> dict[str, Any]:
    return {
        "field": field,
        "heading": heading,
        "text": text.text,
        "facts": [{"name": name, "value": value} for name, value in text.facts],
        "suggested": list(text.suggested),
    }


def describe_variable(variable: AskedVariable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "question": variable.question,
        "codes": [{"code": c.code, "word": c.word} for c in variable.choices if c.code],
        "several": variable.several,
        "scale": variable.scale
        and {name: getattr(variable.scale, name) for name in ("first", "last", "step")},
        "asked_if": _conditions(variable.conditions),
    }


def _unit(asked: Schema, row: Row, kind: str) -> dict[str, Any]:
    written = asked.written(kind)
    return {
        "name": row.name,
        "text": row.text,
        "heading": row.heading,
        "facts": [{"name": name, "value": value} for name, value in row.facts],
        "variables": [describe_variable(variable) for variable in row.variables],
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
    payload = with_aliases(assignment, draft.payload)
    return {
        "version": draft.version,
        "saved_at": draft.saved_at,
        "units": payload["units"],
        "comment": payload.get("comment"),
    }


class CheckedSerializer(serializers.Serializer[GoldComparison]):
    """A gold answer with your own first answer."""

    unit = serializers.CharField(help_text="as in the assignment")
    variable = serializers.CharField()
    said = serializers.CharField(
        allow_null=True, help_text="your own answer; null if there is none"
    )
    known = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    is_right = serializers.BooleanField()


class FeedbackSerializer(serializers.Serializer[Any]):
    answers = CheckedSerializer(many=True)
    score = ScoreSerializer(help_text="over the campaign's practice so far")
    qualify = serializers.FloatField(allow_null=True, help_text="the pass mark")
    passed = serializers.BooleanField(help_text="whether the pass mark is reached")


@api.get(
    "assignments/<uuid:uid>/feedback/",
    "Read the feedback on a practice item",
    "Your own first answers with the gold answers and their reasons. 404 if the item is not "
    "a practice item, or if you have not answered it yet.",
    FeedbackSerializer,
    name="feedback",
)
def assignments_feedback(request: Request, uid: uuid.UUID) -> Any:
    assignment = my_assignment(request, uid)
    if not shows_feedback(assignment) or assignment.status != Assignment.Status.DONE:
        raise Http404
    campaign = assignment.item.campaign
    total = score(campaign, assignment.rater, Item.Use.PRACTICE)
    return {
        "answers": list(_answers(assignment)),
        "score": total,
        "qualify": campaign.qualify,
        "passed": passes(campaign, total),
    }


def _answers(assignment: Assignment) -> Iterator[dict[str, Any]]:
    """Yield the gold answers under the aliases and sides of the page."""
    blinding = blinding_of(assignment, present(assignment.item))
    codes = SWAPPED_CODES if blinding.swapped else {}
    for each in compare_with_gold(assignment):
        yield {
            "unit": blinding.aliases.get(each.unit, each.unit),
            "variable": each.variable,
            "said": None if each.answer is None else codes.get(each.answer, each.answer),
            "known": codes.get(each.gold, each.gold),
            "reason": each.reason,
            "is_right": each.is_correct,
        }
