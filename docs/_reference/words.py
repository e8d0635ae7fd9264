"""Descriptions that the code does not contain, and the Markdown that all pages share."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEANINGS = Path(__file__).with_name("meanings.toml")


class UndocumentedError(LookupError):
    """Raised if a part of the code has no description."""


@cache
def _meanings() -> dict[str, dict[str, str]]:
    return tomllib.loads(MEANINGS.read_text("utf-8"))


def meaning(part: str, *names: str, default: str = "") -> str:
    """Return the description of the first name that has one, or the default.

    Raises UndocumentedError if there is neither.
    """
    for name in names:
        if words := _meanings()[part].get(name):
            return words
    if default:
        return default
    where = MEANINGS.relative_to(ROOT)
    raise UndocumentedError(f"{names[0]} has no meaning; write one in {where} under [{part}]")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. Cells may contain Markdown, but no line breaks."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    return f"`{text}`"


def codes(texts: Iterable[object]) -> str:
    return ", ".join(map(code, texts))


def page(title: str, *parts: str) -> str:
    """Return a page with a title, without empty parts."""
    return "\n\n".join([f"# {title}", *(part.strip() for part in parts if part.strip())]) + "\n"


def plain(docstring: str | None) -> str:
    """Return a docstring as Markdown, without the indentation of the code."""
    lines = (docstring or "").strip().splitlines()
    paragraphs: list[list[str]] = [[]]
    for line in (line.strip() for line in lines):
        if line:
            paragraphs[-1].append(line)
        else:
            paragraphs.append([])
    return "\n\n".join(_starless(" ".join(lines)) for lines in paragraphs if lines)


def _starless(paragraph: str) -> str:
    """Escape asterisks and underscores in formulas, which Markdown would read as emphasis."""
    parts = paragraph.split("`")
    for n in range(0, len(parts), 2):
        parts[n] = parts[n].replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")
    return "`".join(parts)
