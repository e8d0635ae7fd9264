"""The kinds of events, and recording one in the transaction of the change that it is about.

The change and its event are stored together or not at all. The request that is being answered
tells on whose behalf something happens.
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
from audit.sealing import hold_off_sealing


class Asking(NamedTuple):
    """`who` looks the account up when it is wanted: it is known only once the request is read."""

    who: Callable[[], int | None] = lambda: None
    request: str = ""
    address: str = "command"


NOBODY = Asking()
_asking: ContextVar[Asking] = ContextVar("asking", default=NOBODY)


def asking() -> Asking:
    """The request of now; without one, a command or a worker."""
    return _asking.get()


@contextmanager
def on_behalf(of: Asking) -> Iterator[None]:
    token = _asking.set(of)
    try:
        yield
    finally:
        _asking.reset(token)


def address_class(address: str) -> str:
    """loopback, private, public or unknown: where somebody sat, and no more."""
    try:
        found = ip_address(address)
    except ValueError:
        return "unknown"
    if found.is_loopback:
        return "loopback"
    return "public" if found.is_global else "private"


class Kind(NamedTuple):
    """What happened, in words. `by_rater`: whoever did it is told by the pseudonym, never else."""

    title: str
    by_rater: bool = False


EVENTS: dict[str, Kind] = {
    "login": Kind("Logged in"),
    "login.failed": Kind("Failed to log in"),
    "logout": Kind("Logged out"),
    "account.made": Kind("Account made"),
    "account.role": Kind("Account given another role"),
    "account.off": Kind("Account switched off"),
    "account.on": Kind("Account switched on"),
    "account.sessions": Kind("Log-ins and tokens of an account ended"),
    "account.pseudonym": Kind("Person given another pseudonym"),
    "account.forgotten": Kind("Account deleted, labels kept"),
    "token.made": Kind("API token made"),
    "invitation.made": Kind("Invitation made"),
    "invitation.revoked": Kind("Invitation taken back"),
    "invitation.used": Kind("Invitation used"),
    "member.added": Kind("Member given a role"),
    "member.ended": Kind("Member put out"),
    "exclusion.made": Kind("Rater left out of the statistics"),
    "exclusion.undone": Kind("Rater counted again"),
    "places.freed": Kind("Places of a person freed"),
    "prolific.study": Kind("Study on Prolific set"),
    "prolific.arrived": Kind("Came from Prolific", by_rater=True),
    "prolific.ended": Kind("Participant ended"),
    "campaign.made": Kind("Campaign made"),
    "campaign.people": Kind("Pool, holding time or share of a person changed"),
    "campaign.terms": Kind("Deadline, guideline, language or practice changed"),
    "campaign.opened": Kind("Campaign opened"),
    "campaign.closed": Kind("Campaign closed"),
    "known.set": Kind("Known answers set"),
    "admission.made": Kind("Person let in without the qualification"),
    "upload.received": Kind("Files of a batch uploaded"),
    "upload.read": Kind("Upload read anew"),
    "upload.kept": Kind("Upload kept as a batch"),
    "upload.discarded": Kind("Upload discarded"),
    "batch.loaded": Kind("Batch loaded"),
    "batch.digested": Kind("Texts of an older batch given digests"),
    "preparation.reviewed": Kind("Prepared material reviewed"),
    "answer.changed": Kind("Answer replaced", by_rater=True),
    "answer.numbered": Kind("Revision given its number by a file"),
    "answers.counted": Kind("Answers counted"),
    "adjudication.decided": Kind("Disagreement decided", by_rater=True),
    "adjudication.changed": Kind("Decision on a disagreement changed", by_rater=True),
    "labels.imported": Kind("Labels imported from files"),
    "export": Kind("Exported"),
    "report.frozen": Kind("Report frozen"),
    "judge.made": Kind("Judge defined"),
    "run.started": Kind("Judge run started"),
    "run.changed": Kind("Judge run changed"),
    "run.stopped": Kind("Judge run told to stop"),
    "run.ended": Kind("Judge run ended"),
}


Fact = str | int | bool | None
_WORD = re.compile(r"[A-Za-z0-9._:+-]{0,60}")
_folded: ContextVar[bool] = ContextVar("folded", default=False)


def record(
    event: str,
    campaign: int | None = None,
    of: models.Model | tuple[str, object] | None = None,
    before: object = None,
    after: object = None,
    by: int | None = None,
    **facts: Fact,
) -> None:
    """Writes one event down, unless it is a part of another that is being `folded`.

    `of` is what it happened to, `before` and `after` its state as JSON has it, of which digests
    are kept. `by` is an account's id where it is another than that of the request. Raises
    ValueError for an event or a fact that is not one of ours.
    """
    write([made(event, campaign, of, before, after, by, **facts)])


def made(
    event: str,
    campaign: int | None = None,
    of: models.Model | tuple[str, object] | None = None,
    before: object = None,
    after: object = None,
    by: int | None = None,
    **facts: Fact,
) -> Event:
    """The row of `record`, for whoever writes many of them at once."""
    if event not in EVENTS:
        raise ValueError(f"{event!r} stands not in audit.recording; add it there")
    now, (kind, key) = asking(), _object(of)
    return Event(
        event=event,
        who=now.who() if by is None else by,
        campaign=campaign,
        object_kind=kind,
        object_id=key,
        before=digest_of(kind, key, before),
        after=digest_of(kind, key, after),
        request=now.request,
        address=now.address,
        facts={name: _checked(name, fact) for name, fact in facts.items()},
    )


def write(events: Sequence[Event]) -> None:
    if not events or _folded.get():
        return
    # Without a savepoint: if this fails, the change that it tells of must not stand.
    with transaction.atomic(savepoint=False):
        hold_off_sealing()
        Event.objects.bulk_create(events, batch_size=100)


@contextmanager
def folded() -> Iterator[None]:
    """What is done within is a part of something that is written down as a whole."""
    token = _folded.set(True)
    try:
        yield
    finally:
        _folded.reset(token)


def digest_of(kind: str, key: str, state: object) -> str:
    """A keyed digest of a state; empty for none.

    Keyed, since there are few answers to a question: who reads the trail could try them all. It
    is over the object too, so that equal answers of two people do not look equal.
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
    """Numbers and words of our own: no text that somebody wrote, and no key, looks like one."""
    if fact is None or isinstance(fact, int):
        return fact
    if isinstance(fact, str) and _WORD.fullmatch(fact):
        return str(fact)
    raise ValueError(f"the fact {name} is neither a whole number nor one of our own words")


def record_export(
    request: HttpRequest,
    campaign: int | None,
    what: str,
    form: str,
    of: models.Model | tuple[str, object] | None = None,
) -> None:
    """Tells of a file that a request takes along; HEAD only asks whether it is there.

    `of` is what the file is of, where it is not the campaign itself.
    """
    if request.method != "GET":
        return
    whole = None if campaign is None else ("campaign", campaign)
    record("export", campaign, of or whole, what=what, form=form)


def was_told(request: HttpRequest, campaign: int, what: str, form: str) -> bool:
    """Whether this account began to take it along within a day."""
    since = timezone.now() - timedelta(days=1)
    rows = Event.objects.filter(event="export", campaign=campaign, who=request.user.pk)
    return rows.filter(at__gte=since, facts__what=what, facts__form=form).exists()
