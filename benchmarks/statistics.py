"""How much faster intervals are than calling the libraries once per resample."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from statsmodels.stats import inter_rater

from benchmarks.campaign_report import measure_campaign_report
from benchmarks.processes import python
from benchmarks.report import measure_report
from tandem.statistics import (
    Bootstrap,
    Tally,
    agreement_estimates,
    counts_of,
    fleiss_kappa,
    kinds_of,
    krippendorff_alpha,
    pair_estimates,
)
from tandem.statistics.estimate import Ints, Value

Figures = dict[str, Any]
OfCounts = Callable[[Ints, Any], Value]

CATEGORIES, RATERS, QUERIES = 5, 3, 100
UNITS_BAR, QUERIES_BAR = 40.0, 200.0
MOST_SECONDS, MOST_MEMORY = 3.0, 1000.0
MOST_SECONDS_OF_REPORT = 10.0


@dataclass(frozen=True)
class Size:
    """The sizes of the comparison.

    `units` and `resamples` are those of the comparison, `many` the units of the large case,
    `labels` and `resamples_of_report` those of the report. The libraries are called `calls` times,
    and the time is multiplied up to the number of resamples.
    """

    units: int
    resamples: int
    many: int
    calls: int
    repeats: int
    labels: int
    resamples_of_report: int


ALPHA = """
import io, sys, time
import krippendorff, numpy
ratings = numpy.load(io.BytesIO(sys.stdin.buffer.read()))
began = time.perf_counter()
for _ in range(int(sys.argv[1])):
    krippendorff.alpha(ratings, level_of_measurement="nominal")
