"""What the item page sends: drafts while the work goes on, and the answer at its end."""

from __future__ import annotations

import math
import uuid
from dataclasses import asdict, dataclass

from django.db import transaction
from django.http import HttpRequest, JsonResponse, QueryDict
from django.views.decorators.http import require_POST

from annotation.doors import Payload, from_form
from annotation.drafts import StaleDraftError, check_fresh, check_shape, save_draft, standing
from annotation.models import Assignment, Draft
from annotation.presenting import asked_units, present, schema
from annotation.protocols.base import ItemSpec
from annotation.protocols.checking import Problem, RefusedError
from annotation.protocols.schema import Schema
from annotation.submit import Circumstances, ConflictError, Outcome, submit
from annotation.views.mine import MAY_WORK, my_assignment, user_of
from annotation.views.work import next_address
from datasets.access import role_required

LONGEST = 7 * 24 * 3600


@dataclass(frozen=True)
class Sent:
    """One message of the page: the answers, and what its writer had seen before."""

    assignment: Assignment
    spec: ItemSpec
    schema: Schema
    payload: Payload
    version: int
    circumstances: Circumstances


@require_POST
@role_required(*MAY_WORK)
def keep_draft(request: HttpRequest, uid: uuid.UUID) -> JsonResponse:
    assignment = my_assignment(user_of(request), uid)
    try:
        sent = _read(request.POST, assignment)
        seen = sent.circumstances.seen or 0
        there = save_draft(assignment, sent.payload, sent.version, seen)
    except RefusedError as error:
        return _refused(error)
    except StaleDraftError:
        return _conflict(assignment, sent.payload)
    return JsonResponse({"version": there.version, "saved_at": there.saved_at})


@require_POST
@role_required(*MAY_WORK)
def take_answer(request: HttpRequest, uid: uuid.UUID) -> JsonResponse:
    user = user_of(request)
    assignment = my_assignment(user, uid)
    try:
        sent = _read(request.POST, assignment)
        outcome = _submit(sent)
    except RefusedError as error:
        return _refused(error)
    except (StaleDraftError, ConflictError):
        return _conflict(assignment, sent.payload)
    return JsonResponse(
        {
            "revision": outcome.response.revision,
            "saved_at": outcome.response.created_at,
            "next": next_address(assignment.item.campaign, user),
        }
    )


def _read(form: QueryDict, assignment: Assignment) -> Sent:
    """Raises RefusedError where a field cannot be read, or the campaign takes no more answers."""
    campaign = assignment.item.campaign
    if not campaign.is_open:
        closed = "the campaign is closed; ask its researcher to open it again"
        raise RefusedError([Problem("", "", closed)])
    spec, asked = present(assignment.item), schema(campaign)
    payload = from_form(asked, asked_units(assignment, spec), form)
    check_shape(payload)
    return Sent(
        assignment,
        spec,
        asked,
        payload,
        version=_whole(form, "version") or 0,
        circumstances=Circumstances(
            key=_key(form), seen=_whole(form, "seen"), seconds=_seconds(form)
        ),
    )


def _submit(sent: Sent) -> Outcome:
    """The answer stored, unless a newer draft is there that its writer never saw."""
    held, circumstances = sent.assignment, sent.circumstances
    with transaction.atomic():
        Assignment.objects.select_for_update().get(pk=held.pk)
        sent_before = circumstances.key and held.responses.filter(key=circumstances.key).exists()
        if not sent_before:
            check_fresh(held, sent.version, circumstances.seen or 0, sent.payload)
            Draft.objects.filter(assignment=held).delete()
        return submit(held, sent.payload, "page", circumstances, sent.spec, sent.schema)


def _whole(form: QueryDict, name: str) -> int | None:
    text = form.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise RefusedError([Problem("", name, "is not a whole number")])
    return int(text)


def _seconds(form: QueryDict) -> float | None:
    try:
        seconds = float(form.get("seconds", "nan"))
    except ValueError:
        return None
    return min(seconds, LONGEST) if math.isfinite(seconds) and seconds >= 0 else None


def _key(form: QueryDict) -> str | None:
    try:
        key = form.get("key")
        return None if key is None else str(uuid.UUID(key))
    except ValueError as error:
        raise RefusedError([Problem("", "key", "is not a UUID")]) from error


def _refused(error: RefusedError) -> JsonResponse:
    return JsonResponse({"problems": [asdict(p) for p in error.problems]}, status=422)


def _conflict(assignment: Assignment, mine: Payload) -> JsonResponse:
    there = standing(assignment)
    answer = {
        "mine": mine,
        "theirs": there.payload,
        "version": there.version,
        "revision": there.revision,
        "saved_at": there.saved_at,
    }
    return JsonResponse(answer, status=409)
