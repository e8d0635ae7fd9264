"""Guidelines as HTML: headings, paragraphs, lists, bold, emphasis and code of Markdown, no more."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

_HEADING = re.compile(r"(#{1,4})\s+(.+)")
_BULLET = re.compile(r"\s*[-*]\s+(.+)")
_NUMBER = re.compile(r"\s*\d+[.)]\s+(.+)")
_INLINE = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])[*_]([^*_]+)[*_](?![\w*])"), r"<em>\1</em>"),
)


def render(markdown: str) -> SafeString:
    """The HTML of a guideline. All of it is escaped first, so no tag of the text survives."""
    blocks = re.split(r"\n\s*\n", markdown.replace("\r\n", "\n").strip())
    return mark_safe("\n".join(html for block in blocks for html in _block(block.split("\n"))))


def _block(lines: list[str]) -> Iterator[str]:
    while lines:
        if heading := _HEADING.match(lines[0]):
            level = len(heading[1]) + 1
            yield f"<h{level}>{_inline(heading[2])}</h{level}>"
            lines = lines[1:]
        elif marker := _marker(lines[0]):
            items, lines = _items(lines, marker)
            tag = "ul" if marker is _BULLET else "ol"
            yield f"<{tag}>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</{tag}>"
        else:
            count = next((n for n, line in enumerate(lines) if n and _starts(line)), len(lines))
            yield f"<p>{_inline(' '.join(lines[:count]))}</p>"
            lines = lines[count:]


def _marker(line: str) -> re.Pattern[str] | None:
    return next((pattern for pattern in (_BULLET, _NUMBER) if pattern.match(line)), None)


def _starts(line: str) -> bool:
    return bool(_HEADING.match(line) or _marker(line))


def _items(lines: list[str], marker: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """The items at the head of the lines, a line without a marker going on with the one before."""
    items: list[str] = []
    for number, line in enumerate(lines):
        if found := marker.match(line):
            items.append(found[1])
        elif _starts(line):
            return items, lines[number:]
        else:
            items[-1] += " " + line.strip()
    return items, []


def _inline(text: str) -> str:
    html = str(escape(text))
    for pattern, replacement in _INLINE:
        html = pattern.sub(replacement, html)
    return html
