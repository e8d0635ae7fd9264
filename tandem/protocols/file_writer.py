"""Write the file of a protocol from its tables, as a person would write it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tandem.protocols.file_structure import JSON

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write_protocol(document: JSON) -> str:
    """Return the TOML of a document, which `file_structure.parse` reads back."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: JSON) -> Iterator[str]:
    for key, value in document.items():
        if not _is_table(value):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in document.items():
        tables = value if isinstance(value, list) else [value]
        head = f"[[{_key(key)}]]" if isinstance(value, list) else f"[{_key(key)}]"
        for table in tables if _is_table(value) else ():
            yield f"\n{head}"
            yield from (f"{_key(name)} = {_value(each)}" for name, each in table.items())


def _is_table(value: Any) -> bool:
    several = isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    return several or isinstance(value, Mapping)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str() if "\n" in value:
            escaped = value.replace("\\", "\\\\").replace('"""', '""\\"')
            return f'"""\n{escaped}"""'
        case str():
            return _quoted(value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            inside = ", ".join(f"{_key(name)} = {_value(each)}" for name, each in value.items())
            return f"{{ {inside} }}" if inside else "{}"
    return str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
