"""Taking a decision: it goes through `submit` like every answer, as the Reference's."""

from __future__ import annotations

from django.db import transaction

from annotation.adjudication.case import Case, reference_rater
from annotation.adjudication.members import adjudicable, own_units
from annotation.doors import Payload
from annotation.models import Assignment, Decision, Response, User
from annotation.models.people import rater_of
from annotation.protocols.checking import Door, Problem, RefusedError
from annotation.submit import Circumstances, ConflictError, Held, Outcome, prepare, store
from audit.recording import record

NO_REASON = "give the reason of your decision"
REUSED = "this key came with another decision before; make a new key for each decision"


class NotYoursError(Exception):
    """The unit is not this account's to decide, any more."""


def decide(
    case: Case, user: User, payload: Payload, circumstances: Circumstances, door: Door
) -> Outcome:
    """Makes an answer to a case the Reference's; the payload's comment is the reason.

    The decision that its writer had not seen is never replaced, though it may say the same: it has
    a reason of its own. Raises RefusedError, ConflictError and NotYoursError.
    """
    if not payload.get("comment"):
        raise RefusedError([Problem("", "comment", NO_REASON)])
    with transaction.atomic():
        _check_role(case, user)
        assignment = _stored_assignment(case)
        ready = prepare(assignment, payload, door, case.spec, case.schema)

        def check(held: Held) -> None:
            stands = held.current.revision if held.current else 0
            if held.current and stands != (circumstances.seen or 0):
                raise ConflictError(held.current)

        outcome = store(ready, circumstances, check)
        if outcome.created:
            Decision.objects.create(response=outcome.response, unit=case.unit, by=rater_of(user))
            _note(case, outcome.response, payload)
        elif outcome.response.payload != payload:
            raise RefusedError([Problem("", "key", REUSED)])
    return outcome


def _note(case: Case, response: Response, payload: Payload) -> None:
    """For the audit trail: that something was decided, and digests of what."""
    before = case.current.payload if case.current else None
    event = "adjudication.changed" if before else "adjudication.decided"
    of = "assignment", response.assignment_id
    record(event, case.campaign.pk, of, before, payload, revision=response.revision)


def _check_role(case: Case, user: User) -> None:
    """The role may have ended while the page was open."""
    theirs = adjudicable(user).filter(pk=case.campaign.pk).exists()
    if not theirs or own_units(user, case.campaign).filter(unit=case.unit).exists():
        raise NotYoursError


def _stored_assignment(case: Case) -> Assignment:
    """The Reference's assignment of the unit, made by whoever decides first."""
    planned = case.assignment
    found, _ = Assignment.objects.get_or_create(
        item=case.unit.item,
        rater=reference_rater(),
        replicate=0,
        scope=planned.scope,
        defaults={"asked": planned.asked, "shown": planned.shown},
    )
    found.item = case.unit.item
    return found