print(time.perf_counter() - began)
"""
FULL = Size(10_000, 1_000, 1_000_000, 200, 5, labels=100_000, resamples_of_report=2_000)
QUICK = Size(300, 50, 3_000, 2, 1, labels=1_200, resamples_of_report=50)


def measure_statistics(size: Size) -> Figures:
    """Return all figures, comparing each library with Tandem on the same labels."""
    labels = labels_of(size.units)
    alone, whole = np.arange(size.units), np.arange(size.units) % QUERIES
    theirs = {
        "krippendorff": _krippendorff(labels, size),
        "statsmodels": _library(lambda: _fleiss_from_ratings(labels), size),
    }
    coefficients: dict[str, OfCounts] = {
        "krippendorff": lambda rows, weights: krippendorff_alpha(rows, "nominal", None, weights),
        "statsmodels": fleiss_kappa,
    }
    compared = [
        {
            "library": name,
            "resampled": resampled,
            "theirs": theirs[name],
            "ours": _fastest(partial(_ours, labels, clusters, function, size), size),
            "least": least if name == "krippendorff" else None,
        }
        for name, function in coefficients.items()
        for resampled, clusters, least in (
            ("units one by one", alone, UNITS_BAR),
            (f"{QUERIES} queries whole", whole, QUERIES_BAR),
        )
    ]
    asked = size.labels, size.resamples_of_report
    reports = {
        "campaign": measure_campaign_report(*asked),
        "labels file": measure_report(*asked),
    }
    alike = {"units": size.units, "resamples": size.resamples, "compared": compared}
    return {**alike, **_many(size), "reports": reports}


def labels_of(units: int) -> Ints:
    """Return codes (U, R) that agree on seven of ten units and are random on the others."""
    generator = np.random.default_rng(0)
    shape = (units, RATERS)
    truth = generator.integers(0, CATEGORIES, (units, 1))
    noise = generator.integers(0, CATEGORIES, shape)
    return np.where(generator.random(shape) < 0.7, truth, noise)


def _library(once: Callable[[], object], size: Size) -> float:
    """Return the seconds of one call per resample, without the time to draw it."""
    began = perf_counter()
    for _ in range(size.calls):
        once()
    return (perf_counter() - began) / size.calls * size.resamples


def _krippendorff(labels: Ints, size: Size) -> float:
    """Return the same for a library that runs in a separate process, since it is under the GPL."""
    packed = io.BytesIO()
    np.save(packed, labels.T.astype(float))
    command = [sys.executable, "-I", "-c", ALPHA, str(size.calls)]
    done = subprocess.run(command, input=packed.getvalue(), capture_output=True, check=True)
    return float(done.stdout) / size.calls * size.resamples


def _fleiss_from_ratings(labels: Ints) -> object:
    table, _ = inter_rater.aggregate_raters(labels, n_cat=CATEGORIES)
    return inter_rater.fleiss_kappa(table)


def _ours(labels: Ints, clusters: Ints, function: OfCounts, size: Size) -> None:
    """Return the seconds from codes to the interval, including counting."""
    rows, kinds = kinds_of(counts_of(labels, CATEGORIES))
    bootstrap = Bootstrap(Tally.of(kinds, len(rows), clusters), size.resamples)
    bootstrap.estimate(partial(function, rows), len(labels), "")


def _fastest(once: Callable[[], object], size: Size) -> float:
    """Return the fastest of several runs, which is the least disturbed one."""
    seconds = []
    for _ in range(size.repeats):
        began = perf_counter()
        once()
        seconds.append(perf_counter() - began)
    return min(seconds)


def _many(size: Size) -> Figures:
    """Time all coefficients of very many units in a process with its own peak memory."""
    cost = python("-m", "benchmarks.statistics", size.many, size.resamples, env={})
    return {"many": size.many, "seconds": cost.answer(), "peak_mb": cost.peak_mb}


def all_coefficients(units: int, resamples: int) -> float:
    """Time every coefficient of all raters and of each pair, with intervals."""
    labels, clusters = labels_of(units), np.arange(units)
    began = perf_counter()
    agreement_estimates(labels, clusters, CATEGORIES, "ordinal", draws=resamples)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        pair_estimates(labels[:, a], labels[:, b], clusters, CATEGORIES, draws=resamples)
    return perf_counter() - began


def lines(figures: Mapping[str, Any]) -> str:
    """Return a line for each figure, with its bar and whether it meets it."""
    rows = [("figure", "is", "bar", "")]
    for each in figures["compared"]:
        faster, least = each["theirs"] / each["ours"], each["least"]
        name = f"times faster than {each['library']}, {each['resampled']}"
        bar = ("", "") if least is None else (f">= {least:g}", _verdict(faster >= least))
        rows.append((name, f"{faster:,.0f}", *bar))
    for what, most in (("seconds", MOST_SECONDS), ("peak_mb", MOST_MEMORY)):
        name = f"all coefficients and pairs of {figures['many']:,} units: {what.replace('_', ' ')}"
        held = _verdict(figures[what] <= most)
        rows.append((name, f"{figures[what]:,.3g}", f"<= {most:g}", held))
    for source, report in figures["reports"].items():
        rows += _of_report(source, report)
    widths = [max(len(row[n]) for row in rows) for n in range(4)]
    table = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return (
        f"{figures['units']:,} units, {RATERS} raters, {figures['resamples']:,} resamples\n{table}"
    )


def _of_report(source: str, figures: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    name, most = f"report of a {source}, {figures['labels']:,} labels", MOST_SECONDS_OF_REPORT
    seconds = figures["seconds"]
    return [
        (f"{name}: seconds", f"{seconds:.3g}", f"<= {most:g}", _verdict(seconds <= most)),
        (f"{name}: seconds of reading in it", f"{figures['reading']:.3g}", "", ""),
        (f"{name}: peak mb", f"{figures['peak_mb']:.3g}", "", ""),
    ]


def _verdict(holds: bool) -> str:
    return "holds" if holds else "MISSED"


if __name__ == "__main__":
    print(json.dumps(all_coefficients(int(sys.argv[1]), int(sys.argv[2]))))
