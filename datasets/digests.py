"""Digests of a batch and of each of its queries, and whether the batch still matches them.

The digest of a batch shows that something changed, and the digests of its queries show which text.
They are computed when a batch is loaded. A batch from an older version gets digests of its queries
once, if it still matches its own digest.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.db import connection, models, transaction

from audit.recording import record
from audit.violations import Check, Place, Violation
from datasets.material import Digest, as_line, as_rows
from datasets.models import Batch, KeyPoint, Nugget, Passage, Query, QueryDigest, Question, Report
from tandem.files import rows

TEXTS = Check(
    "texts",
    "every text of a batch is the one that was loaded, and none was added or removed",
    "Restore the row from a backup, or load the files again under another name and compare. Do not "
    "load them over it. Answers given since then are about the changed text; their basis says "
    "which.",
)
CHUNK = 200
LENGTH = 32
EXACT = 2**53
"""The limit up to which each whole number has its own float."""
AS_READ = 10**15
"""The limit from which PostgreSQL may return a number in another form."""

_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
_PARTS = {
    "questions": "question",
    "passages": "passage",
    "key_points": "key-point",
    "nuggets": "nugget",
    "reports": "report",
}
_TABLES: dict[str, type[models.Model]] = {
    "question": Question,
    "passage": Passage,
    "key-point": KeyPoint,
    "nugget": Nugget,
    "report": Report,
}


def line_digest(position: int, query: rows.Query) -> str:
    """Return a digest of a query's line and position, the same from a file and any database."""
    line = as_line(query)
    for holder in (line, *_holders(line)):
        if "meta" in holder:
            holder["meta"] = _normalize_numbers(holder["meta"])
    return hashlib.sha256(f"{position}\n{_encode(line)}".encode()).hexdigest()


def text_digests(query: rows.Query) -> dict[str, str]:
    """Return the digests of a query's texts: its own under `query`, others under kind and id."""
    found = {"query": _digest(query.text)}
    for number, turn in enumerate(query.history, 1):
        found[f"turn {number}"] = _digest(turn.text)
    for field, kind in _PARTS.items():
        for part in getattr(query, field):
            found[f"{kind} {part.id}"] = _digest(part.text)
    for report in query.reports:
        for point in report.key_points or ():
            found[f"answer-point {report.id}/{point.id}"] = _digest(point.text)
    return found


def add_missing_digests() -> list[str]:
    """Add digests of queries to batches from older versions; return the names of these batches.

    A batch gets them only if its content still has the digest that it was loaded with.
    """
    digested = models.Exists(QueryDigest.objects.filter(query__batch=models.OuterRef("pk")))
    return [batch.name for batch in Batch.objects.exclude(digested) if _add_digests(batch)]


def _add_digests(batch: Batch) -> bool:
    with transaction.atomic():
        if recompute_digest(batch) != batch.digest:
            return False
        for chunk in _chunks(batch):
            QueryDigest.objects.bulk_create(
                QueryDigest(
                    query=query, line=line_digest(query.position, row), texts=text_digests(row)
                )
                for query, row in chunk
            )
        record("batch.digested", of=batch, after=batch.digest)
    return True


def find_changes() -> Iterator[Violation]:
    """Yield a violation for each text, query and batch that differs from what was loaded."""
    for batch in Batch.objects.order_by("pk").iterator(chunk_size=CHUNK):
        yield from _check_batch(batch)


def _check_batch(batch: Batch) -> Iterator[Violation]:
    digest, count, named, vague, digested = Digest(), 0, False, False, False
    for chunk in _chunks(batch):
        known = _stored_digests(query.pk for query, _ in chunk)
        digested |= bool(known)
        for query, row in chunk:
            digest.add(row)
            vague |= _has_ambiguous_digest(row)
            if query.position != count:
                named = True
                yield _violation(batch, f"queries are missing before query {query.key!r}")
                count = query.position
            count += 1
            for violation in (
                _check_query(batch, query, row, known.get(query.pk)) if digested else ()
            ):
                named = True
                yield violation
    loaded = batch.counts.get("queries", count)
    if count < loaded and not named:
        named = True
        yield _violation(batch, f"there are {count} queries, but {loaded} were loaded")
    if not named and not vague and digest.hexdigest() != batch.digest:
        why = "but the digests of its queries match" if digested else _NO_DIGESTS
        yield _violation(batch, f"its content has another digest than it was loaded with, {why}")


