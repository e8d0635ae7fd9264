"""Studies of yes or no by three people and a judge, with known true values.

A study has n queries of ten items each. An item is a yes with its query's chance, which has a beta
distribution: its mean over queries is the prevalence, and it sets the correlation of two items of a
query. A rater gives the true value with a chance that varies between queries in the same way, and
otherwise says yes as often as the prevalence. So labels have that prevalence, too, and agreement is
correlated within a query. One label in ten of a person is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tandem.statistics import (
    Estimate,
    Floats,
    Ints,
    Resamples,
    agreement_estimates,
    alignment_estimates,
    ceiling_estimates,
    correlation_estimates,
    gap_estimates,
    majority,
    pair_estimates,
    prediction_powered_ratio,
    threshold_sweep,
)

ITEMS, PEOPLE = 10, 3
ATTENTIVE, OF_JUDGE, MISSING = 0.8, 0.7, 0.1
"""How often people and the judge are right, and how often a person gives no label."""
OTHERS = 2
"""The factor of queries labelled only by the judge, for the prediction-powered ratio."""


@dataclass(frozen=True)
class Cell:
    """The parameters of the studies of a cell."""

    queries: int
    correlation: float
    prevalence: float


@dataclass(frozen=True)
class Study:
    """Codes of people (U, 3) and the judge (U,), the judge's scores (U,), the queries (U,).

    `others` (Q, 2) are the judge's yes and labels on queries that people did not label.
    """

    people: Ints
    judge: Ints
    scores: Floats
    clusters: Ints
    others: Floats


def study_of(cell: Cell, generator: np.random.Generator) -> Study:
    """Return a random study of a cell."""
    people, judge = _labels(cell, cell.queries, generator)
    people = np.where(generator.random(people.shape) < MISSING, -1, people)
    # A probability in tenths that leans towards the judge's label.
    sure = generator.beta(4, 2, judge.shape)
    scores = np.where(judge == 1, sure, 1 - sure).round(1).astype(np.float64)
    _, elsewhere = _labels(cell, OTHERS * cell.queries, generator)
    yes = elsewhere.reshape(-1, ITEMS).sum(axis=1)
    others = np.stack([yes, np.full(len(yes), ITEMS)], axis=1).astype(float)
    return Study(people, judge, scores, np.repeat(np.arange(cell.queries), ITEMS), others)


def _labels(cell: Cell, queries: int, generator: np.random.Generator) -> tuple[Ints, Ints]:
    """Return codes of people (U, 3) and of the judge (U,)."""
    share, rho = cell.prevalence, cell.correlation
    so = generator.random((queries, ITEMS, 1)) < chances(generator, queries, share, rho)
    people, judge = (
        np.where(
            generator.random((queries, ITEMS, size)) < chances(generator, queries, attentive, rho),
            so,
            generator.random((queries, ITEMS, size)) < share,
        )
        for size, attentive in ((PEOPLE, ATTENTIVE), (1, OF_JUDGE))
    )
    return people.reshape(-1, PEOPLE).astype(np.int64), judge.ravel().astype(np.int64)


def chances(generator: np.random.Generator, queries: int, mean: float, rho: float) -> Floats:
    """Return a chance for each query (n, 1, 1): two draws of a query are correlated by `rho`."""
    if rho == 0:
        return np.full((queries, 1, 1), mean)
    of = 1 / rho - 1
    return generator.beta(mean * of, (1 - mean) * of, (queries, 1, 1))


def estimates_of(study: Study, draws: Resamples | int, others: Floats) -> dict[str, Estimate]:
    """Return every statistic of a study by name, computed as in a report.

    `draws` are resamples of its queries, `others` (B, Q) of those that only the judge labelled.
    """
    people, judge, clusters = study.people, study.judge, study.clusters
    reference, _ = majority(people)
    found = dict(agreement_estimates(people, clusters, 2, draws=draws))
    two = people[:, 0], people[:, 1], clusters, 2
    aligned = alignment_estimates(reference, judge, clusters, 2, draws=draws)
    sweep = threshold_sweep(study.scores, reference, clusters, bands=False, draws=draws)
    beside: dict[str, Mapping[str, Estimate]] = {
        "two people": pair_estimates(*two, names=("percent", "cohen_kappa"), draws=draws),
        "people with each other": ceiling_estimates(people, clusters, 2, draws=draws),
        "judge": {
            **aligned.overall,
            **pair_estimates(reference, judge, clusters, 2, names=("cohen_kappa",), draws=draws),
            "roc_auc": sweep.roc_auc,
            "average_precision": sweep.average_precision,
            **correlation_estimates(_mean(people), study.scores, clusters, draws=draws),
        },
        "judge on yes": {name: each[1] for name, each in aligned.classes.items()},
        "gap": gap_estimates(judge, people, clusters, 2, draws=draws),
        "people and judge": {"ratio": _powered(study, reference, draws, others)},
    }
    for whose, of in beside.items():
        found |= {f"{whose}: {name}": each for name, each in of.items()}
    return found


def _mean(people: Ints) -> Floats:
    said = people >= 0
    sums, sizes = np.where(said, people, 0).sum(axis=1), said.sum(axis=1)
    return np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan)


def _powered(study: Study, reference: Ints, draws: Resamples | int, others: Floats) -> Estimate:
    """Return the share of yes by people on these queries and by the judge on twice as many more."""
    known = reference >= 0
    of_people, of_judge = (
        np.stack(
            [np.bincount(study.clusters, known * (each == 1)), np.bincount(study.clusters, known)],
            axis=1,
        ).astype(float)
        for each in (reference, study.judge)
    )
    drawn = None if isinstance(draws, int) else (draws.draws, others)
    return prediction_powered_ratio(of_people, of_judge, study.others, resamples=0, drawn=drawn)
