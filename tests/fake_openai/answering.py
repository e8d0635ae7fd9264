"""An answer that fits a JSON schema, by a rule that gives the same answer to the same prompt."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

QUOTE_LENGTH = 60
_BEGIN = re.compile(r"\[begin ([0-9a-f]+)\]\n")


@dataclass(frozen=True)
class Rule:
    """The rule of answers: `answer` where a code of that name is offered, else the first code.

    The answer `mixed` chooses by a hash of the prompt, the place in the answer and the weights.
    `fixed` gives the value of a key wherever the key appears; None is null.
    """

    answer: str = "yes"
    fixed: Mapping[str, Any] = field(default_factory=dict)


def answer_to(schema: Mapping[str, Any], prompt: str, rule: Rule, weights: str = "") -> Any:
    """Return a value that the schema accepts, with texts copied verbatim from the prompt."""
    return _Answering(prompt, rule, weights).value(schema, "")


def free_text(prompt: str, weights: str) -> str:
    """Return an answer without a schema; it depends only on the weights and the prompt."""
    return f"I would say {hashlib.sha256(f'{weights}{prompt}'.encode()).hexdigest()[:8]}."


def quote_from(prompt: str) -> str:
    """Return the beginning of the first text between delimiters, or of the longest line."""
    if begin := _BEGIN.search(prompt):
        end = prompt.find(f"\n[end {begin[1]}]", begin.end())
        text = prompt[begin.end() : end] if end >= 0 else ""
    else:
        text = max(prompt.splitlines(), key=len, default="")
    return text.strip()[:QUOTE_LENGTH] or "?"


class _Answering:
    def __init__(self, prompt: str, rule: Rule, weights: str) -> None:
        self.prompt, self.rule, self.weights = prompt, rule, weights

    def value(self, schema: Mapping[str, Any], place: str) -> Any:
        if "anyOf" in schema:
            return self.value(schema["anyOf"][0], place)
        if "enum" in schema:
            return self.code(schema["enum"], place)
        match schema.get("type"):
            case "object":
                return self.object(schema["properties"], place)
            case "array":
                quoted = schema["items"].get("type") == "object"
                return [self.value(schema["items"], place)] if quoted else []
            case "string":
                return quote_from(self.prompt)
            case "boolean":
                return True
            case "integer" | "number":
                return schema.get("minimum", 0)
            case _:
                return None

    def object(self, properties: Mapping[str, Any], place: str) -> dict[str, Any]:
        given = {
            key: self.rule.fixed[key]
            if key in self.rule.fixed
            else self.value(schema, f"{place}/{key}")
            for key, schema in properties.items()
        }
        return given | ({"start": None} if given.keys() == {"quote", "start"} else {})

    def code(self, codes: list[Any], place: str) -> Any:
        if self.rule.answer == "mixed":
            digest = hashlib.sha256(f"{self.weights}{self.prompt}\0{place}".encode()).digest()
            return codes[digest[0] % len(codes)]
        return self.rule.answer if self.rule.answer in codes else codes[0]
