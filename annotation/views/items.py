"""The item page, its parts that load later, and the editing of one's own highlights."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.cache import patch_cache_control
from django.utils.translation import get_language, gettext_noop
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import ever_my_assignment, get_account, my_assignment, with_neighbours
from annotation.answers.drafts import read_saved_state
from annotation.answers.submission import Circumstances
from annotation.answers.types import ConflictError
from annotation.assignments.context import Editable, correct_nugget, editable, judge_answers_for
from annotation.blinding import blinding_of
from annotation.campaigns.rendering import render as render_guideline
from annotation.campaigns.text_views import TextViews
from annotation.item_context import sheet_of, with_button_words
from annotation.long_items import leave_if_long
from annotation.models import Assignment, Campaign, User
from annotation.people.consent import owed_step
from annotation.prerequisites.grounded_answer import shown_beside
from annotation.presentation import (
    guideline_in,
    ordered_texts,
    page_schema,
    page_task,
    present,
    schema,
)
from annotation.progress.person import progress_here
from annotation.provenance import basis_of
from annotation.views.answers import refusal
from annotation.views.intake import gone_address
from annotation.views.protocol_pages import page_for
from datasets.access import WORKERS, found_or_404, role_required
from tandem.messages import Message
from tandem.protocols.validation import Problem, RefusedError

CANNOT_JUDGE = (
    (
        "unreadable",
        gettext_noop("I cannot read it: it is damaged, or in a language that I do not know"),
    ),
    ("ambiguous", gettext_noop("The question makes no sense to me, or none of the answers fits")),
    ("declined", gettext_noop("I know too little about it, or would rather not read this text")),
)
"""The reasons for which a person cannot judge an item, in words."""

UNSUBMITTED = Message(
    "you have started to revise this report; submit that first, or it would be lost"
)


@require_safe
@role_required(*WORKERS)
def item(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    user = get_account(request)
    try:
        assignment, neighbours = with_neighbours(user, uid)
    except Http404:
        # The list of work names a person's own item that was released, and nothing of others'.
        ever_my_assignment(user, uid)
        return redirect(gone_address())
    campaign = assignment.item.campaign
    if campaign.takes_answers and owed_step(campaign, assignment.rater):
        return redirect("before", campaign.pk)
    leave_if_long(request, assignment)
    context = {
        **item_context(assignment, user),
        "progress": progress_here(user, campaign),
        "number": neighbours.number,
        "previous": neighbours.previous,
        "following": neighbours.following,
    }
    response = render(request, context["page"].template, context)
    # A page from the browser's cache would show an older version as the newest.
    patch_cache_control(response, no_store=True, private=True)
    return response


def item_context(assignment: Assignment, user: User | None = None) -> dict[str, Any]:
    """Return what the page of an item shows, apart from the person's progress and neighbours.

    Renderings that are missing are requested for `user`.
    """
    campaign = assignment.item.campaign
    spec, asked = present(assignment.item), page_schema(campaign)
    saved, page = read_saved_state(assignment), page_for(asked.protocol)
    blinding = blinding_of(assignment, spec)
    texts = blinding.blind(replace(spec, texts=tuple(ordered_texts(assignment, spec)))).texts
    shown, payload = blinding.blind(spec), blinding.for_page(saved.payload)
    sheet = sheet_of(asked, shown, blinding.page_units, payload, texts)
    return {
        "assignment": assignment,
        "campaign": campaign,
        "protocol": page_task(campaign),
        "page": page,
        "sheet": sheet,
        "views": TextViews(assignment.item, [text.text for text in spec.texts], user),
        "basis": basis_of(
            schema(campaign, "people"), spec, blinding.units.values(), shown_beside(assignment)
        ),
        "saved": saved,
        "verdicts": judge_answers_for(assignment, spec, blinding),
        "verdicts_placed": set(),
        "cannot": CANNOT_JUDGE,
        **page.facts(assignment, shown, sheet),
    }


@require_safe
@role_required(*WORKERS)
def guideline(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    campaign = my_assignment(get_account(request), uid).item.campaign
    return render(request, "work/guideline.html", guideline_parts(campaign))


def guideline_parts(campaign: Campaign) -> dict[str, Any]:
    """Return the guideline as it is shown, and the whole guideline if that is longer.

    Both are in the reader's language and name answers as their buttons do.
    """
    asked = page_schema(campaign)
    words = page_for(asked.protocol).words
    texts = guideline_in(campaign, get_language() or "en")
    shown, whole = (with_button_words(text, asked, words) for text in texts)
    rest = "" if whole.strip() == shown.strip() else render_guideline(whole)
    return {"html": render_guideline(shown), "whole": rest}


@require_safe
@role_required(*WORKERS)
def work_progress(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Render the progress in the page's footer, which the page reloads after a delayed answer."""
    user = get_account(request)
    campaign = my_assignment(user, uid).item.campaign
    numbers = progress_here(user, campaign)
    return render(request, "work/_progress.html", {"progress": numbers})


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*WORKERS)
@cache_control(no_store=True, private=True)
def nugget(request: HttpRequest, uid: uuid.UUID, place: int) -> HttpResponse:
    """Show or store the highlights of question number `place` of one's own answered report."""
    found = _find_editable(request, uid, place)
    stores = request.method == "POST"
    return _store(request.POST, found, place) if stores else _show(request, found)


def _find_editable(request: HttpRequest, uid: uuid.UUID, place: int) -> Editable:
    assignment = my_assignment(get_account(request), uid)
    if request.method != "POST":
        leave_if_long(request, assignment)
    return found_or_404(editable(assignment, place))


def _show(request: HttpRequest, found: Editable) -> HttpResponse:
    quotes = json.dumps(found.quotes, ensure_ascii=False)
    return render(request, "work/_nugget.html", {"nugget": found, "quotes": quotes})


def _store(form: QueryDict, found: Editable, place: int) -> JsonResponse:
    try:
        evidence = _json(form.get("evidence"))
        outcome = correct_nugget(found, evidence, _circumstances(form))
    except RefusedError as error:
        return refusal(error.problems)
    except ConflictError as error:
        if error.version:
            return refusal([Problem("", "", UNSUBMITTED)])
        now = editable(found.assignment, place) or found
        current = {"revision": now.response.revision, "quotes": now.quotes, "answer": now.answer}
        return JsonResponse({**current, "saved_at": now.response.created_at}, status=409)
    stored = outcome.response
    return JsonResponse({"revision": stored.revision, "saved_at": stored.created_at})


def _circumstances(form: QueryDict) -> Circumstances:
    seen, key = form.get("seen", ""), form.get("key", "")
    if not seen.isdecimal() or len(seen) > 9:
        raise RefusedError([Problem("", "seen", Message("is not a revision number"))])
    try:
        return Circumstances(key=str(uuid.UUID(key)), seen=int(seen))
    except ValueError as error:
        raise RefusedError([Problem("", "key", Message("is not a UUID"))]) from error


def _json(text: str | None) -> Any:
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise RefusedError([Problem("", "evidence", Message("is not JSON"))]) from error
