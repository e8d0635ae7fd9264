"""Tables on the reading steps of a judge's answers."""

from __future__ import annotations

from ..document import Cell, Number, Table
from ..types import JSON

STEPS = {
    "thinking": "reasoning set aside",
    "fence": "Markdown fence removed",
    "prose": "prose set aside",
    "trailing-comma": "trailing comma left out",
    "smart-quotes": "typographic quotation marks replaced",
    "line-breaks": "line breaks within a string accepted",
    "comments": "comments left out",
    "python": "Python's notation read as JSON",
    "boolean": "true and false read as 1 and 0, or yes and no",
    "keys": "keys in another spelling accepted",
    "wrapper": "taken out of another object",
    "struck-out": "struck-out words left out",
    "invisible": "invisible characters left out",
    "width": "full-width and other unusual characters replaced",
    "html": "HTML set aside",
    "latex": "LaTeX set aside",
    "markdown": "Markdown set aside",
}


def reading_tables(found: JSON, reference: str) -> list[Table]:
    """Return the agreement of labels by reading step, and the frequency of each step."""
    labels = {"as_is": "As they stood", "mended": "After a step of the ladder"}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (label, found[key]["labels"], Number.from_estimate(found[key]["agreement"]))
        for key, label in labels.items()
    )
    steps: tuple[tuple[Cell, ...], ...] = tuple(
        (STEPS.get(step, step), labels) for step, labels in found["steps"].items()
    )
    header = ("Read", "Labels", f"Share that agrees with the {reference}")
    return [
        Table("How its answers were read", header, rows),
        Table("Steps that its answers needed", ("Step", "Labels"), steps),
    ]
