"""Write exports as Parquet, in constant memory.

The rows are those of JSON Lines, in typed columns. Lists and objects with known keys keep
their structure. Objects with free keys (`meta`, `texts`, the answers of `units`) are JSON in a
string column. A key that a line of JSON Lines leaves out is null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annotation.exports.zip import Sink

Line = Mapping[str, Any]

CHUNK = 200
"""The number of rows that are Python objects at a time."""
GROUP_BYTES, GROUP_ROWS = 4 << 20, 100_000
"""A row group ends at the first of these limits. Memory contains one row group."""

_TEXTS = pa.list_(pa.string())
_MOMENT = pa.timestamp("us", tz="UTC")
_SPAN = pa.struct(
    {"field": pa.string(), "start": pa.int64(), "end": pa.int64(), "text": pa.string()}
)
_JSON = pa.field("json", pa.string(), metadata={"content": "json"})
"""A string column that contains JSON. Its name is set where it is used."""


def _schema(columns: Mapping[str, pa.DataType | pa.Field]) -> pa.Schema:
    return pa.schema(
        [
            kind.with_name(name) if isinstance(kind, pa.Field) else pa.field(name, kind)
            for name, kind in columns.items()
        ]
    )


def _rows(columns: Mapping[str, pa.DataType | pa.Field]) -> pa.DataType:
    return pa.list_(pa.struct(list(_schema(columns))))


def _strings(names: str) -> dict[str, pa.DataType]:
    return {name: pa.string() for name in names.split()}


SCHEMAS: Mapping[str, pa.Schema] = {
    "units": _schema(
        _strings("item unit kind query system") | {"variables": _TEXTS, "texts": _JSON}
    ),
    "labels": _schema(
        _strings("campaign protocol item unit kind variable value missing rater rater_kind")
        | {
            "replicate": pa.int64(),
            "created_at": _MOMENT,
            "revision": pa.int64(),
            "seconds": pa.float64(),
            "score": pa.float64(),
            "spans": pa.list_(_SPAN),
        }
        | _strings("assisted_by batch query system setting")
        | {"meta": _JSON, "carried": pa.string(), "exposed": pa.bool_(), "grade": pa.string()}
        | _strings("decided_by")
    ),
    "responses": _schema(
        _strings("campaign protocol item rater rater_kind")
        | {
            "replicate": pa.int64(),
            "revision": pa.int64(),
            "created_at": _MOMENT,
            "seconds": pa.float64(),
        }
        | _strings("assisted_by comment")
        | {"units": _JSON, "exposed": _TEXTS}
    ),
    "spans": _schema(
        _strings("item unit kind variable value rater rater_kind")
        | {
            "replicate": pa.int64(),
            "field": pa.string(),
            "start": pa.int64(),
            "end": pa.int64(),
            "text": pa.string(),
        }
    ),
    "references": _schema(
        _strings("campaign item unit kind query variable value")
        | {"spans": pa.list_(_SPAN)}
        | _strings("reason decided_by")
        | {"decided_at": _MOMENT, "revision": pa.int64()}
    ),
    **dict.fromkeys(
        ("qrels", "qrels-graded", "qrels-diversity"),
        _schema(_strings("query subtopic passage") | {"grade": pa.int64()}),
    ),
    "consents": _schema(
        {"rater": pa.string(), "version": pa.int64(), "given_at": _MOMENT, "revoked_at": _MOMENT}
        | _strings("text")
    ),
    "background": _schema(_strings("rater name question kind value") | {"answered_at": _MOMENT}),
    "pay": _schema(
        {"rater": pa.string(), "items": pa.int64(), "timed": pa.int64()}
        | dict.fromkeys(("median_seconds", "total_seconds", "pay"), pa.float64())
        | {"currency": pa.string(), "pay_per_hour": pa.float64()}
    ),
    "batch": _schema(
        _strings("id text")
        | {"history": _rows(_strings("role text"))}
        | _strings("asked_at")
        | {
            "questions": _rows(_strings("id text") | {"weight": pa.float64(), "meta": _JSON}),
            "passages": _rows(
                _strings("id text title source published_at age")
                | {"sentences": _TEXTS, "relevant": pa.bool_(), "use": pa.string(), "meta": _JSON}
            ),
            "key_points": _rows(
                _strings("id text passage")
                | {"spans": _TEXTS, "score": pa.float64(), "meta": _JSON}
            ),
            "nuggets": _rows(_strings("id text importance") | {"sources": _TEXTS, "meta": _JSON}),
            "reports": _rows(
                _strings("id text system family setting")
                | {
                    "context": _TEXTS,
                    "citations": _TEXTS,
                    "sentences": _TEXTS,
                    "sentence_citations": pa.list_(_TEXTS),
                    "deflected": pa.bool_(),
                    "key_points": _rows(_strings("id text") | {"spans": _TEXTS}),
                    "meta": _JSON,
                }
            ),
            "rankings": _rows({"system": pa.string(), "passages": _TEXTS}),
            "references": _rows(
                {"text": pa.string(), "citations": _TEXTS, "sentences": _TEXTS}
                | {"deflected": pa.bool_(), "meta": _JSON}
            ),
            "meta": _JSON,
        }
    ),
}
"""The Parquet columns of each export."""


def parquet_pieces(
    what: str, lines: Iterable[Line], columns: Sequence[str] = ()
) -> Iterator[bytes]:
    """Yield a file of an export's lines in pieces, a row group at a time.

    `columns` are the only ones (empty: all). Raises KeyError if a line has a key without a column.
    """
    schema, sink = SCHEMAS[what], Sink()
    if left := [name for name in schema.names if columns and name not in columns]:
        schema = pa.schema([field for field in schema if field.name not in left])
        lines = ({name: of for name, of in line.items() if name not in left} for line in lines)
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in _groups(_batches(iter(lines), schema)):
            writer.write_table(pa.Table.from_batches(group, schema))
            yield sink.take()
    yield sink.take()


def _batches(lines: Iterator[Line], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    plain = _row_converter(schema)
    while chunk := list(islice(lines, CHUNK)):
        yield pa.RecordBatch.from_pylist([plain(line) for line in chunk], schema)


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        group.append(batch)
        size, rows = size + batch.nbytes, rows + batch.num_rows
        if size >= GROUP_BYTES or rows >= GROUP_ROWS:
            yield group
            group, size, rows = [], 0, 0
    if group:
        yield group


def _row_converter(fields: Iterable[pa.Field]) -> Callable[[Line], Line]:
    """Return a function that converts a row to values that Arrow accepts for these fields."""
    known = {field.name: _conversion(field) for field in fields}
    convert = {name: conversion for name, conversion in known.items() if conversion}

    def plain(row: Line) -> Line:
        if not known.keys() >= row.keys():
            raise KeyError(f"no column for {', '.join(sorted(row.keys() - known.keys()))}")
        made = dict(row)
        for name, conversion in convert.items():
            if made.get(name) is not None:
                made[name] = conversion(made[name])
        return made

    return plain


def _conversion(field: pa.Field) -> Callable[[Any], Any] | None:
    if field.metadata:
        return partial(json.dumps, ensure_ascii=False)
    if pa.types.is_timestamp(field.type):
        return datetime.fromisoformat
    if pa.types.is_floating(field.type):
        return float
    if pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type):
        plain = _row_converter(field.type.value_type)
        return lambda rows: [plain(row) for row in rows]
    return None
