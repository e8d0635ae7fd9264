"""Queries whose SQL is compiled once for each connection, for fast pages.

Django takes five to ten times longer to compile the SQL of a query than a database takes to answer
it. The SQL is still Django's own, compiled from an ordinary queryset, so it fits either database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, TypeVar, overload

from django.core.exceptions import EmptyResultSet
from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Expression, F, Func
from django.db.models.sql import Query, UpdateQuery
from django.utils.functional import cached_property

from datasets.db.bulk import converted_values

LARGEST = models.BigIntegerField.MAX_BIGINT


class Parameter(Expression):
    """A placeholder for a value that is passed, by name, when a prepared query runs."""

    def __init__(self, name: str, output_field: models.Field[Any, Any] | None = None) -> None:
        super().__init__(output_field=output_field or models.BigIntegerField())
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        # The placeholder itself is a parameter until the query runs.
        return "%s", [self]

    def as_parameter(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        """Raises EmptyResultSet for a number that is too large for a column."""
        ready = self.output_field.get_db_prep_save(value, connection=connection)
        if isinstance(ready, int) and abs(ready) > LARGEST:
            raise EmptyResultSet
        return ready


class InList(Func):
    """Whether a column has one of the values of a `Parameter` list of numbers or texts.

    The list is a single parameter of any length, so that the SQL stays the same.
    """

    output_field = models.BooleanField()
    arity = 2

    def __init__(self, column: str, name: str) -> None:
        super().__init__(F(column), _ListParameter(name))

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        form = {"template": "%(expressions)s))", "arg_joiner": " IN (SELECT value FROM json_each("}
        return self.as_sql(compiler, connection, **form, **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        form = {"template": "%(expressions)s)", "arg_joiner": " = ANY("}
        return self.as_sql(compiler, connection, **form, **extra)


class _ListParameter(Parameter):
    def as_parameter(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        return list(value) if connection.vendor == "postgresql" else json.dumps(list(value))


class MappedValue(Func):
    """The value in a `Parameter` mapping for each row's primary key: a number, a text or JSON."""

    arity = 2

    def __init__(self, name: str, output_field: models.Field[Any, Any]) -> None:
        super().__init__(_MappingParameter(name), F("pk"), output_field=output_field)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        template = "json_extract(%(expressions)s || '\"')"
        joiner = ", '$.\"' || "
        return self.as_sql(compiler, connection, template=template, arg_joiner=joiner, **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        is_json = isinstance(self.output_field, models.JSONField)
        cast = "" if is_json else f"::{self.output_field.db_type(connection)}"
        template = f"(%(expressions)s::text){cast}"
        joiner = "::jsonb -> " if is_json else "::jsonb ->> "
        return self.as_sql(compiler, connection, template=template, arg_joiner=joiner, **extra)


class _MappingParameter(Parameter):
    def as_parameter(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        return json.dumps(value)


Row = list[Any]
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
ModelT = TypeVar("ModelT", bound=models.Model)
Columns = Mapping[str, tuple[str, ...]]
DATABASE = "default"


@dataclass(frozen=True)
class Call(Generic[A]):
    """A statement and its values. `read` takes the result from the cursor after it ran.

    `is_raw` means placeholders like `$1` on PostgreSQL, and the usual ones elsewhere.
    """

    sql: str
    values: Sequence[Any]
    read: Callable[[Any], A]
    is_raw: bool = False

    def run(self) -> A:
        with self.cursor(connections[DATABASE]) as cursor:
            cursor.execute(self.sql, self.values)
            return self.read(cursor)

    def cursor(self, connection: BaseDatabaseWrapper) -> Any:
        return _cursor_for_rows(connection) if self.is_raw else _cursor(connection)


@overload
def run_together(first: Call[A], second: Call[B], /) -> tuple[A, B]: ...
@overload
def run_together(first: Call[A], second: Call[B], third: Call[C], /) -> tuple[A, B, C]: ...
def run_together(*calls: Call[Any]) -> tuple[Any, ...]:
    """Run statements one after the other in a transaction, and return the result of each.

    PostgreSQL gets all of them at once, as a pipeline, since under load waiting for each response
    takes longer than the statements. Each statement still sees everything that was committed before
    it starts, such as the changes of a transaction whose lock the previous statement waited for.
    """
    connection = connections[DATABASE]
    if connection.vendor != "postgresql":
        return tuple(call.run() for call in calls)
    with ExitStack() as stack:
        cursors = [stack.enter_context(call.cursor(connection)) for call in calls]
        with connection.wrap_database_errors, connection.connection.pipeline():
            for call, cursor in zip(calls, cursors, strict=True):
                cursor.execute(call.sql, call.values)
        return tuple(call.read(cursor) for call, cursor in zip(calls, cursors, strict=True))


class Prepared:
    """The rows of a queryset of `values_list` with `Parameter` placeholders."""

    def __init__(self, make: Callable[[], models.QuerySet[Any, Any]]) -> None:
        self._make = make

    def rows(self, **parameters: object) -> list[Row]:
        try:
            call = self.call(**parameters)
        except EmptyResultSet:
            return []
        return call.run()

    def call(self, **parameters: object) -> Call[list[Row]]:
        """Return the query for `run_together`. Raises EmptyResultSet as `Parameter` does."""
        connection = connections[DATABASE]
        query = _compiled_query(self, connection, lambda: self._make().query)
        return Call(query.sql, query.parameters(parameters), query.rows_of)

    def first(self, **parameters: object) -> Row | None:
        """Return the first row. A queryset that may have more rows should be limited to one."""
        return next(iter(self.rows(**parameters)), None)


def _cursor(connection: Any) -> Any:
    """Return a cursor with which PostgreSQL keeps the plan of a recurring query.

    Django's own cursor puts the values into the SQL, so that every query differs.
    """
    if connection.vendor != "postgresql":
        return connection.cursor()
    from django.db.backends.postgresql.base import ServerBindingCursor

    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = ServerBindingCursor(connection.connection)  # type: ignore[call-arg]
    return connection._prepare_cursor(cursor)


def _cursor_for_rows(connection: Any) -> Any:
    """Return a cursor that takes `$1` placeholders on PostgreSQL, and the usual ones elsewhere.

    Replacing `%s` in long SQL each time would take longer than writing the rows.
    """
    if connection.vendor != "postgresql":
        return connection.cursor()
    from psycopg import RawCursor

    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = RawCursor(connection.connection)
    return connection._prepare_cursor(cursor)


def _compiled_query(
    owner: object, connection: BaseDatabaseWrapper, make: Callable[[], Query]
) -> _CompiledQuery:
    """Return a compiled query, cached for its connection, since some converters need that."""
    cache: dict[object, _CompiledQuery] = vars(connection).setdefault("prepared_queries", {})
    query = cache.get(owner)
    if query is None:
        query = cache[owner] = _CompiledQuery(make(), connection)
    return query


class _CompiledQuery:
    """A query's SQL for one connection, with the converters of its columns."""

    def __init__(self, query: Query, connection: BaseDatabaseWrapper) -> None:
        compiler = query.get_compiler(connection=connection)
        self.connection = connection
        self.sql, self._parameters = compiler.as_sql()
        columns = [column for column, *_ in compiler.select or ()]
        self._converters = [
            (place, converter, expression)
            for place, (found, expression) in compiler.get_converters(columns).items()
            for converter in found
        ]

    def parameters(self, values: Mapping[str, object]) -> list[Any]:
        return [
            each.as_parameter(values[each.name], self.connection)
            if isinstance(each, Parameter)
            else each
            for each in self._parameters
        ]

    def rows_of(self, cursor: Any) -> list[Row]:
        return [self._converted(row) for row in cursor.fetchall()]

    def _converted(self, values: Iterable[Any]) -> Row:
        row = list(values)
        for place, converter, expression in self._converters:
            row[place] = converter(row[place], expression, self.connection)
        return row


class PreparedModels(Generic[ModelT]):
    """The rows of a queryset as objects of a model and related models, with the named columns.

    `columns` maps the path of each model ("" for the first) to its columns. Other columns are read
    on access, as after `only`. `more` are further columns of the queryset, returned beside the
    object.
    """

    def __init__(
        self,
        make: Callable[[], models.QuerySet[ModelT, Any]],
        columns: Columns,
        more: tuple[str, ...] = (),
    ) -> None:
        self._make, self._columns, self._more = make, columns, more
        self._prepared = Prepared(self._select)

    def all(self, **parameters: object) -> list[tuple[ModelT, Row]]:
        return [self._object(row) for row in self._prepared.rows(**parameters)]

    def call(self, **parameters: object) -> Call[list[tuple[ModelT, Row]]]:
        """Return the query for `run_together`. Raises EmptyResultSet as `Parameter` does."""
        of = self._prepared.call(**parameters)
        return Call(of.sql, of.values, lambda cursor: [self._object(r) for r in of.read(cursor)])

    def first(self, **parameters: object) -> tuple[ModelT, Row] | None:
        row = self._prepared.first(**parameters)
        return None if row is None else self._object(row)

    @cached_property
    def _parts(self) -> list[tuple[str, type[models.Model], list[str]]]:
        """Path, model, and columns in the order in which the model takes its values."""
        first, parts = self._make().model, []
        for path, names in self._columns.items():
            model = _related_model(first, path)
            columns = [f.attname for f in model._meta.concrete_fields if f.attname in names]
            parts.append((path, model, columns))
        return parts

    def _select(self) -> models.QuerySet[Any, Any]:
        names = [
            f"{path}__{column}" if path else column
            for path, _, columns in self._parts
            for column in columns
        ]
        return self._make().values_list(*names, *self._more)

    def _object(self, row: Row) -> tuple[ModelT, Row]:
        objects: dict[str, Any] = {}
        start = 0
        for path, model, columns in self._parts:
            values = row[start : (start := start + len(columns))]
            # The primary key comes first; it is None if a nullable path has no object.
            objects[path] = None if values[0] is None else model.from_db(DATABASE, columns, values)
            if path:
                parent, _, name = path.rpartition("__")
                objects[parent]._state.fields_cache[name] = objects[path]
        return objects[""], row[start:]


def columns_of(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in model._meta.concrete_fields)


def _related_model(model: type[models.Model], path: str) -> type[models.Model]:
    for name in path.split("__") if path else ():
        related = model._meta.get_field(name).related_model
        assert isinstance(related, type)
        model = related
    return model


class PreparedUpdate:
    """An update of a queryset with `Parameter` placeholders in its filters and values."""

    def __init__(self, make: Callable[[], models.QuerySet[Any, Any]], **values: object) -> None:
        self._make, self._values = make, values

    def run(self, **parameters: object) -> int:
        """Run the update; return the number of rows changed."""
        return self.call(**parameters).run()

    def call(self, **parameters: object) -> Call[int]:
        """Return the update for `run_together`."""
        query = _compiled_query(self, connections[DATABASE], self._query)
        return Call(query.sql, query.parameters(parameters), lambda cursor: int(cursor.rowcount))

    def _query(self) -> Any:
        query: Any = self._make().query.chain(UpdateQuery)
        query.add_update_values(self._values)
        return query


class PreparedInsert(Generic[ModelT]):
    """An insert of new rows of a model, from objects, which get their primary keys, or from values.

    `columns` are attribute names such as `batch_id`, by default all but the primary key. With
    `new_only`, a row that a unique constraint refuses is skipped, and no key is returned for it.
    """

    def __init__(
        self, model: type[ModelT], columns: Sequence[str] = (), new_only: bool = False
    ) -> None:
        self._model, self._columns = model, columns
        self._or = " ON CONFLICT DO NOTHING" if new_only else ""
        self._sql: dict[tuple[str, int], str] = {}

    def run(self, *objects: ModelT) -> None:
        keys = self.rows([[f.pre_save(each, add=True) for f in self._fields] for each in objects])
        for each, key in zip(objects, keys, strict=True):
            each.pk, each._state.adding, each._state.db = key, False, DATABASE

    def rows(self, rows: Sequence[Sequence[Any]]) -> list[int]:
        """Write rows of values in the order of the columns; return the rows' primary keys."""
        return self.call(rows).run()

    def call(self, rows: Sequence[Sequence[Any]]) -> Call[list[int]]:
        """Return the insert of `rows` for `run_together`."""
        ready = list(chain.from_iterable(converted_values(self._fields, rows)))
        sql = self._sql_of(len(rows), connections[DATABASE])
        # Both databases return the keys in the order of the rows.
        return Call(sql, ready, lambda cursor: [key for (key,) in cursor.fetchall()], is_raw=True)

    @cached_property
    def _fields(self) -> list[models.Field[Any, Any]]:
        fields = [f for f in self._model._meta.local_concrete_fields if not f.primary_key]
        by_name = {field.attname: field for field in fields}
        return [by_name[name] for name in self._columns] if self._columns else fields

    def _sql_of(self, count: int, connection: BaseDatabaseWrapper) -> str:
        key = connection.vendor, count
        if key not in self._sql:
            quoted: Callable[[Any], str] = connection.ops.quote_name
            meta, width = self._model._meta, len(self._fields)
            columns = ", ".join(quoted(field.column) for field in self._fields)
            into = f"INSERT INTO {quoted(meta.db_table)} ({columns})"
            numbers = range(1, count * width + 1)
            values = [f"${n}" if connection.vendor == "postgresql" else "%s" for n in numbers]
            rows = ", ".join(
                f"({', '.join(values[start : start + width])})"
                for start in range(0, len(values), width)
            )
            self._sql[key] = f"{into} VALUES {rows}{self._or} RETURNING {quoted(meta.pk.column)}"
        return self._sql[key]
