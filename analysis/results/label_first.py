"""The units that people should label first, and a new campaign over their items.

The report says which units they are (`tandem.sections.between_judges.label_first`). The page, the
command and the API all create the campaign from `chosen_items_of`.
"""

from __future__ import annotations

from typing import NamedTuple

from annotation.campaign_setup.chosen_items import ChosenItems, choose_items
from annotation.campaigns.design import DesignError
from annotation.models import Campaign
from annotation.presentation import schema
from tandem.document import count
from tandem.types import JSON

NO_LIST = (
    "there is no list of units to label first: it needs two judges with labels of the same units, "
    "and units that no person has labelled; run another judge"
)


class ListedUnits(NamedTuple):
    """A variable and its units to label first, from the report."""

    variable: str
    units: list[JSON]


def label_first_lists(report: JSON) -> list[ListedUnits]:
    """Return a report's lists, one for each variable with units to label first."""
    found = [
        ListedUnits(name, block.get("between_judges", {}).get("label_first", []))
        for name, block in report["variables"].items()
    ]
    return [each for each in found if each.units]


def list_of(report: JSON, variable: str = "", most: int | None = None) -> ListedUnits:
    """Return the first `most` units of a variable's list, by default of the first variable's.

    Raises DesignError if there is none.
    """
    lists = label_first_lists(report)
    if not lists:
        raise DesignError(NO_LIST, "variable")
    names = [each.variable for each in lists]
    if variable and variable not in names:
        wrong = f"variable {variable!r} has no units to label first"
        raise DesignError(f"{wrong}; choose one of {', '.join(names)}", "variable")
    if most is not None and most < 1:
        raise DesignError("fewer than one unit is chosen; give 1 or more", "units")
    found = lists[names.index(variable or names[0])]
    return ListedUnits(found.variable, found.units[:most])


def chosen_items_of(campaign: Campaign, listed: ListedUnits) -> ChosenItems:
    """Return the items of listed units, in the order of the list. Raises DesignError."""
    keys = ((each["item"], each["kind"], each["unit"]) for each in listed.units)
    return choose_items(campaign, keys)


def sentences(chosen: ChosenItems) -> list[str]:
    """Describe the size of a campaign over chosen items, and the limits of its figures."""
    noun = schema(chosen.campaign).noun
    units, items = count(chosen.units, *noun), count(len(chosen.items), "item")
    more = chosen.asked - chosen.units
    whole = f"{units} in {items}, the most urgent first"
    if more:
        whole += f"; items are labelled whole, which makes {count(chosen.asked, *noun)}"
    return [
        f"{whole}.",
        "Judges’ answers to these items are copied, so that people’s labels can be compared with "
        "them at once.",
        "The items are those on which judges differ most, not a random sample: agreement and "
        "judges’ errors on them say nothing about the other items.",
    ]
