"""A judge beside people and beside word overlap: its gap, the floor, and the floor's verdict."""

from __future__ import annotations

from typing import Any

from analysis.formats.document import Cell, Number, Table

JSON = dict[str, Any]

GAP = (
    "Gap to people, in pairs: the majority above is less noisy than a person, and is not compared "
    "with pairs"
)


def gap_tables(block: JSON) -> list[Table]:
    """The tables of a judge's gap and floor; none in a report frozen before there were these."""
    if "gap" not in block:
        return []
    floor, header = block["floor"], ("Judge with each person, less people with each other",
                                     "Value", "Units")  # fmt: skip
    gap = (
        _row("Cohen's kappa", block["gap"]["cohen_kappa"]),
        _row("Percent", block["gap"]["percent"]),
    )
    tables = [Table(GAP, header, gap)]
    if not _is_there(floor):
        return tables
    rows = (
        _row("With the majority", floor["agreement"]["cohen_kappa"]),
        _row("Gap: with each person, less people with each other", floor["gap"]),
        _row("Judge with each person, less word overlap with each", floor["judge_minus_floor"]),
    )
    caption = f"Word overlap, the floor; the alternative annotator test: {_passes(floor)}"
    return [*tables, Table(caption, ("Cohen's kappa", "Value", "Units"), rows)]


def no_floor(block: JSON) -> list[str]:
    """Why a judge stands beside no floor; nothing where it does, or in an old frozen report."""
    floor = block.get("floor")
    return [] if floor is None or _is_there(floor) else [f"no floor: {floor['reason']}"]


def _is_there(floor: JSON) -> bool:
    estimates = (floor["gap"], floor["judge_minus_floor"], *floor["agreement"].values())
    return any(each["value"] is not None for each in estimates)


def _passes(floor: JSON) -> str:
    if floor["passes"] is None:
        return str(floor["reason"])
    return "passes" if floor["passes"] else "fails"


def floor_methods(blocks: list[JSON]) -> list[str]:
    """How the gap of judges was made, and the floor, for the methods text."""
    said = []
    if any(of["value"] is not None for block in blocks for of in block.get("gap", {}).values()):
        said.append(
            "The gap of a judge is its mean kappa with each person less the mean kappa of people "
            "with each other, and the same of the share of equal labels: on the same units, each "
            "pair weighing the units that it shares, both means resampled together. Kappa with the "
            "majority is not compared with pairs, since a majority is less noisy than a person."
        )
    floors = [block["floor"] for block in blocks if "floor" in block]
    if any(floor["gap"]["value"] is not None for floor in floors):
        said.append(
            "The floor is a lexical rule that compares words alone, run on the same items; each "
            "judge stands beside it by the difference of their mean kappas with the same people."
        )
    if any(floor["passes"] is not None for floor in floors):
        said.append(
            "Where the floor itself passes the alternative annotator test at the chosen epsilon, "
            "no judge is said to pass."
        )
    return said


def _row(label: str, estimate: JSON) -> tuple[Cell, ...]:
    return label, Number.of(estimate), estimate["n"]
