"""How often intervals of means, differences and corrected means contain the truth, and their width.

Studies of 105 kinds are simulated: of 10, 20 and 50 queries with one cell each, ten cells, or
numbers of cells that differ. A cell is a yes with its query's chance, whose mean and correlation
are those of `simulated_studies.chances`. Seeds are fixed, so equal runs give equal figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from benchmarks.intervals import LEAST, NEAR, ONE_SIDED
from benchmarks.simulated_studies import OF_JUDGE, OTHERS, chances
from tandem.statistics import (
    SHARE,
    SHARE_DIFFERENCE,
    Bootstrap,
    Estimate,
    Floats,
    Ints,
    Resamples,
    Tally,
    difference_by_cluster,
    fixed_collection_mean,
    mean_by_cluster,
    prediction_powered_mean,
)
from tandem.statistics.estimate import ratio

Figures = dict[str, Any]

QUERIES, MEANS, CORRELATIONS = (10, 20, 50), (0.5, 0.7, 0.9, 0.95, 0.98), (0.0, 0.2, 0.5)
ONE, TEN, UNEQUAL = "one", "ten", "unequal"
USUAL, SPREAD = 9, 0.5
"""Unequal numbers of cells have a log-normal distribution with this median and deviation."""
BEHIND = 0.9
"""The factor of the other system's chances, in a difference of two systems."""
FEWEST_GIVEN = 0.1
"""The share of studies that must have an interval, so that a kind counts. In other kinds, an
interval needs more rare queries than the kind usually has, and contains the truth less often."""
WIDEST = 1.2
"""The bar for widths at 20 queries with means of at most .9, as a multiple of the t interval."""
T = "t interval"


@dataclass(frozen=True)
class Kind:
    """A kind of study. `cells` says how many cells a query has: one, ten or unequal numbers."""

    queries: int
    cells: str
    mean: float
    correlation: float


@dataclass(frozen=True)
class Runs:
    """How many studies of each kind are simulated, and the number of resamples of each."""

    studies: int
    draws: int


FULL, QUICK = Runs(1_000, 1_000), Runs(20, 50)


def kinds() -> Iterator[Kind]:
    """Yield all kinds of study; with one cell a query, none is correlated with another."""
    for queries, mean in product(QUERIES, MEANS):
        yield Kind(queries, ONE, mean, 0.0)
        for cells, correlation in product((TEN, UNEQUAL), CORRELATIONS):
            yield Kind(queries, cells, mean, correlation)


def measure_means(runs: Runs, say: Callable[[str], None]) -> Figures:
    """Return the coverage and the widths of each kind of study, by figure."""
    found = []
    for kind in kinds():
        of = measure_kind(kind, runs)
        low = [f"{name} {each['held']:.3f}" for name, each in of.items() if each["low"]]
        say(f"{kind}: below the bar: {', '.join(low) or 'none'}")
        found.append({**asdict(kind), "figures": of})
    return {"runs": asdict(runs), "kinds": found}


def measure_kind(kind: Kind, runs: Runs) -> dict[str, Figures]:
    """Return by figure how many studies have an interval, how many of these hold, and its width."""
    drawn = Resamples.draw(np.arange(kind.queries), runs.draws, kind.queries)
    ends: dict[str, list[tuple[float, float]]] = {}
    for number in range(runs.studies):
        generator = np.random.default_rng([number, kind.queries, round(100 * kind.mean)])
        for name, (made, truth) in _estimates(kind, generator, drawn).items():
            low, high = made.low, made.high
            gone = low is None or high is None
            ends.setdefault(name, []).append(
                (np.nan, np.nan) if gone else (low - truth, high - truth)  # type: ignore[operator]
            )
    widths = np.diff(np.array(ends.pop(T)), axis=1)
    found = {name: _summary(np.array(each)) for name, each in ends.items()}
    # A study without variance has a t interval without width.
    usual = float(np.nan_to_num(widths).mean())
    found["share"]["of_t"] = found["share"]["mean_width"] / usual if usual else None
    return found


def _summary(ends: Floats) -> Figures:
    """Summarise intervals (N, 2) less the truth; NaN without one.

    `low` says whether coverage is significantly (one side, .05) below the bar.
    """
    there = ends[np.isfinite(ends[:, 0])]
    if not len(there):
        return {"given": 0.0, "held": None, "low": False}
    held = float(((there[:, 0] <= NEAR) & (there[:, 1] >= -NEAR)).mean())
    error = float(np.sqrt(LEAST * (1 - LEAST) / len(there)))
    given = len(there) / len(ends)
    return {
        "given": given,
        "held": held,
        "error": error,
        "width": float(np.median(there[:, 1] - there[:, 0])),
        "mean_width": float((there[:, 1] - there[:, 0]).mean()),
        "low": given >= FEWEST_GIVEN and held + ONE_SIDED * error < LEAST,
    }


