"""What a practice item's answer was, beside what is right and why."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.blinding import blinding_of
from annotation.gold.scoring import Checked, checked, passes, score
from annotation.models import Assignment, Item
from annotation.presenting import asked_units, ordered_texts, present, schema
from annotation.protocols.base import ItemSpec, Text, Variable
from annotation.protocols.schema import Schema
from annotation.views.mine import MAY_WORK, my_assignment, user_of
from datasets.access import role_required


@dataclass(frozen=True)
class Told:
    """One known answer in the words of the page."""

    heading: str
    text: str
    question: str
    said: str
    known: str
    reason: str
    is_right: bool


def shows_feedback(assignment: Assignment) -> bool:
    """Whether the known answers of an item may ever be shown to its people."""
    return assignment.item.use == Item.Use.PRACTICE


def feedback_address(assignment: Assignment) -> str:
    return reverse("feedback", args=[assignment.uid])


@require_safe
@role_required(*MAY_WORK)
def feedback(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    assignment = my_assignment(user_of(request), uid)
    if not shows_feedback(assignment) or assignment.status != Assignment.Status.DONE:
        raise Http404
    campaign, rater = assignment.item.campaign, assignment.rater
    spec = present(assignment.item)
    told = score(campaign, rater, Item.Use.PRACTICE)
    context = {
        "assignment": assignment,
        "campaign": campaign,
        "rows": list(_told(assignment, spec)),
        "texts": _texts(assignment, spec),
        "score": told,
        "passed": passes(campaign, told),
        "percent": None if told.share is None else round(100 * told.share),
        "wanted": None if campaign.qualify is None else round(100 * campaign.qualify),
    }
    return render(request, "work/feedback.html", context)


def _texts(assignment: Assignment, spec: ItemSpec) -> list[tuple[str, Text]]:
    texts = ordered_texts(assignment, spec)
    return [(text.heading or f"Text {n}", text) for n, text in enumerate(texts, start=1)]


def _told(assignment: Assignment, spec: ItemSpec) -> Iterator[Told]:
    asked, units = schema(assignment.item.campaign), asked_units(assignment, spec)
    turned = blinding_of(assignment, spec).turned
    for each in checked(assignment):
        unit = units[each.unit]
        variable = asked.variable(each.variable, unit.kind)
        if variable is not None:
            yield _row(each, unit.text, variable, asked, turned)


def _row(each: Checked, text: str, variable: Variable, asked: Schema, turned: bool) -> Told:
    return Told(
        heading=variable.name,
        text=text,
        question=variable.question,
        said=_word(variable, each.said, turned) if each.said is not None else "nothing",
        known=_word(variable, each.known, turned),
        reason=each.reason,
        is_right=each.is_right,
    )


def _word(variable: Variable, code: str, turned: bool) -> str:
    """A code as people read it; a pair's sides are those that were shown."""
    if turned:
        code = {"first": "second", "second": "first"}.get(code, code)
    return variable.words.get(code, code)
