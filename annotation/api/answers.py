"""API endpoints: reading, giving and revising one's own answers, through the same `submit`.

Units have the names that the page uses, because a stored name may tell whose text it is.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.http import Http404
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.answers.drafts import StaleDraftError, check_fresh, read_draft_state
from annotation.answers.payloads import from_api
from annotation.answers.submission import (
    Circumstances,
    ConflictError,
    LostLeaseError,
    Outcome,
    submit,
)
from annotation.api import serializers
from annotation.api.access import GONE, my_assignment, my_assignment_to_answer
from annotation.api.serializers import (
    AnswerSerializer,
    ConflictSerializer,
    CurrentSerializer,
    NewAnswerSerializer,
    SavedSerializer,
)
from annotation.assignments.queue import has_lost_access
from annotation.models import Assignment, Campaign
from annotation.models import Response as Answer
from annotation.presentation import Blinding, aliases_for, blinding_of, present, problems_for_page
from annotation.protocols.base import Payload
from annotation.protocols.validation import Problem, RefusedError
from datasets.access import WORKERS
from datasets.api.base import (
    Resource,
    checked,
    described,
    header,
)
from datasets.api.errors import RefusedBodyError, StateConflictError, problem
from datasets.api.permissions import LABEL, READ

PLAIN = Blinding({}, {})


def blinding(assignment: Assignment) -> Blinding:
    """How an assignment's units are called; its texts are looked up only where they hide any."""
    if not aliases_for(assignment):
        return PLAIN
    return blinding_of(assignment, present(assignment.item))


def stored_names(assignment: Assignment, payload: Payload) -> Payload:
    """An answer that was sent, under the stored names. Raises RefusedError."""
    known = blinding(assignment)
    known.check_names(payload["units"])
    return known.for_storage(payload)


def shown_names(assignment: Assignment, payload: Payload) -> Payload:
    """A stored answer or draft as the page names its units and codes."""
    return blinding(assignment).for_page(payload) or payload


KEY = re.compile(r"[!-~]{1,64}")
SEEN = re.compile(r'(?:W/)?"([0-9]{1,9})"')
PAST = "the campaign's deadline is past; ask its researcher for more time"
CLOSED = "the campaign is closed; ask its researcher to open it again"
PUT_OUT = "you take part in this campaign no more; ask its researcher"
REUSED = "this Idempotency-Key came with another answer before; make a new key for each answer"
HEADERS = [
    header(
        "Idempotency-Key",
        "A key of the client's own for this save, 1 to 64 printable ASCII characters. The same "
        "save under the same key is stored once, however often it is sent.",
    ),
    header("If-Match", 'The revision that one had seen, as its ETag says it: `"2"`.'),
]
SUBMITTING = (
    "Checks the whole answer as the page does and makes it one's current one. 201 where it is new, "
    "200 where it stood already. 409 where something newer stands that one had not seen: read "
    "`current`, and send again with its `revision` and `draft`. 422 names every problem."
)


def _submitting(operation_id: str) -> Any:
    return described(
        "Submit an answer",
        SUBMITTING,
        {201: SavedSerializer, 200: SavedSerializer, 409: ConflictSerializer},
        tag="work",
        request=NewAnswerSerializer,
        sent=serializers.ANSWER,
        example=serializers.SAVED,
        status=201,
        refuses=(422,),
        parameters=HEADERS,
        operation_id=operation_id,
    )


