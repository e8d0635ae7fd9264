"""Counts of units, with filters for the list of disagreements that shows exactly these units.

Tables of the report and tables below figures count the same units, so both link to that list.
"""

from __future__ import annotations

from .document import UnitCount
from .types import JSON

COUNTED_PAIRS = "a label counts once for each other person, but the list shows it only once"


def shared_units(units: int, one: str, other: str) -> UnitCount:
    """Return the count of the units that two raters labelled."""
    return UnitCount.of(units, show="all", one=one, other=other)


def of_several(units: int, rater: str) -> UnitCount:
    """Return the count of the units that several people and a rater labelled."""
    return UnitCount.of(units, show="several", one=rater)


def pairs_of_labels(labels: int, who: str) -> UnitCount:
    """Return the count of a person's labels paired with those of each other person."""
    return of_several(labels, who).counting(COUNTED_PAIRS)


def compared_units(block: JSON, judge: str, units: int) -> int:
    """Return the count of all units on which a judge is compared with people together."""
    if units != block["units"]:
        return units
    return UnitCount.of(units, show=_of_reference(block), judge=judge, one=judge)


def units_in_bin(block: JSON, judge: str, bin_: JSON) -> int:
    """Return the count of a bin's units, linked to their list for a probability of yes.

    Only the probability of yes is the score of a label. Older snapshots have no range.
    """
    if block["calibration"].get("of", "yes") != "yes" or "lowest" not in bin_:
        units: int = bin_["units"]
        return units
    score = f"{bin_['lowest']!r}:{bin_['highest']!r}"
    return UnitCount.of(bin_["units"], show=_of_reference(block), judge=judge, score=score)


def units_of_slice(units: int, names: str, group: str) -> UnitCount:
    """Return the count of the units that several people labelled in one value of a stratum.

    If several strata are alike, `names` has the first one's name before a comma.
    """
    name = names.split(", ")[0]
    of = {"system": group} if name == "system" else {"slice": f"{name}:{group}"}
    return UnitCount.of(units, show="several", **of)


def units_of_cell(number: int, people: str, said: str) -> UnitCount:
    """Return the count of a cell's units: people's majority and the judge's label, as codes."""
    return UnitCount.of(number, show="judge", people=people, said=said)


def _of_reference(block: JSON) -> str:
    """Return the filter for all units with a joint label from people."""
    return "labelled" if block["reference"] == "mean" else "decided"
