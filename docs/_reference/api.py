"""Reference page of the HTTP API, from the schema that the site serves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from docs._reference.words import UndocumentedError, code, meaning, page, plain, table

OPENING = """\
For programmers: every address of the HTTP API, with its parameters and an example of an answer. The
site serves the whole description, with every field of requests and answers: as an OpenAPI schema at
`/api/schema/`, and as a page to read and try at `/api/docs/`.
[Use the API](../how-to/use-the-api.md) shows how to use it.
"""
METHODS = ("get", "post", "put", "patch", "delete")
WHERE = {"path": "in the address", "query": "after `?`", "header": "as a header"}
NO_BOUND = 2**31 - 1
"""The largest integer of the database: the limit of numbers without a limit of their own."""
LONGEST = 40
"""An example with more lines is folded."""


@dataclass(frozen=True)
class Section:
    """An operation, with all methods that do the same."""

    methods: tuple[str, ...]
    path: str
    operation: dict[str, Any]

    @property
    def title(self) -> str:
        title: str = self.operation.get("summary") or self.operation["operationId"]
        return title

    @property
    def anchor(self) -> str:
        name: str = self.operation["operationId"]
        return name.replace("_", "-")


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield method, path and description of every operation."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    for path, methods in schema.get("paths", {}).items():
        for method in METHODS:
            if method in methods:
                yield method.upper(), path, methods[method]


def sections() -> list[Section]:
    found: dict[tuple[str, str], Section] = {}
    for method, path, operation in operations():
        key = (path, operation.get("summary") or operation["operationId"])
        before = found.get(key)
        methods = (*before.methods, method) if before else (method,)
        found[key] = Section(methods, path, before.operation if before else operation)
    return list(found.values())


def write() -> str:
    found = sections()
    rows = [
        (f"[{code(f'{method} {each.path}')}](#{each.anchor})", plain(each.title))
        for each in found
        for method in each.methods
    ]
    overview = table(("operation", "what it does"), rows)
    return page("HTTP API", OPENING, overview, *map(_section, found))


def _section(each: Section) -> str:
    operation = each.operation
    asked = " or ".join(code(f"{method} {each.path}") for method in each.methods)
    parts = [
        f"## {plain(each.title)} {{ #{each.anchor} }}",
        asked,
        plain(operation.get("description")),
    ]
    rows = [_parameter(parameter, each.path) for parameter in operation.get("parameters", ())]
    if rows:
        parts.append(table(("parameter", "where", "value", "meaning"), rows))
    if (sent := _example(operation.get("requestBody", {}))) is not None:
        parts.append(_shown("What is sent, for example", sent))
    if (answered := _answered(operation)) is not None:
        parts.append(_shown("What is answered, for example", answered))
    return "\n\n".join(parts)


def _parameter(parameter: dict[str, Any], path: str = "") -> tuple[str, ...]:
    name = parameter["name"]
    return (
        code(name),
        WHERE[parameter["in"]],
        _kind(parameter.get("schema", {})),
        _meaning(parameter, path),
    )


def _meaning(parameter: dict[str, Any], path: str) -> str:
    """Return our own description, or the schema's without its list of values.

    Raises UndocumentedError if there is neither.
    """
    lists = [part for part in path.split("/") if part][2:3]
    own = parameter["name"]
    try:
        return meaning("api", *(f"{each}.{own}" for each in lists), own)
    except UndocumentedError:
        if not (words := plain(parameter.get("description", "").partition("\n\n")[0])):
            raise
        return words


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(map(code, schema["enum"]))
    most = schema.get("maximum", NO_BOUND)
    bound = f", {most} at most" if most < NO_BOUND else ""
    default = f", {schema['default']} where left out" if "default" in schema else ""
    return str(schema.get("type", "")) + bound + default


def _answered(operation: dict[str, Any]) -> Any:
    """Return the example of a successful answer, or None."""
    good = (held for status, held in operation["responses"].items() if status.startswith("2"))
    return next((found for held in good if (found := _example(held)) is not None), None)


def _example(held: dict[str, Any]) -> Any:
    content = held.get("content", {}).get("application/json", {})
    return next((each["value"] for each in content.get("examples", {}).values()), None)


def _shown(what: str, value: Any) -> str:
    body = json.dumps(value, ensure_ascii=False, indent=1)
    block = f"```json\n{body}\n```"
    if body.count("\n") < LONGEST:
        return f"{what}:\n\n{block}"
    indented = "\n".join(f"    {line}" for line in block.splitlines())
    return f'??? example "{what}"\n\n{indented}'
