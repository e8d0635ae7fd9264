"""Template filters for campaigns, progress, stored texts and judges' labels."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from django import template
from django.conf import settings
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from django.utils.translation.trans_real import DjangoTranslation

from annotation.campaigns.markdown import LONGEST, escaped
from annotation.campaigns.rendering import format_date
from annotation.campaigns.text_views import TextViews, in_view
from annotation.item_context import Piece, Row
from annotation.models import Campaign, User
from annotation.people.membership import readable
from annotation.presentation import schema
from annotation.progress.status import format_change, format_seconds
from annotation.protocols.base import Protocol
from annotation.registry import get_protocol
from datasets.models import Batch
from tandem.protocols.schema import Schema

register = template.Library()
STEP = re.compile(r"(\d)( – )(.+)")
LONG_TEXT, MIN_BLOCK, MAX_BLOCK = 6000, 400, 3000  # characters


@register.filter
def task(campaign: Campaign) -> str:
    """Return the title of the campaign's protocol."""
    return get_protocol(campaign).title


@register.filter
def unit_noun(campaign: Campaign, count: int = 1) -> str:
    """Return the protocol's own noun for its units, in the reader's language.

    It is *unit* if the protocol asks about several kinds.
    """
    singular, plural = schema(campaign).noun
    return gettext(singular if count == 1 else plural)


@register.filter
def task_noun(protocol: Protocol, count: int = 1) -> str:
    """Return the noun for the units of a protocol that asks all of its variables."""
    return Schema(protocol, protocol.variables).noun[count != 1]


@register.filter
def duration(seconds: float | None) -> str:
    return format_seconds(seconds)


@register.filter
def duration_of_hours(hours: float) -> str:
    return format_seconds(hours * 3600)


@register.filter
def relative_change(change: float | None) -> str:
    return format_change(change)


@register.filter
def long_date(written: str) -> str:
    return format_date(written)


@register.filter
def grouped(number: object) -> object:
    """Group a whole number's digits in threes; return any other value unchanged."""
    return f"{number:,}" if isinstance(number, int) else number


@register.filter
def share(number: float | None) -> str:
    return "–" if number is None else f"{number:.2f}"


@register.filter
def verbatim(text: str) -> SafeString:
    """Escape a text so that a browser reads it back unchanged."""
    return mark_safe(escaped(text))


_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCES = re.compile(r"""(?s).{1000,2990}(?:[.!?]["')\]]* |[。！？])""")
_WORDS = re.compile(r"(?s).{1000,2999} ")


@register.filter
def laid_out(text: str, views: TextViews | None = None) -> SafeString:
    """Escape a text like `verbatim`, and split a long one into blocks that are rendered in turn.

    `static/js/blocks.js` uses the blocks and explains why; it makes those of the longest texts by
    itself. Joined, they are the text. With the views of its item, a text in Markdown can be shown
    rendered, too.
    """
    rendered = views.render(text) if views else None
    if views and rendered is not None:
        return in_view(rendered, views.campaign)
    if not LONG_TEXT < len(text) <= LONGEST:
        return verbatim(text)
    blocks = (f'<span class="block">{verbatim(block)}</span>' for block in split_blocks(text))
    return mark_safe("".join(blocks))


@register.filter
def laid_out_in_pieces(pieces: Sequence[Piece], views: TextViews) -> SafeString:
    """Return the text of all pieces like `laid_out`, with its sentences marked."""
    rendered = views.render_parts([(piece.text, piece.number) for piece in pieces])
    if rendered is not None:
        return in_view(rendered, views.campaign)
    return mark_safe("".join(map(_piece, pieces)))


@register.filter
def view_note(text: str | Sequence[Piece], views: TextViews) -> SafeString:
    """Return a line above a text in Markdown that is shown as it was written; usually nothing."""
    whole = text if isinstance(text, str) else "".join(piece.text for piece in text)
    note = views.note(whole)
    return format_html('<p class="view-note" role="note">{}</p>', note) if note else mark_safe("")


def _piece(piece: Piece) -> str:
    if piece.number is None:
        return escaped(piece.text)
    sentence = f'class="sentence" data-sentence="{piece.number}"'
    return f"<span {sentence}>{escaped(piece.text)}</span>"


def split_blocks(text: str) -> list[str]:
    """Split a text into blocks of whole lines; only a line longer than `MAX_BLOCK` is broken."""
    found, block = [], ""
    for line in _LINES.findall(text):
        block += line
        while len(block) > MAX_BLOCK:
            part = _SENTENCES.match(block) or _WORDS.match(block)
            end = part.end() if part else len(block)
            found.append(block[:end])
            block = block[end:]
        if len(block) >= MIN_BLOCK:
            found.append(block)
            block = ""
    return [*found, block] if block else found


@register.filter
def as_step(word: str) -> SafeString:
    """Render a button's words; those of a step of a scale, as in `3 – some of it`, in two lines.

    Read as one they stay what they are.
    """
    found = STEP.fullmatch(word)
    if not found:
        return format_html("<span>{}</span>", word)
    return format_html(
        '<span class="step"><b>{}</b><i class="sr">{}</i><em>{}</em></span>', *found.groups()
    )


@register.simple_tag
def used_in(batch: Batch, user: User) -> list[Campaign]:
    """Return the campaigns over a batch that an account may read, by name, at most 21."""
    return list(readable(user).filter(batch=batch).order_by("name")[:21])


@register.simple_tag
def page_words() -> dict[str, str]:
    """Return the catalogue of the page's scripts in the reader's language; none for English."""
    return _script_words(get_language() or "en")


@cache
def _script_words(language: str) -> dict[str, str]:
    if language == "en":
        return {}
    found = DjangoTranslation(language, "djangojs", [str(path) for path in settings.LOCALE_PATHS])
    words = found._catalog  # type: ignore[attr-defined]  # as Django's own view of catalogues does
    return {key: word for key, word in words.items() if key and isinstance(key, str)}


@register.inclusion_tag("work/_verdict.html", takes_context=True)
def verdict(context: Context, row: Row) -> dict[str, Any]:
    """Render the judge's label for a row's unit, in the words of the row's choices.

    A page may render it in its own template; the item page's script places the others.
    """
    found = context["verdicts"].get(row.name)
    if found is None or row.name in context["verdicts_placed"]:
        return {"verdict": None}
    context["verdicts_placed"].add(row.name)
    answers = [
        {
            "question": asked.question,
            "word": asked.named(value if isinstance(value, str) else json.dumps(value))[0],
            "score": found.scores.get(asked.name),
        }
        for asked in row.variables
        if (value := found.answer.get(asked.name)) is not None
    ]
    return {
        "verdict": found,
        "answers": answers,
        "alone": len(row.variables) == 1,
        "row": row,
        "written": _written(found.answer),
        "answer": json.dumps(found.answer, ensure_ascii=False),
        "is_open": context["campaign"].takes_answers,
    }


def _written(answer: Any) -> str:
    """Return the text that the judge wrote, or an empty one."""
    texts = (value.get("text") for value in answer.values() if isinstance(value, dict))
    return next((str(text) for text in texts if text), "")
