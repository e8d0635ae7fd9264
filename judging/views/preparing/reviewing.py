"""The review of one answer: the texts with its quotes marked, its fields, and the verdict."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.datastructures import MultiValueDict
from django.views.decorators.http import require_http_methods

from annotation.models.people import rater_of
from annotation.presenting import schema
from datasets.access import role_required
from judging.models import Review
from judging.preparation.answering import answer_in, fields_of
from judging.preparation.checking import Units
from judging.preparation.marking import marked_texts
from judging.preparation.reviewing import ProblemsError, judge_one
from judging.preparation.standing import queue_of
from judging.preparation.written import Written
from judging.views.access import READERS, blind_page, person
from judging.views.preparing.finding import written_by

LONGEST_NOTE = 2000
WORDS = {
    Review.Verdict.ACCEPTED: ("Accepted", "yes"),
    Review.Verdict.CHANGED: ("Accepted with changes", "yes"),
    Review.Verdict.REJECTED: ("Rejected", "no"),
}
MEANWHILE = "Somebody reviewed this answer since you opened it; this is what holds now."
NO_VERDICT = "Accept the answer or reject it."
LONG_NOTE = f"The note is longer than {LONGEST_NOTE} characters; shorten it."


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def review(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """One answer. A verdict leads on to the next answer that waits, or back to the overview."""
    each = written_by(person(request), uid)
    campaign = each.assignment.item.campaign
    if blind := blind_page(request, campaign):
        return blind
    if request.method != "POST":
        return _page(request, each, each.standing)
    if request.POST.get("seen", "") != seen_of(each):
        return _page(request, each, each.standing, [MEANWHILE], status=409)
    given = _given(request, each)
    verdict, note = request.POST.get("verdict", ""), request.POST.get("note", "").strip()
    if verdict not in (Review.Verdict.ACCEPTED, Review.Verdict.REJECTED):
        return _page(request, each, given, [NO_VERDICT], note, 422)
    if len(note) > LONGEST_NOTE:
        return _page(request, each, given, [LONG_NOTE], note, 422)
    try:
        judge_one(each, verdict, given, note, rater_of(person(request)))
    except ProblemsError as error:
        return _page(request, each, given, list(error.problems) or [str(error)], note, 422)
    after = queue_of(campaign, each.assignment.rater, uid).next_waiting
    return redirect("review", after) if after else redirect("preparation", campaign.batch_id)


def seen_of(each: Written) -> str:
    """Which review of an answer somebody has seen; empty where there was none."""
    return each.review.made_at.isoformat() if each.review else ""


def _given(request: HttpRequest, each: Written) -> Units:
    """What stands in the form: the author's own words where nothing in them was changed.

    A form cannot give back every answer as it was, such as a quote in the model's own spelling.
    """
    asked = schema(each.assignment.item.campaign)
    given = answer_in(request.POST, asked, each.spec, each.units, each.own)
    for known in (each.own, each.standing):
        if given == _as_sent(each, known):
            return known
    return given


def _as_sent(each: Written, answer: Units) -> Units:
    asked = schema(each.assignment.item.campaign)
    form = MultiValueDict[str, str]()
    for unit in fields_of(asked, each.spec, each.units, answer):
        for name, values in unit.sent():
            form.setlist(name, values)
    return answer_in(form, asked, each.spec, each.units, each.own)


def _page(
    request: HttpRequest,
    each: Written,
    answer: Units,
    wrong: list[str] | None = None,
    note: str | None = None,
    status: int = 200,
) -> HttpResponse:
    campaign, asked = each.assignment.item.campaign, schema(each.assignment.item.campaign)
    made = each.review
    context: dict[str, Any] = {
        "each": each,
        "batch": campaign.batch,
        "query": each.assignment.item.query,
        "texts": marked_texts(asked, each.spec.texts, each.units, answer),
        "units": fields_of(asked, each.spec, each.units, answer),
        "problems": [] if wrong else each.problems(answer),
        "wrong": wrong,
        "queue": queue_of(campaign, each.assignment.rater, each.assignment.uid),
        "verdict": WORDS[Review.Verdict(made.verdict)] if made else None,
        "note": note if note is not None else (made.note if made else ""),
        "seen": seen_of(each),
        "longest": LONGEST_NOTE,
    }
    return render(request, "preparation/review.html", context, status=status)
