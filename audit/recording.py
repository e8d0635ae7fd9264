"""The kinds of events, and recording an event in the transaction of the change it is about.

The change and its event are stored together or not at all. The current request determines the
actor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from ipaddress import ip_address
from typing import Any, NamedTuple

from django.db import models, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from audit.models import Event
from audit.seals import hold_off_sealing


class Actor(NamedTuple):
    """Who acts: `who` looks the account up when needed, since a request is read only later."""

    who: Callable[[], int | None] = lambda: None
    request: str = ""
    address: str = "command"


Fact = str | int | bool | None
COMMAND = Actor()
_actor: ContextVar[Actor] = ContextVar("actor", default=COMMAND)
_folded: ContextVar[bool] = ContextVar("folded", default=False)
_WORD = re.compile(r"[A-Za-z0-9._:+-]{0,64}")


def current_actor() -> Actor:
    """Return the actor of the current request; without a request, a command or a worker."""
    return _actor.get()


@contextmanager
def on_behalf(of: Actor) -> Iterator[None]:
    token = _actor.set(of)
    try:
        yield
    finally:
        _actor.reset(token)


def address_class(address: str) -> str:
    """Return the class of an address: loopback, private, public or unknown."""
    try:
        found = ip_address(address)
    except ValueError:
        return "unknown"
    if found.is_loopback:
        return "loopback"
    return "public" if found.is_global else "private"


class Kind(NamedTuple):
    """A kind of event. With `by_rater`, the trail names the actor by their pseudonym alone."""

    title: str
    by_rater: bool = False


EVENTS: dict[str, Kind] = {
    "login": Kind("Logged in"),
    "login.failed": Kind("Failed to log in"),
    "login.unlocked": Kind("Log-in unlocked"),
    "login.link": Kind("Link to log in created"),
    "logout": Kind("Logged out"),
    "factor.added": Kind("Second factor added"),
    "factor.codes": Kind("New recovery codes created"),
    "factor.removed": Kind("Second factor removed"),
    "identity.linked": Kind("Account linked with an OIDC log-in"),
    "identity.unlinked": Kind("Link with an OIDC log-in removed"),
    "account.email": Kind("E-mail address of an account set"),
    "account.made": Kind("Account created"),
    "account.role": Kind("Account given another role"),
    "account.off": Kind("Account disabled"),
    "account.on": Kind("Account enabled"),
    "account.sessions": Kind("Log-ins and tokens of an account ended"),
    "account.password": Kind("New password chosen"),
    "account.pseudonym": Kind("Person given another pseudonym"),
    "account.forgotten": Kind("Account deleted, labels kept"),
    "token.made": Kind("API token created"),
    "invitation.made": Kind("Invitation created"),
    "invitation.revoked": Kind("Invitation revoked"),
    "invitation.used": Kind("Invitation used"),
    "member.added": Kind("Member given a role"),
    "member.ended": Kind("Member removed"),
    "exclusion.made": Kind("Rater excluded from statistics"),
    "exclusion.undone": Kind("Rater included again"),
    "places.freed": Kind("Slots of a person released"),
    "prolific.study": Kind("Study on Prolific set"),
    "prolific.arrived": Kind("Arrived from Prolific", by_rater=True),
    "prolific.opened": Kind("Participant let in from another browser"),
    "prolific.ended": Kind("Participant ended"),
    "campaign.made": Kind("Campaign created"),
    "campaign.people": Kind("Pool, lease or items per person changed"),
    "campaign.terms": Kind("Deadline, guideline, language or another setting changed"),
    "consent.given": Kind("Consent given", by_rater=True),
    "consent.revoked": Kind("Consent revoked", by_rater=True),
    "background.given": Kind("Background questions answered"),
    "campaign.opened": Kind("Campaign opened"),
    "campaign.archived": Kind("Campaign archived"),
    "campaign.restored": Kind("Campaign taken out of the archive"),
    "campaign.closed": Kind("Campaign closed"),
    "known.set": Kind("Gold answers set"),
    "item.sampled": Kind("Units of an item sampled"),
    "admission.made": Kind("Person admitted below the pass mark"),
    "team.given": Kind("Given to a team"),
    "team.made": Kind("Team created"),
    "team.renamed": Kind("Team renamed"),
    "team.member": Kind("Account given a role in a team"),
    "team.left": Kind("Account left a team"),
    "team.shared": Kind("Shared with another team"),
    "team.unshared": Kind("No longer shared with another team"),
    "team.moved": Kind("Moved to another team"),
    "upload.received": Kind("Files of a batch uploaded"),
    "upload.read": Kind("Upload read again"),
    "upload.kept": Kind("Upload kept as a batch"),
    "upload.discarded": Kind("Upload discarded"),
    "batch.loaded": Kind("Batch loaded"),
    "batch.derived": Kind("Batch derived from another one"),
    "batch.digested": Kind("Digests added to an older batch"),
    "preparation.reviewed": Kind("Prepared material reviewed"),
    "answer.changed": Kind("Answer replaced", by_rater=True),
    "answer.numbered": Kind("Revision numbered by an import"),
    "answers.counted": Kind("Answers counted"),
    "adjudication.sent": Kind("Units sent to adjudication"),
    "adjudication.decided": Kind("Disagreement decided", by_rater=True),
    "adjudication.changed": Kind("Decision on a disagreement changed", by_rater=True),
    "labels.imported": Kind("Labels imported from files"),
    "export": Kind("Exported"),
    "report.frozen": Kind("Snapshot of a report saved"),
    "study.evaluators": Kind("Evaluators of a study changed"),
    "unit.tagged": Kind("Tag of a disagreement changed"),
    "draft.made": Kind("Change of a guideline or prompt drafted"),
    "draft.changed": Kind("Draft of a change edited, discarded or opened again"),
    "draft.tried": Kind("Draft of a change prepared for a try"),
    "examples.chosen": Kind("Units chosen as examples for judges"),
    "judge.made": Kind("Judge defined"),
    "trust.planned": Kind("Plan to certify a judge or to compare systems committed"),
    "trust.drawn": Kind("Queries of a plan drawn"),
    "trust.looked": Kind("Look at a plan"),
    "trust.certified": Kind("Certificate issued"),
    "trust.ended": Kind("Plan ended"),
    "protocol.made": Kind("Protocol added"),
    "protocol.deleted": Kind("Protocol deleted"),
    "run.started": Kind("Judge run started"),
    "run.changed": Kind("Judge run changed"),
    "run.stopped": Kind("Judge run asked to stop"),
    "run.ended": Kind("Judge run ended"),
}


def record(
    event: str,
    campaign: int | None = None,
    of: models.Model | tuple[str, object] | None = None,
    before: object = None,
    after: object = None,
    by: int | None = None,
    **facts: Fact,
) -> None:
    """Record one event, unless it is part of another one that is `folded`.

    `of` is the object, and `before` and `after` are its states as JSON, of which only digests are
    stored. `by` is an account's id if it is not the request's. Raises ValueError for an unknown
    event or fact.
    """
    write([build_event(event, campaign, of, before, after, by, **facts)])


def build_event(
    event: str,
    campaign: int | None = None,
    of: models.Model | tuple[str, object] | None = None,
    before: object = None,
    after: object = None,
    by: int | None = None,
    **facts: Fact,
) -> Event:
    """Return the row of `record` unsaved, to `write` many at once."""
    if event not in EVENTS:
        raise ValueError(f"{event!r} is not an event of audit.recording; add it there")
    actor, (kind, key) = current_actor(), _object(of)
    return Event(
        event=event,
        who=actor.who() if by is None else by,
        campaign=campaign,
        object_kind=kind,
        object_id=key,
        before=digest_of(kind, key, before),
        after=digest_of(kind, key, after),
        request=actor.request,
        address=actor.address,
        facts={name: _checked(name, fact) for name, fact in facts.items()},
    )


def write(events: Sequence[Event]) -> None:
    if not events or _folded.get():
        return
    # Without a savepoint: if this fails, the change itself must roll back, too.
    with transaction.atomic(savepoint=False):
        hold_off_sealing()
        Event.objects.bulk_create(events, batch_size=100)


@contextmanager
def folded() -> Iterator[None]:
    """Record nothing inside, since the caller records the whole as one event."""
    token = _folded.set(True)
    try:
        yield
    finally:
        _folded.reset(token)


def digest_of(kind: str, key: str, state: object) -> str:
    """Return a keyed digest of a state; empty for None.

    The key stops readers of the trail from trying out all possible answers. The digest covers the
    object, too, so that equal answers of two people have different digests.
    """
    if state is None:
        return ""
    text = json.dumps([kind, key, state], sort_keys=True, ensure_ascii=False, default=str)
    return salted_hmac("audit.state", text, algorithm="sha256").hexdigest()


def _object(of: models.Model | tuple[str, object] | None) -> tuple[str, str]:
    if of is None:
        return "", ""
    if isinstance(of, models.Model):
        return of._meta.model_name or "", str(of.pk)
    return of[0], "" if of[1] is None else str(of[1])


def _checked(name: str, fact: Any) -> Fact:
    """Return a fact if it is a number or a plain word. Raises ValueError for free text or keys."""
    if fact is None or isinstance(fact, int):
        return fact
    if isinstance(fact, str) and _WORD.fullmatch(fact):
        return str(fact)
    raise ValueError(f"the fact {name} is neither a whole number nor a plain word")


def record_export(
    request: HttpRequest,
    campaign: int | None,
    what: str,
    form: str,
    of: models.Model | tuple[str, object] | None = None,
) -> None:
    """Record a download, unless the request is only HEAD.

    `of` is the object that is exported, if it is not the campaign itself.
    """
    if request.method != "GET":
        return
    whole = None if campaign is None else ("campaign", campaign)
    record("export", campaign, of or whole, what=what, form=form)


def was_exported(request: HttpRequest, campaign: int, what: str, form: str) -> bool:
    """Return whether this account has started this export within the last day."""
    since = timezone.now() - timedelta(days=1)
    rows = Event.objects.filter(event="export", campaign=campaign, who=request.user.pk)
    return rows.filter(at__gte=since, facts__what=what, facts__form=form).exists()
