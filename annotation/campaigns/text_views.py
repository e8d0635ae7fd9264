"""The texts of an item as a page shows them: rendered if they are in Markdown.

Items with little Markdown are rendered with their page. All others are rendered by a job, and
stored with the version of the renderer, so that a mended one renders them again. Until then, and
where rendering would take too long, a page shows a text as it was written, and says so.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import markdown_it
from cachetools import LRUCache, cached
from django.db import transaction
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_noop

from annotation.campaigns import markdown
from annotation.campaigns.markdown import LONGEST, Parts, is_markdown, mark_parts
from annotation.campaigns.renderer import PLAIN, NotRenderedError, Renderer
from annotation.models import Campaign, Item, Rendering
from datasets.work.queue import TooManyError
from datasets.work.requests import ask

KIND = "renderings"
BLOCK = 100
"""How many items, by their positions, one job renders."""
INLINE = 40_000
"""The weight up to which an item is rendered with its page: some 50 ms for the worst texts."""
REMEMBERED = 2_000_000  # characters
MOST_HTML = 2_500_000
"""How many characters of stored HTML a page shows; the texts after that are shown plain."""
SIGN, CELL = 30, 30
"""What a sign and a table's cell weigh, in characters without signs."""
SIGNS = "[]*_~|!<&`\\"
VERSION = hashlib.sha256(
    Path(markdown.__file__).read_bytes() + markdown_it.__version__.encode()
).hexdigest()[:16]
"""The renderer's version, which no change to it can leave as it was."""

SOON = gettext_noop(
    "This text is in Markdown. Its rendered view is being prepared; until then it is shown as it "
    "was written."
)
NEVER = gettext_noop(
    "This text is in Markdown, but too long or too intricate to be rendered; it is shown as it was "
    "written."
)


def weight(texts: Iterable[str]) -> int:
    """Estimate the cost of rendering texts; more than `INLINE` may be any number above it."""
    total = 0
    for text in texts:
        total += len(text)
        if total <= INLINE:
            total += SIGN * sum(map(text.count, SIGNS)) + CELL * _cells(text)
        if total > INLINE:
            break
    return total


def _cells(text: str) -> int:
    """Return the most cells that tables may have, since each row is filled up to the widest."""
    if "|" not in text:
        return 0
    lines = text.splitlines()
    return max(line.count("|") for line in lines) * sum("|" in line for line in lines)


def stored_texts(texts: Sequence[str]) -> list[str]:
    """Return those texts of an item that are rendered by a job."""
    if weight(texts) <= INLINE:
        return []
    return [text for text in dict.fromkeys(texts) if len(text) <= LONGEST]


def digest_of(text: str) -> str:
    """Return the key of a text's rendering, which depends on the renderer's version."""
    return hashlib.sha256(f"{VERSION} {text}".encode(errors="surrogatepass")).hexdigest()


def render_stored(texts: Sequence[str], renderer: Renderer) -> None:
    """Render and store those texts that this version has not rendered yet."""
    keys = {digest_of(text): text for text in texts}
    there = Rendering.objects.filter(digest__in=list(keys)).values_list("digest", flat=True)
    for key in keys.keys() - set(there):
        row = Rendering(digest=key, version=VERSION)
        try:
            row.html = zlib.compress(renderer.render(keys[key]).encode(errors="surrogatepass"))
        except NotRenderedError as error:
            row.reason = str(error)
        # On SQLite, only transactions queue for the writer.
        with transaction.atomic():
            Rendering.objects.bulk_create([row], ignore_conflicts=True)


@cached(LRUCache(REMEMBERED, len))
def _render(text: str) -> SafeString:
    return markdown.render(text)


class TextViews:
    """The renderings of an item's texts.

    `user` is the account for which missing ones are requested; without one, none is.
    """

    def __init__(self, item: Item, texts: Sequence[str], user: Any = None) -> None:
        self.campaign, self._item, self._texts, self._user = item.campaign, item, texts, user

    @cached_property
    def _shown(self) -> Mapping[str, _Shown] | None:
        """What is shown of each text that a job renders; None if the page renders them itself."""
        if weight(self._texts) <= INLINE:
            return None
        keys = {text: digest_of(text) for text in stored_texts(self._texts)}
        rows = Rendering.objects.in_bulk(list(keys.values()))
        if len(rows) < len(keys) and self._user is not None:
            _request(self._item, self._user)
        room, found = MOST_HTML, dict[str, _Shown]()
        for text in self._texts:
            row = rows.get(keys[text]) if text in keys else None
            shown = _shown(text, row, text in keys)
            room -= len(shown.html or "")
            found[text] = shown if room >= 0 or not shown.html else _Shown(note=NEVER)
        return found

    def render(self, text: str) -> SafeString | None:
        """Return a text as HTML; None if it is shown as it was written."""
        if self._shown is None:
            return _render(text) if is_markdown(text) else None
        html = self._shown.get(text, _Shown()).html
        return None if html is None else mark_safe(html)

    def render_parts(self, texts: Sequence[tuple[str, int | None]]) -> SafeString | None:
        """Render texts that joined are one text of the item, and mark those with a number."""
        rendered = self.render("".join(text for text, _ in texts))
        return None if rendered is None else mark_parts(rendered, _parts(texts))

    def note(self, text: str) -> str:
        """Say, in the reader's language, why a text in Markdown is shown as it was written."""
        note = self._shown.get(text, _Shown()).note if self._shown else ""
        return gettext(note) if note else ""


@dataclass(frozen=True)
class _Shown:
    """A text's HTML, None if it is shown as it was written, and what is said about that."""

    html: str | None = None
    note: str = ""


def _shown(text: str, row: Rendering | None, is_stored: bool) -> _Shown:
    if row is None:
        later = SOON if is_stored else NEVER
        return _Shown(note=later if is_markdown(text[:INLINE]) else "")
    if row.html is None:
        return _Shown(note="" if row.reason == PLAIN else NEVER)
    return _Shown(zlib.decompress(row.html).decode(errors="surrogatepass"))


def _parts(texts: Sequence[tuple[str, int | None]]) -> Parts:
    ends = accumulate(len(text) for text, _ in texts)
    return tuple(
        (end - len(text), end, number)
        for (text, number), end in zip(texts, ends, strict=True)
        if number is not None
    )


def _request(item: Item, user: Any) -> None:
    options = {"campaign": item.campaign_id, "block": item.position // BLOCK}
    try:
        ask(KIND, options, user, again=True)
    except TooManyError:
        # The next page that shows one of these items requests it.
        return


def in_view(rendered: SafeString, campaign: Campaign) -> SafeString:
    """Return a rendered text in the campaign's default view, which the reader can switch."""
    shown = "" if campaign.text_view == Campaign.TextView.RENDERED else " as-source"
    return mark_safe(f'<div class="markdown{shown}">{rendered}</div>')
