"""Stored queries as plain rows and as lines of the native format, its schema and an example.

Exports, campaigns and the item page read these. Parts of queries are read as plain values, each
kind in one database query for any number of batch queries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from django.db.models import Model, Q, QuerySet, TextField
from django.db.models.functions import Cast

from datasets import models
from datasets.db.prepared import InList, Parameter, Prepared
from tandem.files import rows
from tandem.grouping import grouped

Keys = Collection[int]
Parts = dict[int, list[Any]]
CHUNK = 200


def as_row(query: models.Query, needs: Collection[str] | None = None) -> rows.Query:
    """Return a stored query as a row, with the parts that are needed (all by default)."""
    return as_rows([query], needs)[query.pk]


def as_rows(
    queries: Iterable[models.Query], needs: Collection[str] | None = None
) -> dict[int, rows.Query]:
    """Return several stored queries as rows, by primary key."""
    several = {query.pk: query for query in queries}
    kinds = _PARTS if needs is None else needs
    parts = {need: _PARTS[need](several.keys()) for need in kinds}
    return {pk: _row(query, parts) for pk, query in several.items()}


def some_parts(query: models.Query, need: str, within: slice) -> Sequence[Any]:
    """Return the parts of one kind at these places of a query's list."""
    found: Sequence[Any] = _PARTS[need]([query.pk], within).get(query.pk, ())
    return found


def batch_rows(batch: models.Batch, needs: Collection[str] | None = None) -> Iterator[rows.Query]:
    """Yield all queries of a batch in order, reading them in chunks."""
    for _, row in stored_rows(batch, needs):
        yield row


def stored_rows(
    batch: models.Batch, needs: Collection[str] | None = None
) -> Iterator[tuple[int, rows.Query]]:
    """Yield all queries of a batch in order with their primary keys."""
    queries = batch.queries.order_by("position").iterator(chunk_size=CHUNK)
    while chunk := list(islice(queries, CHUNK)):
        yield from as_rows(chunk, needs).items()


def _row(query: models.Query, parts: dict[str, Parts]) -> rows.Query:
    return rows.Query(
        id=query.key,
        text=query.text,
        history=tuple(rows.Turn(turn["role"], turn["text"]) for turn in query.history),
        asked_at=query.asked_at,
        **{need: tuple(found.get(query.pk, ())) for need, found in parts.items()},
        references=tuple(map(_reference, query.references)),
        meta=query.meta,
    )


