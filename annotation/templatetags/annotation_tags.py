"""Template filters for campaigns, progress, stored texts and judges' labels."""

from __future__ import annotations

import json
import re
from typing import Any

from django import template
from django.template import Context
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from annotation.item_context import Row
from annotation.models import Campaign
from annotation.progress.status import change_in_words, seconds_in_words
from annotation.registry import declared

register = template.Library()


@register.filter
def task(campaign: Campaign) -> str:
    """The title of its protocol."""
    return declared(campaign).title


@register.filter
def in_words(seconds: float | None) -> str:
    return seconds_in_words(seconds)


@register.filter
def hours_in_words(hours: float) -> str:
    return seconds_in_words(hours * 3600)


@register.filter
def as_change(change: float | None) -> str:
    return change_in_words(change)


@register.filter
def grouped(number: object) -> object:
    """A whole number in groups of three; anything else as it is."""
    return f"{number:,}" if isinstance(number, int) else number


@register.filter
def share(number: float | None) -> str:
    return "–" if number is None else f"{number:.2f}"


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


@register.inclusion_tag("work/_verdict.html", takes_context=True)
def verdict(context: Context, row: Row) -> dict[str, Any]:
    """The verdict on the unit of a row, in the words of the row's own choices.

    A page may place it by itself; the item page keeps the rest, which the script then places.
    """
    found = context["verdicts"].get(row.name)
    if found is None or row.name in context["verdicts_placed"]:
        return {"verdict": None}
    context["verdicts_placed"].add(row.name)
    said = [
        {"question": asked.question, "word": choice.word, "score": found.scores.get(asked.name)}
        for asked in row.variables
        for choice in asked.choices
        if choice.code == found.answer.get(asked.name)
    ]
    return {
        "verdict": found,
        "said": said,
        "alone": len(row.variables) == 1,
        "row": row,
        "written": _written(found.answer),
        "answer": json.dumps(found.answer, ensure_ascii=False),
        "is_open": context["campaign"].takes_answers,
    }


def _written(answer: Any) -> str:
    """What the judge wrote, where the unit asks for a text."""
    texts = (value.get("text") for value in answer.values() if isinstance(value, dict))
    return next((str(text) for text in texts if text), "")
