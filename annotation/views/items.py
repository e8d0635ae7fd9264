"""The item page, the parts of it that are loaded later, and the correction of one's own nuggets."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import MAY_WORK, my_assignment, progress_here, user_of, with_neighbours
from annotation.answers.drafts import StaleDraftError, read_draft_state
from annotation.answers.submission import Circumstances, ConflictError
from annotation.assignments.context import Editable, correct_nugget, editable, judge_answers_for
from annotation.campaigns.rendering import render as render_guideline
from annotation.item_context import sheet_of
from annotation.prerequisites.grounded_answer import shown_beside
from annotation.presentation import blinding_of, ordered_texts, present, schema
from annotation.protocols.validation import Problem, RefusedError
from annotation.provenance import basis_of
from annotation.registry import declared
from annotation.views.protocol_pages import page_of
from datasets.access import role_required


@require_safe
@role_required(*MAY_WORK)
def item(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    user = user_of(request)
    assignment, beside = with_neighbours(user, uid)
    campaign = assignment.item.campaign
    spec, asked = present(assignment.item), schema(campaign)
    there, page = read_draft_state(assignment), page_of(declared(campaign).slug)
    texts = ordered_texts(assignment, spec)
    blinding = blinding_of(assignment, spec)
    sheet = sheet_of(asked, spec, blinding.units, blinding.hidden(there.payload), texts)
    context = {
        "assignment": assignment,
        "campaign": campaign,
        "protocol": declared(campaign),
        "page": page,
        "sheet": sheet,
        "basis": basis_of(asked, spec, blinding.units.values(), shown_beside(assignment)),
        "standing": there,
        "verdicts": judge_answers_for(assignment, spec, blinding),
        "verdicts_placed": set(),
        "progress": progress_here(user, campaign),
        "number": beside.number,
        "previous": beside.previous,
        "following": beside.following,
        **page.facts(assignment, spec, sheet),
    }
    response = render(request, page.template, context)
    # A page from the browser's own store would show an older version as if it were the newest.
    patch_cache_control(response, no_store=True, private=True)
    return response


@require_safe
@role_required(*MAY_WORK)
def guideline(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    campaign = my_assignment(user_of(request), uid).item.campaign
    html = render_guideline(schema(campaign).protocol.guideline)
    return render(request, "work/guideline.html", {"html": html})


@require_safe
@role_required(*MAY_WORK)
def how_far(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """The progress in the page's foot, asked for again when a late answer got through."""
    user = user_of(request)
    campaign = my_assignment(user, uid).item.campaign
    numbers = progress_here(user, campaign)
    return render(request, "work/_progress.html", {"progress": numbers})


BEGUN = "you have begun to revise this report; submit that first, or it would be lost"


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*MAY_WORK)
def nugget(request: HttpRequest, uid: uuid.UUID, place: int) -> HttpResponse:
    """`uid` is one's own answered report, `place` that of the question in it."""
    there = _mine(request, uid, place)
    mends = request.method == "POST"
    response = _mended(request.POST, there, place) if mends else _shown(request, there)
    patch_cache_control(response, no_store=True, private=True)
    return response


def _mine(request: HttpRequest, uid: uuid.UUID, place: int) -> Editable:
    there = editable(my_assignment(user_of(request), uid), place)
    if there is None:
        raise Http404
    return there


def _shown(request: HttpRequest, there: Editable) -> HttpResponse:
    quotes = json.dumps(there.quotes, ensure_ascii=False)
    return render(request, "work/_nugget.html", {"nugget": there, "quotes": quotes})


def _mended(form: QueryDict, there: Editable, place: int) -> JsonResponse:
    try:
        evidence = _json(form.get("evidence"))
        outcome = correct_nugget(there, evidence, _circumstances(form))
    except RefusedError as error:
        return JsonResponse({"problems": [asdict(p) for p in error.problems]}, status=422)
    except StaleDraftError:
        return JsonResponse({"problems": [asdict(Problem("", "", BEGUN))]}, status=422)
    except ConflictError:
        now = editable(there.assignment, place) or there
        standing = {"revision": now.response.revision, "quotes": now.quotes, "answer": now.answer}
        return JsonResponse({**standing, "saved_at": now.response.created_at}, status=409)
    stands = outcome.response
    return JsonResponse({"revision": stands.revision, "saved_at": stands.created_at})


def _circumstances(form: QueryDict) -> Circumstances:
    seen, key = form.get("seen", ""), form.get("key", "")
    if not seen.isdecimal() or len(seen) > 9:
        raise RefusedError([Problem("", "seen", "is not the revision that was seen")])
    try:
        return Circumstances(key=str(uuid.UUID(key)), seen=int(seen))
    except ValueError as error:
        raise RefusedError([Problem("", "key", "is not a UUID")]) from error


def _json(text: str | None) -> Any:
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise RefusedError([Problem("", "evidence", "is not JSON")]) from error
