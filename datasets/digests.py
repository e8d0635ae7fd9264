"""Digests of a batch and of each of its queries, and whether the batch still matches them.

The digest of a batch says that something changed; the digests of its queries say which text. They
are computed when a batch is loaded. Batches of older versions get theirs once, provided that the
batch still matches its own digest.
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
from datasets import rows
from datasets.material import Digest, as_line, as_rows
from datasets.models import Batch, KeyPoint, Passage, Query, QueryDigest, Question, Report

TEXTS = Check(
    "texts",
    "every text of a batch is the one that was loaded, and nothing came or went beside it",
    "Put the row back from a backup, or load the files again under another name and compare; do "
    "not load them over it. Answers given since were given to the other text: their basis says "
    "which.",
)
CHUNK = 200
LENGTH = 32
EXACT = 2**53
"""Up to here each whole number is a float of its own."""
AS_READ = 10**15
"""Numbers from here on PostgreSQL may give back in another form of the same number."""

_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
_PARTS = {
    "questions": "question",
    "passages": "passage",
    "key_points": "key-point",
    "reports": "report",
}
_TABLES: dict[str, type[models.Model]] = {
    "question": Question,
    "passage": Passage,
    "key-point": KeyPoint,
    "report": Report,
}


def line_digest(position: int, query: rows.Query) -> str:
    """A digest of a query's line at its place, the same from a file and from every database."""
    line = as_line(query)
    for holder in (line, *_holders(line)):
        if "meta" in holder:
            holder["meta"] = _settled(holder["meta"])
    return hashlib.sha256(f"{position}\n{_encode(line)}".encode()).hexdigest()


def text_digests(query: rows.Query) -> dict[str, str]:
    """The digests of a query's texts: its own under `query`, others under kind and id."""
    found = {"query": _digest(query.text)}
    for field, kind in _PARTS.items():
        for part in getattr(query, field):
            found[f"{kind} {part.id}"] = _digest(part.text)
    for report in query.reports:
        for point in report.key_points or ():
            found[f"answer-point {report.id}/{point.id}"] = _digest(point.text)
    return found


def complete() -> list[str]:
    """Gives older batches the digests of their queries, and says which; others stay without.

    A batch gets them only if its content still has the digest that it was loaded with.
    """
    digested = models.Exists(QueryDigest.objects.filter(query__batch=models.OuterRef("pk")))
    return [batch.name for batch in Batch.objects.exclude(digested) if _completed(batch)]


def _completed(batch: Batch) -> bool:
    with transaction.atomic():
        if recomputed(batch) != batch.digest:
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


def changed() -> Iterator[Violation]:
    """A violation for each text, query and batch that is not what was loaded."""
    for batch in Batch.objects.order_by("pk").iterator(chunk_size=CHUNK):
        yield from _of_batch(batch)


def _of_batch(batch: Batch) -> Iterator[Violation]:
    digest, count, named, vague, digested = Digest(), 0, False, False, False
    for chunk in _chunks(batch):
        known = _known(query.pk for query, _ in chunk)
        digested |= bool(known)
        for query, row in chunk:
            digest.add(row)
            vague |= _is_vague(row)
            if query.position != count:
                named = True
                yield _wrong(batch, f"queries are missing in front of query {query.key!r}")
                count = query.position
            count += 1
            for violation in _of_query(batch, query, row, known.get(query.pk)) if digested else ():
                named = True
                yield violation
    loaded = batch.counts.get("queries", count)
    if count < loaded and not named:
        named = True
        yield _wrong(batch, f"{count} queries are there, and {loaded} were loaded")
    if not named and not vague and digest.hexdigest() != batch.digest:
        why = "and the digests of its queries fit what is there now" if digested else _UNTOLD
        yield _wrong(batch, f"its content has another digest than it was loaded with, {why}")


_UNTOLD = "and which text it is cannot be told: it was loaded before texts had their own digests"


