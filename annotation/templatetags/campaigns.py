"""A campaign's task in a template: `{{ campaign|task }}`."""

from __future__ import annotations

from django import template

from annotation.models import Campaign
from annotation.protocols import PROTOCOLS

register = template.Library()


@register.filter
def task(campaign: Campaign) -> str:
    """The title of its protocol."""
    return PROTOCOLS[campaign.protocol].title
