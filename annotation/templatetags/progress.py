"""Numbers of progress in a template: `{{ seconds|in_words }}`, `{{ change|as_change }}`,
`{{ hours|hours_in_words }}`, `{{ number|grouped }}`.
"""

from __future__ import annotations

from django import template

from annotation.progress.words import change_in_words, seconds_in_words

register = template.Library()


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
