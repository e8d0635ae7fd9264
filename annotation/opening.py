"""Whether a campaign takes answers: until it is closed by hand, or its deadline is past.

The server's clock decides. What comes later is kept as a draft, and counts once the campaign is
open again.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from annotation.design import DesignError
from annotation.models import Campaign
from annotation.terms import Terms, change_terms


def open_now(path: str = "") -> Q:
    """The condition on campaigns, or on what leads to one by `path`, such as `item__campaign`."""
    start = f"{path}__" if path else ""
    in_time = Q(**{f"{start}deadline": None}) | Q(**{f"{start}deadline__gt": Now()})
    return Q(**{f"{start}is_open": True}) & in_time


def close(campaign: Campaign) -> bool:
    """Closes a campaign; False where it is closed already."""
    campaign.is_open = False
    return bool(Campaign.objects.filter(pk=campaign.pk, is_open=True).update(is_open=False))


def reopen(campaign: Campaign, deadline: datetime | None = None) -> bool:
    """Opens a campaign again, with a new deadline if one is given; False where it is open already.

    Raises DesignError where its deadline is past and no other is given.
    """
    with transaction.atomic():
        there = Campaign.objects.select_for_update().get(pk=campaign.pk)
        before = there.takes_answers
        if deadline is not None:
            change_terms(there, Terms(deadline=deadline))
        there.is_open = True
        if not there.takes_answers:
            raise DesignError("its deadline is past; give a later one, or take it away")
        there.save(update_fields=["is_open"])
    campaign.is_open, campaign.deadline = there.is_open, there.deadline
    return not before
