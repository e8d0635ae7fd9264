"""Judges among themselves as tables: agreement, alike errors, and the units to label first."""

from __future__ import annotations

from ..document import DASH, Block, Cell, Number, RaterName, Table
from ..types import JSON

ABOUT = (
    "Agreement of judges beyond chance says nothing about people: they may share their errors. "
    "The units to label first are those on which the judges differ most; they are the hard ones, "
    "so take a random sample besides to estimate agreement."
)
SHOWN = 10


def between_judges_blocks(variable: JSON) -> list[Block]:
    """Return the block of a variable with several judges; none in snapshots of older reports."""
    found = variable.get("between_judges")
    if not found:
        return []
    tables = [_matrix(found)]
    if found["errors"] and "matrix" in found["errors"]:
        tables.append(_errors(found["errors"]))
    if found["label_first"]:
        tables.append(_label_first(found["label_first"]))
    return [Block("Judges among themselves", tuple(tables), ABOUT)]


def _matrix(found: JSON) -> Table:
    names = found["judges"]
    kappas = {
        (pair[one], pair[other]): Number.from_estimate(pair["cohen_kappa"])
        for pair in found["pairs"]
        for one, other in (("a", "b"), ("b", "a"))
    }
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (RaterName(a, "judge"), *(kappas.get((a, b), DASH) for b in names)) for a in names
    )
    header: tuple[str | RaterName, ...] = ("Judge", *(RaterName(name, "judge") for name in names))
    return Table("Cohen's kappa of each two judges", header, rows)


def _errors(errors: JSON) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = (
        ("Mean correlation of errors", Number.from_estimate(errors["mean_correlation"])),
        ("Effective number of judges", Number.from_estimate(errors["effective_judges"])),
    )
    return Table("How alike they err", ("Of", "Value"), rows)


def _label_first(units: list[JSON]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each["unit"], each["item"], each["why"]) for each in units[:SHOWN]
    )
    more = f", the first {SHOWN} of {len(units)}" if len(units) > SHOWN else ""
    return Table(f"Units that people should label first{more}", ("Unit", "Item", "Why"), rows)
