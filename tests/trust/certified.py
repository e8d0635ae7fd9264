"""A small plan whose commitment is written out, with the labels that certify it."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from tandem.statistics import Ints
from tandem.trust.cell_state import draws_of, walk_cells
from tandem.trust.certificate import Floor, certificate
from tandem.trust.curve import simulated
from tandem.trust.plan import level, plan_of
from tandem.trust.systems import PART, split
from tandem.types import JSON
from tests.trust.populations import Population, population

LOOKS = [
    {"at": "2026-11-02T10:00:00+00:00", "labelled": 20},
    {"at": "2026-11-09T10:00:00+00:00", "labelled": 100},
]


def made(seed: int = 5) -> Population:
    return population(np.random.default_rng(seed), 120, by_query=0.3, seed="0123")


def commitment(of: Population, number: int = 1, **changed: Any) -> JSON:
    """The document of a plan."""
    accepted, cells = of.plan.accepted, of.plan.cells
    return {
        "format": "tandem-trust-plan/1",
        "kind": "certify",
        "form": "whole",
        "campaign": "bridges",
        "variable": "relevant",
        "judge": {"name": "jude 🌉", "prompt": "p" * 64, "model": "m", "fingerprint": None},
        "batch": "b" * 64,
        "verdicts": "v" * 64,
        "population": {
            "queries": [f"q{n}" for n in range(len(cells))],
            "cells": cells.tolist(),
            "excluded": {"they are for development": 12},
        },
        "cuts": [
            {"share": total / cells.sum(), "threshold": 1 - n / 10}
            for n, total in enumerate(of.plan.totals.tolist())
        ],
        "accepted": accepted.tolist(),
        "systems": {"anna": [0.4, 0.6, 0.8], "bob": [0.6, 0.8, 1.0]},
        "risk": 0.1,
        "delta": 0.05,
        "level": level(0.05, number),
        "number": number,
        "truth": "majority",
        "people": 3,
        "late_days": 14,
        "seed": of.plan.seed,
    } | changed


def split_by_system(of: Population, seed: int = 1) -> tuple[dict[str, Ints], dict[str, Ints]]:
    """Accepted and wrong cells of two systems by query and cut, (G, J); a few cells have none."""
    random = np.random.default_rng(seed)
    right, wrong = (np.diff(each, axis=1, prepend=0) for each in (of.plan.accepted, of.wrong))
    right = right - wrong
    accepted, errors = {}, {}
    for name, share in (("anna", 0.5), ("bob", 0.9)):
        own_right, own_wrong = random.binomial(right, share), random.binomial(wrong, share)
        right, wrong = right - own_right, wrong - own_wrong
        errors[name] = np.cumsum(own_wrong, axis=1)
        accepted[name] = np.cumsum(own_right, axis=1) + errors[name]
    return accepted, errors


def commitment_by_system(of: Population, number: int = 1) -> tuple[JSON, dict[str, Ints]]:
    """The document of a plan with bounds by system, and the wrong cells of each system."""
    accepted, wrong = split_by_system(of)
    of_statement, of_bound = split(0.05, number, PART, len(accepted) * of.plan.cuts)
    own = {name: each.tolist() for name, each in accepted.items()}
    by_system = {"part": PART, "level": of_bound, "accepted": own}
    return commitment(of, number, level=of_statement, by_system=by_system), wrong


def issued_by_system(seed: int = 5) -> JSON:
    of = made(seed)
    plan, wrong = commitment_by_system(of)
    of_plan = labels(plan, of.wrong)
    looks = [LOOKS[0], LOOKS[1] | {"labelled": len(of_plan)}]
    own = [np.stack([wrong["anna"][query], wrong["bob"][query]]) for query, _ in of_plan]
    return certificate(plan, of_plan, looks, "2026-11-10T09:00:00+00:00", by_system=own)


def issued_of_cells(seed: int = 5, by_system: bool = True, k: int = 3) -> JSON:
    """The certificate of a plan that draws cells, of its strictest cut."""
    of = made(seed)
    document, of_systems = commitment_by_system(of)
    own = {
        name: [row[:1] for row in rows] for name, rows in document["by_system"]["accepted"].items()
    }
    part, bounds = (PART, 2) if by_system else (0.0, 1)
    of_statement, of_bound = split(0.05, 1, part, bounds)
    document |= {
        "form": "cells",
        "k": k,
        "level": of_statement,
        "accepted": [row[:1] for row in document["accepted"]],
        "cuts": document["cuts"][:1],
        "by_system": document["by_system"] | {"level": of_bound, "accepted": own},
    }
    if not by_system:
        del document["by_system"]
    plan, drawn, errors = plan_of(document), [], []
    for query, cells in islice(draws_of(plan), 400):
        first, wrong = 0, []
        for name, rows in own.items():
            wrong.append([sum(first <= c < first + of_systems[name][query, 0] for c in cells)])
            first += rows[query][0]
        drawn.append((query, np.sum(wrong, axis=0)))
        errors.append(np.array(wrong, dtype=np.int64))
    state = walk_cells(plan, lambda n: int(drawn[n - 1][1][0]) if n <= len(drawn) else None)
    drawn, errors = drawn[: len(state.labelled)], errors[: len(state.labelled)]
    looks = [LOOKS[0], LOOKS[1] | {"labelled": len(drawn)}]
    at = "2026-11-10T09:00:00+00:00"
    return certificate(document, drawn, looks, at, by_system=errors if by_system else ())


def labels(plan: JSON, wrong: Ints, most: int = 100) -> list[tuple[int, Ints]]:
    return list(simulated(plan_of(plan), wrong, most).labelled.items())


def issued(number: int = 1, seed: int = 5) -> JSON:
    of = made(seed)
    plan = commitment(of, number)
    of_plan = labels(plan, of.wrong)
    looks = [LOOKS[0], LOOKS[1] | {"labelled": len(of_plan)}]
    return certificate(plan, of_plan, looks, "2026-11-10T09:00:00+00:00", Floor(0.054, None))
