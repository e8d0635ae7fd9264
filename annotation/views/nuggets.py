"""One's own nugget: the report that it stands in, with its highlights, and what mends them."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_http_methods

from annotation.drafts import StaleDraftError
from annotation.nuggets import Editable, editable, mend
from annotation.protocols.checking import Problem, RefusedError
from annotation.submit import Circumstances, ConflictError
from annotation.views.mine import MAY_WORK, my_assignment, user_of
from datasets.access import role_required

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
        outcome = mend(there, evidence, _circumstances(form))
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
