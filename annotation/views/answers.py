"""What the item page sends: drafts during the work, and the answer at its end."""

from __future__ import annotations

import math
import uuid
from dataclasses import asdict, dataclass

from django.db import transaction
from django.http import HttpRequest, JsonResponse, QueryDict
from django.views.decorators.http import require_POST

from annotation.access import MAY_WORK, ON_SHOW, ever_my_assignment, user_of
from annotation.answers.drafts import (
    StaleDraftError,
    check_draft,
    check_state,
    draft_state,
    read_draft_state,
    save_draft,
)
from annotation.answers.payloads import from_form, unit_names
from annotation.answers.submission import (
    Circumstances,
    ConflictError,
    LockedAnswer,
    LostLeaseError,
    Outcome,
    prepare,
    store,
)
from annotation.answers.types import LONGEST_SECONDS
from annotation.assignments.queue import (
    has_lost_access,
    next_assignment,
    next_in_transaction,
    reclaim,
)
from annotation.gold.scoring import shows_feedback
from annotation.models import Assignment, Response
from annotation.people.leases import release_expired
from annotation.prerequisites.grounded_answer import shown_beside
from annotation.presentation import (
    Blinding,
    ForgottenItemError,
    blinding_of,
    hidden_problems,
    present,
    schema,
)
from annotation.protocols.base import ItemSpec, Payload
from annotation.protocols.schema import Schema
from annotation.protocols.validation import Problem, RefusedError
from annotation.provenance import Basis, basis_of
from annotation.views.work import address_of, feedback_address
from datasets.access import role_required

CLOSED = (
    "the campaign was closed, so this does not count; it is kept as a draft: "
    "ask its researcher to open the campaign again"
)
PAST = (
    "the campaign's deadline is past, so this does not count; it is kept as a draft: "
    "ask its researcher for more time"
)
TAKEN_BACK = (
    "this item was taken back, so this does not count; it is kept as a draft: "
    "ask the campaign's researcher"
)
PUT_OUT = (
    "you take part in this campaign no more, so this does not count; it is kept as a draft: "
    "ask the campaign's researcher"
)
CHANGED = "what this item shows or asks was changed since it was opened; load it again"


@dataclass(frozen=True)
class Sent:
    """One message of the page: the answers, and what its writer had seen before."""

    assignment: Assignment
    spec: ItemSpec
    schema: Schema
    payload: Payload
    blinding: Blinding
    version: int
    circumstances: Circumstances
    late: str = ""


class ChangedError(Exception):
    """The page had shown other `questions` or `texts` than those of now."""

    def __init__(self, what: list[str]) -> None:
        self.what = what
        super().__init__(", ".join(what))


class StoredBeforeError(Exception):
    """This very answer came before, in better times, and only its word got lost."""

    def __init__(self, response: Response) -> None:
        self.response = response
        super().__init__(str(response))


@require_POST
@role_required(*MAY_WORK)
def keep_draft(request: HttpRequest, uid: uuid.UUID) -> JsonResponse:
    assignment = ever_my_assignment(user_of(request), uid)
    try:
        sent = _read(request.POST, assignment, key=None)
        return _keep(sent)
    except RefusedError as error:
        return _refused(error, assignment)
    except ChangedError as error:
        return _changed(error)
    except StaleDraftError:
        return _conflict(sent)


@require_POST
@role_required(*MAY_WORK)
def take_answer(request: HttpRequest, uid: uuid.UUID) -> JsonResponse:
    try:
        return _take(request, uid)
    except LostLeaseError:
        # The place went back while the answer was on its way: now it is late, and known to be.
        return _take(request, uid)


def _take(request: HttpRequest, uid: uuid.UUID) -> JsonResponse:
    assignment = ever_my_assignment(user_of(request), uid)
    try:
        sent = _read(request.POST, assignment, key_of(request.POST))
        if sent.late:
            return _keep(sent)
        outcome, following = _submit(sent)
    except RefusedError as error:
        return _refused(error, assignment)
    except ChangedError as error:
        return _changed(error)
    except StoredBeforeError as error:
        return _stored(error.response, _next_address(assignment))
    except (StaleDraftError, ConflictError):
        return _conflict(sent)
    return _stored(outcome.response, following)


def _stored(response: Response, following: str) -> JsonResponse:
    answer = {
        "revision": response.revision,
        "saved_at": response.created_at,
        "next": following,
    }
    return JsonResponse(answer)


def _next_address(assignment: Assignment) -> str:
    if shows_feedback(assignment):
        return feedback_address(assignment)
    campaign = assignment.item.campaign
    following = next_assignment(campaign, assignment.rater) if campaign.takes_answers else None
    return address_of(following, campaign)


