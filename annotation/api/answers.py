"""API endpoints of a person's own answers: read, submit and revise them.

Answers go through the `submit` of all channels. Units have the aliases of the page, because a
stored name may reveal the author of a text.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from annotation.answers.drafts import check_stored, read_saved_state
from annotation.answers.payloads import from_api
from annotation.answers.submission import (
    Circumstances,
    LostLeaseError,
    Outcome,
    submit,
)
from annotation.answers.types import ConflictError
from annotation.api.access import GONE, my_assignment, my_assignment_to_answer
from annotation.api.assignment_serializers import (
    AnswerSerializer,
    CurrentSerializer,
    NewAnswerSerializer,
    SavedSerializer,
)
from annotation.assignments.queue import has_lost_access
from annotation.blinding import Blinding, aliases_for, blinding_of, problems_for_page
from annotation.models import Assignment, Campaign
from annotation.models import Response as Answer
from annotation.presentation import present
from datasets.access import WORKERS, found_or_404
from datasets.api.base import (
    RefusedBodyError,
    StateConflictError,
    conflict_serializer,
    header,
    problem,
)
from datasets.api.concurrency import key_of
from datasets.api.permissions import LABEL, READ
from datasets.api.routes import Reply, Routes, given
from tandem.messages import Message
from tandem.protocols.base import Payload
from tandem.protocols.validation import Problem, RefusedError

api = Routes("work", roles=WORKERS, reads=(READ, LABEL), writes=(LABEL,))

NO_ALIASES = Blinding({}, {})


def get_blinding(assignment: Assignment) -> Blinding:
    """Return the aliases of an assignment's units and texts; texts are loaded only if needed."""
    if not aliases_for(assignment) and assignment.item.campaign.protocol_file_id is None:
        return NO_ALIASES
    return blinding_of(assignment, present(assignment.item))


def with_stored_names(assignment: Assignment, payload: Payload) -> Payload:
    """Return a sent answer under the stored names. Raises RefusedError."""
    aliases = get_blinding(assignment)
    aliases.check_names(payload["units"])
    return aliases.for_storage(payload)


def with_aliases(assignment: Assignment, payload: Payload) -> Payload:
    """Return a stored answer or draft under the aliases of the page."""
    return get_blinding(assignment).for_page(payload) or payload


REVISION = re.compile(r'(?:W/)?"([0-9]{1,9})"')
PAST = "the campaign's deadline is past; ask its researcher for more time"
CLOSED = "the campaign is closed; ask its researcher to open it again"
NO_MEMBER = "you no longer take part in this campaign; ask its researcher"
REUSED = "this Idempotency-Key was used for another answer; use a new key for each answer"
HEADERS = [
    header(
        "Idempotency-Key",
        "The client's key for this save, 1 to 64 printable ASCII characters. The same save "
        "with the same key is stored once, however often it is sent.",
    ),
    header("If-Match", 'The revision that you read, as in its ETag: `"2"`.'),
]
SUBMITTING = (
    "Stores an answer as your current one, after the same checks as on the page. 201 if it is "
    "new, 200 if it is unchanged. 409 if there is something newer that you had not read: read "
    "`current`, and send yours again with its `revision` and `draft`. 422 names every problem."
)


SUBMIT: dict[str, Any] = {
    "body": NewAnswerSerializer,
    "status": 201,
    "also": (200,),
    "conflict": conflict_serializer("Conflict", current=CurrentSerializer()),
    "raises": {LostLeaseError: lambda error: RefusedBodyError(GONE)},
    "refuses": (422,),
    "parameters": HEADERS,
}


@api.get(
    "assignments/<uuid:uid>/response/",
    "Read your own answer",
    "Your current answer to an assignment; 404 before the first. Its ETag is its revision.",
    AnswerSerializer,
    name="response",
)
def responses_read_own(request: Request, uid: uuid.UUID) -> Any:
    answer = found_or_404(my_assignment(request, uid).responses.filter(current=True).first())
    return Reply(answer_of(answer), headers=_etag(answer))


ADDRESS = "assignments/<uuid:uid>/response/"


