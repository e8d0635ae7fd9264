"""The agreement of each two people, and of each judge with each person."""

from __future__ import annotations

from typing import Any

from analysis.figures import axes
from analysis.figures.base import Figure, Subject
from analysis.figures.grid import Cell, Grid
from analysis.figures.svg import Drawing
from analysis.formats.document import Number, Table, Who

JSON = dict[str, Any]

NAMES, TOP = 170, 8
MOST_NAMED = 8


def draw(subject: Subject) -> Drawing:
    found = _pairs(subject)
    columns = list(dict.fromkeys(b for _, b in found))
    # Names fit over few columns only; over many, numbers stand there and before the names.
    many = len(columns) > MOST_NAMED
    rows = list(dict.fromkeys([*(columns if many else ()), *(a for a, _ in found)]))
    notes = axes.Notes()
    cells = [[_cell(found.get((a, b)), (a, b), notes) for b in columns] for a in rows]
    at = {name: f"{n + 1}" for n, name in enumerate(columns)}
    css = ["judge-cell" if subject.kinds.get(a) == "judge" else "people-cell" for a in rows]
    grid = Grid(
        [f"{at[a]}  {a}" if many and a in at else a for a in rows],
        [at[b] if many else b for b in columns],
        cells,
        css,
    )
    names = axes.gutter(grid.rows, NAMES)
    left = names + 16
    width = max(left + grid.width + 8, 320)
    end = notes.drawn(8, TOP + grid.height, width - 16)
    drawn = grid.drawn(left, TOP, names)
    title = f"Agreement of raters on {subject.name}: Cohen's kappa"
    return Drawing(title, width, end.bottom + 8, (drawn, end.drawn))


def data(subject: Subject) -> Table:
    rows = tuple(
        (Who(a, subject.kinds.get(a, "")), Who(b, subject.kinds.get(b, "")), of["percent"]["n"],
         Number.of(of["cohen_kappa"]), Number.of(of["percent"]))
        for (a, b), of in _pairs(subject).items()
    )  # fmt: skip
    header = ("Rater", "With", "Units", "Cohen's kappa", "Percent")
    return Table(f"Agreement of each two raters on {subject.name}", header, rows)


def _pairs(subject: Subject) -> dict[tuple[str, str], JSON]:
    """Row and column -> kappa and percent; people stand above judges, each pair once."""
    found = {(pair["b"], pair["a"]): pair for pair in subject.block["agreement"]["pairs"]}
    for judge, block in subject.judges.items():
        found |= {(judge, person): pair for person, pair in block["pairs"].items()}
    return found


def _cell(of: JSON | None, pair: tuple[str, str], notes: axes.Notes) -> Cell | None:
    if of is None:
        return None
    kappa, percent = Number.of(of["cohen_kappa"]), Number.of(of["percent"])
    who = " – ".join(pair)
    if kappa.value is None:
        why = f"{who}: kappa not defined, {kappa.reason}; percent {percent}"
        return Cell("–", f"({notes.letter(kappa.reason)})", None, why)
    # Two digits are enough in a cell.
    known = kappa.low is not None and kappa.high is not None
    ends = f"{kappa.low:.2f}–{kappa.high:.2f}" if known else ""
    title = f"{who}: kappa {kappa}, percent {percent}, {of['percent']['n']} units"
    return Cell(f"{kappa.value:.2f}", ends, kappa.value, title)


FIGURE = Figure(
    "agreement",
    "Agreement of each two raters",
    "variables",
    "Cohen's kappa of each two people, in blue, and of each judge with each person, in orange, "
    "with its interval. The stronger the colour, the higher; at zero and below there is none.",
    lambda subject: bool(_pairs(subject)),
    data,
    draw,
)
