"""Find objects that were changed, added or deleted without an event that explains it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from audit.models import Fingerprint
from audit.sealed.explanations import unexplained
from audit.sealed.fingerprints import (
    SealedRange,
    chunks,
    latest,
    line,
    objects,
    sealed_fingerprints,
    sealed_ranges,
    states,
)
from audit.sealed.kinds import KINDS, Kind
from audit.sealed.sealing import is_made, may_be_gone, missing
from audit.violations import Check, Place, Violation

SEALED = Check(
    "sealed",
    "every answer, item, campaign, judge and call is as it was sealed, or an event of the audit "
    "trail explains the change",
    "Restore the row from a backup, and look in the audit trail for who could write to the "
    "database at that time. Nothing makes a changed value right again: a new seal does not cover "
    "it up.",
)


@dataclass
class SealedCounts:
    """The numbers of objects with a seal, of those sealed as found, and of those without."""

    sealed: int = 0
    as_found: int = 0
    unsealed: int = 0


def find_changes(seen: SealedCounts) -> Iterator[Violation]:
    """Yield a violation for each object that differs from its newest sealed state."""
    ranges = sealed_ranges()
    if not ranges:
        seen.unsealed += sum(objects(kind).count() for kind in KINDS.values())
        return
    sealed = sealed_fingerprints(ranges)
    for kind in KINDS.values():
        yield from _changes(kind, ranges, sealed, seen)
        for stored in missing(kind, sealed):
            if not may_be_gone(kind, stored):
                yield _deleted(kind, stored)


def _changes(
    kind: Kind,
    ranges: list[SealedRange],
    sealed: QuerySet[Fingerprint],
    seen: SealedCounts,
) -> Iterator[Violation]:
    is_known = kind.name in ranges[-1].kinds
    keys = objects(kind).order_by("pk").values_list("pk", flat=True)
    for chunk in chunks(keys.iterator(chunk_size=5000)):
        before = latest(sealed, kind, chunk)
        for key, state in states(kind, chunk).items():
            stored = before.get(key)
            if stored is None or not stored.digest:
                seen.unsealed += 1
                if is_known and not is_made(kind, state, ranges[-1].event):
                    what = "was added, but no event of the audit trail tells of it"
                    yield _violation(kind, key, what)
                continue
            seen.sealed += 1
            seen.as_found += stored.as_found
            if differing := state.differences(stored):
                wrong = unexplained(kind, differing, stored.scope, stored.event)
                if wrong:
                    yield _changed(kind, key, stored, wrong)


def _changed(kind: Kind, key: int, stored: Fingerprint, columns: list[str]) -> Violation:
    names = ", ".join(columns)
    differs = "differs" if len(columns) == 1 else "differ"
    what = f"{names} {differs} from what was sealed on {stored.at:%Y-%m-%d %H:%M} UTC"
    return _violation(kind, key, what, column=names)


def _deleted(kind: Kind, stored: Fingerprint) -> Violation:
    place: Place = {"table": kind.model._meta.db_table, "id": stored.object_id}
    ids = "".join(f", {name} {value}" for name, value in stored.scope.items())
    what = f"{kind.name} {stored.object_id}{ids}: was deleted, but no event tells of it"
    return Violation(SEALED.name, what, place)


def _violation(kind: Kind, key: int, what: str, **more: str) -> Violation:
    names: Any = kind.model._base_manager.filter(pk=key).values_list(*kind.where.values()).first()
    named = {n: v for n, v in zip(kind.where, names or (), strict=False) if v not in (None, "")}
    place: Place = {**named, **more, "table": kind.model._meta.db_table, "id": key}
    words = ", ".join(f"{name} {value}" for name, value in named.items())
    about = words if kind.name in kind.where else f"{words}, {kind.name} {key}".lstrip(", ")
    return Violation(SEALED.name, f"{about}: {what}", place)


def find_broken_ranges() -> Iterator[str]:
    """Yield a sentence for each seal whose fingerprints differ from those stored now."""
    before = 0
    for each in sealed_ranges():
        digest = hashlib.sha256()
        rows = Fingerprint.objects.filter(pk__gt=each.since, pk__lte=each.upto).order_by("pk")
        for row in rows.iterator(chunk_size=2000):
            digest.update(line(row).encode())
        if each.since < before or digest.hexdigest() != each.digest:
            yield f"seal {each.number} of the site covers other states than those stored now"
        before = each.upto
