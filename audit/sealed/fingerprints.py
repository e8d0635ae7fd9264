"""Compute the digests of stored objects, a chunk at a time."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from audit.models import SITE, Fingerprint, Seal
from audit.sealed.kinds import Kind

CHUNK = 500
SHORT = 8
STATES = "states"


class State(NamedTuple):
    """The state of an object now: the ids in events, and the digest of each column by name."""

    scope: dict[str, Any]
    columns: dict[str, str]

    def digest(self, names: Iterable[str] | None = None) -> str:
        """Return the digest over columns, which are all unless names are given."""
        chosen = sorted(self.columns if names is None else names)
        text = "\n".join(f"{name} {self.columns.get(name, '')}" for name in chosen)
        return hashlib.sha256(text.encode()).hexdigest()

    def differences(self, stored: Fingerprint) -> list[str]:
        """Return the columns that differ. A column that was not sealed then does not."""
        if self.digest(stored.columns) == stored.digest:
            return []
        named = [
            name
            for name, short in stored.columns.items()
            if self.columns.get(name, "")[:SHORT] != short
        ]
        return named or ["its digest"]


def states(kind: Kind, keys: Sequence[int]) -> dict[int, State]:
    """Return the current states of objects by primary key, without those that do not exist."""
    columns, scope = list(kind.columns), list(kind.scope)
    salt = (kind.salt,) if kind.salt else ()
    paths = ("pk", *columns, *(kind.scope[name] for name in scope), *salt)
    parts = {part.name: _part_values(part, keys) for part in kind.parts}
    found = {}
    rows = objects(kind).filter(pk__in=keys).order_by().values_list(*paths)
    for pk, *values in rows:
        seed = [kind.name, pk, values[-1] if salt else None]
        made = {name: _digest(seed, name, values[n]) for n, name in enumerate(columns)}
        for part in kind.parts:
            mine = parts[part.name].get(pk, ())
            for n, name in enumerate(part.columns):
                column = f"{part.name}.{name}"
                made[column] = _digest(seed, column, [row[n] for row in mine])
        ids = values[len(columns) : len(columns) + len(scope)]
        found[pk] = State(
            {name: each for name, each in zip(scope, ids, strict=True) if each is not None}, made
        )
    return found


def objects(kind: Kind) -> QuerySet[Any]:
    """Return the objects of a kind that have, or should have, a fingerprint."""
    return kind.model._base_manager.filter(kind.only)


def _part_values(part: Any, keys: Sequence[int]) -> Mapping[int, list[tuple[Any, ...]]]:
    found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    rows = part.model._base_manager.filter(**{f"{part.of}__in": keys}).order_by(*part.order)
    for of, *values in rows.values_list(part.of, *part.columns):
        found[of].append(tuple(values))
    return found


def _digest(seed: object, name: str, value: object) -> str:
    return hashlib.sha256(canonical([seed, name, value]).encode()).hexdigest()


def canonical(value: object) -> str:
    """Return a value as JSON that is the same each time it is read from a database."""
    return _encode(value)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, UUID):
        return value.hex
    raise TypeError(f"a {type(value).__name__} has no digest")


_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_plain
).encode


def line(row: Fingerprint) -> str:
    """Return the sealed values of a fingerprint as one line."""
    values = {
        each.attname: getattr(row, each.attname) for each in Fingerprint._meta.concrete_fields
    }
    return canonical(values) + "\n"


class SealedRange(NamedTuple):
    """The fingerprints that a seal covers: those with ids above `since`, up to `upto`.

    `event` is the newest event at that time, `kinds` were known, and `at` is when it was sealed.
    """

    number: int
    since: int
    upto: int
    digest: str
    event: int
    kinds: tuple[str, ...]
    at: datetime


def sealed_ranges() -> list[SealedRange]:
    """Return the ranges of fingerprints that the site's seals cover, the oldest first."""
    seals = Seal.objects.filter(chain=SITE, heads__has_key=STATES).order_by("number")
    found = []
    for number, heads, at in seals.values_list("number", "heads", "at"):
        each = heads[STATES]
        kinds = tuple(each["kinds"])
        facts = each["since"], each["upto"], each["digest"], each["event"], kinds
        found.append(SealedRange(number, *facts, at))
    return found


def sealed_fingerprints(ranges: Sequence[SealedRange]) -> QuerySet[Fingerprint]:
    """Return the fingerprints that seals cover. Any other was left by an interrupted sealing."""
    if not ranges:
        return Fingerprint.objects.none()
    rows, before = Fingerprint.objects.filter(pk__lte=ranges[-1].upto), 0
    for each in ranges:
        if each.since > before:
            rows = rows.exclude(Q(pk__gt=before) & Q(pk__lte=each.since))
        before = each.upto
    return rows


def latest(rows: QuerySet[Fingerprint], kind: Kind, keys: Sequence[int]) -> dict[int, Fingerprint]:
    """Return the newest fingerprint of each object that has one."""
    found = rows.filter(kind=kind.name, object_id__in=keys).order_by("pk")
    return {each.object_id: each for each in found}


def chunks(values: Iterable[int], size: int = CHUNK) -> Iterator[list[int]]:
    waiting = iter(values)
    while chunk := list(islice(waiting, size)):
        yield chunk
