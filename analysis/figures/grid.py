"""Grids of cells with a number in each: the higher, the stronger the colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.figures import axes, svg

CELL, CELL_GAP = 40, 2
NARROWEST_CELL, WIDEST = 48, 104
DARKEST = 0.45
"""How much of the colour the darkest cell has: letters stay readable on it, light and dark."""


@dataclass(frozen=True)
class Cell:
    """What stands in a cell; `share` from 0 to 1 is how dark it is, None leaves it empty."""

    words: str
    below: str = ""
    share: float | None = None
    title: str = ""


@dataclass(frozen=True)
class Grid:
    """Rows of cells under the names of columns; None where there is no cell."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell | None]]
    css: Sequence[str]

    @property
    def cell_width(self) -> float:
        below = (c.below for cells in self.cells for c in cells if c)
        least = max(
            NARROWEST_CELL, 12 + max((svg.width_of(words, 10.5) for words in below), default=0)
        )
        return max(least, 12 + axes.gutter(self.columns, WIDEST - 12))

    @property
    def width(self) -> float:
        return self.cell_width * len(self.columns)

    @property
    def height(self) -> float:
        return 24 + CELL * len(self.rows)

    def drawn(self, left: float, top: float, names: float) -> str:
        """The grid, its cells beginning at `left`; `names` is the room for its rows' names."""
        wide = self.cell_width
        parts = [
            svg.name("label", left + wide * (n + 0.5), top + 14, each, wide - 8, "middle")
            for n, each in enumerate(self.columns)
        ]
        for n, (row, cells) in enumerate(zip(self.rows, self.cells, strict=True)):
            y = top + 24 + CELL * n
            middle = y + CELL / 2 + axes.TEXT_DROP
            parts.append(svg.name("label", left - 10, middle, row, names, "end"))
            for m, cell in enumerate(cells):
                if cell:
                    parts.append(_cell(cell, left + wide * m, y, wide, self.css[n]))
        return "".join(parts)


def _cell(cell: Cell, x: float, y: float, wide: float, css: str) -> str:
    share = min(1.0, max(0.0, cell.share or 0.0))
    opacity = f' fill-opacity="{svg.number(share * DARKEST * 100)}%"'
    size = wide - CELL_GAP, CELL - CELL_GAP
    middle, centre = x + (wide - CELL_GAP) / 2, y + CELL / 2
    parts = [
        svg.rectangle(css, x, y, *size, more=opacity),
        svg.rectangle("frame", x, y, *size),
        svg.text("cell", middle, centre + (-1 if cell.below else 4), cell.words, "middle"),
        svg.text("share", middle, centre + 12, cell.below, "middle") if cell.below else "",
    ]
    title = f"<title>{svg.clean(cell.title)}</title>" if cell.title else ""
    return f"<g>{title}{''.join(parts)}</g>"
