"""Guidelines from Markdown to HTML, and the age of a passage from the dates of a batch.

Guidelines have headings, paragraphs, lists, bold, emphasis and code, and nothing else of Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime

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


MONTHS_FROM = 61
YEARS_FROM = 24


def age_between(asked_at: str | None, published_at: str | None) -> str | None:
    """The age in words, or None where a date is missing or is no whole ISO date.

    Days are counted on the calendar of whoever asked: where both times name their zone, the
    passage's is taken over into the question's. Up to two months the age is in days, then in full
    months, from two years on in years and full months. A passage that is newer than its question
    says by how many days.
    """
    asked, published = moment(asked_at), moment(published_at)
    if asked is None or published is None:
        return None
    if asked.tzinfo and published.tzinfo:
        published = published.astimezone(asked.tzinfo)
    return _between(published.date(), asked.date())


def moment(written: str | None) -> datetime | None:
    """An ISO date or datetime; midnight without a zone for a date. None for anything else."""
    try:
        return datetime.fromisoformat(written) if written else None
    except ValueError:
        return None


def in_words(written: str) -> str:
    """A date as people read it, `3 May 2024` or `3 May 2024, 12:30 UTC`; what is none as it is."""
    when = moment(written)
    if when is None:
        return written
    day = f"{when.day} {when:%B} {when.year}"
    if len(written) <= len("2024-05-03"):
        return day
    zone = f" {when.tzname()}" if when.tzinfo else ""
    return f"{day}, {when:%H:%M}{zone}"


def _between(published: date, asked: date) -> str:
    days = (asked - published).days
    if days < 0:
        return f"{_count(-days, 'day')} after the question"
    if days < MONTHS_FROM:
        return _count(days, "day") if days else "same day"
    months = _full_months(published, asked)
    if months < YEARS_FROM:
        return _count(months, "month")
    years, rest = divmod(months, 12)
    return _count(years, "year") + (f", {_count(rest, 'month')}" if rest else "")


def _full_months(start: date, end: date) -> int:
    return (end.year - start.year) * 12 + end.month - start.month - (end.day < start.day)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
