"""What a prepared query does not know until it is run, as expressions of Django's."""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Expression, F, Func


class Given(Expression):
    """A value of a prepared query that is known only when it is run, by its name there."""

    def __init__(self, name: str, output_field: models.Field[Any, Any] | None = None) -> None:
        super().__init__(output_field=output_field or models.BigIntegerField())
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        # It stands among the parameters itself, until the query is run.
        return "%s", [self]

    def as_parameter(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        return self.output_field.get_db_prep_save(value, connection=connection)


class Among(Func):
    """Whether a column holds one of the values of a `Given` list of numbers or texts.

    The list is one parameter however long it is, so that the SQL stays the same.
    """

    output_field = models.BooleanField()
    arity = 2

    def __init__(self, column: str, name: str) -> None:
        super().__init__(F(column), _GivenList(name))

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        form = {"template": "%(expressions)s))", "arg_joiner": " IN (SELECT value FROM json_each("}
        return self.as_sql(compiler, connection, **form, **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        form = {"template": "%(expressions)s)", "arg_joiner": " = ANY("}
        return self.as_sql(compiler, connection, **form, **extra)


class _GivenList(Given):
    def as_parameter(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        return list(value) if connection.vendor == "postgresql" else json.dumps(list(value))


class Picked(Func):
    """What a `Given` mapping holds for the primary key of each row: numbers, texts or JSON."""

    arity = 2

    def __init__(self, name: str, output_field: models.Field[Any, Any]) -> None:
        super().__init__(_GivenMapping(name), F("pk"), output_field=output_field)

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


class _GivenMapping(Given):
    def as_parameter(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        return json.dumps(value)
