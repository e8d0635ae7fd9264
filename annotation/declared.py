"""Every task that a campaign may be of: the protocols, and the steps that prepare a batch."""

from __future__ import annotations

from annotation.models import Campaign
from annotation.preparation.steps import STEPS
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol

DECLARED: dict[str, Protocol] = PROTOCOLS | {
    step.task.name: step.task for step in STEPS.values() if step.task is not None
}


def declared(campaign: Campaign) -> Protocol:
    """The task of a campaign: as its version declared it, and as its option `points` reads it."""
    task = DECLARED[campaign.protocol].as_of(campaign.protocol_version)
    return task.read_as(campaign.options.get("points") or "")
