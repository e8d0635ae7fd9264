"""Store fingerprints of new and legitimately changed objects, for the next seal of the site.

Nothing here runs in a request. Digests are computed outside of transactions, and each chunk is
stored in a short one, so that people's saves do not wait.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from audit.models import Event, Fingerprint
from audit.sealed import explanations
from audit.sealed.fingerprints import (
    CHUNK,
    SHORT,
    SealedRange,
    State,
    chunks,
    latest,
    line,
    objects,
    sealed_fingerprints,
    sealed_ranges,
    states,
)
from audit.sealed.kinds import CAMPAIGN, KINDS, Kind

LOCK, FILE = 0x7A6E_0A0E, "seal.lock"
MIGRATION = "0002_fingerprints"


@contextmanager
def only_sealer() -> Iterator[bool]:
    """Keep other processes from sealing at the same time; yield whether this one may.

    A seal covers a range of fingerprints, which are stored in several transactions: those of
    another sealer in between would look like tampering.
    """
    if connection.vendor != "postgresql":
        with (Path(settings.DATA_DIR) / FILE).open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        mine = bool(cursor.fetchone()[0])
        try:
            yield mine
        finally:
            if mine:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def take_fingerprints(upto: int) -> dict[str, Any] | None:
    """Store the fingerprints that are due; return what the site's seal says of them.

    `upto` is an event up to which all events were committed before. Returns None if there are none.
    """
    ranges = sealed_ranges()
    taken = _Taken(upto, ranges, _is_as_found(ranges))
    for kind in KINDS.values():
        for key, state, as_found in _due(kind, ranges, upto, taken.as_found):
            taken.add(kind, key, state, as_found)
    return taken.close()


class _Taken:
    """The fingerprints of one sealing, in chunks, and the digest over them."""

    def __init__(self, event: int, ranges: Sequence[SealedRange], as_found: bool) -> None:
        self.event, self.as_found = event, as_found
        self.since = Fingerprint.objects.aggregate(last=Max("pk"))["last"] or 0
        self.since = max(self.since, ranges[-1].upto if ranges else 0)
        self.upto = self.since
        self.is_complete = not ranges or set(ranges[-1].kinds) >= set(KINDS)
        self._hash = hashlib.sha256()
        self._waiting: list[Fingerprint] = []

    def add(self, kind: Kind, key: int, state: State | Fingerprint, as_found: bool) -> None:
        digest, columns = "", {}
        if isinstance(state, State):
            digest = state.digest()
            columns = {name: each[:SHORT] for name, each in state.columns.items()}
        row = Fingerprint(
            kind=kind.name,
            object_id=key,
            scope=state.scope,
            event=self.event,
            digest=digest,
            columns=columns,
            as_found=as_found,
        )
        self._waiting.append(row)
        if len(self._waiting) >= CHUNK:
            self._store()

    def close(self) -> dict[str, Any] | None:
        self._store()
        if self.upto == self.since and self.is_complete:
            return None
        digest, kinds = self._hash.hexdigest(), sorted(KINDS)
        facts = {"since": self.since, "upto": self.upto, "digest": digest}
        return {**facts, "event": self.event, "kinds": kinds}

    def _store(self) -> None:
        if not self._waiting:
            return
        with transaction.atomic():
            rows = Fingerprint.objects.bulk_create(self._waiting, batch_size=100)
        # Hashed from memory, so that a row of another writer in between breaks the seal.
        for row in rows:
            self._hash.update(line(row).encode())
        self.upto, self._waiting = rows[-1].pk, []


def _is_as_found(ranges: Sequence[SealedRange]) -> bool:
    """Return whether this is the first sealing of states of a site that is older than them."""
    if ranges:
        return False
    applied = _applied()
    return applied is not None and Event.objects.filter(at__lt=applied).exists()


def _applied() -> datetime | None:
    """Return when fingerprints came to this database."""
    rows = MigrationRecorder(connection).migration_qs.filter(app="audit", name=MIGRATION)
    return rows.values_list("applied", flat=True).first()


def _due(
    kind: Kind, ranges: Sequence[SealedRange], upto: int, is_upgraded: bool
) -> Iterator[tuple[int, State | Fingerprint, bool]]:
    """Yield the objects of a kind that need a fingerprint, and whether they are as found."""
    is_known = bool(ranges) and kind.name in ranges[-1].kinds
    sealed = sealed_fingerprints(ranges)
    as_found = is_upgraded or (bool(ranges) and not is_known)
    for keys in chunks(unsealed(kind, sealed)):
        for key, state in states(kind, keys).items():
            since = ranges[-1].event if ranges else 0
            if not is_known or is_made(kind, state, since):
                yield key, state, as_found
    if not is_known:
        return
    events = _events_since(ranges[-1].event, upto, kind)
    for keys in chunks(_concerned(kind, events)):
        yield from _changed(kind, keys, sealed)
    if kind.gone is None or any(name in kind.gone for name, *_ in events):
        yield from _gone(kind, sealed)


def unsealed(kind: Kind, sealed: QuerySet[Fingerprint]) -> Iterator[int]:
    """Yield the primary keys of objects without a sealed fingerprint."""
    mine = sealed.filter(kind=kind.name, object_id=OuterRef("pk"))
    rows = objects(kind).filter(~Exists(mine)).order_by("pk")
    yield from list(rows.values_list("pk", flat=True))


def is_made(kind: Kind, state: State, since: int) -> bool:
    """Return whether an object without a fingerprint was added by Tandem, as far as events say."""
    return kind.made is None or explanations.is_explained(kind, kind.made, state.scope, since)


Named = tuple[str, str, str, int | None]


def _events_since(since: int, upto: int, kind: Kind) -> set[Named]:
    rows = Event.objects.filter(
        pk__gt=since, pk__lte=upto, event__in=[*kind.explaining, *(kind.gone or ())]
    )
    columns = ("event", "object_kind", "object_id", "campaign")
    return set(rows.order_by().values_list(*columns).distinct())


def _concerned(kind: Kind, events: Iterable[Named]) -> Iterator[int]:
    """Yield the primary keys of objects that events may have changed."""
    ids: dict[str, set[Any]] = defaultdict(set)
    for event, object_kind, object_id, campaign in events:
        if event not in kind.explaining:
            continue
        if object_kind in kind.scope:
            ids[kind.scope[object_kind]].add(object_id)
        elif CAMPAIGN in kind.scope:
            ids[kind.scope[CAMPAIGN]].add(campaign)
        else:
            yield from objects(kind).order_by("pk").values_list("pk", flat=True)
            return
    found: set[int] = set()
    for path, values in ids.items():
        every = sorted(each for each in values if each not in (None, ""))
        for start in range(0, len(every), CHUNK):
            some = Q(**{f"{path}__in": every[start : start + CHUNK]})
            found |= set(objects(kind).filter(some).values_list("pk", flat=True))
    yield from sorted(found)


def _changed(
    kind: Kind, keys: Sequence[int], sealed: QuerySet[Fingerprint]
) -> Iterator[tuple[int, State, bool]]:
    before = latest(sealed, kind, keys)
    for key, state in states(kind, keys).items():
        stored = before.get(key)
        if stored is None or not stored.digest:
            continue
        differing = state.differences(stored)
        if differing and not explanations.unexplained(kind, differing, stored.scope, stored.event):
            yield key, state, False


def _gone(kind: Kind, sealed: QuerySet[Fingerprint]) -> Iterator[tuple[int, Fingerprint, bool]]:
    for stored in missing(kind, sealed):
        if may_be_gone(kind, stored):
            yield stored.object_id, stored, False


def may_be_gone(kind: Kind, stored: Fingerprint) -> bool:
    """Return whether an object that no longer exists was deleted by Tandem."""
    return kind.gone is None or explanations.is_explained(
        kind, kind.gone, stored.scope, stored.event
    )


def missing(kind: Kind, sealed: QuerySet[Fingerprint]) -> Iterator[Fingerprint]:
    """Yield the newest fingerprints of objects that no longer exist, without those known gone."""
    there = kind.model._base_manager.filter(pk=OuterRef("object_id"))
    newer = sealed.filter(kind=kind.name, object_id=OuterRef("object_id"), pk__gt=OuterRef("pk"))
    rows = sealed.filter(~Exists(there), ~Exists(newer), kind=kind.name)
    yield from rows.exclude(digest="").order_by("pk").iterator(chunk_size=CHUNK)
