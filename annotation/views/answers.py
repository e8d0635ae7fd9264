"""Receive what the item page sends: drafts while a person works, and the answer."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from django.db import transaction
from django.http import HttpRequest, JsonResponse, QueryDict
from django.views.decorators.http import require_POST

from annotation.access import VISIBLE_STATUSES, ever_my_assignment, get_account
from annotation.answers.drafts import check_draft, read_saved_state, save_draft
from annotation.answers.evidence import with_starts
from annotation.answers.payloads import from_form, unit_names
from annotation.answers.submission import (
    Circumstances,
    LockedAnswer,
    LostLeaseError,
    Outcome,
    prepare,
    store,
)
from annotation.answers.types import LONGEST_SECONDS, ConflictError, check_page_save, saved_state
from annotation.assignments.queue import (
    has_lost_access,
    next_in_transaction,
    reclaim,
)
from annotation.blinding import Blinding, blinding_of, problems_for_page
from annotation.gold.scoring import shows_feedback
from annotation.models import Assignment, Response
from annotation.people.consent import IntakeOwedError, has_revoked, may_send
from annotation.people.languages import translated
from annotation.people.leases import release_expired
from annotation.prerequisites.grounded_answer import shown_beside
from annotation.presentation import (
    ForgottenItemError,
    page_schema,
    present,
    schema,
)
from annotation.protocols.schema import CampaignSchema
from annotation.provenance import Basis, basis_of
from annotation.views.intake import address_of, before_address, next_address
from annotation.views.work import feedback_address
from datasets.access import WORKERS, role_required
from tandem.messages import Message
from tandem.protocols.base import ItemSpec, Payload
from tandem.protocols.validation import Problem, RefusedError

CLOSED = Message(
    "the campaign was closed, so this answer does not count; it is kept as a draft: "
    "ask a researcher of the campaign to reopen it"
)
DEADLINE_PASSED = Message(
    "the campaign’s deadline is past, so this answer does not count; it is kept as a draft: "
    "ask a researcher of the campaign for more time"
)
LEASE_ENDED = Message(
    "this item is no longer reserved for you, so this answer does not count; it is kept as a "
    "draft: ask a researcher of the campaign"
)
REMOVED = Message(
    "you no longer take part in this campaign, so this answer does not count; it is kept as a "
    "draft: ask a researcher of the campaign"
)
CONSENT_FIRST = Message(
    "the campaign asks for your consent first, so this answer does not count yet; it is kept as a "
    "draft: open the campaign from My work"
)
REVOKED = Message("you revoked your consent to this campaign, so nothing was stored")
CHANGED = Message("the texts or questions of this item have changed since it was opened; reload it")


@dataclass(frozen=True)
class Submission:
    """One message from the page: the answers, and the versions that the person had seen."""

    assignment: Assignment
    spec: ItemSpec
    schema: CampaignSchema
    payload: Payload
    blinding: Blinding
    version: int
    circumstances: Circumstances
    late: Message | None = None


class ChangedError(Exception):
    """The item's questions or texts have changed since the page was opened."""

    def __init__(self, what: list[str]) -> None:
        self.what = what


class StoredBeforeError(Exception):
    """The same answer was stored before, but the response got lost."""

    def __init__(self, response: Response) -> None:
        self.response = response


@require_POST
@role_required(*WORKERS)
def keep_draft(request: HttpRequest, uid: uuid.UUID) -> JsonResponse:
    assignment = ever_my_assignment(get_account(request), uid)
    try:
        sent = _read_submission(request.POST, assignment, key=None)
        return _keep(sent)
    except RefusedError as error:
        return _refusal(error, assignment)
    except ChangedError as error:
        return answer_changed(error.what)
    except ConflictError:
        return _conflict(sent)


@require_POST
@role_required(*WORKERS)
def take_answer(request: HttpRequest, uid: uuid.UUID) -> JsonResponse:
    try:
        return _take(request, uid)
    except LostLeaseError:
        # The lease ended while the answer was being stored; the second try treats it as late.
        return _take(request, uid)


def _take(request: HttpRequest, uid: uuid.UUID) -> JsonResponse:
    assignment = ever_my_assignment(get_account(request), uid)
    try:
        sent = _read_submission(request.POST, assignment, read_key(request.POST))
        if sent.late:
            return _keep(sent)
        outcome, following = _submit(sent)
    except RefusedError as error:
        return _refusal(error, assignment)
    except ChangedError as error:
        return answer_changed(error.what)
    except StoredBeforeError as error:
        return _stored_response(error.response, _next_address(assignment))
    except ConflictError:
        return _conflict(sent)
    return _stored_response(outcome.response, following)


def _stored_response(response: Response, following: str) -> JsonResponse:
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
    if not campaign.takes_answers:
        return address_of(None, campaign)
    return next_address(campaign, assignment.rater)


def _keep(sent: Submission) -> JsonResponse:
    """Store a draft. An answer that comes too late to count is stored as a draft, too."""
    seen = sent.circumstances.seen or 0
    draft = save_draft(sent.assignment, sent.payload, sent.version, seen)
    kept = {"version": draft.version, "saved_at": draft.saved_at}
    if not sent.late:
        return JsonResponse(kept)
    return refusal([Problem("", "", sent.late)], kept=kept)


