"""Labels of the points of answers beside those of key points: what KPP and KPF are made of."""

from __future__ import annotations

from analysis.choices import Choices
from analysis.frames import Frame
from analysis.measuring.slicing import check_same_batch
from analysis.sources import campaign_frame
from annotation.models import Campaign
from annotation.preparation.registry import declared

RECALL, VERIFICATION = "key-point-recall", "key-point-verification"


def answer_points(points: Campaign, campaign: Campaign, choices: Choices) -> Frame:
    """The labels of a campaign that holds points of answers against their context.

    Raises ValueError where it is another one or over another batch, and where `campaign` does not
    ask of key points of the query.
    """
    if campaign.protocol != RECALL:
        raise ValueError(
            f"points mean nothing to {campaign.name!r}, which is of {campaign.protocol}; give them "
            f"to a campaign of {RECALL}"
        )
    if points.protocol != VERIFICATION or declared(points).reading != "answers":
        raise ValueError(
            f"{points.name!r} does not ask of the points of answers; name a campaign of "
            f"{VERIFICATION} with points=answers"
        )
    check_same_batch(points, campaign)
    return campaign_frame(points, choices)
