"""How answers fail to make a key point: in part, too generally, not at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.measures.base import Measure, Pooled
from analysis.measures.options import Options
from analysis.measures.shares import count
from analysis.statistics import Floats, Ints, Value
from analysis.statistics.arrays import ratio, unbatch

KINDS = ("incomplete", "general", "missing")


@dataclass(frozen=True)
class Failures:
    """The key points (U,) that N answers do not make: `kind` is a place in KINDS, or -1."""

    kind: Ints
    row: Ints
    rows: int


def failure_share(of: Failures, options: Options, kind: int) -> Pooled:
    """Failures of a kind / failures with a kind, over all answers (Qi and others 2024)."""
    counts = [count(of.kind == n, of.row, of.rows) for n in range(len(KINDS))]
    return Pooled(np.column_stack(counts), partial(_share, kind))


def _share(kind: int, totals: Floats) -> Value:
    return unbatch(ratio(totals[..., kind], totals.sum(axis=-1)))


WORDS = ("said in part only", "said too generally", "not said at all")
FAILURES = tuple(
    Measure(
        f"Failure:{name}",
        "failures",
        f"Of the key points that answers fail to make, the share {words}.",
        "Qi and others, Long2RAG, 2024",
        partial(failure_share, kind=number),
        "no failure has a kind",
    )
    for number, (name, words) in enumerate(zip(KINDS, WORDS, strict=True))
)
