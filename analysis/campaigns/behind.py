"""Whether a campaign's batch, or one that it was derived from, is behind people's labels."""

from __future__ import annotations

from annotation.models import Campaign
from datasets.lineage import ancestors
from tandem.labels.frame import Warning
from tandem.types import JSON


def units_behind(campaign: Campaign) -> dict[str, int]:
    """Return the number of units whose labels have changed since, by batch of the lineage."""
    return {each.batch.name: each.behind for each in ancestors(campaign.batch) if each.behind}


def behind_warnings(campaign: Campaign) -> list[JSON]:
    """Return a warning for each batch in the campaign's lineage that is *behind*."""
    return [
        Warning("batch_behind", None, None, behind_sentence(name, units))._asdict()
        for name, units in units_behind(campaign).items()
    ]


def behind_sentence(name: str, units: int) -> str:
    what = "1 unit has" if units == 1 else f"{units} units have"
    return (
        f"Batch {name} is behind: {what} other labels than when it was derived. Figures are about "
        "the batch as it was."
    )