@api.put(ADDRESS, "Submit an answer", SUBMITTING, SavedSerializer, **SUBMIT)
def responses_submit(request: Request, uid: uuid.UUID) -> Reply:
    assignment = my_assignment_to_answer(request, uid)
    body = given(request)
    circumstances = Circumstances(
        key=key_of(request),
        seen=_read_revision(request, body),
        seconds=body.get("seconds"),
    )
    try:
        outcome = _store(assignment, body, circumstances)
    except RefusedError as error:
        problems = _problems(assignment, error.problems)
        raise RefusedBodyError("the answer was not stored", problems) from error
    except ConflictError as error:
        raise _conflict(assignment) from error
    answer = outcome.response
    saved = {**answer_of(answer), "warnings": _problems(assignment, outcome.warnings)}
    return Reply(saved, 201 if outcome.created else 200, _etag(answer))


@api.post(ADDRESS, "Submit an answer", SUBMITTING, SavedSerializer, **SUBMIT)
def responses_submit_by_post(request: Request, uid: uuid.UUID) -> Reply:
    return responses_submit(request, uid)


def answer_of(answer: Answer) -> dict[str, Any]:
    units = with_aliases(answer.assignment, answer.payload)["units"]
    return {
        "revision": answer.revision,
        "current": answer.current,
        "saved_at": answer.created_at,
        "assisted_by": answer.assignment.assisted_by,
        "units": units,
        "comment": answer.payload.get("comment"),
    }


def _store(assignment: Assignment, body: dict[str, Any], circumstances: Circumstances) -> Outcome:
    """Store the answer, unless something newer is stored that its writer had not read."""
    sent = from_api({name: body[name] for name in ("units", "comment") if name in body})
    payload = with_stored_names(assignment, sent)
    with transaction.atomic():
        Assignment.objects.select_for_update().get(pk=assignment.pk)
        key = circumstances.key
        # An answer stored before the campaign closed is confirmed afterwards, too.
        if not (key and assignment.responses.filter(key=key).exists()):
            campaign = Campaign.objects.get(pk=assignment.item.campaign_id)
            if not campaign.takes_answers:
                raise RefusedError([Problem("", "", Message(PAST if campaign.is_open else CLOSED))])
            if has_lost_access(assignment):
                raise RefusedError([Problem("", "", Message(NO_MEMBER))])
            check_stored(assignment, body.get("draft", 0), circumstances.seen or 0, payload)
        outcome = submit(assignment, payload, "api", circumstances)
    _check_replay(outcome, payload)
    return outcome


def _check_replay(outcome: Outcome, payload: Payload) -> None:
    """Refuse a key that was used for another answer. Otherwise this answer would be lost."""
    if not outcome.created and outcome.response.payload != payload:
        raise RefusedError([Problem("", "Idempotency-Key", Message(REUSED))])


def _read_revision(request: Request, body: dict[str, Any]) -> int:
    """Return the revision that the client had read, from header or body; 0 without either."""
    match = request.headers.get("If-Match")
    if match is None:
        return int(body.get("revision", 0))
    found = REVISION.fullmatch(match.strip())
    if found is None:
        raise ParseError('If-Match is not a revision in quotes, such as "2"; correct it')
    seen = int(found[1])
    if body.get("revision", seen) != seen:
        raise ParseError("If-Match and `revision` differ; leave one out")
    return seen


def _conflict(assignment: Assignment) -> StateConflictError:
    state = read_saved_state(assignment)
    payload = with_aliases(assignment, state.payload or {"units": {}, "comment": None})
    current = {
        "revision": state.revision,
        "draft": state.version,
        "saved_at": state.saved_at,
        "units": payload["units"],
        "comment": payload.get("comment"),
    }
    what = f"draft {state.version}" if state.version else f"revision {state.revision}"
    sentence = f"there is a newer {what} of your answer; read it, and send yours again"
    return StateConflictError(sentence, more={"current": CurrentSerializer(current).data})


def _problems(assignment: Assignment, found: Iterable[Problem]) -> list[dict[str, str | None]]:
    aliased = problems_for_page(assignment, list(found))
    return [problem(each.message, each.key, each.unit) for each in aliased]


def _etag(answer: Answer) -> dict[str, str]:
    return {"ETag": f'"{answer.revision}"'}
