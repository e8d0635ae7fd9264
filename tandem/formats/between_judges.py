"""Tables on judges compared with each other: agreement, errors, and units to label first."""

from __future__ import annotations

from ..document import DASH, UNIT_HEAD, UNITS, UNITS_HEAD, Block, Cell, Number, RaterName, Table
from ..sections.coefficient import coefficient_of
from ..statistics.estimate import Coefficient
from ..types import JSON

ABOUT = "Agreement of judges beyond chance says nothing about people: they may share their errors."
ABOUT_ERRORS = (
    "The correlation of two judges' errors, given people's label. A jury of judges that err on the "
    f"same {UNITS} outvotes few errors."
)
ABOUT_FIRST = (
    f"The {UNITS} on which the judges differ most, at most a tenth of them from one query. They "
    "are the hard ones, so take a random sample as well to estimate agreement."
)
SHOWN = 50


def between_judges_blocks(variable: JSON) -> list[Block]:
    """Return the block of a variable with several judges; none in snapshots of older reports."""
    found = variable.get("between_judges")
    if not found:
        return []
    blocks = [Block("Judges among themselves", (_matrix(found, coefficient_of(variable)),), ABOUT)]
    if found["errors"] and "matrix" in found["errors"]:
        blocks.append(Block("How similarly they err", _errors(found["errors"]), ABOUT_ERRORS))
    if found["label_first"]:
        table = _label_first(found["label_first"])
        blocks.append(Block("What people should label first", (table,), ABOUT_FIRST))
    return blocks


def _matrix(found: JSON, shown: Coefficient) -> Table:
    names = found["judges"]
    kappas = {
        (pair[one], pair[other]): Number.from_estimate(pair[shown.key])
        for pair in found["pairs"]
        for one, other in (("a", "b"), ("b", "a"))
    }
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (RaterName(a, "judge"), *(kappas.get((a, b), DASH) for b in names)) for a in names
    )
    header: tuple[str | RaterName, ...] = ("Judge", *(RaterName(name, "judge") for name in names))
    return Table(f"{shown.words()} of every pair of judges", header, rows)


def _errors(errors: JSON) -> tuple[Table, ...]:
    names = errors["judges"]
    header: tuple[str | RaterName, ...] = ("Judge", *(RaterName(name, "judge") for name in names))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RaterName(name, "judge"),
            *(DASH if n == k else Number.from_estimate(cell) for k, cell in enumerate(row)),
        )
        for n, (name, row) in enumerate(zip(names, errors["matrix"], strict=True))
    )
    whole: tuple[tuple[Cell, ...], ...] = (
        ("Mean correlation of errors", Number.from_estimate(errors["mean_correlation"])),
        ("Effective number of judges", Number.from_estimate(errors["effective_judges"])),
    )
    return (
        Table("Correlation of errors of every pair of judges", header, rows),
        Table("Together", ("Of", "Value"), whole),
    )


def _label_first(units: list[JSON]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each["unit"], each["item"], each["why"]) for each in units[:SHOWN]
    )
    more = f", the first {SHOWN} of {len(units)}" if len(units) > SHOWN else ""
    return Table(
        f"{UNITS_HEAD} that people should label first{more}", (UNIT_HEAD, "Item", "Why"), rows
    )
