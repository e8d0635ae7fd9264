"""Finding the campaign that a command names."""

from __future__ import annotations

from django.core.management.base import CommandError

from annotation.models import Campaign


def campaign_called(name: str) -> Campaign:
    campaign = Campaign.objects.select_related("batch").filter(name=name).first()
    if campaign is None:
        raise CommandError(f"There is no campaign {name!r}; make it with create_campaign.")
    return campaign