def _of_query(
    batch: Batch, query: Query, row: rows.Query, known: QueryDigest | None
) -> Iterator[Violation]:
    if known is None:
        yield _wrong(batch, f"query {query.key!r} has no digest, so it was not loaded", query)
        return
    if known.line == line_digest(query.position, row):
        return
    there, told = text_digests(row), False
    for name in [*known.texts, *(there.keys() - known.texts.keys())]:
        if there.get(name) != known.texts.get(name):
            told = True
            yield _of_text(batch, query, name, name in there, name in known.texts)
    if not told:
        wrong = "its texts are those that were loaded, and what stands beside them is not"
        beside = "order, titles, systems, references, sentences, rankings or meta"
        yield _wrong(batch, f"query {query.key!r}: {wrong} ({beside})", query)


def _of_text(batch: Batch, query: Query, name: str, there: bool, loaded: bool) -> Violation:
    kind, _, key = name.partition(" ")
    if there and loaded:
        wrong = f"the text of {_words(kind, key)} is not the one that was loaded"
    else:
        wrong = f"{_words(kind, key)} {'was not loaded' if there else 'is gone'}"
    where: Place = {}
    if table := _TABLES.get(kind):
        row = table._default_manager.filter(batch=batch, key=key).first()
        where = {kind.replace("-", "_"): key}
        where |= {"table": table._meta.db_table, "id": row.pk} if row else {}
    return _wrong(batch, f"query {query.key!r}: {wrong}", query, **where)


def _words(kind: str, key: str) -> str:
    return f"{kind.replace('-', ' ')} {key!r}" if key else "the query itself"


def _wrong(batch: Batch, wrong: str, query: Query | None = None, **where: str | int) -> Violation:
    place: Place = {"batch": batch.name, "table": Batch._meta.db_table, "id": batch.pk}
    if query:
        place |= {"query": query.key, "table": Query._meta.db_table, "id": query.pk}
    return Violation(TEXTS.name, f"batch {batch.name}: {wrong}", place | where)


def _chunks(batch: Batch) -> Iterator[list[tuple[Query, rows.Query]]]:
    """A batch's queries with their rows, some at a time."""
    queries = batch.queries.order_by("position", "pk").iterator(chunk_size=CHUNK)
    while chunk := list(islice(queries, CHUNK)):
        made = as_rows(chunk)
        yield [(query, made[query.pk]) for query in chunk]


def _known(queries: Iterable[int]) -> dict[int, QueryDigest]:
    found = QueryDigest.objects.filter(query__in=list(queries))
    return {each.query_id: each for each in found}


def recomputed(batch: Batch) -> str:
    """The digest of a batch's content as it is now, made like the one it was loaded with."""
    digest = Digest()
    for chunk in _chunks(batch):
        for _, row in chunk:
            digest.add(row)
    return digest.hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _holders(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects within a line, which may have a `meta` too."""
    for value in line.values():
        if isinstance(value, list):
            yield from (each for each in value if isinstance(each, dict))


def _settled(value: Any) -> Any:
    """A free value with its numbers in one form: PostgreSQL reads 1e22 back as a whole number."""
    if isinstance(value, dict):
        return {name: _settled(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_settled(each) for each in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < EXACT else value
    if isinstance(value, int) and EXACT <= abs(value) <= sys.float_info.max:
        return float(value)
    return value


def _is_vague(query: rows.Query) -> bool:
    """Whether the batch's own digest may differ by the form of a number alone."""
    if connection.vendor != "postgresql":
        return False
    metas = [query.meta, *(r.meta for r in query.references)]
    metas += [part.meta for field in _PARTS for part in getattr(query, field)]
    return any(_has_vague(meta) for meta in metas if meta)


def _has_vague(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_vague, value.values() if isinstance(value, dict) else value))
    zero = isinstance(value, float) and value == 0
    return zero or (isinstance(value, int | float) and abs(value) >= AS_READ)
