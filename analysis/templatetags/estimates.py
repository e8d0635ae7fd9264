"""Estimates in templates."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from analysis.markdown import rounded

register = template.Library()


@register.filter
def estimate(value: dict[str, Any] | None) -> SafeString:
    """A number with its interval; where it is undefined, a dash that says why."""
    if value is None:
        return SafeString("")
    if value["value"] is None:
        return format_html(
            '<span class="undefined">–<span class="why"> {}</span></span>', value["reason"]
        )
    number = rounded(value["value"], 3)
    if value["low"] is None:
        return format_html('<span title="{}">{}</span>', value["method"], number)
    interval = f"{rounded(value['low'], 2)} to {rounded(value['high'], 2)}"
    return format_html(
        '<span title="{}">{} <span class="interval">{}</span></span>',
        value["method"],
        number,
        interval,
    )


@register.filter
def at(mapping: dict[str, Any], key: str) -> Any:
    """A value by a key that is itself a variable."""
    return mapping.get(key)


@register.filter
def cells(confusion: dict[str, Any]) -> list[tuple[str, list[tuple[str, int]]]]:
    """The rows of a confusion matrix: what people say, and each judge's label with its count."""
    labels: list[str] = confusion["labels"]
    return [
        (label, list(zip(labels, row, strict=True)))
        for label, row in zip(labels, confusion["matrix"], strict=True)
    ]
