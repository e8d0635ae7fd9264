"""Closing batches of events: each chain's newest ones under a digest that holds all before."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from datetime import UTC

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from audit.locking import horizon
from audit.models import SITE, Event, Seal

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
