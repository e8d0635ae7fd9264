"""How often intervals contain the true value, on queries whose items are correlated (seeded)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tandem.statistics import (
    Estimate,
    Floats,
    Interval,
    Ints,
    agreement_estimates,
    mean_by_cluster,
    mean_of_clusters,
    pair_estimates,
    prediction_powered_mean,
    variance_components,
)

Figures = dict[str, Any]

ITEMS = 15
ICCS = (0.1, 0.2, 0.3)
INTERVALS: tuple[Interval, ...] = ("percentile", "bca")
LEAST = {20: 0.91, 50: 0.93}
"""For 95 % intervals of coefficients, by the number of queries."""
LEAST_OF_MEANS = 0.93
LEAST_OF_COMPONENTS = 0.92
COMPONENTS = {"query": 0.09, "query:system": 0.04, "query:rater": 0.0225, "residual": 0.01}
"""The variances of simulated scores that come from queries."""
SHARE = 0.4
HALF = 0.5


@dataclass(frozen=True)
class Runs:
    """How many studies of each kind are simulated, and the number of resamples of each."""

    coefficients: int
    draws: int
    means: int
    corrected: int
    components: int
    truth: int
    """The number of queries from which a coefficient's true value is taken."""


FULL = Runs(
    coefficients=2_000, draws=1_000, means=5_000, corrected=2_000, components=300, truth=60_000
)
QUICK = Runs(coefficients=2, draws=20, means=10, corrected=5, components=2, truth=500)


def measure_coverage(runs: Runs) -> Figures:
    """Return the share of intervals that contain the true value, each with its bar."""
    found = (*_coefficients(runs), *_means(runs), *_of_components(runs))
    return {"runs": vars(runs), "intervals": list(found)}


def _coefficients(runs: Runs) -> Iterator[Figures]:
    for icc in ICCS:
        truth = truth_of(icc, runs.truth)
        for queries, least in LEAST.items():
            for interval in INTERVALS:
                held = coverage(runs.coefficients, queries, icc, interval, runs.draws, truth)
                for name, share in zip(("alpha", "kappa"), held, strict=True):
                    of = f"{name}, {interval}, {queries} queries, icc {icc}"
                    yield {"of": of, "share": share, "least": least}


def _means(runs: Runs) -> Iterator[Figures]:
    for icc in ICCS:
        for queries in LEAST:
            by_cluster, of_clusters = coverage_of_means(runs.means, queries, icc)
            for name, share in (("items", by_cluster), ("queries", of_clusters)):
                of = f"mean of {name}, t, {queries} queries, icc {icc}"
                yield {"of": of, "share": share, "least": LEAST_OF_MEANS}
    held, fooled = corrected_coverage(runs.corrected)
    yield {"of": "mean corrected for a lenient judge", "share": held, "least": LEAST_OF_MEANS}
    yield {"of": "mean of the lenient judge alone", "share": fooled, "least": None}


def _of_components(runs: Runs) -> Iterator[Figures]:
    for queries in (10, *LEAST):
        for name, share in coverage_of_components(runs.components, queries).items():
            of = f"variance component {name}, jackknife, {queries} queries"
            yield {"of": of, "share": share, "least": LEAST_OF_COMPONENTS}


def coverage_of_components(runs: int, queries: int) -> dict[str, float]:
    """Return the coverage of the intervals of variance components, among those that exist.

    Three raters score four systems on each query.
    """
    shape = queries, 4, 3
    places = [place.ravel().astype(np.int64) for place in np.indices(shape)]
    held: dict[str, list[bool]] = {name: [] for name in COMPONENTS}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        y = rng.normal(0, 0.3, (1, 4, 1)) + rng.normal(0, 0.2, (1, 1, 3))
        y = y + rng.normal(0, 0.3, (queries, 1, 1)) + rng.normal(0, 0.2, (queries, 4, 1))
        y = y + rng.normal(0, 0.15, (queries, 1, 3)) + rng.normal(0, 0.1, shape)
        made = variance_components(y.ravel(), *places).estimates
        for name, variance in COMPONENTS.items():
            if made[name].low is not None:
                held[name].append(contains_value(made[name], variance))
    return {name: float(np.mean(of)) for name, of in held.items()}


def chances(rng: np.random.Generator, queries: int, mean: float, icc: float) -> Floats:
    """Return a chance for each query: two yes-or-no items of a query correlate by `icc`."""
    concentration = 1 / icc - 1
    return rng.beta(mean * concentration, (1 - mean) * concentration, (queries, 1))


