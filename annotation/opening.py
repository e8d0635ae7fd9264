"""Whether a campaign takes answers: until it is closed by hand, or its deadline is past.

The server's clock decides. What comes later is kept as a draft, and counts once the campaign is
open again.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from annotation.design import DesignError
from annotation.models import Campaign, User
from annotation.references import check_practice
from annotation.terms import Terms, apply_terms, check_terms, terms_of
from audit.recording import record


def open_now(path: str = "") -> Q:
    """The condition on campaigns, or on what leads to one by `path`, such as `item__campaign`."""
    start = f"{path}__" if path else ""
    in_time = Q(**{f"{start}deadline": None}) | Q(**{f"{start}deadline__gt": Now()})
    return Q(**{f"{start}is_open": True}) & in_time


def change(
    campaign: Campaign, terms: Terms, is_open: bool | None = None, user: User | None = None
) -> None:
    """Changes terms, and closes or opens a campaign, all or nothing. Raises DesignError.

    To open one whose deadline is past, another deadline has to come with it.
    """
    with transaction.atomic():
        there = Campaign.objects.select_for_update().get(pk=campaign.pk)
        check_terms(there, terms)
        check_practice(there, terms, user)
        before, was_open = terms_of(there), there.is_open
        apply_terms(there, terms, user)
        if is_open is not None:
            there.is_open = is_open
            if is_open and not there.takes_answers:
                raise DesignError("its deadline is past; give a later one, or take it away")
            there.save(update_fields=["is_open"])
        _tell(there, before, was_open)
    campaign.refresh_from_db()


def _tell(campaign: Campaign, before: dict[str, Any], was_open: bool) -> None:
    """One event for one change: that it opened or closed says more than what else came with it."""
    after = terms_of(campaign)
    changed = [name for name in after if after[name] != before[name]]
    if campaign.is_open != was_open:
        event = "campaign.opened" if campaign.is_open else "campaign.closed"
    elif changed:
        event = "campaign.terms"
    else:
        return
    told: dict[str, Any] = dict.fromkeys(changed, "changed")
    was, now = {"is_open": was_open} | before, {"is_open": campaign.is_open} | after
    record(event, campaign.pk, campaign, was, now, **told)