def _estimates(
    kind: Kind, generator: np.random.Generator, drawn: Resamples
) -> dict[str, tuple[Estimate, float]]:
    """Return every figure of a random study with its true value."""
    n, every = kind.queries, (1 + OTHERS) * kind.queries
    sizes = _sizes(kind, every, generator)
    chance = chances(generator, every, kind.mean, kind.correlation)[:, 0, 0]
    yes = generator.binomial(sizes, chance)
    other = generator.binomial(sizes, BEHIND * chance)
    # The judge sees the label of this share of the cells, and otherwise says yes at random.
    seen = generator.binomial(yes, OF_JUDGE), generator.binomial(sizes - yes, OF_JUDGE)
    judge = (seen[0] + generator.binomial(sizes - sum(seen), kind.mean)) / sizes
    people, mean, queries = yes / sizes, kind.mean, np.arange(n)
    cells = np.concatenate(
        [np.arange(size) < part for size, part in zip(sizes[:n], yes, strict=False)]
    )
    clusters = np.repeat(queries, sizes[:n])
    given = people[:n], judge[:n], judge[n:]
    sums = np.stack([yes[:n], sizes[:n]], axis=1).astype(float)
    resampled = Bootstrap(Tally.of_sums(sums, queries, sums[:, 1]), drawn)
    return {
        "share": (mean_by_cluster(cells.astype(float), clusters, bounds=SHARE), mean),
        T: (mean_by_cluster(cells.astype(float), clusters), mean),
        "mean of shares by query": (mean_by_cluster(people[:n], queries, bounds=SHARE), mean),
        "difference of systems": (
            difference_by_cluster((yes - other)[:n] / sizes[:n], queries, bounds=SHARE_DIFFERENCE),
            (1 - BEHIND) * mean,
        ),
        "share, resampled": (
            resampled.estimate(lambda w: ratio(w[..., 0], w[..., 1]), n, ""),
            mean,
        ),
        "prediction-powered mean": (prediction_powered_mean(*given, bounds=SHARE), mean),
        "fixed collection": (
            fixed_collection_mean(*given, bounds=SHARE),
            float(people.mean()),
        ),
    }


def _sizes(kind: Kind, queries: int, generator: np.random.Generator) -> Ints:
    if kind.cells == UNEQUAL:
        sizes = np.exp(generator.normal(np.log(USUAL), SPREAD, queries))
        return np.maximum(np.round(sizes), 1).astype(np.int64)
    return np.full(queries, 1 if kind.cells == ONE else 10)


def lines(figures: Mapping[str, Any]) -> str:
    """Return coverage by figure and number of queries, over all kinds and in the worst.

    `misled` is the largest share of a kind's studies that have an interval without the truth.
    """
    head = "interval of", "queries", "given", "hold", "worst kind", "misled", "width", ""
    rows: list[tuple[str, ...]] = [head]
    found = figures["kinds"]
    for name, queries in product(found[0]["figures"], QUERIES):
        of = [(k, k["figures"][name]) for k in found if k["queries"] == queries]
        made = [(k, each) for k, each in of if each["given"] >= FEWEST_GIVEN]
        if not made:
            continue
        worst, least = min(made, key=lambda each: each[1]["held"])
        kind = f"{worst['cells']}, {worst['mean']:g}, {worst['correlation']:g}"
        held = np.average([s["held"] for _, s in made], weights=[s["given"] for _, s in made])
        given = np.mean([each["given"] for _, each in of])
        low = any(each["low"] for _, each in made)
        misled = max(each["given"] * (1 - (each["held"] or 0)) for _, each in of)
        rows.append(
            (
                name, str(queries), f"{given:.2f}", f"{held:.3f}",
                f"{least['held']:.3f} ± {least['error']:.3f} ({kind})",
                f"{misled:.3f}", f"{np.median([s['width'] for _, s in made]):.2f}",
                "MISSED" if low else "holds",
            )
        )  # fmt: skip
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    table = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return f"{table}\n\n{_widest(found)}"


def _widest(found: list[Figures]) -> str:
    of = [k for k in found if k["queries"] == 20 and k["mean"] <= 0.9 and k["cells"] != ONE]
    worst = max(of, key=lambda k: k["figures"]["share"]["of_t"])
    given = min(k["figures"]["share"]["given"] for k in of)
    most = worst["figures"]["share"]["of_t"]
    kind = f"{worst['cells']}, {worst['mean']:g}, {worst['correlation']:g}"
    verdict = "holds" if most <= WIDEST and given == 1 else "MISSED"
    return (
        f"shares with 20 queries and means to .9: {given:.2f} have an interval, at most {most:.2f} "
        f"times as wide as t ({kind}); bar {WIDEST:g}: {verdict}"
    )