def _read_submission(form: QueryDict, assignment: Assignment, key: str | None) -> Submission:
    """Read the page's form. Raises RefusedError if a field cannot be read, ChangedError, and
    StoredBeforeError if a response has this key."""
    campaign = assignment.item.campaign
    if has_revoked(campaign, assignment.rater):
        raise RefusedError([Problem("", "", REVOKED)])
    reclaim(assignment)
    late = _why_late(assignment)
    spec, asked = present(assignment.item), page_schema(campaign)
    blinding = blinding_of(assignment, spec)
    basis = form.get("basis") or None
    # The digests of questions do not depend on the language that they were read in.
    digested = schema(campaign, "people")
    current = basis_of(digested, spec, blinding.units.values(), shown_beside(assignment))
    changed = find_changes(current, basis)
    if late or changed:
        _check_not_stored(assignment, key)
    if changed:
        raise ChangedError(changed)
    blinding.check_names(unit_names(form))
    payload = from_form(asked, blinding.units, form)
    check_draft(payload, asked.sets)
    return Submission(
        assignment,
        spec,
        asked,
        blinding.for_storage(payload),
        blinding,
        version=read_number(form, "version") or 0,
        circumstances=Circumstances(
            key=key, seen=read_number(form, "seen"), seconds=read_seconds(form), basis=basis
        ),
        late=late,
    )


def _why_late(assignment: Assignment) -> Message | None:
    if assignment.status not in VISIBLE_STATUSES:
        return LEASE_ENDED
    campaign = assignment.item.campaign
    if has_lost_access(assignment):
        return REMOVED
    if not may_send(campaign, assignment.rater):
        return CONSENT_FIRST
    if campaign.takes_answers:
        return None
    return DEADLINE_PASSED if campaign.is_open else CLOSED


def find_changes(now: Basis, seen: str | None) -> list[str]:
    """Return the parts of the item that have changed, apart from the guideline.

    An answer under an older guideline stays valid, and is stored with that guideline's digest.
    """
    return [] if seen is None else [what for what in now.differs(seen) if what != "guideline"]


def _check_not_stored(assignment: Assignment, key: str | None) -> None:
    before = assignment.responses.filter(key=key).first() if key else None
    if before:
        raise StoredBeforeError(before)


def _submit(sent: Submission) -> tuple[Outcome, str]:
    """Store the answer and return it with the next address, in one transaction.

    Raises ConflictError if there is a newer draft that the person never saw. In one transaction,
    a request waits only once for SQLite's single writer, or for PostgreSQL's disk.
    """
    circumstances, assignment = sent.circumstances, sent.assignment

    def check(held: LockedAnswer) -> None:
        saved = saved_state(held.draft, held.current)
        check_page_save(saved, sent.version, circumstances.seen or 0, sent.payload)

    ready = prepare(assignment, sent.payload, "page", sent.spec, sent.schema, keep_refusal=True)
    campaign, forgotten = assignment.item.campaign, None
    continues = campaign.takes_answers and not shows_feedback(assignment)
    release_expired(campaign)
    with transaction.atomic():
        outcome = store(ready, circumstances, check)
        try:
            rater = assignment.rater
            following = next_in_transaction(campaign, rater) if continues else None
        except IntakeOwedError:
            # The consent text has a new version, which the person reads before the next item.
            return outcome, before_address(campaign)
        except ForgottenItemError as error:
            # Nothing was written for the next item, so the answer can be committed.
            forgotten = error
    if forgotten:
        raise forgotten
    if shows_feedback(assignment):
        return outcome, feedback_address(assignment)
    return outcome, address_of(following, campaign)


def read_number(form: QueryDict, name: str) -> int | None:
    text = form.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise RefusedError([Problem("", name, Message("is not a whole number"))])
    return int(text)


def read_seconds(form: QueryDict) -> float | None:
    try:
        seconds = float(form.get("seconds", "nan"))
    except ValueError:
        return None
    return min(seconds, LONGEST_SECONDS) if math.isfinite(seconds) and seconds >= 0 else None


def read_key(form: QueryDict) -> str | None:
    try:
        key = form.get("key")
        return None if key is None else str(uuid.UUID(key))
    except ValueError as error:
        raise RefusedError([Problem("", "key", Message("is not a UUID"))]) from error


def _refusal(error: RefusedError, assignment: Assignment) -> JsonResponse:
    return refusal(problems_for_page(assignment, error.problems))


def refusal(problems: Iterable[Problem], **more: object) -> JsonResponse:
    """Answer with the problems, in the reader's language. They name units as the page does."""
    shown = [asdict(replace(p, message=Message(translated(p.message)))) for p in problems]
    return JsonResponse({"problems": shown, **more}, status=422)


def answer_changed(what: list[str]) -> JsonResponse:
    """Answer that the item has changed since the page was opened, and name the changed parts."""
    return JsonResponse({"error": translated(CHANGED), "changed": what}, status=409)


def _conflict(sent: Submission) -> JsonResponse:
    saved = read_saved_state(sent.assignment)
    theirs = sent.blinding.for_page(saved.payload)
    if theirs:
        shown = sent.blinding.blind(sent.spec)
        units = with_starts(theirs["units"], sent.schema, sent.blinding.page_units, shown)
        theirs = {**theirs, "units": units}
    answer = {
        "mine": sent.blinding.for_page(sent.payload),
        "theirs": theirs,
        "version": saved.version,
        "revision": saved.revision,
        "saved_at": saved.saved_at,
    }
    return JsonResponse(answer, status=409)
