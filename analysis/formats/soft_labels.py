"""The block on soft labels: how they differ from the majority, and what that does to judges."""

from __future__ import annotations

from typing import Any

from analysis.formats.crowd import first_rows
from analysis.formats.document import Block, Cell, Number, Table, Who, count

JSON = dict[str, Any]


def soft_blocks(variable: JSON) -> list[Block]:
    """One block; none where there are no soft labels."""
    found = variable.get("soft_labels")
    if not found or "reason" in found:
        return []
    rows: list[tuple[Cell, ...]] = [
        (Who(name, "human"), of["labels"], Number(of["error_rate"]))
        for name, of in found["raters"].items()
    ]
    order = [of["error_rate"] for of in found["raters"].values()]
    caption = "How often each person seems to err"
    caption, shown = first_rows(caption, rows, order, "who err most")
    tables = [Table(caption, ("Person", "Labels", "Errors"), shown)]
    if found["judges"]:
        tables.append(_judges(found["judges"]))
    return [Block("Soft labels (Dawid–Skene)", tuple(tables), _about(found))]


def _about(found: JSON) -> str:
    facts = [
        f"{count(found['units'], 'unit')}; the likeliest label is not the majority's on "
        f"{found['differ']}, and {count(found['ties'], 'tie')} of people got one too"
    ]
    if not found["converged"]:
        facts.append(f"not settled after {found['iterations']} steps")
    return "; ".join(facts)


def _judges(judges: JSON) -> Table:
    rows = tuple(
        (Who(name, "judge"), of["percent"]["n"], Number.of(of["cohen_kappa"]),
         Number.of(of["percent"]), Number.of(of["expected_accuracy"]))
        for name, of in judges.items()
    )  # fmt: skip
    header = ("Judge", "Units", "Cohen's kappa", "Percent", "Expected accuracy")
    return Table("Judges against the soft labels", header, rows)
