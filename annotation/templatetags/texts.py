"""Template filters for stored texts."""

from __future__ import annotations

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
