"""What is right of one's own practice item, once it is answered, as its page shows it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.progress import ScoreShape
from annotation.api.visible import mine
from annotation.blinding import TURNED, blinding_of
from annotation.gold.scoring import Checked, checked, passes, score
from annotation.models import Assignment, Item
from annotation.presenting import present
from annotation.views.feedback import shows_feedback
from datasets.api.base import WORKERS, Resource, described
from datasets.api.permissions import LABEL, READ

AN_ANSWER: dict[str, Any] = {
    "unit": "q1:1",
    "variable": "answerable",
    "said": "no",
    "known": "yes",
    "reason": "The second sentence says it.",
    "is_right": False,
}
A_FEEDBACK: dict[str, Any] = {
    "answers": [AN_ANSWER],
    "score": {"right": 3, "asked": 4, "items": 1, "of": 2},
    "qualify": 0.8,
    "passed": False,
}


class CheckedShape(serializers.Serializer[Checked]):
    """One known answer beside one's own first one."""

    unit = serializers.CharField(help_text="as the assignment names it")
    variable = serializers.CharField()
    said = serializers.CharField(allow_null=True, help_text="one's own; null: nothing")
    known = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    is_right = serializers.BooleanField()


class FeedbackShape(serializers.Serializer[Any]):
    answers = CheckedShape(many=True)
    score = ScoreShape(help_text="over the campaign's practice so far")
    qualify = serializers.FloatField(allow_null=True, help_text="the share right that is wanted")
    passed = serializers.BooleanField(help_text="whether it lets one go on")


class Feedback(Resource):
    roles = {"GET": WORKERS}
    scopes = {"GET": (READ, LABEL)}

    @described(
        "Read the feedback on a practice item",
        "One's own first answers beside what is right, and why; 404 where the item is no practice, "
        "and before it is answered.",
        {200: FeedbackShape},
        tag="work",
        example=A_FEEDBACK,
        operation_id="assignments_feedback",
    )
    def get(self, request: Request, uid: uuid.UUID) -> Response:
        assignment = mine(request, uid)
        if not shows_feedback(assignment) or assignment.status != Assignment.Status.DONE:
            raise Http404
        campaign = assignment.item.campaign
        found = score(campaign, assignment.rater, Item.Use.PRACTICE)
        told = {
            "answers": list(_answers(assignment)),
            "score": found,
            "qualify": campaign.qualify,
            "passed": passes(campaign, found),
        }
        return Response(FeedbackShape(told).data)


def _answers(assignment: Assignment) -> Iterator[dict[str, Any]]:
    """Under the names and sides of the page, where stored ones would tell whose text is whose."""
    blinding = blinding_of(assignment, present(assignment.item))
    codes = TURNED if blinding.turned else {}
    for each in checked(assignment):
        yield {
            "unit": blinding.aliases.get(each.unit, each.unit),
            "variable": each.variable,
            "said": None if each.said is None else codes.get(each.said, each.said),
            "known": codes.get(each.known, each.known),
            "reason": each.reason,
            "is_right": each.is_right,
        }
