"""Reference page of a protocol's file: every key, from its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator

from docs._reference.words import code, codes, page, table
from tandem.protocols.file_structure import FIELDS, JSON, KINDS, QUOTED, SHOWN, schema

OPENING = """\
For researchers who write a protocol in a file.
[Write a protocol of your own](../how-to/own-task.md) has three examples. The file is TOML in
UTF-8. Other keys are refused with their line.
"""
PAGES = """\
What a page may be for decides what it can show, and which kinds of units it can ask about.
"""
ATTRIBUTES = "Attributes of units, for `fields` of a page and `where` and `weight` of measures."
QUOTES = "A text can be quoted as evidence if the page shows it."


def write() -> str:
    found = schema()
    tables = {name: part for name, part in found["properties"].items() if _properties(part)}
    plain = {name: part for name, part in found["properties"].items() if name not in tables}
    return page(
        "Protocol file",
        OPENING,
        f"## The file\n\n{_table(found, plain)}",
        *(_section(name, part, found) for name, part in tables.items()),
        f"## Pages\n\n{PAGES}\n{_pages()}",
        f"## Attributes\n\n{ATTRIBUTES}\n\n{_mapped(FIELDS, ('unit', 'attributes'))}",
        f"## Texts that can be quoted\n\n{QUOTES}\n\n{_mapped(QUOTED, ('evidence in', 'shows'))}",
    )


def _properties(part: JSON) -> JSON:
    inside: JSON = part.get("items", part)
    properties: JSON = inside.get("properties", {})
    return properties


def _section(name: str, part: JSON, found: JSON) -> str:
    head = f"`[[{name}]]`" if part["type"] == "array" else f"`[{name}]`"
    about = part["description"]
    rows = _table(part.get("items", part), {}, found)
    return f"## {head}\n\n{about[0].upper()}{about[1:]}.\n\n{rows}"


def _table(part: JSON, plain: JSON, found: JSON | None = None) -> str:
    required = part.get("required", ())
    whole = found or part
    rows = [
        (
            code(name) + (", required" if name in required else ""),
            "; ".join(_values(each, whole)),
            _about(each, whole),
        )
        for name, each in (plain or _properties(part)).items()
    ]
    return table(("key", "value", "meaning"), rows)


def _resolved(part: JSON, whole: JSON) -> JSON:
    if "$ref" not in part:
        return part
    target = whole
    for name in part["$ref"].removeprefix("#/").split("/"):
        target = target[name]
    return {**target, **part}


def _about(part: JSON, whole: JSON) -> str:
    return str(_resolved(part, whole).get("description", ""))


def _values(part: JSON, whole: JSON) -> Iterator[str]:
    part = _resolved(part, whole)
    if "enum" in part:
        yield codes(part["enum"])
        return
    inside = _resolved(part.get("items", {}), whole)
    names = {"string": "text", "boolean": "true or false", "number": "number", "object": "table"}
    kind = part.get("type", "")
    if kind == "array":
        choices = [inside, *(_resolved(each, whole) for each in inside.get("anyOf", ()))]
        many = [each for choice in choices for each in choice.get("enum", ())]
        yield f"list of {codes(many)}" if many else f"list of {names[inside['type']]}s"
    else:
        yield names[kind]
    limits = (("maxLength", "characters"), ("maxItems", "entries"), ("maxProperties", "entries"))
    yield from (f"at most {part[key]:,} {noun}" for key, noun in limits if key in part)
    if keys := part.get("properties"):
        yield f"keys {codes(keys)}"


def _pages() -> str:
    rows = [(code(each), codes(SHOWN[each]), codes(KINDS[each])) for each in KINDS]
    return table(("each", "shows", "units"), rows)


def _mapped(found: object, head: tuple[str, str]) -> str:
    assert isinstance(found, dict)
    return table(head, [(code(name), codes(values)) for name, values in found.items()])
