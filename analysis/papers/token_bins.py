"""Fixed bins of lengths in tokens, as in Figures 6 and 7 of Long²RAG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analysis.evaluation.inputs import Rows, all_reports
from tandem.files.rows import Query
from tandem.statistics import Bools, Ints

DOCUMENT_EDGES = (8, 16, 25)
"""Thousands of tokens. Figure 6 names 8 to 16 and 16 to 25; the outer two bins are ours."""
ANSWER_EDGES = (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)
"""Thousands of tokens, as in Figure 7."""


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the bins between edges in thousands; a bin holds its lower edge."""
    inner = (f"{low:g}K–{high:g}K" for low, high in pairwise(edges))
    return (f"<{edges[0]:g}K", *inner, f"≥{edges[-1]:g}K")


@dataclass(frozen=True)
class TokenBins:
    """A division of a batch's reports, (N,), by the number of tokens of each."""

    name: str
    edges: tuple[float, ...]
    lengths: Ints

    def among(self, rows: Rows) -> dict[str, Bools]:
        """Return the rows in each bin, (N,), bins without rows left out.

        Rows that are not the batch's reports have no length here, and no bin.
        """
        if len(rows.systems) != len(self.lengths):
            return {}
        places = np.searchsorted(np.array(self.edges) * 1000, self.lengths, side="right")
        named = enumerate(bin_names(self.edges))
        return {name: where for n, name in named if (where := places == n).any()}


def length_bins(queries: Sequence[Query], count: Callable[[str], int]) -> tuple[TokenBins, ...]:
    """Return the bins of the passages of each report's query together, and of its own text."""
    reports, rows = all_reports(queries)
    documents = {q.id: sum(count(p.text) for p in q.passages) for q in queries}
    of_queries = np.array([documents[query.id] for query in rows.queries], np.int64)
    of_reports = np.array([count(report.text) for report in reports], np.int64)
    return (
        TokenBins("document_tokens", DOCUMENT_EDGES, of_queries),
        TokenBins("answer_tokens", ANSWER_EDGES, of_reports),
    )