_NO_DIGESTS = "but not which text changed, since it was loaded before texts had digests"


def _check_query(
    batch: Batch, query: Query, row: rows.Query, known: QueryDigest | None
) -> Iterator[Violation]:
    if known is None:
        yield _violation(batch, f"query {query.key!r} has no digest, so it was not loaded", query)
        return
    if known.line == line_digest(query.position, row):
        return
    current, found = text_digests(row), False
    for name in [*known.texts, *(current.keys() - known.texts.keys())]:
        if current.get(name) != known.texts.get(name):
            found = True
            yield _text_violation(batch, query, name, name in current, name in known.texts)
    if not found:
        wrong = "its texts are unchanged, but another part of it has changed"
        parts = "order, titles, systems, references, sentences, rankings or meta"
        yield _violation(batch, f"query {query.key!r}: {wrong} ({parts})", query)


def _text_violation(batch: Batch, query: Query, name: str, exists: bool, loaded: bool) -> Violation:
    kind, _, key = name.partition(" ")
    if exists and loaded:
        wrong = f"the text of {_describe(kind, key)} is not the one that was loaded"
    else:
        wrong = f"{_describe(kind, key)} {'was not loaded' if exists else 'is missing'}"
    where: Place = {}
    if table := _TABLES.get(kind):
        row = table._default_manager.filter(batch=batch, key=key).first()
        where = {kind.replace("-", "_"): key}
        where |= {"table": table._meta.db_table, "id": row.pk} if row else {}
    return _violation(batch, f"query {query.key!r}: {wrong}", query, **where)


def _describe(kind: str, key: str) -> str:
    if kind == "turn":
        return f"turn {key} of the conversation"
    return f"{kind.replace('-', ' ')} {key!r}" if key else "the query itself"


def _violation(
    batch: Batch, wrong: str, query: Query | None = None, **where: str | int
) -> Violation:
    place: Place = {"batch": batch.name, "table": Batch._meta.db_table, "id": batch.pk}
    if query:
        place |= {"query": query.key, "table": Query._meta.db_table, "id": query.pk}
    return Violation(TEXTS.name, f"batch {batch.name}: {wrong}", place | where)


def _chunks(batch: Batch) -> Iterator[list[tuple[Query, rows.Query]]]:
    """Yield a batch's queries with their rows, in chunks."""
    queries = batch.queries.order_by("position", "pk").iterator(chunk_size=CHUNK)
    while chunk := list(islice(queries, CHUNK)):
        made = as_rows(chunk)
        yield [(query, made[query.pk]) for query in chunk]


def _stored_digests(queries: Iterable[int]) -> dict[int, QueryDigest]:
    found = QueryDigest.objects.filter(query__in=list(queries))
    return {each.query_id: each for each in found}


def recompute_digest(batch: Batch) -> str:
    """Return the digest of a batch's current content."""
    digest = Digest()
    for chunk in _chunks(batch):
        for _, row in chunk:
            digest.add(row)
    return digest.hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _holders(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects within a line that may have a `meta`."""
    for value in line.values():
        if isinstance(value, list):
            yield from (each for each in value if isinstance(each, dict))


def _normalize_numbers(value: Any) -> Any:
    """Return a free value with numbers in one form, since PostgreSQL returns 1e22 as an integer."""
    if isinstance(value, dict):
        return {name: _normalize_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(each) for each in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < EXACT else value
    if isinstance(value, int) and EXACT <= abs(value) <= sys.float_info.max:
        return float(value)
    return value


def _has_ambiguous_digest(query: rows.Query) -> bool:
    """Return whether the batch's own digest may differ only in the form of a number."""
    if connection.vendor != "postgresql":
        return False
    metas = [query.meta, *(r.meta for r in query.references)]
    metas += [part.meta for field in _PARTS for part in getattr(query, field)]
    return any(_has_ambiguous_number(meta) for meta in metas if meta)


def _has_ambiguous_number(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_ambiguous_number, value.values() if isinstance(value, dict) else value))
    zero = isinstance(value, float) and value == 0
    return zero or (isinstance(value, int | float) and abs(value) >= AS_READ)
