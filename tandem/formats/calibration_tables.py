"""Tables on the calibration of a judge's probabilities."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from ..document import UNITS_HEAD, Cell, Number, Table
from ..types import JSON

SCORES = {
    "brier": "Brier score",
    "ranked_probability_score": "Ranked probability score",
    "expected_calibration_error": "Expected calibration error",
}
OF = {"yes": "yes", "label": "its label"}
SHARES = {"yes": "People's share of yes", "label": "Share that people label alike"}


def calibration_tables(
    found: JSON,
    reference: str,
    units: Callable[[int], int] = int,
    within: Callable[[JSON], int] = itemgetter("units"),
) -> list[Table]:
    """Return the scores and the reliability by bins; older snapshots are about yes.

    `units` links a count of units to its list, and `within` links a bin.
    """
    of = found.get("of", "yes")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (label, Number.from_estimate(found[key]), units(found[key]["n"]))
        for key, label in SCORES.items()
        if key in found
    )
    bins: tuple[tuple[Cell, ...], ...] = tuple(
        (Number(each["probability"]), Number.from_estimate(each["share"]), within(each))
        for each in found["reliability"]
    )
    against = f"against the {reference}"
    return [
        Table(f"Calibration of the probability of {OF[of]}, {against}",
              ("Score", "Value", UNITS_HEAD), rows),
        Table(f"Reliability of the probability of {OF[of]}, in bins",
              ("Mean probability", SHARES[of], UNITS_HEAD), bins),
    ]  # fmt: skip
