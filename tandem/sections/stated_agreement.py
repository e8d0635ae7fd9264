"""The one coefficient in which agreement on a variable is stated, of people and of judges alike.

It is Cohen's kappa of pairs of raters, with quadratic weights where categories have an order, and
with MASI weights of sets of codes. The verdict, the first page, figures and tables of judges all
take it from here, so that two numbers beside each other can be compared. People's own number is its
mean over pairs of people.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..statistics import ALPHA, EQUAL, FLEISS, KAPPA, OF_SETS, OF_TWO, WEIGHTED, Coefficient
from ..types import JSON

MEAN_OF_PAIRS = "mean_of_pairs"
"""The key of people's mean over pairs within `agreement`."""
_FIRST = {"nominal": KAPPA, "set": OF_SETS}
"""The coefficient of each level that has no order."""


def choose_coefficient(block: JSON) -> str:
    """Return the key of the coefficient of a variable, from its block in the making.

    If neither people nor any judge has a kappa, since labels do not vary or there are too many
    categories, it is the share of equal labels.
    """
    first = _FIRST.get(block["measurement"], WEIGHTED).key
    if any(_value(of, first) is not None for of in _compared(block)):
        return first
    known = any(_value(of, EQUAL.key) is not None for of in _compared(block))
    return EQUAL.key if known else first


def _compared(block: JSON) -> Iterator[JSON]:
    yield block["agreement"].get(MEAN_OF_PAIRS, {})
    for judge in block["judges"].values():
        yield judge["gap"]
        yield judge["agreement"]


def _value(of: JSON, key: str) -> float | None:
    value: float | None = of.get(key, {}).get("value")
    return value


def coefficient_of(block: JSON) -> Coefficient:
    """Return the coefficient of a variable's block. Snapshots of older reports compare kappas."""
    if "coefficient" in block:
        return OF_TWO[block["coefficient"]]
    gaps = [judge.get("gap", {}) for judge in block.get("judges", {}).values()]
    equal = gaps and all(_value(gap, KAPPA.key) is None for gap in gaps)
    return EQUAL if equal else KAPPA


def people_of(block: JSON) -> tuple[Coefficient, JSON, tuple[str, ...]]:
    """Return the coefficient of people, its estimate, and its path within the block.

    If no pair of people has one, it is Fleiss' kappa of nominal variables and Krippendorff's alpha
    of all others, which use units that no large pair shares. Nothing of a judge stands beside it
    then, as a judge is compared with pairs.
    """
    agreement, shown = block["agreement"], coefficient_of(block)
    found: JSON = agreement.get(MEAN_OF_PAIRS, {}).get(shown.key, {})
    if shown != EQUAL and found.get("value") is not None:
        return shown, found, ("agreement", MEAN_OF_PAIRS, shown.key)
    other = FLEISS if block["measurement"] == "nominal" else ALPHA
    return other, agreement[other.key], ("agreement", other.key)
