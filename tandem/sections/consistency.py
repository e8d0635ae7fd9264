"""Section: a judge asked again about the same unit."""

from __future__ import annotations

from dataclasses import replace

from ..document import UNIT, Cell, Number, RaterName, Table
from ..types import JSON
from .base import JUDGE, JUDGES, SectionPart

_AGAIN = {"replicates": "with the same request", "orders": "in the other order"}


ABOUT_AGAIN = (
    f"Pairs of answers of one judge to the same {UNIT}. Lists have only the first answer of each "
    "judge, so that no list shows these pairs."
)


def consistency_table(judges: JSON) -> Table:
    """Return the consistency of judges that have one; names may be empty."""
    rows = tuple(
        (RaterName(name, "judge") if name else label, *((label,) if name else ()), *cells)
        for name, of in judges.items()
        for key, label in _AGAIN.items()
        if key in of.get("consistency", {})
        for cells in [_again(of["consistency"][key])]
    )
    named = ("Judge",) if any(judges) else ()
    return Table("The same label again", (*named, "Asked again", "Share", "Pairs"), rows)


def _again(estimate: JSON) -> tuple[Cell, Cell]:
    return Number.from_estimate(estimate), estimate["n"]


def consistency_tables(judges: JSON) -> list[Table]:
    """Return the consistency of judges, if one of them was asked more than once."""
    asked = any("consistency" in of for of in judges.values())
    return [consistency_table(judges)] if asked else []


SIDE_BY_SIDE = SectionPart(
    JUDGES,
    title="Consistency",
    tables=lambda shown: consistency_tables(shown.variable["judges"]),
    about=lambda shown: ABOUT_AGAIN,
)
PART = replace(
    SIDE_BY_SIDE, place=JUDGE, tables=lambda shown: consistency_tables({"": shown.block})
)
