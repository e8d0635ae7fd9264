"""What is said of judges that nobody may use, and of good ones, in simulated studies.

Three people label queries of ten items yes or no. Each answer of the alternative annotator test is
counted for judges that always say no, throw a coin, reverse, copy a person, or are as good as
people, and the printed power is compared with the share of studies in which the last is shown.
Of six judges as good as people, it is counted how often one is said to agree more or less than
people; of judges whose gap is exactly the margin, how often they are said to be equivalent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np

from benchmarks.simulated_studies import chances
from tandem.statistics import (
    Estimate,
    Ints,
    PlainForm,
    accuracy_of,
    alt_test_power,
    answer_of,
    commonest_label,
    floors_of,
    gap_and_equivalence,
    holm,
    interval_p_value,
    is_equivalent,
    loss_correlation,
    permuted,
)
from tandem.statistics.interval_tests import MARGIN

ITEMS, PEOPLE, EPSILON = 10, 3, 0.2
KNOWN, WORSE, CORRELATION = 0.8, 0.15, 0.2
"""How often people know the true value, how much less a worse judge does, and the correlation."""
FAMILY, SURE, RESAMPLES, TRUTH = 6, 0.05, 1_000, 20_000
"""The judges of a family, the level of p, the resamples, and the queries for a true gap."""
JUDGES = ("constant", "coin", "reversing", "copying", "as good", "worse")
PREVALENCES = (0.1, 0.2, 0.3)


@dataclass(frozen=True)
class Runs:
    """The number of studies of a cell, and the numbers of queries."""

    studies: int
    queries: tuple[int, ...]


FULL, QUICK = Runs(400, (18, 40, 60)), Runs(20, (40, 60))


def simulated(
    judge: str,
    queries: int,
    prevalence: float,
    seed: int,
    known: float = KNOWN,
    raters: int = PEOPLE,
) -> tuple[Ints, Ints, Ints]:
    """Return codes of people (U, R) and of a judge (U,), 1 = yes, and the queries (U,).

    `known` is how often a judge `as good` as people knows the true value, if it is not as they do.
    Prevalence varies between queries, and so does how often each rater knows the true value; a
    rater that does not know it guesses by the prevalence, so that labels have it, too.
    """
    generator = np.random.default_rng([JUDGES.index(judge), queries, int(1000 * prevalence), seed])
    truth = (
        generator.random((queries, ITEMS))
        < chances(generator, queries, prevalence, CORRELATION)[..., 0]
    )

    def rated(share: float) -> Ints:
        knows = (
            generator.random((queries, ITEMS))
            < chances(generator, queries, share, CORRELATION / 2)[..., 0]
        )
        guess = generator.random((queries, ITEMS)) < prevalence
        return np.where(knows, truth, guess).ravel().astype(np.int64)

    people = np.stack([rated(KNOWN) for _ in range(raters)], axis=1)
    codes = {
        "constant": lambda: np.zeros(len(people), np.int64),
        "coin": lambda: (generator.random(len(people)) < people.mean()).astype(np.int64),
        "reversing": lambda: 1 - rated(KNOWN),
        "copying": lambda: people[:, 0],
        "as good": lambda: rated(known),
        "worse": lambda: rated(KNOWN - WORSE),
    }[judge]()
    return people, codes, np.repeat(np.arange(queries), ITEMS)


def measure_replacing(runs: Runs, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the shares of the answers by judge, and the mean printed power, of each cell."""
    cells = []
    for queries, prevalence in product(runs.queries, PREVALENCES):
        cell: dict[str, Any] = {"queries": queries, "prevalence": prevalence}
        for judge in JUDGES:
            outcomes: Counter[str] = Counter()
            epsilons, powers = [], []
            for seed in range(runs.studies):
                people, codes, clusters = simulated(judge, queries, prevalence, seed)
                form = PlainForm(people, clusters, level="nominal", values=np.arange(2.0))
                order = np.arange(len(codes))
                floors = floors_of(form, commonest_label(people, 2), permuted(codes, order))
                answer = answer_of(form, codes, floors, EPSILON)
                outcomes[answer.outcome] += 1
                epsilons.append(answer.epsilon or 0.0)
                if judge == "as good":
                    powers.append(_power(people, codes, clusters, answer.epsilon))
            cell[judge] = {name: n / runs.studies for name, n in outcomes.items()}
            cell[judge]["epsilon"] = float(np.mean(epsilons))
            if powers:
                cell[judge]["power"] = float(np.mean(powers))
        cells.append(cell)
        say(_line(cell))
    return cells


