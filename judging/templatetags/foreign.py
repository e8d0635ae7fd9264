"""Words and numbers of a machine in a template: `{{ detail|shown }}`, `{{ tokens|counted }}`."""

from __future__ import annotations

from django import template

from judging.pages.showing import shown as made_harmless

register = template.Library()


@register.filter
def shown(text: object) -> str:
    """The text as it may be looked at; it is escaped like every other."""
    return made_harmless(str(text))


@register.filter
def counted(number: object) -> object:
    """A whole number in groups of three; anything else as it is."""
    return f"{number:,}" if isinstance(number, int) else number
