"""Tables of what is missing, for whom and why, beside the estimates that leave it out."""

from __future__ import annotations

from ..document import DASH, Block, Cell, RaterName, Table
from ..types import JSON

MISSING = "What is missing"
AT_RANDOM = (
    "Figures leave out what is missing. They are right for all {} only if it is missing at random: "
    "if whether it is missing does not depend on what it would have been."
)


def missing_blocks(variable: JSON, judge: str | None = None) -> list[Block]:
    """Return who did not label what of a variable and why; with `judge`, that judge beside people.

    There is none in snapshots of older reports, and if every rater labelled every unit.
    """
    rows = [
        row
        for row in variable.get("missing_labels", ())
        if judge is None or row["kind"] == "human" or row["name"] == judge
    ]
    if not any(row["labels"] < row["units"] for row in rows):
        return []
    several = any(row["system"] is not None for row in rows)
    header: tuple[str | RaterName, ...] = (
        "Rater",
        *(("System",) if several else ()),
        "In all",
        "Labels",
        "Escapes",
        "Missing",
        "Why",
        "Not asked or not yet answered",
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RaterName(row["name"] or "all people", row["kind"]),
            *((("all" if row["system"] is None else row["system"] or DASH),) if several else ()),
            row["units"],
            row["labels"],
            row["escapes"],
            sum(row["missing"].values()),
            ", ".join(f"{why} {n}" for why, n in row["missing"].items()) or DASH,
            row["unanswered"],
        )
        for row in rows
    )
    table = Table("What is missing, for whom and why", header, cells)
    return [Block(MISSING, (table,), AT_RANDOM.format("labels"))]


def missing_scores_blocks(score: JSON) -> list[Block]:
    """Return how many items of each system have no score; none if all have one."""
    rows = score.get("missing_scores", ())
    if not any(row["people"] or any(row["judges"].values()) for row in rows):
        return []
    judges = list(rows[0]["judges"])
    header: tuple[str | RaterName, ...] = (
        "System",
        "Items",
        "Without people's score",
        *(RaterName(judge, "judge") for judge in judges),
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row["system"] or DASH,
            row["items"],
            row["people"],
            *(row["judges"][judge] for judge in judges),
        )
        for row in rows
    )
    table = Table("Items without a score, by system", header, cells)
    return [Block(MISSING, (table,), AT_RANDOM.format("items"))]
