"""Seal the newest events under a digest of all earlier ones, and verify the chains."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F, Max, QuerySet, Sum

from audit.models import SITE, Event, Seal
from audit.sealed.checking import find_broken_ranges
from audit.sealed.fingerprints import STATES
from audit.sealed.sealing import only_sealer, take_fingerprints

LOCK = 0x7A6E_0A0D
TRIES, PAUSE = 50, 0.1
CHUNK = 2000
START = "0" * 64
Heads = dict[str, Any]
logger = logging.getLogger("tandem.audit")


def hold_off_sealing() -> None:
    """Take the shared lock. Call this in the transaction, before the event is written."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [LOCK])


def horizon() -> int | None:
    """Return the highest id up to which all events are visible, or None if writers never paused."""
    for again in range(TRIES):
        if again:
            time.sleep(PAUSE)
        with transaction.atomic():
            if _no_writer():
                return Event.objects.aggregate(last=Max("pk"))["last"] or 0
    return None


def _no_writer() -> bool:
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])


def seal() -> list[Seal]:
    """Seal the new events, and the states of new and changed objects (`audit.sealed`).

    Returns no seals if there is nothing new, or if another sealer was faster. The site's chain is
    sealed last and includes the heads of the chains sealed with it, and the fingerprints of states.
    """
    with only_sealer() as mine:
        return _seal() if mine else []


def _seal() -> list[Seal]:
    upto = horizon()
    if upto is None:
        logger.warning("events not sealed, since writers never paused")
        return []
    states = take_fingerprints(upto)
    try:
        with transaction.atomic():
            sealed = _sealed(upto, states) if states else _sealed(upto)
    except IntegrityError:
        # Another sealer was faster; the numbers of seals are unique.
        return []
    for each in sealed:
        # The log is stored elsewhere, so rewriting the whole chain would still show there.
        logger.info("sealed", extra={"seal": str(each), "digest": each.digest})
    return sealed


def _sealed(upto: int, states: dict[str, Any] | None = None) -> list[Seal]:
    site = Seal.objects.filter(chain=SITE).order_by("-number").first()
    since = site.last if site else 0
    new = Event.objects.filter(pk__gt=since, pk__lte=upto)
    if not new.exists() and states is None:
        return []
    chains = new.exclude(campaign=None).order_by("campaign").values_list("campaign", flat=True)
    found = [_close(chain, since, upto) for chain in chains.distinct() if chain is not None]
    heads: Heads = {str(each.chain): [each.number, each.digest] for each in found}
    heads |= {STATES: states} if states else {}
    return [*found, _close(SITE, since, upto, heads)]


def _close(chain: int, since: int, upto: int, heads: Heads | None = None) -> Seal:
    before = Seal.objects.filter(chain=chain).order_by("-number").first()
    previous = before.digest if before else START
    rows = of_chain(chain).filter(pk__gt=since, pk__lte=upto)
    count, digest = digest_over(previous, rows.iterator(chunk_size=CHUNK), heads or {})
    return Seal.objects.create(
        chain=chain,
        number=before.number + 1 if before else 1,
        since=since,
        last=upto,
        count=count,
        heads=heads or {},
        previous=previous,
        digest=digest,
    )


def of_chain(chain: int) -> QuerySet[Event]:
    """Return the events of a chain, in order."""
    rows = Event.objects.order_by("pk")
    return rows.filter(campaign=None) if chain == SITE else rows.filter(campaign=chain)


def digest_over(previous: str, events: Iterable[Event], heads: Heads) -> tuple[int, str]:
    """Return the number of events, and SHA-256 over the previous digest, their lines, and heads."""
    digest, count = hashlib.sha256(previous.encode()), 0
    for event in events:
        digest.update(line(event).encode())
        count += 1
    digest.update(_canonical(heads).encode())
    return count, digest.hexdigest()


def line(event: Event) -> str:
    """Return the sealed values of an event as one line of JSON with sorted names."""
    values = {field.attname: getattr(event, field.attname) for field in Event._meta.concrete_fields}
    values["at"] = event.at.astimezone(UTC).isoformat(timespec="microseconds")
    return _canonical(values) + "\n"


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def find_broken_seals() -> Iterator[str]:
    """Yield a sentence for each broken seal, and for each chain that was cut off."""
    for chain in Seal.objects.order_by("chain").values_list("chain", flat=True).distinct():
        yield from _of_chain(chain)
    yield from _between(_sealed_up_to())
    yield from _heads()
    yield from find_broken_ranges()


def is_seal(digest: str) -> bool:
    """Return whether a digest, such as one stored elsewhere, is that of a seal."""
    return Seal.objects.filter(digest=digest).exists()


def count_unsealed() -> int:
    """Count the events that are not sealed yet."""
    return Event.objects.filter(pk__gt=_sealed_up_to()).count()


def _sealed_up_to() -> int:
    return Seal.objects.filter(chain=SITE).aggregate(last=Max("last"))["last"] or 0


def describe_seal(chain: int, number: int) -> str:
    return f"seal {number} of {'the site' if chain == SITE else f'campaign {chain}'}"


def _of_chain(chain: int) -> Iterator[str]:
    previous, number = START, 0
    for seal in Seal.objects.filter(chain=chain).order_by("number").iterator(chunk_size=CHUNK):
        number += 1
        if seal.number != number:
            yield f"{describe_seal(chain, number)} is missing"
            number = seal.number
        elif seal.previous != previous:
            yield f"{describe_seal(chain, number)} does not follow from the one before"
        yield from _of_seal(seal)
        previous = seal.digest


def _of_seal(seal: Seal) -> Iterator[str]:
    rows = of_chain(seal.chain).filter(pk__gt=seal.since, pk__lte=seal.last)
    count, digest = digest_over(seal.previous, rows.iterator(chunk_size=CHUNK), seal.heads)
    which = describe_seal(seal.chain, seal.number)
    if count != seal.count:
        there = "is" if count == 1 else "are"
        yield f"{which} covers {_events(seal.count)}, but there {there} {count}"
    elif digest != seal.digest:
        yield f"{which} covers other events than those stored now"


def _between(last: int) -> Iterator[str]:
    """Yield a sentence for each chain with events that were inserted between its seals."""
    stored = dict(_counts(Event.objects.filter(pk__lte=last), F("campaign"), Count("pk")))
    sealed = dict(_counts(Seal.objects.all(), F("chain"), Sum("count")))
    for chain in sorted({key or SITE for key in (*stored, *sealed)}):
        events, covered = stored.get(chain or None, 0), sealed.get(chain, 0)
        if events != covered:
            name = "the site" if chain == SITE else f"campaign {chain}"
            yield f"{name} has {_events(events)}, but its seals cover {covered}"


def _events(count: int) -> str:
    return f"{count} event{'' if count == 1 else 's'}"


def _counts(rows: Any, by: F, count: Any) -> Iterator[tuple[int | None, int]]:
    yield from rows.order_by().values_list(by).annotate(n=count)


def _heads() -> Iterator[str]:
    """Yield a sentence for each campaign's seal that differs from the head in the site's seal."""
    digests = {(s.chain, s.number): s.digest for s in Seal.objects.exclude(chain=SITE).iterator()}
    for seal in Seal.objects.filter(chain=SITE).iterator():
        heads = {name: head for name, head in seal.heads.items() if name != STATES}
        for chain, (number, digest) in heads.items():
            if digests.get((int(chain), number)) != digest:
                name = describe_seal(int(chain), number)
                yield f"{name} is not the one that the site's seals name"
