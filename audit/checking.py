"""Whether the trail is as it was sealed: every event, every seal, and the links between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, F, Max, Sum

from audit.models import SITE, Event, Seal
from audit.sealing import CHUNK, START, digest_over, of_chain


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