def measure_gaps(runs: Runs, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the shares of studies with a wrong word, and with a wrong equivalence, by cell."""
    cells = []
    for queries, prevalence in product(runs.queries, PREVALENCES[1:]):
        cell: dict[str, Any] = {"queries": queries, "prevalence": prevalence}
        cell |= measure_family(queries, prevalence, runs.studies)
        for side in (-1, 1):
            known = known_at(side * MARGIN, prevalence)
            shown = [
                is_equivalent(_gap("as good", queries, prevalence, seed, known)[1], MARGIN)
                for seed in range(runs.studies)
            ]
            cell[f"equivalent at {side * MARGIN:g}"] = sum(map(bool, shown)) / runs.studies
        as_good = [
            is_equivalent(_gap("as good", queries, prevalence, seed)[1], MARGIN)
            for seed in range(runs.studies)
        ]
        cell["equivalent as good"] = sum(map(bool, as_good)) / runs.studies
        cells.append(cell)
        say(_gap_line(cell))
    return cells


def _gap(
    judge: str, queries: int, prevalence: float, seed: int, known: float = KNOWN
) -> tuple[Estimate, Estimate]:
    people, codes, clusters = simulated(judge, queries, prevalence, seed, known)
    found = gap_and_equivalence(
        codes, people, clusters, 2, names=("cohen_kappa",), draws=RESAMPLES, seed=seed
    )
    return found["cohen_kappa"]


def measure_family(queries: int, prevalence: float, studies: int) -> dict[str, float]:
    """Return how often one of six judges has an interval without 0, and p below .05 after Holm."""
    alone, together = 0, 0
    for seed in range(studies):
        # Judges as good as people are more of them.
        everybody, _, clusters = simulated(
            "as good", queries, prevalence, seed, raters=PEOPLE + FAMILY
        )
        people, p_values, alone_p = everybody[:, :PEOPLE], [], []
        for codes in everybody[:, PEOPLE:].T:
            gap, _ = gap_and_equivalence(
                codes, people, clusters, 2, names=("cohen_kappa",), draws=RESAMPLES, seed=seed
            )["cohen_kappa"]
            if gap.value is not None and gap.low is not None and gap.high is not None:
                ends = gap.value, gap.low, gap.high
                alone_p.append(interval_p_value(*ends, queries))
                p_values.append(interval_p_value(*ends, queries, longer=True))
        alone += any(p < SURE for p in alone_p)
        together += bool((holm(np.array(p_values)) < SURE).any())
    return {"one of six, by intervals": alone / studies, "after Holm": together / studies}


@cache
def known_at(gap: float, prevalence: float) -> float:
    """Return how often a judge knows the true value if its gap in kappa is this, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        people, codes, clusters = simulated("as good", TRUTH, prevalence, 0, middle)
        found = gap_and_equivalence(codes, people, clusters, 2, names=("cohen_kappa",), draws=0)
        value = found["cohen_kappa"][0].value
        low, high = (middle, high) if value is None or value < gap else (low, middle)
    return (low + high) / 2


def _gap_line(cell: dict[str, Any]) -> str:
    rest = [f"{name} {value:.3f}" for name, value in cell.items() if isinstance(value, float)]
    return f"{cell['queries']} queries, {'; '.join(rest)}"


def _power(people: Ints, judge: Ints, clusters: Ints, epsilon: float | None) -> float:
    """Return the power that a report prints for the study."""
    if epsilon is None:
        return 0.0
    pairs = combinations(people.T, 2)
    agreement = float(np.mean([(one == other).mean() for one, other in pairs]))
    yes = float(people.mean())
    shares = (1 - yes, yes)
    correlation = loss_correlation(people, judge, clusters, level="nominal")
    return alt_test_power(
        len(judge),
        queries=len(np.unique(clusters)),
        annotators=PEOPLE,
        categories=2,
        frequencies=shares,
        accuracy=accuracy_of(agreement, 2, shares),
        correlation=correlation or 0.0,
        epsilon=epsilon,
        trials=200,
    )


def _line(cell: dict[str, Any]) -> str:
    parts = [f"{cell['queries']} queries, {cell['prevalence']:g} yes"]
    for judge in JUDGES:
        of = cell[judge]
        power = f", power {of['power']:.2f}" if "power" in of else ""
        parts.append(
            f"{judge}: shown {of.get('shown', 0):.2f}, worse {of.get('shown-worse', 0):.2f} "
            f"(epsilon {of['epsilon']:.2f}{power})"
        )
    return "; ".join(parts)


def lines(answers: list[dict[str, Any]], gaps: list[dict[str, Any]]) -> str:
    """Return a line for each cell."""
    return "\n".join([*map(_line, answers), *map(_gap_line, gaps)])
