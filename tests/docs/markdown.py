"""The pages as they are written: their paragraphs, code blocks and inline code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.cast import ROOT

DOCS = ROOT / "docs"
_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")


@cache
def written() -> dict[str, str]:
    """The hand-written pages by path."""
    return {
        p.relative_to(DOCS).as_posix(): p.read_text("utf-8") for p in sorted(DOCS.rglob("*.md"))
    }


def blocks(text: str, *languages: str) -> list[str]:
    """Code blocks of one of the languages; "" stands for those that name none."""
    return [m["body"] for m in _FENCE.finditer(text) if m["language"] in languages]


def inline(text: str) -> list[str]:
    return _INLINE.findall(_FENCE.sub("", text))


def first_paragraph(text: str) -> str:
    return text.partition("\n\n")[2].partition("\n\n")[0]


def shell_lines() -> Iterator[tuple[str, str]]:
    """Page and line of every command that a reader may copy."""
    for page, text in written().items():
        for block in blocks(text, ""):
            yield from ((page, line.strip()) for line in block.splitlines() if line.strip())


def read(path: str) -> str:
    return Path(DOCS, path).read_text("utf-8")