def labels(rng: np.random.Generator, queries: int, icc: float, raters: int = 3) -> Ints:
    """Return labels by raters who are more often right on easy queries."""
    truth = rng.random((queries, ITEMS)) < chances(rng, queries, SHARE, icc)
    right = chances(rng, queries, 0.85, icc)[:, :, None]
    correct = rng.random((queries, ITEMS, raters)) < right
    said = np.where(correct, truth[:, :, None], ~truth[:, :, None])
    return said.reshape(-1, raters).astype(np.int64)


def truth_of(icc: float, queries: int) -> tuple[float, float]:
    """Return alpha and kappa on so many queries that random variation hardly matters."""
    codes = labels(np.random.default_rng(99), queries, icc)
    clusters = np.repeat(np.arange(queries), ITEMS)
    alpha = agreement_estimates(codes, clusters, 2, draws=0)["krippendorff_alpha"]
    kappa = pair_estimates(codes[:, 0], codes[:, 1], clusters, 2, draws=0)["cohen_kappa"]
    return alpha.value or 0.0, kappa.value or 0.0


def coverage(
    runs: int, queries: int, icc: float, interval: Interval, draws: int, truth: tuple[float, float]
) -> tuple[float, float]:
    """Return the coverage of the intervals of alpha and kappa."""
    clusters, held = np.repeat(np.arange(queries), ITEMS), []
    for seed in range(runs):
        codes = labels(np.random.default_rng(seed), queries, icc)
        several = agreement_estimates(
            codes, clusters, 2, draws=draws, seed=seed, interval=interval
        )["krippendorff_alpha"]
        two = pair_estimates(
            codes[:, 0], codes[:, 1], clusters, 2, draws=draws, seed=seed, interval=interval
        )["cohen_kappa"]
        held.append((contains_value(several, truth[0]), contains_value(two, truth[1])))
    alpha, kappa = np.mean(held, axis=0)
    return float(alpha), float(kappa)


def coverage_of_means(runs: int, queries: int, icc: float) -> tuple[float, float]:
    """Return the coverage of both t intervals of a share of yes."""
    clusters, held = np.repeat(np.arange(queries), ITEMS), []
    rng = np.random.default_rng(1)
    for _ in range(runs):
        yes = rng.random((queries, ITEMS)) < chances(rng, queries, SHARE, icc)
        values = yes.ravel().astype(float)
        made = (mean_by_cluster(values, clusters), mean_of_clusters(values, clusters))
        held.append([contains_value(each, SHARE) for each in made])
    by_cluster, of_clusters = np.mean(held, axis=0)
    return float(by_cluster), float(of_clusters)


def corrected_coverage(runs: int, labelled: int = 40, queries: int = 300) -> tuple[float, float]:
    """Return coverage under a judge ten points too lenient: PPI++, and the judge's own mean."""
    rng, held, fooled = np.random.default_rng(2), [], []
    for _ in range(runs):
        yes = rng.random((queries, ITEMS)) < chances(rng, queries, HALF, 0.2)
        lenient = yes | (rng.random(yes.shape) < 0.2)
        people, judge = yes.mean(axis=1), lenient.mean(axis=1)
        made = prediction_powered_mean(people[:labelled], judge[:labelled], judge[labelled:])
        held.append(contains_value(made, HALF))
        fooled.append(contains_value(mean_by_cluster(judge, np.arange(queries)), HALF))
    return float(np.mean(held)), float(np.mean(fooled))


def contains_value(made: Estimate, truth: float) -> bool:
    """Return whether an interval exists and contains the true value."""
    assert made.low is not None and made.high is not None  # noqa: PT018
    return made.low <= truth <= made.high


def lines(figures: Mapping[str, Any]) -> str:
    """Return a line for each kind of interval, with its bar and whether it meets the bar."""
    rows = [("95 % intervals of", "hold the truth", "bar", "")]
    for each in figures["intervals"]:
        share, least = each["share"], each["least"]
        bar = ("", "") if least is None else (f">= {least:g}", _verdict(share >= least))
        rows.append((each["of"], f"{share:.3f}", *bar))
    widths = [max(len(row[n]) for row in rows) for n in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _verdict(held: bool) -> str:
    return "holds" if held else "MISSED"
