"""How a methods paragraph names statistics, each with the work that it is from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.formats.cited import CITED


def named(blocks: Any) -> list[str]:
    """The statistics of blocks by name, each once, with their citations."""
    names: dict[str, None] = {}
    for block in blocks:
        for method in methods_of(block, defined=True):
            names[method.partition("; ")[0]] = None
    return [f"{name} {mark}" if (mark := _cited(name)) else name for name in names]


def _cited(name: str) -> str:
    start = next((start for start in CITED if name.lower().startswith(start.lower())), "")
    return CITED.get(start, "")


def methods_of(node: Any, defined: bool = False) -> Iterator[str]:
    """The methods of all estimates below; strata repeat what stands above them."""
    if isinstance(node, dict):
        if "method" in node and "value" in node:
            if node["value"] is not None or not defined:
                yield node["method"]
            return
        for key, each in node.items():
            if key != "strata":
                yield from methods_of(each, defined)
    elif isinstance(node, list):
        for each in node:
            yield from methods_of(each, defined)


def joined(words: list[str]) -> str:
    """Words as a list in a sentence, parted by semicolons where they hold commas."""
    comma = ";" if any("," in word for word in words) else ","
    if len(words) < 2:
        return "".join(words)
    last = f"{comma} and " if comma == ";" else " and "
    return f"{f'{comma} '.join(words[:-1])}{last}{words[-1]}"
