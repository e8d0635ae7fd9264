"""What is said of judges' orders of systems, and how often intervals hold, in simulated studies.

Three people score systems on queries of ten questions. Queries differ in difficulty far more than
systems do. Judges reverse the systems, throw a coin, are as good as people, or are worse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, reduce
from itertools import product
from operator import add
from typing import Any

import numpy as np

from tandem.sections.score_sentences import order_in_words
from tandem.statistics import (
    Estimate,
    Floats,
    OrderedPairs,
    order_agreement,
    order_chance,
    order_gap,
    ordered_pairs,
)

QUESTIONS, PEOPLE, SYSTEMS = 10, 3, 4
APART, SLIPS, WORSE_SLIPS = 0.08, 0.1, 0.3
"""How far apart neighbouring systems are, and how often people and a worse judge are wrong."""
JUDGES = ("reversing", "coin", "worse", "as good")
LEAST, ONE_SIDED = 0.925, 1.645


@dataclass(frozen=True)
class Runs:
    """The number of studies of a cell, the numbers of queries, and the queries of the truth."""

    studies: int
    queries: tuple[int, ...]
    truth: int


FULL, QUICK = Runs(2_000, (10, 20, 50), 100_000), Runs(40, (20, 50), 2_000)


def scores(judge: str, queries: int, seed: int) -> tuple[Floats, Floats]:
    """Return the scores of three people (3, Q, S) and of a judge (Q, S)."""
    generator = np.random.default_rng([JUDGES.index(judge), queries, seed])
    ease = generator.uniform(0.1, 0.9, (queries, 1, 1))
    place = np.arange(SYSTEMS)[:, None] - (SYSTEMS - 1) / 2
    truth = generator.random((queries, SYSTEMS, QUESTIONS)) < ease + APART * place
    people = truth ^ (generator.random((PEOPLE, *truth.shape)) < SLIPS)
    noise = generator.random(truth.shape)
    own = {
        "reversing": noise < ease - APART * place,
        "coin": noise < 0.5,
        "worse": truth ^ (noise < WORSE_SLIPS),
        "as good": truth ^ (noise < SLIPS),
    }[judge]
    return people.mean(axis=-1), own.mean(axis=-1)


def estimates_of(people: Floats, judge: Floats) -> tuple[dict[str, Estimate], str]:
    """Return the share and the gap as in a report, and the first words of the sentence."""
    (pairs,) = ordered_pairs(people.mean(axis=0), judge)
    others = [
        ordered_pairs(np.delete(people, n, axis=0).mean(axis=0), judge, people[n])
        for n in range(PEOPLE)
    ]
    own, persons = (reduce(add, each) for each in zip(*others, strict=True))
    chance, gap = order_chance(pairs), order_gap(own, persons)
    share = order_agreement(pairs)
    block = {
        "within_queries": share.as_json(),
        "gap": gap.difference.as_json(),
        "counts": _counts(pairs),
        "findings": {"both_opposite": 0},
        "chance_test": {"adjusted_p_value": chance.p_value},
        "gap_test": {"adjusted_p_value": gap.p_value},
    }
    return {"share": share, "gap": gap.difference}, order_in_words(block)[0]


def _counts(pairs: OrderedPairs) -> dict[str, int]:
    return {"tied": int(pairs.tied.sum()), "scored": int(pairs.scored.sum())}


def measure_order(runs: Runs) -> dict[str, Any]:
    """Return each cell's words, and coverage and width of the share and of the gap."""
    cells = [_cell(*each, runs) for each in product(JUDGES, runs.queries)]
    return {"runs": asdict(runs), "cells": cells}


def _cell(judge: str, queries: int, runs: Runs) -> dict[str, Any]:
    truth = {name: each.value for name, each in _truth(judge, runs.truth).items()}
    made = [estimates_of(*scores(judge, queries, seed)) for seed in range(1, runs.studies + 1)]
    return {
        "judge": judge,
        "queries": queries,
        "truth": truth,
        "words": dict(Counter(words for _, words in made)),
        **{name: _held([found[name] for found, _ in made], value) for name, value in truth.items()},
    }


@cache
def _truth(judge: str, queries: int) -> Mapping[str, Estimate]:
    return estimates_of(*scores(judge, queries, 0))[0]


def _held(found: list[Estimate], truth: float | None) -> dict[str, float | None]:
    """Return the share of studies with an interval, of these that hold the truth, and the width."""
    ends = [(each.low, each.high) for each in found if each.low is not None]
    if not ends or truth is None:
        return {"given": len(ends) / len(found), "held": None, "width": None}
    low, high = np.array(ends, float).T
    held = float(((low <= truth) & (truth <= high)).mean())
    return {
        "given": len(ends) / len(found),
        "held": held,
        "width": float(np.median(high - low)),
        "error": float(np.sqrt(held * (1 - held) / len(ends))),
    }


def lines(figures: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each cell: its truth, the intervals, and the words of all studies."""
    for cell in figures["cells"]:
        words = ", ".join(
            f"{name} {number / figures['runs']['studies']:.3f}"
            for name, number in sorted(cell["words"].items(), key=lambda each: -each[1])
        )
        of = "; ".join(_interval(name, cell) for name in ("share", "gap"))
        yield f"{cell['judge']}, {cell['queries']} queries: {of}; {words}"


def _interval(name: str, cell: dict[str, Any]) -> str:
    found = cell[name]
    if found["held"] is None:
        return f"{name} without an interval"
    low = found["held"] + ONE_SIDED * found["error"] < LEAST
    mark = f" (below {LEAST:g})" if low else ""
    return (
        f"{name} {cell['truth'][name]:.3f} held {found['held']:.3f} ± {found['error']:.3f}{mark}, "
        f"width {found['width']:.2f}, given {found['given']:.2f}"
    )