class OneAnswer(Resource):
    roles = {"GET": WORKERS, "POST": WORKERS, "PUT": WORKERS}
    scopes = {"GET": (READ, LABEL), "POST": (LABEL,), "PUT": (LABEL,)}

    @described(
        "Read one's own answer",
        "The current answer to one's own assignment; 404 before the first. Its ETag is its "
        "revision.",
        {200: AnswerSerializer},
        tag="work",
        example=serializers.SAVED,
        operation_id="responses_read_own",
    )
    def get(self, request: Request, uid: uuid.UUID) -> Response:
        answer = my_assignment(request, uid).responses.filter(current=True).first()
        if answer is None:
            raise Http404
        return Response(AnswerSerializer(answer_of(answer)).data, headers=_etag(answer))

    @_submitting("responses_submit")
    def put(self, request: Request, uid: uuid.UUID) -> Response:
        return self._submit(request, uid)

    @_submitting("responses_submit_by_post")
    def post(self, request: Request, uid: uuid.UUID) -> Response:
        return self._submit(request, uid)

    def _submit(self, request: Request, uid: uuid.UUID) -> Response:
        assignment = my_assignment_to_answer(request, uid)
        body = checked(NewAnswerSerializer, request.data)
        circumstances = Circumstances(
            key=_key(request), seen=_seen(request, body), seconds=body.get("seconds")
        )
        try:
            outcome = _stored(assignment, body, circumstances)
        except RefusedError as error:
            problems = _told(assignment, error.problems)
            raise RefusedBodyError("the answer cannot be taken", problems) from error
        except (StaleDraftError, ConflictError) as error:
            raise _conflict(assignment) from error
        except LostLeaseError as error:
            raise RefusedBodyError(GONE) from error
        answer = outcome.response
        warnings = _told(assignment, outcome.warnings)
        saved = SavedSerializer({**answer_of(answer), "warnings": warnings}).data
        return Response(saved, status=201 if outcome.created else 200, headers=_etag(answer))


def answer_of(answer: Answer) -> dict[str, Any]:
    units = shown_names(answer.assignment, answer.payload)["units"]
    return {
        "revision": answer.revision,
        "current": answer.current,
        "saved_at": answer.created_at,
        "assisted_by": answer.assignment.assisted_by,
        "units": units,
        "comment": answer.payload.get("comment"),
    }


def _stored(assignment: Assignment, body: dict[str, Any], circumstances: Circumstances) -> Outcome:
    """The answer stored, unless something newer is there that its writer never saw."""
    sent = from_api({name: body[name] for name in ("units", "comment") if name in body})
    payload = stored_names(assignment, sent)
    with transaction.atomic():
        Assignment.objects.select_for_update().get(pk=assignment.pk)
        key = circumstances.key
        # An answer that was stored before the campaign closed is acknowledged after it, too.
        if not (key and assignment.responses.filter(key=key).exists()):
            campaign = Campaign.objects.get(pk=assignment.item.campaign_id)
            if not campaign.takes_answers:
                raise RefusedError([Problem("", "", PAST if campaign.is_open else CLOSED)])
            if has_lost_access(assignment):
                raise RefusedError([Problem("", "", PUT_OUT)])
            check_fresh(assignment, body.get("draft", 0), circumstances.seen or 0, payload)
        outcome = submit(assignment, payload, "api", circumstances)
    _check_replay(outcome, payload)
    return outcome


def _check_replay(outcome: Outcome, payload: Payload) -> None:
    """A key that stands for another answer would swallow this one and say that it is stored."""
    if not outcome.created and outcome.response.payload != payload:
        raise RefusedError([Problem("", "Idempotency-Key", REUSED)])


def _key(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is not None and not KEY.fullmatch(key):
        raise ParseError("Idempotency-Key is not 1 to 64 printable ASCII characters; mend it")
    return key


def _seen(request: Request, body: dict[str, Any]) -> int:
    """The revision that the client had seen, by header or body; 0 where it says neither."""
    match = request.headers.get("If-Match")
    if match is None:
        return int(body.get("revision", 0))
    found = SEEN.fullmatch(match.strip())
    if found is None:
        raise ParseError('If-Match is not a revision in quotes, such as "2"; mend it')
    seen = int(found[1])
    if body.get("revision", seen) != seen:
        raise ParseError("If-Match and `revision` say two things; leave one out")
    return seen


def _conflict(assignment: Assignment) -> StateConflictError:
    there = read_draft_state(assignment)
    payload = shown_names(assignment, there.payload or {"units": {}, "comment": None})
    current = {
        "revision": there.revision,
        "draft": there.version,
        "saved_at": there.saved_at,
        "units": payload["units"],
        "comment": payload.get("comment"),
    }
    what = f"draft {there.version}" if there.version else f"revision {there.revision}"
    sentence = f"{what} of your answer stands, which you had not seen; read it, and send again"
    return StateConflictError(sentence, more={"current": CurrentSerializer(current).data})


def _told(assignment: Assignment, found: Iterable[Problem]) -> list[dict[str, str | None]]:
    named = problems_for_page(assignment, list(found))
    return [problem(each.message, each.key, each.unit) for each in named]


def _etag(answer: Answer) -> dict[str, str]:
    return {"ETag": f'"{answer.revision}"'}
