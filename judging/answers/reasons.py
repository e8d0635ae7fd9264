"""The reason that a judge gave for an answer, found in what the model wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

KEYS = ("reason", "reasoning", "rationale", "explanation", "justification")
"""The names under which prompts ask for a reason, in JSON."""
SHORTEST = 24
"""A shorter answer that is no JSON is a label, not a reason."""


def reason_in(completion: str | None, reasoning: str, unit: str = "") -> str:
    """Return the reason for the answer about a unit, empty if the model gave none.

    It is the reasoning that the server reports apart from the answer, or else the answer's own: a
    field of its JSON for this unit or for all, or the whole answer if it is prose.
    """
    if reasoning.strip():
        return reasoning.strip()
    text = (completion or "").strip()
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return text if len(text) >= SHORTEST else ""
    try:
        found = json.loads(text[start : end + 1], strict=False)
    except (ValueError, RecursionError):
        return ""
    return _reason(found.get("units"), unit) or _reason(found, unit)


def _reason(found: Any, unit: str) -> str:
    if not isinstance(found, Mapping):
        return ""
    of_unit = found.get(unit)
    for part in (of_unit, found):
        if isinstance(part, Mapping):
            for key in KEYS:
                if isinstance(said := part.get(key), str) and said.strip():
                    return said.strip()
    return ""
