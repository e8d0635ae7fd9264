"""Write many rows into a table at once: by COPY on PostgreSQL, by a prepared INSERT on SQLite.

Rows are tuples in the order of the named columns. They bypass `save`, signals and defaults. Types
and constraints apply as usual, within the caller's transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from typing import Any

from django.db import connection, models, transaction

Row = Sequence[Any]

_AS_IT_IS = (
    models.TextField,
    models.CharField,
    models.IntegerField,
    models.FloatField,
    models.BooleanField,
)
_LONG = (models.TextField, models.JSONField)
_encode = json.JSONEncoder().encode
_EMPTY: dict[type, str] = {dict: "{}", list: "[]"}


def bulk_write(model: type[models.Model], columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write rows; `columns` are attribute names such as `batch_id`, and other columns stay unset.

    Call this in a transaction. Raises django.db.Error if the database refuses a row, and ValueError
    or a database error for a text that it cannot store (NUL, half a surrogate pair).
    """
    fields = [_field(model, name) for name in columns]
    # Rows are prepared first, since a database query during the COPY would wait for the COPY.
    ready = list(converted_values(fields, rows))
    names = ", ".join(connection.ops.quote_name(field.column or "") for field in fields)
    table = connection.ops.quote_name(model._meta.db_table)
    if connection.vendor == "postgresql":
        _copy(f"COPY {table} ({names}) FROM STDIN", ready)
        return
    marks = ", ".join(["%s"] * len(fields))
    with connection.cursor() as cursor:
        # Names come from our models; values are passed as parameters.
        cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", ready)  # noqa: S608


def reserve(model: type[models.Model], count: int) -> Sequence[int]:
    """Reserve `count` ascending primary keys. Call this in a transaction."""
    if not count:
        return ()
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            sequence = [table, model._meta.pk.column]
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
                [*sequence, count],
            )
            return [key for (key,) in cursor.fetchall()]
        # The update takes SQLite's only write lock. The range stays the same if nothing is written.
        cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s", [count, table])
        if not cursor.rowcount:
            insert = "INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)"
            cursor.execute(insert, [table, count])
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        last = cursor.fetchone()[0]
        return range(last - count + 1, last + 1)


def compress_fast() -> None:
    """Compress long texts with LZ4 until the end of the transaction, if PostgreSQL supports it.

    The default takes several times as long to write, and reads no faster.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config(name, 'lz4', true) FROM pg_settings "
            "WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals)"
        )


def refresh_statistics(*written: type[models.Model]) -> None:
    """Refresh the statistics of PostgreSQL's planner after the commit of many new rows.

    Autovacuum would do so a minute later. Until then the planner assumes empty tables, and a bad
    plan may take half a second. Columns with long values are left out, since no plan uses them.
    """
    if connection.vendor == "postgresql":
        transaction.on_commit(lambda: _analyze(written), robust=True)


def _analyze(written: Sequence[type[models.Model]]) -> None:
    quoted = connection.ops.quote_name
    with transaction.atomic(), connection.cursor() as cursor:
        # A small sample: sizes matter here, and the server takes its own large one later.
        cursor.execute("SET LOCAL default_statistics_target = 10")
        for model in written:
            short = [f for f in model._meta.concrete_fields if not isinstance(f, _LONG)]
            columns = ", ".join(quoted(f.column or "") for f in short)
            cursor.execute(f"ANALYZE {quoted(model._meta.db_table)} ({columns})")


def _field(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    return next(f for f in model._meta.concrete_fields if name in (f.attname, f.name))


def converted_values(
    fields: Sequence[models.Field[Any, Any]], rows: Iterable[Row]
) -> Iterable[Row]:
    """Return rows with values for the database driver; the same rows if no field needs it."""
    converters = [(n, each) for n, f in enumerate(fields) if (each := _converter(f))]
    return (_convert(row, converters) for row in rows) if converters else rows


def _convert(row: Row, converters: Sequence[tuple[int, Callable[[Any], Any]]]) -> Row:
    values = list(row)
    for position, converter in converters:
        if values[position] is not None:
            values[position] = converter(values[position])
    return values


def _converter(field: models.Field[Any, Any]) -> Callable[[Any], Any] | None:
    if isinstance(field, models.JSONField):
        return _json
    if isinstance(field, (*_AS_IT_IS, models.ForeignKey)):
        return None
    if isinstance(field, models.DateTimeField):
        # PostgreSQL's driver takes datetimes as they are. All of them have a time zone.
        if connection.vendor == "postgresql":
            return None
        return _in_utc if connection.vendor == "sqlite" and connection.timezone is UTC else _moment
    return lambda value: field.get_db_prep_save(value, connection)


def _json(value: Any) -> str:
    # Most mappings and lists are empty, and starting the encoder is slow.
    if not value and type(value) in _EMPTY:
        return _EMPTY[type(value)]
    return _encode(value)


def _in_utc(value: Any) -> Any:
    return str(value.replace(tzinfo=None)) if value.tzinfo is UTC else _moment(value)


def _moment(value: Any) -> Any:
    return connection.ops.adapt_datetimefield_value(value)


def _copy(statement: str, rows: Iterable[Row]) -> None:
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(statement) as copy,
    ):
        for row in rows:
            copy.write_row(row)
