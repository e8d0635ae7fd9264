"""Rules about the course of a campaign: its deadline, its end, and missing gold items."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.utils import timezone
from django.utils.formats import date_format

from analysis.attention.base import Action, Facts, Finding, count

NEAR = timedelta(days=3)


def deadline(facts: Facts) -> Iterator[Finding]:
    """Find a deadline that is near or past while answers are missing."""
    campaign = facts.campaign
    at = campaign.deadline
    if at is None or not campaign.is_open or at - facts.now > NEAR or not facts.places.open:
        return
    change = Action(
        "Deadline", "campaign-settings", (campaign.pk,), anchor="terms-head", changes=True
    )
    verb = "is" if facts.places.open == 1 else "are"
    missing = f"{facts.places.open:,} of {count(facts.places.asked, 'answer')} {verb} missing"
    if at <= facts.now:
        text = f"The deadline has passed, and {missing}."
        yield Finding("urgent", text, (change,))
        return
    hours = int((at - facts.now).total_seconds() // 3600)
    left = f"{count(hours, 'hour')}" if hours < 48 else f"{hours // 24} days"
    when = date_format(timezone.localtime(at), "j M, H:i")
    progress = Action("Progress", "campaign-progress", (campaign.pk,))
    text = f"Answers count until {when}, {left} from now, and {missing}."
    yield Finding("warning", text, (progress, change))


def gold_missing(facts: Facts) -> Iterator[Finding]:
    """Find a campaign that should mix gold items in, and has none."""
    campaign = facts.campaign
    if campaign.is_open and campaign.gold_every and not campaign.gold_items:  # type: ignore[attr-defined]
        text = (
            f"A gold item should come every {count(campaign.gold_every, 'item')}, but none is set."
        )
        gold = Action(
            "Gold", "campaign-settings", (campaign.pk,), anchor="known-head", changes=True
        )
        yield Finding("warning", text, (gold,))


def complete(facts: Facts) -> Iterator[Finding]:
    """Find an open campaign that has all of its answers."""
    places, campaign = facts.places, facts.campaign
    if campaign.is_open and places.asked and not places.open:
        pk = campaign.pk
        close = Action("Close", "campaign-settings", (pk,), anchor="turn-head", changes=True)
        text = f"All {count(places.asked, 'answer')} from people are in."
        given_here = campaign.people_done - campaign.imported  # type: ignore[attr-defined]
        if given_here < places.asked:
            text += " Annotators still get items until you close the campaign."
        yield Finding("hint", text, (Action("Results", "results", (pk,)), close))
