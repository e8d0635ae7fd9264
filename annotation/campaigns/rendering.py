"""Render guidelines from Markdown to HTML, and compute the age of a passage from its dates.

Guidelines may use these parts of Markdown: headings, paragraphs, lists, bold, emphasis and code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime

from django.utils.dateformat import format as date_format
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

_HEADING = re.compile(r"(#{1,4})\s+(.+)")
_BULLET = re.compile(r"\s*[-*]\s+(.+)")
_NUMBER = re.compile(r"\s*\d+[.)]\s+(.+)")
_INLINE = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])[*_]([^*_]+)[*_](?![\w*])"), r"<em>\1</em>"),
)


def render(markdown: str) -> SafeString:
    """Return the HTML of a guideline. The text is escaped first, so that its own tags are inert."""
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
    """Split off the list items at the start. A line without a marker continues the item before."""
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
    """Return the age as text, or None if a date is missing or is not a complete ISO date.

    If both times have a zone, days are counted in the zone of the question. The age is in days up
    to two months, then in full months, and from two years on in years and full months. For a
    passage newer than its question, the text says by how many days.
    """
    asked, published = moment(asked_at), moment(published_at)
    if asked is None or published is None:
        return None
    if asked.tzinfo and published.tzinfo:
        published = published.astimezone(asked.tzinfo)
    return _between(published.date(), asked.date())


def moment(written: str | None) -> datetime | None:
    """Read an ISO date or datetime. A date becomes midnight without a zone, other text None."""
    try:
        return datetime.fromisoformat(written) if written else None
    except ValueError:
        return None


def format_date(written: str) -> str:
    """Format a date as `3 May 2024` or `3 May 2024, 12:30 UTC`. Other text does not change."""
    when = moment(written)
    if when is None:
        return written
    # Translators: a date such as 3 May 2024, in the letters of Django's filter `date`
    day = date_format(when, gettext("j F Y"))
    if len(written) <= len("2024-05-03"):
        return day
    zone = f" {when.tzname()}" if when.tzinfo else ""
    return f"{day}, {when:%H:%M}{zone}"


def _between(published: date, asked: date) -> str:
    days = (asked - published).days
    if days < 0:
        return gettext("%(time)s after the question") % {"time": _days(-days)}
    if days < MONTHS_FROM:
        return _days(days) if days else gettext("same day")
    months = _full_months(published, asked)
    if months < YEARS_FROM:
        return _months(months)
    years, rest = divmod(months, 12)
    return _years(years) + (f", {_months(rest)}" if rest else "")


def _full_months(start: date, end: date) -> int:
    return (end.year - start.year) * 12 + end.month - start.month - (end.day < start.day)


def _days(number: int) -> str:
    return ngettext("%(n)d day", "%(n)d days", number) % {"n": number}


def _months(number: int) -> str:
    return ngettext("%(n)d month", "%(n)d months", number) % {"n": number}


def _years(number: int) -> str:
    return ngettext("%(n)d year", "%(n)d years", number) % {"n": number}
