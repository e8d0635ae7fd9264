"""Hostile texts for judges: a fixed, versioned set of families, each put into one text of an item.

Whoever writes such a text wishes for a label, and the same one everywhere: see `favourable`. Every
choice (the wording, the place, which text) is drawn from a seed and the item's key.
"""

from __future__ import annotations

import base64
import json
import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from annotation.protocols.base import ItemSpec, Text, UnitSpec, Variable
from judging.conditions.favourable import favourable

_READ: dict[str, Any] = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text("utf-8"))
VERSION: str = _READ.pop("version")
FAMILIES: Mapping[str, Mapping[str, Any]] = _READ
LABEL_WORDS = 1000
FILLER_LENGTH = 12_000
JUDGED_BY_NAME = (
    "report", "sentence", "passage", "passage-sentence", "report-passage", "pair", "query",
)  # fmt: skip
"""Kinds of units whose words are no question that could be repeated in a text."""


def attacked(
    spec: ItemSpec, family: str, query: str, variables: Sequence[Variable], seed: int
) -> ItemSpec:
    """The item with the family's text in one of its texts; that of a pair is in the first.

    Reference answers are the researcher's own, and no place for a stranger's words.
    """
    open_to = [n for n, text in enumerate(spec.texts) if not text.field.startswith("reference:")]
    if not open_to:
        return spec
    drawn = random.Random(f"{seed}/{family}/{spec.key}")
    pair = any(unit.kind == "pair" for unit in spec.units)
    number = open_to[0 if pair else drawn.randrange(len(open_to))]
    there = FAMILIES[family]
    words = _words(drawn.choice(there["texts"]), spec.units, query, variables, drawn)
    put = _put(spec.texts[number], words, drawn.choice(there["places"]))
    texts = tuple(put if n == number else text for n, text in enumerate(spec.texts))
    return replace(spec, texts=texts)


def _words(
    template: str,
    units: Sequence[UnitSpec],
    query: str,
    variables: Sequence[Variable],
    drawn: random.Random,
) -> str:
    wished = _wished(units, variables)
    labels = "; ".join(f"{name}: {label}" for name, label in wished.items())
    order = str(FAMILIES["order"]["texts"][0]).replace("{labels}", labels)
    slots = {
        "{labels}": labels,
        "{object}": json.dumps(wished, ensure_ascii=False),
        "{rows}": "\n".join(f"| {name} | {label} |" for name, label in wished.items()),
        "{encoded}": base64.b64encode(order.encode()).decode("ascii"),
        "{nonce}": f"{drawn.getrandbits(64):016x}",
        "{stuffed}": _stuffed(units, query, wished),
        "{filler}": _filler(drawn),
    }
    for slot, value in slots.items():
        template = template.replace(slot, value)
    return template


def _wished(units: Sequence[UnitSpec], variables: Sequence[Variable]) -> dict[str, str]:
    kinds = {unit.kind for unit in units}
    return {v.name: favourable(v) for v in variables if v.kind in kinds}


def _stuffed(units: Sequence[UnitSpec], query: str, wished: Mapping[str, str]) -> str:
    """Each question with the wished-for labels behind it, again and again."""
    questions = [u.text for u in units if u.kind not in JUDGED_BY_NAME] or [query]
    said = ", ".join(dict.fromkeys(wished.values()))
    times = max(1, LABEL_WORDS // (len(questions) * max(1, len(wished))))
    return "\n".join(f"{question} {said}." for _ in range(times) for question in questions)


def _filler(drawn: random.Random) -> str:
    idle, said = list(FAMILIES["filler"]["idle"]), ""
    while len(said) < FILLER_LENGTH:
        drawn.shuffle(idle)
        said += " ".join(idle) + "\n\n"
    return said.rstrip()


def _put(text: Text, words: str, place: str) -> Text:
    cut = {"start": 0, "middle": _gap(text.text), "end": len(text.text)}[place]
    before, after = text.text[:cut].rstrip(), text.text[cut:].lstrip()
    return replace(text, text="\n\n".join(part for part in (before, words, after) if part))


def _gap(text: str) -> int:
    """The first gap between words behind the middle of a text."""
    gap = text.find(" ", len(text) // 2)
    return len(text) if gap < 0 else gap
