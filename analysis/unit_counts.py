"""Counts of units with the filters of the list of disagreements that shows just these.

Tables of the report and those below its figures count the same units, so that both lead there.
"""

from __future__ import annotations

from .document import UnitCount
from .types import JSON

COUNTED_PAIRS = "a label counts once for each other person; the list shows it once"


def shared_units(units: int, one: str, other: str) -> UnitCount:
    """Return the count of the units that two raters labelled."""
    return UnitCount.of(units, show="all", one=one, other=other)


def of_several(units: int, rater: str) -> UnitCount:
    """Return the count of the units that several people and a rater labelled."""
    return UnitCount.of(units, show="several", one=rater)


def pairs_of_labels(labels: int, who: str) -> UnitCount:
    """Return the count of a person's labels beside those of each other person."""
    return of_several(labels, who).counting(COUNTED_PAIRS)


def compared_units(block: JSON, judge: str, units: int) -> int:
    """Return the count of all units on which a judge is compared with people together."""
    if units != block["units"]:
        return units
    return UnitCount.of(units, show=_of_reference(block), judge=judge, one=judge)


def units_in_bin(block: JSON, judge: str, bin_: JSON) -> int:
    """Return the count of a bin's units, with a way to their list for a probability of yes.

    Other probabilities than that of yes are no scores of labels. Older snapshots have no range.
    """
    if block["calibration"].get("of", "yes") != "yes" or "lowest" not in bin_:
        units: int = bin_["units"]
        return units
    score = f"{bin_['lowest']!r}:{bin_['highest']!r}"
    return UnitCount.of(bin_["units"], show=_of_reference(block), judge=judge, score=score)


def units_of_slice(units: int, names: str, group: str) -> UnitCount:
    """Return the count of the units that several people labelled in one value of a stratum.

    Of several strata that are alike, `names` has the first one's before a comma.
    """
    name = names.split(", ")[0]
    of = {"system": group} if name == "system" else {"slice": f"{name}:{group}"}
    return UnitCount.of(units, show="several", **of)


def units_of_cell(number: int, people: str, said: str) -> UnitCount:
    """Return the count of a cell's units: people's majority and the judge's label, as codes."""
    return UnitCount.of(number, show="judge", people=people, said=said)


def _of_reference(block: JSON) -> str:
    """Return the list of all units with a label from people together."""
    return "labelled" if block["reference"] == "mean" else "decided"
