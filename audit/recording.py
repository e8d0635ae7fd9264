"""Writing down what happens, in the transaction of the change: both stand, or neither does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import models, transaction
from django.utils.crypto import salted_hmac

from audit.asking import asking
from audit.events import EVENTS
from audit.locking import hold_off_sealing
from audit.models import Event

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
        raise ValueError(f"{event!r} stands not in audit.events; add it there")
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
