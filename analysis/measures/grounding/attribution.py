"""Attribution: the passages that a response cites against those that people cite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.measures.base import Measure, Pooled
from analysis.measures.options import ZERO, Options
from analysis.statistics import Floats, Value
from analysis.statistics.arrays import ratio, unbatch

Cited = frozenset[str]
SHARED, OWN, PEOPLES = 0, 1, 2


@dataclass(frozen=True)
class Citations:
    """The passages that N responses cite, None = unknown, and those of each human answer."""

    responses: Sequence[Cited | None]
    references: Sequence[Sequence[Cited]]


def overlaps(of: Citations, options: Options) -> Floats:
    """Of each response the passages that both cite, that it cites, that people cite, (N, 3).

    NaN where the response's citations are unknown or no human answer is there.
    """
    rows = [_overlap(*pair, options) for pair in zip(of.responses, of.references, strict=True)]
    return np.array(rows, float).reshape(-1, 3)


def _overlap(
    cited: Cited | None, references: Sequence[Cited], options: Options
) -> tuple[float, float, float]:
    if cited is None or not references:
        return (np.nan, np.nan, np.nan)
    union = [frozenset[str]().union(*references)]
    wanted = references if options.cited_by == "best" else union
    found = [(float(len(cited & each)), float(len(cited)), float(len(each))) for each in wanted]
    return max(found, key=_f1)


def _f1(sizes: tuple[float, float, float]) -> float:
    both, own, peoples = sizes
    return 2 * both / (own + peoples) if own + peoples else 0.0


def macro(of: Citations, options: Options, name: str) -> Floats:
    """P = shared / cited, R = shared / people's, F1 = 2 shared / (cited + people's), (N,).

    P is NaN where a response cites nothing (0 with `uncited = zero`), R where people cite
    nothing, F1 where neither cites.
    """
    sizes = overlaps(of, options)
    values = _of(name, sizes)
    if name == "P" and options.uncited == ZERO:
        values = np.where((sizes[:, OWN] == 0) & (sizes[:, PEOPLES] > 0), 0.0, values)
    return values


def micro(of: Citations, options: Options, name: str) -> Pooled:
    """The same of the sums over all responses, so that one with many citations weighs more."""
    return Pooled(np.nan_to_num(overlaps(of, options), nan=0.0), partial(_pooled, name))


def _pooled(name: str, sums: Floats) -> Value:
    return unbatch(_of(name, sums))


def _of(name: str, sizes: Floats) -> Floats:
    both, own, peoples = (sizes[..., n] for n in (SHARED, OWN, PEOPLES))
    if name == "P":
        return ratio(both, own)
    return ratio(both, peoples) if name == "R" else ratio(2 * both, own + peoples)


WORDS = {
    "P": "Share of the passages cited that people cite too",
    "R": "Share of the passages that people cite which are cited",
    "F1": "Harmonic mean of attribution precision and recall",
}
ATTRIBUTION = tuple(
    Measure(
        f"Attribution:{name}{suffix}",
        "citations",
        f"{words}, {how}.",
        "Sorodoc and others, GaRAGe, 2025, who do not say whether micro or macro",
        partial(function, name=name),
        "no response and human answer with citations stand side by side",
        ("uncited", "cited_by") if function is macro else ("cited_by",),
    )
    for function, suffix, how in (
        (macro, "", "averaged over responses"),
        (micro, "-micro", "over all citations"),
    )
    for name, words in WORDS.items()
)
