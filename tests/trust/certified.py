"""A small plan whose commitment is written out, with the labels that certify it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tandem.statistics import Ints
from tandem.trust.certificate import Floor, certificate
from tandem.trust.curve import simulated
from tandem.trust.plan import level, plan_of
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


def labels(plan: JSON, wrong: Ints, most: int = 100) -> list[tuple[int, Ints]]:
    return list(simulated(plan_of(plan), wrong, most).labelled.items())


def issued(number: int = 1, seed: int = 5) -> JSON:
    of = made(seed)
    plan = commitment(of, number)
    of_plan = labels(plan, of.wrong)
    looks = [LOOKS[0], LOOKS[1] | {"labelled": len(of_plan)}]
    return certificate(plan, of_plan, looks, "2026-11-10T09:00:00+00:00", Floor(0.054, None))
