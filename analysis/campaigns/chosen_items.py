"""Campaigns whose items were chosen, not sampled: the caveat of their figures."""

from __future__ import annotations

from annotation.models import Campaign
from tandem.labels.frame import Warning
from tandem.types import JSON


def chosen_items(campaign: Campaign) -> int:
    """Return the number of chosen items; 0 if the campaign has all items or a random sample."""
    return len(campaign.options.get("chosen", ()))


def describe_chosen(items: int) -> str:
    what = "1 item was" if items == 1 else f"{items} items were"
    return (
        f"{what} chosen, not sampled at random. Figures are only about these items and are not "
        "estimates for others."
    )


def chosen_warnings(campaign: Campaign) -> list[JSON]:
    """Return a warning for figures without a verdict, which would say the same."""
    if not (items := chosen_items(campaign)):
        return []
    return [Warning("chosen_items", None, None, describe_chosen(items))._asdict()]
