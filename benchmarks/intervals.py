"""How often resampled intervals contain the true value, and how wide they are.

Studies of 36 kinds are simulated and estimated as in a report. Seeds are fixed, so equal runs give
equal figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product, starmap
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.simulated_studies import ITEMS, OTHERS, Cell, estimates_of, study_of
from tandem.statistics import Floats, Resamples, majority

Figures = dict[str, Any]

CORRELATIONS, PREVALENCES = (0.0, 0.1, 0.3, 0.5), (0.1, 0.3, 0.5)
LEAST = 0.925
"""The bar: no cell may lie significantly below."""
ONE_SIDED = 1.645
TOGETHER = 100
"""The number of studies that share resamples and are passed to a process at once."""
OTHER_SEED = 1_000_000
NEAR = 1e-9
FEW, RARE = 30, 0.2
CELL = ("queries", "correlation", "prevalence")


@dataclass(frozen=True)
class Runs:
    """How many studies are simulated by number of queries, and the number of resamples."""

    studies: Mapping[int, int]
    draws: int
    draws_far_out: int
    """For cells with few informative queries, where levels are extreme."""
    truth: int
    """The number of queries from which a cell's true values are taken."""

    def draws_of(self, cell: Cell) -> int:
        """Return the number of resamples for a study of the cell."""
        few = cell.queries < FEW and cell.prevalence < RARE
        return self.draws_far_out if few else self.draws


#: Fewer resamples than a report has: noise in their quantiles lowers coverage and nothing else, so
#: that what holds here holds there.
FULL = Runs(
    studies={10: 5_000, 20: 2_000, 50: 2_000}, draws=1_000, draws_far_out=4_000, truth=200_000
)
QUICK = Runs({10: 100, 20: 100}, draws=200, draws_far_out=200, truth=5_000)


def measure_intervals(
    runs: Runs,
    say: Callable[[str], None],
    keep: Callable[[Figures], None],
    known: Mapping[str, Any],
    processes: int = 1,
) -> Figures:
    """Return each cell's figures by statistic; call `keep` with all figures after each cell.

    `known` cells from an interrupted run are not simulated again.
    """
    plan = {**asdict(runs), "studies": {str(n): s for n, s in runs.studies.items()}, "items": ITEMS}
    cells_known = known.get("cells", []) if known.get("runs") == plan else []
    figures: Figures = {"runs": plan, "cells": list(cells_known)}
    there = [Cell(*(each[name] for name in CELL)) for each in cells_known]
    cells = [Cell(*each) for each in product(runs.studies, CORRELATIONS, PREVALENCES)]
    with _workers(processes) as work:
        for cell in (each for each in cells if each not in there):
            truth = true_values(cell.correlation, cell.prevalence, runs.truth)
            blocks = range(-(-runs.studies[cell.queries] // TOGETHER))
            asked = [(cell, block, runs.draws_of(cell)) for block in blocks]
            found = summary(list(work(ends_of, asked)), truth)
            figures["cells"].append({**asdict(cell), "statistics": found})
            say(f"{cell}: {_worst(found)}")
            keep(figures)
    return figures


@contextmanager
def _workers(processes: int) -> Iterator[Callable[..., Iterable[Any]]]:
    if processes == 1:
        yield starmap
        return
    with get_context("spawn").Pool(processes) as pool:
        yield partial(pool.starmap, chunksize=1)


@cache
def true_values(correlation: float, prevalence: float, queries: int) -> dict[str, float]:
    """Return each statistic's value on so many queries that chance hardly matters.

    NaN if it is not defined.
    """
    study = study_of(Cell(queries, correlation, prevalence), np.random.default_rng(99))
    found = estimates_of(study, 0, np.empty((0, 0)))
    # Corrected for the judge's errors, the share of yes is that of people.
    reference, _ = majority(study.people)
    found_values = {name: each.value for name, each in found.items()}
    found_values["people and judge: ratio"] = float((reference[reference >= 0] == 1).mean())
    return {n: float("nan") if value is None else value for n, value in found_values.items()}


def ends_of(cell: Cell, block: int, draws: int) -> dict[str, Floats]:
    """Return the intervals of a block of studies by statistic, (N, 2); NaN without one."""
    clusters = np.repeat(np.arange(cell.queries), ITEMS)
    shared = Resamples.draw(clusters, draws, block)
    others = Resamples.draw(np.arange(OTHERS * cell.queries), draws, OTHER_SEED + block).draws
    found: dict[str, list[tuple[float, float]]] = {}
    for number in range(TOGETHER):
        generator = np.random.default_rng([block, number, cell.queries])
        for name, each in estimates_of(study_of(cell, generator), shared, others).items():
            low, high = each.low, each.high
            ends = (np.nan, np.nan) if low is None or high is None else (low, high)
            found.setdefault(name, []).append(ends)
    return {name: np.array(ends) for name, ends in found.items()}


def summary(
    blocks: Sequence[Mapping[str, Floats]], truth: Mapping[str, float]
) -> dict[str, Figures]:
    """Return, by statistic, the number of intervals, their coverage and their median width.

    `error` is the Monte Carlo standard error of `held`; `low` says whether it is significantly (one
    side, .05) below the bar.
    """
    found: dict[str, Figures] = {}
    for name, true in truth.items():
        ends = np.concatenate([block[name] for block in blocks])
        there = ends[np.isfinite(ends[:, 0])]
        given = len(there) / len(ends)
        if not len(there) or not np.isfinite(true):
            found[name] = {"truth": None, "given": given, "held": None, "low": False}
            continue
        held = float(((there[:, 0] <= true + NEAR) & (there[:, 1] >= true - NEAR)).mean())
        error = float(np.sqrt(LEAST * (1 - LEAST) / len(there)))
        found[name] = {
            "truth": true,
            "given": given,
            "held": held,
            "error": error,
            "width": float(np.median(there[:, 1] - there[:, 0])),
            "low": held + ONE_SIDED * error < LEAST,
        }
    return found


def lines(figures: Mapping[str, Any]) -> str:
    """Return coverage by statistic and number of queries, over all cells and in the worst."""
    rows = [("interval of", "queries", "given", "hold the truth", "worst cell", "width", "")]
    cells = figures["cells"]
    for name, queries in product(cells[0]["statistics"], figures["runs"]["studies"]):
        of = [c for c in cells if str(c["queries"]) == str(queries)]
        made = [(c, c["statistics"][name]) for c in of if c["statistics"][name]["held"] is not None]
        if not made:
            continue
        cell, worst = min(made, key=lambda each: each[1]["held"])
        held = np.average([s["held"] for _, s in made], weights=[s["given"] for _, s in made])
        rows.append(
            (
                name,
                str(queries),
                f"{np.mean([s['given'] for _, s in made]):.2f}",
                f"{held:.3f}",
                f"{worst['held']:.3f} ± {worst['error']:.3f} "
                f"({cell['correlation']:g}, {cell['prevalence']:g})",
                f"{np.median([s['width'] for _, s in made]):.2f}",
                "MISSED" if any(s["low"] for _, s in made) else "holds",
            )
        )
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _worst(found: Mapping[str, Figures]) -> str:
    """Return the lowest coverage of a cell, and the cells significantly below the bar."""
    there = {name: each["held"] for name, each in found.items() if each["held"] is not None}
    if not there:
        return "no interval"
    name = min(there, key=lambda each: there[each])
    low = [f"{each} {there[each]:.3f}" for each in there if found[each]["low"]]
    return f"lowest {name} {there[name]:.3f}; below the bar: {', '.join(low) or 'none'}"
