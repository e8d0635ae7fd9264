"""A campaign's task in a template: `{{ campaign|task }}`."""

from __future__ import annotations

from django import template

from annotation.declared import declared
from annotation.models import Campaign

register = template.Library()


@register.filter
def task(campaign: Campaign) -> str:
    """The title of its protocol."""
    return declared(campaign).title
