"""A judge under changed conditions: what is changed of an item before it is asked.

`KINDS` has every kind of variation; one that changes an item brings a function. A function changes
texts and the words of units alone: what the units are called, and so what the answers stand under,
is never touched. Choices are drawn from the variation's seed and the item's key, so that they are
the same every time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from annotation.blinding import TURNED
from annotation.doors import Payload
from annotation.models import Assignment, Item
from annotation.presenting import ordered_texts, present, schema
from annotation.protocols.base import ItemSpec
from judging.conditions.attacks import attacked
from judging.conditions.controls import emptied, exchanged
from judging.models import Judge

Vary = Callable[[ItemSpec, Item, Mapping[str, Any]], ItemSpec]
Purpose = Literal["repeat", "control", "attack"]


@dataclass(frozen=True)
class Kind:
    """One way to change the conditions, and what is read off it.

    A `repeat` should give the same labels again, a `control` the lowest ones, and an `attack` those
    that were given without it.
    """

    title: str
    purpose: Purpose
    vary: Vary | None = None


def _emptied(spec: ItemSpec, item: Item, chosen: Mapping[str, Any]) -> ItemSpec:
    return emptied(spec)


def _exchanged(spec: ItemSpec, item: Item, chosen: Mapping[str, Any]) -> ItemSpec:
    return exchanged(spec, item, chosen["seed"])


def _attacked(spec: ItemSpec, item: Item, chosen: Mapping[str, Any]) -> ItemSpec:
    variables = schema(item.campaign).variables
    return attacked(spec, chosen["family"], item.query.text, variables, chosen["seed"])


KINDS: dict[str, Kind] = {
    "again": Kind("The same again", "repeat"),
    "unconstrained": Kind("No form enforced", "repeat"),
    "swapped": Kind("Pairs turned", "repeat"),
    "paraphrase": Kind("Guideline in other words", "repeat"),
    "empty": Kind("No text", "control", _emptied),
    "random": Kind("Text of another query", "control", _exchanged),
    "inject": Kind("Hostile text", "attack", _attacked),
}


def varied(judge: Judge, spec: ItemSpec, item: Item) -> ItemSpec:
    """The item as this judge is shown it; a judge without a variation sees it as it is."""
    kind = KINDS.get(judge.variation.get("kind", ""))
    return kind.vary(spec, item, judge.variation) if kind and kind.vary else spec


def is_unconstrained(judge: Judge) -> bool:
    """Whether the server is to let a judge answer in any form, though its prompt asks for one."""
    return bool(judge.variation.get("kind") == "unconstrained")


def fields_in_order(judge: Judge, item: Item, own: Sequence[str] = ()) -> list[str]:
    """The fields of an item's texts in the order in which a judge is shown them.

    None stand for the item's own order. `own` is the order of the judge that a trial tries, which
    a trial keeps unless it turns pairs.
    """
    if judge.variation.get("kind") != "swapped":
        return list(own)
    return [text.field for text in reversed(present(item).texts)]


def in_order(assignment: Assignment, spec: ItemSpec) -> ItemSpec:
    """The same with its texts in the order in which this assignment shows them."""
    if not assignment.shown:
        return spec
    return replace(spec, texts=tuple(ordered_texts(assignment, spec)))


def turned_back(assignment: Assignment, payload: Payload) -> Payload:
    """The payload of a judge that was shown a pair in another order, as said of the stored one."""
    if not assignment.shown:
        return payload
    units = payload["units"]
    return {**payload, "units": {name: _turned(units[name]) for name in units}}


def _turned(answer: Any) -> Any:
    if not isinstance(answer, Mapping):
        return answer
    return {k: TURNED.get(code, code) if isinstance(code, str) else code
            for k, code in answer.items()}  # fmt: skip