def _keep(sent: Sent) -> JsonResponse:
    """The draft stored, which is also where an answer goes that comes too late to count."""
    seen = sent.circumstances.seen or 0
    there = save_draft(sent.assignment, sent.payload, sent.version, seen)
    kept = {"version": there.version, "saved_at": there.saved_at}
    if not sent.late:
        return JsonResponse(kept)
    problems = [asdict(Problem("", "", sent.late))]
    return JsonResponse({"problems": problems, "kept": kept}, status=422)


def _read(form: QueryDict, assignment: Assignment, key: str | None) -> Sent:
    """Raises RefusedError where a field cannot be read, ChangedError and, with a key,
    StoredBeforeError."""
    reclaim(assignment)
    late = _why_too_late(assignment)
    spec, asked = present(assignment.item), schema(assignment.item.campaign)
    blinding = blinding_of(assignment, spec)
    basis = form.get("basis") or None
    stands = basis_of(asked, spec, blinding.units.values(), shown_beside(assignment))
    changed = what_changed(stands, basis)
    if late or changed:
        _check_not_stored(assignment, key)
    if changed:
        raise ChangedError(changed)
    blinding.check_names(unit_names(form))
    payload = from_form(asked, blinding.units, form)
    check_draft(payload)
    return Sent(
        assignment,
        spec,
        asked,
        blinding.revealed(payload),
        blinding,
        version=whole(form, "version") or 0,
        circumstances=Circumstances(
            key=key, seen=whole(form, "seen"), seconds=seconds_of(form), basis=basis
        ),
        late=late,
    )


def _why_too_late(assignment: Assignment) -> str:
    if assignment.status not in ON_SHOW:
        return TAKEN_BACK
    campaign = assignment.item.campaign
    if has_lost_access(assignment):
        return PUT_OUT
    if campaign.takes_answers:
        return ""
    return PAST if campaign.is_open else CLOSED


def what_changed(now: Basis, seen: str | None) -> list[str]:
    """A guideline that was mended does not make an answer useless: it is stored with the old one's
    digest. Other questions or texts do."""
    return [] if seen is None else [what for what in now.differs(seen) if what != "guideline"]


def _check_not_stored(assignment: Assignment, key: str | None) -> None:
    before = assignment.responses.filter(key=key).first() if key else None
    if before:
        raise StoredBeforeError(before)


def _submit(sent: Sent) -> tuple[Outcome, str]:
    """The answer stored, unless a newer draft is there that its writer never saw; what comes next.

    It is one transaction: people queue for SQLite's one writer, and PostgreSQL's disk, only once.
    """
    circumstances, assignment = sent.circumstances, sent.assignment

    def check(held: LockedAnswer) -> None:
        there = draft_state(held.draft, held.current)
        check_state(there, sent.version, circumstances.seen or 0, sent.payload)

    ready = prepare(assignment, sent.payload, "page", sent.spec, sent.schema, keep_refusal=True)
    campaign, forgotten = assignment.item.campaign, None
    goes_on = campaign.takes_answers and not shows_feedback(assignment)
    release_expired(campaign)
    with transaction.atomic():
        outcome = store(ready, circumstances, check)
        try:
            rater = assignment.rater
            following = next_in_transaction(campaign, rater) if goes_on else None
        except ForgottenItemError as error:
            # It was raised before anything was written; the answer stands whatever comes next.
            forgotten = error
    if forgotten:
        raise forgotten
    if shows_feedback(assignment):
        return outcome, feedback_address(assignment)
    return outcome, address_of(following, campaign)


def whole(form: QueryDict, name: str) -> int | None:
    text = form.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise RefusedError([Problem("", name, "is not a whole number")])
    return int(text)


def seconds_of(form: QueryDict) -> float | None:
    try:
        seconds = float(form.get("seconds", "nan"))
    except ValueError:
        return None
    return min(seconds, LONGEST_SECONDS) if math.isfinite(seconds) and seconds >= 0 else None


def key_of(form: QueryDict) -> str | None:
    try:
        key = form.get("key")
        return None if key is None else str(uuid.UUID(key))
    except ValueError as error:
        raise RefusedError([Problem("", "key", "is not a UUID")]) from error


def _refused(error: RefusedError, assignment: Assignment) -> JsonResponse:
    problems = hidden_problems(assignment, error.problems)
    return JsonResponse({"problems": [asdict(p) for p in problems]}, status=422)


def _changed(error: ChangedError) -> JsonResponse:
    return JsonResponse({"error": CHANGED, "changed": error.what}, status=409)


def _conflict(sent: Sent) -> JsonResponse:
    there = read_draft_state(sent.assignment)
    answer = {
        "mine": sent.blinding.hidden(sent.payload),
        "theirs": sent.blinding.hidden(there.payload),
        "version": there.version,
        "revision": there.revision,
        "saved_at": there.saved_at,
    }
    return JsonResponse(answer, status=409)
