"""How often certificates are false, and how much they certify, in simulated studies.

Beside the evidence by query stands the rule that tests cells one by one: an exact binomial bound
(Clopper and Pearson 1934) of the errors among all labelled cells, cut by cut in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice, product
from math import log
from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import beta, binomtest

from benchmarks.trust_look import measure_looks
from tandem.statistics import Ints
from tandem.trust.cell_state import draws_of, walk_cells
from tandem.trust.curve import INFORMATIVE, WEAK, Scenario, share_after, simulated
from tandem.trust.draws import even_order
from tandem.trust.plan import CutTable, Plan
from tandem.trust.state import State, state_of
from tandem.trust.systems import PART, Systems, split

MEAN, RISK, DELTA = 15, 0.1, 0.05
NEVER = 1e-9
"""A risk that no judge with an error meets."""
SHAPES = (
    "independent", "correlation .2", "correlation .5", "whole queries", "largest", "smallest",
)  # fmt: skip
CUTS = {"from .5": (0.5, 0.7, 0.9), "from .3": (0.3, 0.5, 0.7, 0.9)}
LABELLED = (50, 75, 100, 150)
TABLE: dict[tuple[int, float], tuple[tuple[float, ...], tuple[float, ...]]] = {
    (200, 0): ((0.03, 0.38, 0.48, 0.66), (0.15, 0.29, 0.41, 0.62)),
    (200, 1): ((0.13, 0.47, 0.56, 0.71), (0.22, 0.35, 0.50, 0.70)),
    (400, 0.5): ((0.02, 0.31, 0.46, 0.57), (0.13, 0.27, 0.34, 0.49)),
    (1000, 1): ((0.00, 0.29, 0.45, 0.52), (0.10, 0.27, 0.32, 0.47)),
}
"""The shares of the specification, by queries and variation of size, of 100 studies each."""
PUBLISHED, LEAST_ERROR = 100, 0.01
"""Their studies, and the least standard error of a share that is given with two digits."""


@dataclass(frozen=True)
class Runs:
    """The studies of each boundary and of each yield, and the cells of the look that is timed."""

    boundary: int
    yields: int
    cells: int


FULL, QUICK = Runs(600, 400, 100_000), Runs(40, 10, 3_000)


def sizes(random: np.random.Generator, queries: int, variation: float) -> Ints:
    """Return the cells of queries, at least one, with about this coefficient of variation."""
    if not variation:
        return np.full(queries, MEAN)
    spread = np.sqrt(np.log1p(variation**2))
    drawn = random.lognormal(np.log(MEAN) - spread**2 / 2, spread, queries)
    return np.maximum(1, np.round(drawn)).astype(int)


def wrong_at_boundary(random: np.random.Generator, size: Ints, shape: str, risk: float) -> Ints:
    """Return the wrong cells of each query, which sum to the least number of Risk >= `risk`."""
    total = int(np.ceil(risk * size.sum() - 1e-9))
    if shape in ("whole queries", "largest", "smallest"):
        order = random.permutation(len(size))
        if shape != "whole queries":
            order = order[np.argsort(size[order] * (-1 if shape == "largest" else 1))]
        before = np.concatenate([[0], np.cumsum(size[order])[:-1]])
        wrong = np.zeros(len(size), int)
        wrong[order] = np.clip(total - before, 0, size[order])
        return wrong
    chance = np.full(len(size), risk)
    if shape != "independent":
        correlation = float(shape.split()[1])
        both = (1 - correlation) / correlation
        chance = random.beta(risk * both, (1 - risk) * both, len(size))
    query = np.repeat(np.arange(len(size)), size)
    is_wrong = random.random(len(query)) < chance[query]
    # Cells are changed at random until exactly so many are wrong.
    while (left := total - int(is_wrong.sum())) != 0:
        among = np.flatnonzero(is_wrong != (left > 0))
        is_wrong[random.choice(among, min(abs(left), len(among)), replace=False)] = left > 0
    return np.bincount(query[is_wrong], minlength=len(size))


def is_above(false: int, studies: int) -> bool:
    """Whether so many false certificates are significantly above the level, at 1 %."""
    return bool(binomtest(false, studies, DELTA, alternative="greater").pvalue < 0.01)


def is_false(random: np.random.Generator, queries: int, variation: float, shape: str) -> bool:
    """Whether a study at the boundary is certified, looked at after each of half its queries."""
    size = sizes(random, queries, variation)
    wrong = wrong_at_boundary(random, size, shape, RISK)
    seed = random.bytes(8).hex()
    plan = Plan(size[:, None], size, RISK, DELTA, seed)
    return simulated(plan, wrong[:, None], queries // 2).certified > 0


def labels_of_draws(plan: Plan, wrong: Ints, most: int) -> Callable[[int], int | None]:
    """Return the wrong cells of each of `most` draws, by number from 1.

    `wrong` (G,) are the wrong cells of each query, which are the first of its accepted ones: a draw
    takes its cells at random.
    """
    draws = list(islice(draws_of(plan), most))

    def wrong_of(number: int) -> int | None:
        if number > most:
            return None
        query, cells = draws[number - 1]
        return sum(cell < wrong[query] for cell in cells)

    return wrong_of


def is_false_by_cells(
    random: np.random.Generator, queries: int, variation: float, shape: str, k: int
) -> bool:
    """Whether a study at the boundary that draws k cells of queries is certified.

    It has as many draws as queries, with a look after each.
    """
    size = sizes(random, queries, variation)
    wrong = wrong_at_boundary(random, size, shape, RISK)
    plan = Plan(size[:, None], size, RISK, DELTA, random.bytes(8).hex(), k)
    return walk_cells(plan, labels_of_draws(plan, wrong, queries)).certified > 0


def is_by_system_false(
    random: np.random.Generator, queries: int, variation: float, shape: str, k: int | None = None
) -> tuple[bool, bool]:
    """Whether the statement, and whether some bound by system, is ever false in a study.

    Each query has cells of two systems, of which the first has twice as many. Both are as wrong as
    the plan allows, in the same shape. Half of the queries are labelled, with a look after each, or
    `k` cells of each of as many draws.
    """
    accepted, wrong = {}, {}
    for name, times in (("first", 2), ("second", 1)):
        size = times * sizes(random, queries, variation)
        accepted[name] = size[:, None]
        wrong[name] = wrong_at_boundary(random, size, shape, RISK)[:, None]
    every, errors = (np.sum(list(each.values()), axis=0) for each in (accepted, wrong))
    of_statement, of_bound = split(DELTA, 1, PART, len(accepted))
    # At this risk nothing is certified, so the draws go on.
    plan = Plan(every, every[:, 0], NEVER, of_statement, random.bytes(8).hex(), k)
    if k is None:
        state = simulated(plan, errors, queries // 2)
        own = [np.stack([each[query] for each in wrong.values()]) for query in state.labelled]
    else:
        state, own = _drawn_by_system(plan, accepted, wrong, queries // 2)
    bounds = Systems(accepted, of_bound).bounds(state, own, 0)
    risks = {name: wrong[name].sum() / accepted[name].sum() for name in accepted}
    is_false = state.evidence(0, RISK).max() >= log(1 / of_statement)
    return bool(is_false), any((bounds[name] or 0) <= risks[name] for name in risks)


def _drawn_by_system(
    plan: Plan, accepted: Mapping[str, Ints], wrong: Mapping[str, Ints], draws: int
) -> tuple[State, list[Ints]]:
    """Return the state after draws of cells, and the wrong cells by system of each, (S, 1).

    The cells of a query are those of its systems in turn, and of each its wrong ones first.
    """
    own = []
    for query, cells in islice(draws_of(plan), draws):
        first, of_draw = 0, []
        for name, size in accepted.items():
            of_draw.append([sum(first <= c < first + wrong[name][query, 0] for c in cells)])
            first += size[query, 0]
        own.append(np.array(of_draw, dtype=np.int64))
    state = walk_cells(plan, lambda n: int(own[n - 1].sum()) if n <= len(own) else None)
    return state, own


def is_false_cell_by_cell(
    random: np.random.Generator, queries: int, variation: float, shape: str
) -> bool:
    """Whether the rule that tests cells certifies the same kind of study, in one look."""
    size = sizes(random, queries, variation)
    wrong = wrong_at_boundary(random, size, shape, RISK)
    drawn = even_order(queries, random.bytes(8).hex())[: queries // 2]
    return cells_certify(size[drawn][:, None], wrong[drawn][:, None], RISK, DELTA) > 0


def cells_certify(accepted: Ints, wrong: Ints, risk: float, delta: float) -> int:
    """Return how many cuts a test of cells certifies, (t, J) by labelled query, strict cuts first.

    A cut is certified if all stricter ones are, and if its upper bound is below the risk.
    """
    certified = 0
    for cells, errors in zip(accepted.sum(axis=0), wrong.sum(axis=0), strict=True):
        if errors == cells or beta.ppf(1 - delta, errors + 1, cells - errors) > risk:
            break
        certified += 1
    return certified


def shares_certified(
    judge: Scenario, queries: int, variation: float, shares: tuple[float, ...], studies: int
) -> np.ndarray[Any, Any]:
    """Return the shares certified after `LABELLED` queries, (studies, 4), at the level .04."""
    found = np.zeros((studies, len(LABELLED)))
    for study in range(studies):
        random = np.random.default_rng([queries, round(10 * variation), len(shares), study])
        size = sizes(random, queries, variation)
        query = np.repeat(np.arange(queries), size)
        score, difficulty = random.random(len(query)), random.normal(size=queries)
        is_wrong = random.random(len(query)) < judge.chance(score, difficulty[query])
        table = CutTable.of(score, query, queries, shares)
        wrong = [
            np.bincount(query[is_wrong & (score >= least)], minlength=queries)
            for least in table.thresholds
        ]
        plan = Plan(table.accepted, size, RISK, 0.8 * DELTA, f"study {study}")
        state = simulated(plan, np.stack(wrong, axis=1), LABELLED[-1])
        found[study] = [share_after(state, n) for n in LABELLED]
    return found


def measure_trust(runs: Runs) -> dict[str, Any]:
    return {
        "runs": asdict(runs),
        "boundary": list(_boundaries(runs.boundary)),
        "yields": list(_yields(runs.yields)),
        "look": _look(runs.cells),
        "stored_looks": measure_looks(runs.cells),
    }


def _boundaries(studies: int) -> Iterator[dict[str, Any]]:
    for shape, variation, queries in product(SHAPES, (0.0, 1.0), (100, 200)):
        random = np.random.default_rng([SHAPES.index(shape), round(variation), queries])
        case = (random, queries, variation, shape)
        false = sum(is_false(*case) for _ in range(studies))
        cells = sum(is_false_cell_by_cell(*case) for _ in range(studies))
        yield {
            "shape": shape,
            "variation": variation,
            "queries": queries,
            "false": false / studies,
            "is_above": is_above(false, studies),
            "cell_by_cell": cells / studies,
        }


def _yields(studies: int) -> Iterator[dict[str, Any]]:
    for (queries, variation), published in TABLE.items():
        for (name, shares), stated in zip(CUTS.items(), published, strict=True):
            own = shares_certified(INFORMATIVE, queries, variation, shares, studies)
            weak = shares_certified(WEAK, queries, variation, shares, studies)
            error = own.std(axis=0) * np.sqrt(1 / studies + 1 / PUBLISHED)
            apart = (own.mean(axis=0) - stated) / np.maximum(error, LEAST_ERROR)
            yield {
                "queries": queries,
                "variation": variation,
                "cuts": name,
                "stated": list(stated),
                "share": own.mean(axis=0).tolist(),
                "errors_apart": apart.tolist(),
                "weak": weak.mean(axis=0).tolist(),
            }


def _look(cells: int) -> dict[str, Any]:
    """Return the seconds of one look over so many cells, of which all queries are labelled."""
    random = np.random.default_rng(1)
    size = sizes(random, cells // MEAN, 1)
    query = np.repeat(np.arange(len(size)), size)
    score = random.random(len(query))
    table = CutTable.of(score, query, len(size))
    wrong = np.stack([random.binomial(own, 0.08) for own in table.accepted.T], axis=1)
    plan = Plan(table.accepted, size, RISK, 0.8 * DELTA)
    first = simulated(plan, wrong, len(size))
    labelled = list(first.labelled.items())
    began = perf_counter()
    state = state_of(plan, labelled)
    bound = state.bound()
    seconds = perf_counter() - began
    return {"cells": len(query), "labelled": len(labelled), "bound": bound, "seconds": seconds}


def lines(figures: dict[str, Any]) -> str:
    """Return the tables in words."""
    found = ["| errors | variation | queries | false | cell by cell |", "|---|---|---|---|---|"]
    for row in figures["boundary"]:
        mark = " (above the level)" if row["is_above"] else ""
        found.append(
            f"| {row['shape']} | {row['variation']:g} | {row['queries']} "
            f"| {row['false']:.3f}{mark} | {row['cell_by_cell']:.3f} |"
        )
    head = " | ".join(map(str, LABELLED))
    found += ["", f"| queries, variation, cuts | {head} |", "|---|---|---|---|---|"]
    for row in figures["yields"]:
        pairs = zip(row["share"], row["stated"], row["errors_apart"], row["weak"], strict=True)
        cells = " | ".join(f"{s:.2f} ({t:.2f}, {e:+.1f}; {w:.2f})" for s, t, e, w in pairs)
        found.append(f"| {row['queries']}, {row['variation']:g}, {row['cuts']} | {cells} |")
    found.append("(in brackets: as specified, standard errors apart; a weak judge)")
    look = figures["look"]
    found.append(
        f"\nA look over {look['cells']} cells with {look['labelled']} labelled queries took "
        f"{look['seconds']:.2f} s."
    )
    for of in figures["stored_looks"]:
        found.append(
            f"With the database, in the form {of['form']}, with {of['labelled']} of {of['drawn']} "
            f"draws labelled: {of['seconds']:.2f} s, {of['processor']:.2f} s of them a processor's."
        )
    return "\n".join(found)
