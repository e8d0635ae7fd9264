"""A new campaign over items that were chosen in another one, such as those to label first.

It has the same batch, protocol, design, pool and settings, and continues the other campaign, so
that the answers of judges come with the items. Units are labelled within their items: an item is
asked whole (or in the units that its design samples), however few of its units were chosen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from annotation.campaign_setup.creation import CreatedCampaign, create_once
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.settings import SETTINGS, CampaignSettings
from annotation.models import Campaign, Item, Unit, User
from annotation.presentation import design as design_of

UnitKey = tuple[str, str, str]
"""The keys of a unit: its item's, its kind, and its own."""


@dataclass(frozen=True)
class ChosenItems:
    """Items of a campaign by their keys, in order of priority.

    `units` are the chosen ones in them, and `asked` all that people will be asked with them.
    """

    campaign: Campaign
    items: tuple[str, ...]
    units: int
    asked: int

    @property
    def design(self) -> Design:
        """The design of the new campaign: that of the old one, over these items in their order."""
        # There are no shares, since queries keep their splits from the old campaign.
        return replace(
            design_of(self.campaign),
            raters_per_item=max(1, self.campaign.raters_per_item),
            human_share=1.0,
            development=0.0,
            audit=0.0,
            items="fixed",
            chosen=self.items,
            # The item with the first of equal citations need not be among the chosen ones.
            same=None,
        )

    @property
    def settings(self) -> CampaignSettings:
        """The old campaign's settings, without its deadline, gold items and fixed shares."""
        return CampaignSettings(
            **{each.name: each.current(self.campaign) for each in SETTINGS if each.copied}
        )

    @property
    def name(self) -> str:
        """A name that no campaign has yet."""
        stem = f"{self.campaign.name[:180]}-first"
        taken = set(Campaign.objects.filter(name__startswith=stem).values_list("name", flat=True))
        names = (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3)))
        return next(name for name in names if name not in taken)


def choose_items(campaign: Campaign, units: Iterable[UnitKey]) -> ChosenItems:
    """Return the items of some units, in the order of the units. Raises DesignError without any."""
    unit_keys = list(dict.fromkeys(units))
    keys = list(dict.fromkeys(item for item, _, _ in unit_keys))
    study = campaign.items.filter(use=Item.Use.STUDY, key__in=keys)
    known = set(study.order_by().values_list("key", flat=True))
    if not known:
        raise DesignError("none of the units is one of the campaign's; choose others", "chosen")
    return ChosenItems(
        campaign,
        tuple(key for key in keys if key in known),
        sum(item in known for item, _, _ in unit_keys),
        Unit.objects.filter(item__in=study).count(),
    )


def create_chosen(
    chosen: ChosenItems, name: str, raters_per_item: int | None = None, by: User | None = None
) -> CreatedCampaign:
    """Create the campaign of chosen items, unless it exists already. Raises DesignError."""
    old, design = chosen.campaign, chosen.design
    if raters_per_item is not None:
        design = replace(design, raters_per_item=raters_per_item)
    assert old.team is not None
    return create_once(
        name, old.protocol, old.batch, design, chosen.settings, by, old.team, old.name, old.pool
    )
