"""The names in a judge file's template: the parts of an item that its rater is shown.

Ids, systems and settings are not among them: like people, judges do not learn who wrote what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.protocols.base import Protocol
from judging.backends.base import JSON, AskedUnit
from judging.judge_file.template import MAX_STEPS, Steps
from tandem.protocols.base import Text
from tandem.protocols.material import Turn
from tandem.protocols.schema import Schema

PASSAGE = frozenset({"number", "text", "title", "source", "published_at", "age", "use"})
PLAIN = frozenset({"number", "text"})
TURN = frozenset({"number", "role", "text"})
VARIABLE = frozenset({"name", "question", "codes", "level"})
FIELDS: Mapping[str, frozenset[str]] = {
    "query": frozenset({"text", "asked_at"}),
    "history": TURN,
    "question": PLAIN,
    "questions": PLAIN,
    "passage": PASSAGE,
    "passages": PASSAGE,
    "report": PLAIN,
    "reports": PLAIN,
    "key_point": PLAIN,
    "key_points": PLAIN,
    "found": frozenset({"text"}),
    "sentence": PLAIN,
    "sentences": PLAIN,
    "reference": PLAIN,
    "references": PLAIN,
    "units": PLAIN | {"kind"},
    "unit": PLAIN | {"kind"},
    "guideline": frozenset(),
    "instructions": frozenset(),
    "variables": VARIABLE,
    "schema": frozenset(),
    "examples": frozenset(
        {"query", "question", "passage", "report", "key_point", "sentence", "unit"}
        | {"labels", "label"}
    ),
}
"""The names of a template, each with its fields, or those of its elements."""
ALWAYS = (
    "query",
    "history",
    "unit",
    "units",
    "guideline",
    "instructions",
    "variables",
    "schema",
    "examples",
)
NEEDED = {
    "passages": ("passage", "passages"),
    "reports": ("report", "reports", "reference", "references"),
}
GENERIC = ("Passage", "Answer", "Report", "Source", "Document", "Reference answer", "Reference")
FACTS = {"source": "source", "date": "published_at", "age": "age", "use": "use"}
TEXT_KINDS = {"passage": "passages", "report": "reports", "reference": "references"}
FOUND = "found"
"""The text with the points that earlier rounds found in a passage."""
UNIT_KINDS = {
    "question": "questions",
    "key-point": "key_points",
    "sentence": "sentences",
    "passage-sentence": "sentences",
}


def fields_for(protocol: Protocol) -> dict[str, frozenset[str]]:
    """Return the names that a template about a protocol may use, with their fields."""
    kinds = {variable.kind for variable in protocol.variables}
    plurals = {UNIT_KINDS[kind] for kind in kinds if kind in UNIT_KINDS}
    plurals |= {TEXT_KINDS[kind] for kind in kinds if kind in TEXT_KINDS}
    named = {*ALWAYS, *plurals, *(plural.removesuffix("s") for plural in plurals)}
    for need in protocol.needs:
        named.update(NEEDED.get(need, ()))
    if protocol.listed is not None and {"passages", "key_points"} <= set(protocol.needs):
        named.add(FOUND)
    return {name: fields for name, fields in FIELDS.items() if name in named}


@dataclass(frozen=True)
class RequestItem:
    """An item as a request shows it, with the JSON schema of the answer, if it has one.

    `history` are the turns of the conversation before the query.
    """

    query: str
    asked_at: str | None
    texts: Sequence[Text]
    units: Sequence[AskedUnit]
    guideline: str
    schema: Schema
    form: JSON
    examples: Sequence[Mapping[str, Any]] = ()
    history: Sequence[Turn] = ()


def template_context(shown: RequestItem) -> dict[str, Any]:
    """Return the values of all names.

    A part that the item lacks is an empty list or an empty text.
    """
    left = [MAX_STEPS]
    parts: dict[str, list[Mapping[str, Any]]] = {
        name: [] for name in (*TEXT_KINDS.values(), *UNIT_KINDS.values(), "units")
    }
    numbers: dict[int, Mapping[str, Any]] = {}
    for place, text in enumerate(shown.texts):
        if kind := TEXT_KINDS.get(text.field.partition(":")[0]):
            numbers[place] = _text(text, len(parts[kind]) + 1)
            parts[kind].append(numbers[place])
    for number, unit in enumerate(shown.units, start=1):
        parts["units"].append({"number": number, "text": unit.text, "kind": unit.kind})
        if kind := UNIT_KINDS.get(unit.kind):
            parts[kind].append({"number": len(parts[kind]) + 1, "text": unit.text})
    named: dict[str, Any] = {name: Steps.of(each, left) for name, each in parts.items()}
    named[FOUND] = {"text": "".join(text.text for text in shown.texts if text.field == FOUND)}
    return named | _single(shown, parts, numbers) | _common(shown, left)


def _text(text: Text, number: int) -> Mapping[str, Any]:
    found: dict[str, Any] = {"number": number, "text": text.text}
    if text.field.startswith("passage"):
        facts = dict(text.facts)
        found |= {name: facts.get(fact, "") for fact, name in FACTS.items()}
        found["title"] = "" if text.heading in GENERIC else text.heading
    return found


def _single(
    shown: RequestItem,
    parts: Mapping[str, Sequence[Mapping[str, Any]]],
    numbers: Mapping[int, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the values of singular names, such as `passage`.

    Each is the part that the only unit is about, or the only part of its kind.
    """
    found: dict[str, Any] = {}
    for plural in (*TEXT_KINDS.values(), *dict.fromkeys(UNIT_KINDS.values()), "units"):
        if len(parts[plural]) == 1:
            found[plural.removesuffix("s")] = parts[plural][0]
    if len(shown.units) == 1:
        unit = shown.units[0]
        for place in (unit.about, unit.answer):
            if place is not None and place in numbers:
                kind = TEXT_KINDS[shown.texts[place].field.partition(":")[0]]
                found[kind.removesuffix("s")] = numbers[place]
    return found


def _common(shown: RequestItem, left: list[int]) -> dict[str, Any]:
    kinds = {unit.kind for unit in shown.units}
    variables = [
        {
            "name": v.name,
            "question": v.question,
            "codes": Steps.of(v.answers, left),
            "level": v.level,
        }
        for v in shown.schema.variables
        if v.kind in kinds
    ]
    history = [
        {"number": number, "role": turn.role, "text": turn.text}
        for number, turn in enumerate(shown.history, start=1)
    ]
    return {
        "query": {"text": shown.query, "asked_at": shown.asked_at or ""},
        "history": Steps.of(history, left),
        "guideline": shown.guideline,
        "instructions": shown.guideline,
        "variables": Steps.of(variables, left),
        "schema": shown.form,
        "examples": Steps.of(shown.examples, left),
    }
