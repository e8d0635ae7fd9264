"""The block on evidence: whether raters mark the same words."""

from __future__ import annotations

from typing import Any

from analysis.formats.document import Block, Cell, Number, Table, Who, count

JSON = dict[str, Any]

F1S = {
    "exact_f1": "Exact F1",
    "overlap_f1": "Overlap F1",
    "iou_f1": "IoU F1, from 0.5",
    "character_f1": "Character F1",
}
ALPHAS = {"token_alpha": "Alpha of words", "unitising_alpha": "Alpha for unitising"}
ABOUT_SPANS = (
    "a document is one text for one unit; F1 is 1 where both of a pair marked nothing, 0 where "
    "one did; a judge is one more annotator"
)


def span_blocks(variable: JSON) -> list[Block]:
    """One block, or none where nobody marked anything."""
    found = variable.get("spans")
    if not found:
        return []
    of: list[tuple[str | Who, JSON]] = [("People", found["agreement"])]
    of += [(Who(name, "judge"), block) for name, block in found["judges"].items()]
    every = [(name, block, block["all"]) for name, block in of]
    both = [(name, block["both_marked"], block["both_marked"]) for name, block in of]
    tables = (
        _span_table("All documents", F1S, every),
        _span_table("Pairs that both marked something", F1S, both),
        _span_table("All documents, corrected for chance (Krippendorff)", ALPHAS, every),
    )
    lost = sum(found["unanchored"].values())
    stray = f"; the quotes of {count(lost, 'label')} stand nowhere and are left out" if lost else ""
    return [Block("Evidence", tables, f"{ABOUT_SPANS}{stray}")]


def _span_table(
    caption: str, names: dict[str, str], blocks: list[tuple[str | Who, JSON, JSON]]
) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, sizes["documents"], *(Number.of(of[key]) for key in names))
        for name, sizes, of in blocks
    )
    return Table(caption, ("Who, with people", "Documents", *names.values()), rows)
