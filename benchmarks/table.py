"""The figures of a run as one table, compared with the best of the other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.reference import FIGURES, Figure


def value_of(figures: dict[str, Any], key: str) -> float:
    found: Any = figures
    for part in key.split("."):
        found = found[part]
    return float(found)


def table(result: dict[str, Any]) -> str:
    """Return lines of text. `x` is the factor by which a figure is better than the reference."""
    databases: dict[str, Any] = result["figures"]
    head = ["", "unit", *(cell for name in databases for cell in (name, "x")), "reference", "of"]
    rows = [head, *(_row(figure, databases) for figure in FIGURES)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(head))]
    return "\n".join([_machine(result), "", *(_line(row, widths) for row in rows)])


def _row(figure: Figure, databases: dict[str, Any]) -> list[str]:
    cells = [figure.title, figure.unit]
    for figures in databases.values():
        value = value_of(figures, figure.key)
        ratio = figure.ratio(value)
        cells += [_number(value), "" if ratio is None else f"{ratio:.1f}"]
    return [*cells, "" if figure.best is None else _number(figure.best), figure.by]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        cell.ljust(width) if n in (0, 1, len(row) - 1) else cell.rjust(width)
        for n, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def _machine(result: dict[str, Any]) -> str:
    on = result["machine"]
    return (
        f"{on['processors']} processors ({on['processor']}), {on['memory_gb']} GB, Python "
        f"{on['python']}, load before {on['load_before']}; {result['scale']['tasks']} tasks of "
        f"{result['scale']['text']} characters; medians of {result['scale']['repeats']}"
    )