def _texts(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _part_reader(
    model: type[Model], *columns: str | Cast
) -> Callable[..., Iterable[Sequence[Any]]]:
    """Return a reader of a kind of part. Its SQL is prepared, since pages and judges use it."""

    def values(which: Q) -> QuerySet[Any, Any]:
        of = model._default_manager.filter(which).order_by("query_id", "position")
        return of.values_list("query_id", *columns)

    one = Prepared(lambda: values(Q(query=Parameter("query"))))
    several = Prepared(lambda: values(Q(InList("query", "queries"))))

    def read(queries: Keys, within: slice | None = None) -> Iterable[Sequence[Any]]:
        # `within` is a range in the list of a single query.
        if within is not None:
            (only,) = queries
            return values(Q(query=only))[within]
        if len(queries) == 1:
            return one.rows(query=next(iter(queries)))
        return several.rows(queries=list(queries)) if queries else ()

    return read


_questions_of = _part_reader(models.Question, "key", "text", "weight", "meta")


def _questions(queries: Keys, within: slice | None = None) -> Parts:
    return grouped(
        (query, rows.Question(key, text, weight, meta))
        for query, key, text, weight, meta in _questions_of(queries, within)
    )


_passages_of = _part_reader(
    models.Grounding,
    "passage__key",
    "passage__text",
    "title",
    "source",
    "published_at",
    "age",
    "sentences",
    "relevant",
    "use",
    "meta",
)


def _passages(queries: Keys, within: slice | None = None) -> Parts:
    return grouped((query, _passage(*each)) for query, *each in _passages_of(queries, within))


# As text, since Django would convert each of many values that are mostly absent.
_key_points_of = _part_reader(
    models.KeyPoint,
    "key",
    "text",
    "passage__key",
    Cast("spans", TextField()),
    "score",
    Cast("meta", TextField()),
)


def _json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _key_points(queries: Keys, within: slice | None = None) -> Parts:
    return grouped(
        (query, rows.KeyPoint(key, text, passage, _texts(_json(spans)), score, _json(meta)))
        for query, key, text, passage, spans, score, meta in _key_points_of(queries, within)
    )


_reports_of = _part_reader(
    models.Report,
    "key",
    "text",
    "system",
    "family",
    "setting",
    "context",
    "citations",
    "sentences",
    "sentence_citations",
    "deflected",
    "key_points",
    "meta",
)


def _reports(queries: Keys, within: slice | None = None) -> Parts:
    return grouped((query, _report(*each)) for query, *each in _reports_of(queries, within))


_nuggets_of = _part_reader(models.Nugget, "key", "text", "importance", "sources", "meta")


def _nuggets(queries: Keys, within: slice | None = None) -> Parts:
    return grouped(
        (query, rows.Nugget(key, text, importance, _texts(sources), meta))
        for query, key, text, importance, sources, meta in _nuggets_of(queries, within)
    )


_rankings_of = _part_reader(models.Ranking, "system", Cast("passages", TextField()))


def _rankings(queries: Keys, within: slice | None = None) -> Parts:
    found = list(_rankings_of(queries, within))
    # Rankings are the most numerous parts. Parsing them together as one JSON text halves the time.
    passages = json.loads(f"[{','.join(text for *_, text in found)}]")
    return grouped(
        (query, rows.Ranking(system, tuple(ranked)))
        for (query, system, _), ranked in zip(found, passages, strict=True)
    )


def _passage(*columns: Any) -> rows.Passage:
    key, text, title, source, published_at, age, sentences, relevant, use, meta = columns
    facts = title, source, published_at, age
    return rows.Passage(key, text, *facts, _texts(sentences), relevant, use, meta)


def _report(*columns: Any) -> rows.Report:
    key, text, system, family, setting, *rest = columns
    context, citations, sentences, cited, deflected, points, meta = rest
    by_sentence = None if cited is None else tuple(map(tuple, cited))
    lists = _texts(context), _texts(citations), _texts(sentences), by_sentence
    own = None if points is None else tuple(map(_answer_point, points))
    return rows.Report(key, text, system, family, setting, *lists, deflected, own, meta)


def _answer_point(point: dict[str, Any]) -> rows.AnswerPoint:
    return rows.AnswerPoint(point["id"], point["text"], _texts(point.get("spans")))


def _reference(reference: dict[str, Any]) -> rows.Reference:
    return rows.Reference(
        reference["text"],
        _texts(reference.get("citations")),
        _texts(reference.get("sentences")),
        reference.get("deflected"),
        reference.get("meta"),
    )


_PARTS: dict[str, Callable[..., Parts]] = {
    "questions": _questions,
    "passages": _passages,
    "key_points": _key_points,
    "nuggets": _nuggets,
    "reports": _reports,
    "rankings": _rankings,
}


_ROWS = (
    rows.Query,
    rows.Turn,
    rows.Question,
    rows.Passage,
    rows.KeyPoint,
    rows.Nugget,
    rows.AnswerPoint,
    rows.Report,
    rows.Ranking,
    rows.Reference,
)
_NAMES: dict[type, tuple[str, ...]] = {row: tuple(f.name for f in fields(row)) for row in _ROWS}
_VALUES = {row: attrgetter(*names) for row, names in _NAMES.items()}
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def as_line(query: rows.Query) -> dict[str, Any]:
    """Return a query as the object of its line, without absent values and empty lists."""
    members = zip(_NAMES[rows.Query], _VALUES[rows.Query](query), strict=True)
    return {name: _plain(v) for name, v in members if v is not None and v != ()}


def part_of_line(row: Any) -> dict[str, Any]:
    """Return a row within a query as its object in the line, without absent values."""
    kind = type(row)
    members = zip(_NAMES[kind], _VALUES[kind](row), strict=True)
    return {name: _plain(value) for name, value in members if value is not None}


def _plain(value: Any) -> Any:
    if type(value) is not tuple:
        return value
    return [part_of_line(each) if type(each) in _NAMES else _plain(each) for each in value]


class Digest:
    """A SHA-256 over rows in order, independent of the format of their file."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, query: rows.Query) -> None:
        self._hash.update(_encode(as_line(query)).encode("utf-8") + b"\n")

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


FOLDER = Path(__file__).parent / "formats"


@dataclass(frozen=True)
class FormatFile:
    """A file to download, with a label."""

    name: str
    media_type: str
    label: str

    @property
    def path(self) -> Path:
        return FOLDER / self.name

    def read(self) -> str:
        return self.path.read_text("utf-8")


FORMAT_FILES = {
    "schema": FormatFile(
        "native.schema.json", "application/schema+json", "JSON Schema of the native format"
    ),
    "example": FormatFile("native.example.jsonl", "application/x-ndjson", "example batch"),
}


@cache
def native_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of a native batch file."""
    found: dict[str, Any] = json.loads(FORMAT_FILES["schema"].read())
    return found


def properties_of(part: str) -> dict[str, dict[str, Any]]:
    """Return the schemas of a part's keys, by key. `Query` is the line itself."""
    schema = native_schema()
    found: dict[str, dict[str, Any]] = (schema if part == "Query" else schema["$defs"][part])[
        "properties"
    ]
    return found
