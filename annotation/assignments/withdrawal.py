"""Give and revoke consent: what happens to a person's answers when they revoke, or agree again.

Revoked answers are in no report, no export and no count, and their slots are free for others. By
the campaign's rule they are kept, as answers that are not current, or deleted. If the person agrees
again, kept answers come back.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotation.answers.storage import restore_answer, withdraw_answers
from annotation.models import (
    REVOKED,
    Assignment,
    Background,
    Campaign,
    Consent,
    Draft,
    Item,
    Rater,
    Response,
)
from annotation.people.consent import consents, current_text
from annotation.people.leases import Ended, release
from annotation.people.membership import PeopleError
from audit.recording import record
from datasets.work import results
from tandem.messages import Message

Status = Assignment.Status
OUTDATED = Message("the consent text has changed since you read it; read it again")


def give_consent(campaign: Campaign, rater: Rater, version: int) -> int:
    """Record a person's consent to the version that they read. Returns the answers restored.

    Raises PeopleError if another version is current.
    """
    text = current_text(campaign)
    if text is None or text.version != version:
        raise PeopleError(OUTDATED)
    with transaction.atomic():
        is_back = not consents(campaign, rater).exists()
        _, created = Consent.objects.get_or_create(text=text, rater=rater, revoked_at=None)
        if created:
            record("consent.given", campaign.pk, rater, version=version)
        return _restore(campaign, rater) if is_back else 0


def revoke_consent(campaign: Campaign, rater: Rater) -> int:
    """Revoke a person's consent, and withdraw their answers. Returns the number of answers.

    Raises PeopleError if there is nothing to revoke.
    """
    with transaction.atomic():
        if not consents(campaign, rater).update(revoked_at=timezone.now()):
            raise PeopleError(Message("there is no consent to revoke"))
        number = _withdraw(campaign, rater)
        answers = str(campaign.revoked)
        record("consent.revoked", campaign.pk, rater, number=number, answers=answers)
    # Wait for an item that is being assigned at this moment, then withdraw it too.
    with transaction.atomic():
        list(Rater.objects.select_for_update().filter(pk=rater.pk).values_list("pk"))
    with transaction.atomic():
        if late := _withdraw(campaign, rater):
            record("consent.revoked", campaign.pk, rater, number=late, answers=answers)
    number += late
    # Reports and exports that were computed before would still show the answers.
    results.forget(campaign=campaign.pk)
    return number


def _withdraw(campaign: Campaign, rater: Rater) -> int:
    """Withdraw the answers of a person, also where another campaign carried them over."""
    deletes = campaign.revoked == Campaign.Revoked.DELETE
    here = Assignment.objects.filter(item__campaign=campaign, rater=rater)
    reserved = list(
        here.filter(status=Status.OPEN, slot__isnull=False)
        .select_for_update(of=("self",))
        .order_by("pk")
    )
    for assignment in sorted(reserved, key=lambda each: each.item_id):
        release(assignment, Ended.EXPIRED)
    closed = Q(status__in=(Status.DONE, Status.FAILED, Status.DECLINED))
    known = [*here.filter(closed).order_by("pk").values_list("pk", flat=True)]
    every = [*known, *_carried_from(known)]
    rows = list(
        Assignment.objects.filter(pk__in=every).select_for_update(of=("self",)).order_by("pk")
    )
    for assignment in sorted(rows, key=lambda each: each.item_id):
        _free_slot(assignment)
    if deletes:
        Background.objects.filter(campaign=campaign, rater=rater).delete()
        Draft.objects.filter(assignment__in=here).delete()
    withdraw_answers([each.pk for each in rows], deletes)
    return len(known)


def _carried_from(assignments: list[int]) -> list[int]:
    """Return the assignments with copies of these answers, in campaigns that continue this one."""
    found: list[int] = []
    while assignments:
        copies = Response.objects.filter(carried__origin__assignment__in=assignments)
        assignments = list(copies.values_list("assignment", flat=True).distinct())
        found += assignments
    return found


def _free_slot(assignment: Assignment) -> None:
    if assignment.slot is not None:
        Item.objects.filter(pk=assignment.item_id).update(taken=F("taken") - 1)


def _restore(campaign: Campaign, rater: Rater) -> int:
    """Make the kept answers of a person current again. Returns their number.

    An answer gets its slot back if one is free. Otherwise it counts beside those of others.
    """
    kept = _revoked(campaign, rater)
    keys = [*kept.values_list("pk", flat=True)]
    rows = Assignment.objects.filter(pk__in=[*keys, *_carried_from(keys)], reason=REVOKED)
    for assignment in rows.select_for_update(of=("self",)).order_by("item", "pk"):
        slot = None if assignment.scope else _claim_slot(assignment.item_id)
        if not restore_answer(assignment, slot):
            _free_slot(Assignment(item_id=assignment.item_id, slot=slot))
            Assignment.objects.filter(pk=assignment.pk).update(reason=Ended.EXPIRED)
    return len(keys)


def _revoked(campaign: Campaign, rater: Rater) -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        item__campaign=campaign, rater=rater, status=Status.CANCELLED, reason=REVOKED
    )


def _claim_slot(item: int) -> int | None:
    if not Item.objects.filter(pk=item, taken__lt=F("quota")).update(taken=F("taken") + 1):
        return None
    used = Assignment.objects.filter(item=item, slot__isnull=False).values_list("slot", flat=True)
    taken = set(used)
    return next(slot for slot in range(1, len(taken) + 2) if slot not in taken)
