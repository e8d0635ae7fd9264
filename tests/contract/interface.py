"""The interface that outside scripts rely on, as one line a fact.

python -m tests.contract.interface    # record it, after an announced change
"""

from __future__ import annotations

import os
from argparse import SUPPRESS
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("interface.txt")


def interface() -> list[str]:
    """Return the facts of the API, the commands and the exports, in a fixed order."""
    return sorted({*_api(), *_commands(), *_exports()})


def _api() -> Iterator[str]:
    """Yield each operation with what it takes and answers, and each member of each body."""
    from drf_spectacular.generators import SchemaGenerator

    found: Any = SchemaGenerator().get_schema(request=None, public=True)
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            call = f"api {method.upper()} {path}"
            yield f"{call}: {operation['operationId']}"
            for each in operation.get("parameters", ()):
                kind = _kind(each["schema"])
                yield f"{call} takes {each['in']} {each['name']}: {kind}{_needed(each)}"
            yield from _bodies(f"{call} takes", operation.get("requestBody", {}))
            for status, answer in operation["responses"].items():
                if status >= "4":  # Every refusal has the one shape, Error.
                    continue
                yield f"{call} answers {status}"
                yield from _bodies(f"{call} answers {status}", answer)
    for name, shape in found["components"]["schemas"].items():
        if name.endswith("Page"):  # Each list has the one frame.
            continue
        for member, of in shape.get("properties", {}).items():
            needed = " required" if member in shape.get("required", ()) else ""
            yield f"shape {name}.{member}: {_kind(of)}{needed}"


def _bodies(call: str, body: Any) -> Iterator[str]:
    for media, of in body.get("content", {}).items():
        yield f"{call} {media}: {_kind(of.get('schema', {}))}"


def _needed(parameter: Any) -> str:
    return " required" if parameter.get("required") else ""


def _kind(schema: Any) -> str:
    """Return a schema's type in short: a shape's name, or the type with its format and values."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    for way in ("allOf", "oneOf", "anyOf"):
        if way in schema:
            return _or(schema, " or ".join(map(_kind, schema[way])))
    if schema.get("type") == "array":
        return _or(schema, f"list of {_kind(schema['items'])}")
    values = "|".join("null" if each is None else str(each) for each in schema.get("enum", ()))
    inside = schema.get("additionalProperties")
    parts = (schema.get("type", "any"), schema.get("format"), values, inside and _inside(inside))
    return _or(schema, " ".join(str(part) for part in parts if part))


def _inside(schema: Any) -> str:
    return f"of {_kind(schema)}" if isinstance(schema, dict) else ""


def _or(schema: Any, kind: str) -> str:
    return f"{kind} or null" if schema.get("nullable") else kind


def _commands() -> Iterator[str]:
    from django.core.management import BaseCommand

    from docs._reference.commands import ours, parser_of

    everywhere = {
        each for of in BaseCommand().create_parser("", "")._actions for each in of.option_strings
    }
    for name, command in ours().items():
        for action in parser_of(name, command)._actions:
            if action.help == SUPPRESS or everywhere & set(action.option_strings):
                continue
            words = ", ".join(action.option_strings) or action.dest
            needed = " required" if action.required else ""
            choices = "|".join(map(str, action.choices or ()))
            yield f"command {name} {words}{needed}{': ' if choices else ''}{choices}"


def _exports() -> Iterator[str]:
    from annotation.exports.contents import EXPORTS

    for name, export in EXPORTS.items():
        yield f"export {name} forms: {', '.join(export.forms)}"
        yield f"export {name} columns: {', '.join((*export.columns, *export.beside))}"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    RECORD.write_text("\n".join((*interface(), "")), encoding="utf-8")
