"""Template filters for stored texts."""

from __future__ import annotations

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def verbatim(text: str) -> SafeString:
    """A text that a browser reads back unchanged.

    HTML parsers turn a bare carriage return into a line feed, and offsets would move; a character
    reference is left alone.
    """
    return mark_safe(str(escape(text)).replace("\r", "&#13;"))


LONG = 6000
LEAST = 400
MOST = 3000
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCES = re.compile(r"""(?s).{1000,2990}(?:[.!?]["')\]]* |[。！？])""")
_WORDS = re.compile(r"(?s).{1000,2999} ")


@register.filter
def laid_out(text: str) -> SafeString:
    """The same, a long text in blocks that a browser can lay out one by one.

    `static/js/blocks.js` says why and takes them up. Their text, one after the other, is the text.
    """
    if len(text) <= LONG:
        return verbatim(text)
    blocks = (f'<span class="block">{verbatim(block)}</span>' for block in blocks_of(text))
    return mark_safe("".join(blocks))


def blocks_of(text: str) -> list[str]:
    """A text in blocks of whole lines; only a line longer than `MOST` characters is broken."""
    found, block = [], ""
    for line in _LINES.findall(text):
        block += line
        while len(block) > MOST:
            part = _SENTENCES.match(block) or _WORDS.match(block)
            end = part.end() if part else len(block)
            found.append(block[:end])
            block = block[end:]
        if len(block) >= LEAST:
            found.append(block)
            block = ""
    return [*found, block] if block else found
