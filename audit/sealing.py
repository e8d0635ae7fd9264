"""Sealing the newest events under a digest of all earlier ones, and verifying the chains.

PostgreSQL assigns ids before their rows are visible, so a lower id may appear after a higher one.
Every transaction that records an event therefore holds a shared lock until it ends, and the sealer
reads the highest id at a moment when nobody holds that lock. The sealer tries and never waits, so
that no writer waits for it. SQLite has one writer at a time and assigns ids in order.
"""

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

LOCK = 0x7A6E_0A0D
TRIES, PAUSE = 50, 0.1


def hold_off_sealing() -> None:
    """Call it in the transaction, before the event is written."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [LOCK])


def horizon() -> int | None:
    """The highest id below which all events are there; None where none could be told just now."""
    for again in range(TRIES):
        if again:
            time.sleep(PAUSE)
        with transaction.atomic():
            if _nobody_writes():
                return Event.objects.aggregate(last=Max("pk"))["last"] or 0
    return None


def _nobody_writes() -> bool:
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])


logger = logging.getLogger("tandem.audit")
CHUNK = 2000
START = "0" * 64
Heads = dict[str, list[object]]


def seal() -> list[Seal]:
    """Seals what has come since the last time; nothing where nothing came, or another does so now.

    The site's chain is sealed last and holds the heads of those that were sealed with it.
    """
    upto = horizon()
    if upto is None:
        logger.warning("events not sealed: they are being written all the time")
        return []
    try:
        with transaction.atomic():
            sealed = _sealed(upto)
    except IntegrityError:
        # Another sealer was quicker; the numbers of seals are unique.
        return []
    for each in sealed:
        # The log lies elsewhere: who rewrites the whole chain would have to rewrite that, too.
        logger.info("sealed", extra={"seal": str(each), "digest": each.digest})
    return sealed


def _sealed(upto: int) -> list[Seal]:
    site = Seal.objects.filter(chain=SITE).order_by("-number").first()
    since = site.last if site else 0
    new = Event.objects.filter(pk__gt=since, pk__lte=upto)
    if not new.exists():
        return []
    chains = new.exclude(campaign=None).order_by("campaign").values_list("campaign", flat=True)
    found = [_close(chain, since, upto) for chain in chains.distinct() if chain is not None]
    heads = {str(each.chain): [each.number, each.digest] for each in found}
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
    """The events of a chain, in their order."""
    rows = Event.objects.order_by("pk")
    return rows.filter(campaign=None) if chain == SITE else rows.filter(campaign=chain)


def digest_over(previous: str, events: Iterable[Event], heads: Heads) -> tuple[int, str]:
    """How many events there are, and SHA-256 over the digest before, their lines, and the heads."""
    digest, count = hashlib.sha256(previous.encode()), 0
    for event in events:
        digest.update(line(event).encode())
        count += 1
    digest.update(_canonical(heads).encode())
    return count, digest.hexdigest()


def line(event: Event) -> str:
    """What is sealed of an event, as one line of JSON with sorted names."""
    told = {field.attname: getattr(event, field.attname) for field in Event._meta.concrete_fields}
    told["at"] = event.at.astimezone(UTC).isoformat(timespec="microseconds")
    return _canonical(told) + "\n"


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def broken() -> Iterator[str]:
    """A sentence for each seal that does not hold, and for each chain that was cut off."""
    for chain in Seal.objects.order_by("chain").values_list("chain", flat=True).distinct():
        yield from _of_chain(chain)
    yield from _between(_sealed_up_to())
    yield from _heads()


def known(digest: str) -> bool:
    """Whether a digest that somebody kept elsewhere is one of the seals."""
    return Seal.objects.filter(digest=digest).exists()


def unsealed() -> int:
    """How many events no seal holds yet."""
    return Event.objects.filter(pk__gt=_sealed_up_to()).count()


def _sealed_up_to() -> int:
    return Seal.objects.filter(chain=SITE).aggregate(last=Max("last"))["last"] or 0


def named(chain: int, number: int) -> str:
    return f"seal {number} of {'the site' if chain == SITE else f'campaign {chain}'}"


def _of_chain(chain: int) -> Iterator[str]:
    previous, number = START, 0
    for seal in Seal.objects.filter(chain=chain).order_by("number").iterator(chunk_size=CHUNK):
        number += 1
        if seal.number != number:
            yield f"{named(chain, number)} is missing"
            number = seal.number
        elif seal.previous != previous:
            yield f"{named(chain, number)} does not follow from the one before"
        yield from _of_seal(seal)
        previous = seal.digest


def _of_seal(seal: Seal) -> Iterator[str]:
    rows = of_chain(seal.chain).filter(pk__gt=seal.since, pk__lte=seal.last)
    count, digest = digest_over(seal.previous, rows.iterator(chunk_size=CHUNK), seal.heads)
    which = named(seal.chain, seal.number)
    if count != seal.count:
        yield f"{which} was over {seal.count} events, and {count} are there"
    elif digest != seal.digest:
        yield f"{which} is over other events than are there now"


def _between(last: int) -> Iterator[str]:
    """Events that were put in where their chain was sealed already, between its seals."""
    there = dict(_counts(Event.objects.filter(pk__lte=last), F("campaign"), Count("pk")))
    held = dict(_counts(Seal.objects.all(), F("chain"), Sum("count")))
    for chain in sorted({key or SITE for key in (*there, *held)}):
        events, sealed = there.get(chain or None, 0), held.get(chain, 0)
        if events != sealed:
            whose = "the site" if chain == SITE else f"campaign {chain}"
            yield f"{events} events of {whose} are there where its seals hold {sealed}"


def _counts(rows: Any, by: F, count: Any) -> Iterator[tuple[int | None, int]]:
    yield from rows.order_by().values_list(by).annotate(n=count)


def _heads() -> Iterator[str]:
    """The site's seals name those of campaigns that were made with them."""
    digests = {(s.chain, s.number): s.digest for s in Seal.objects.exclude(chain=SITE).iterator()}
    for seal in Seal.objects.filter(chain=SITE).iterator():
        for chain, (number, digest) in seal.heads.items():
            if digests.get((int(chain), number)) != digest:
                yield f"{named(int(chain), number)} is not the one that the site's seals name"
