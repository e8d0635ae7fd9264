"""The key points of each answer, as the measures take them."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.statistics import Bools, Ints


@dataclass(frozen=True)
class Points:
    """The key points of N answers (U,), one for each answer and point of its query.

    `expressed` is 1 where the answer entails the point, 0 where it does not or leaves it open,
    -1 = missing; `retrieved` is 1 where a passage that the point comes from stands in the
    answer's context, 0 where not, -1 where the context is unknown; `row` is the answer.
    """

    expressed: Ints
    retrieved: Ints
    row: Ints
    rows: int


@dataclass(frozen=True)
class AnswerPoints:
    """The points (U,) that N answers make themselves, held against the context of each.

    `supported` is 1 where the context supports the point, 0 where not, -1 = missing; `row` is the
    answer. `silent` (N,) are the answers that were taken apart and make no point.
    """

    supported: Ints
    row: Ints
    rows: int
    silent: Bools


@dataclass(frozen=True)
class Both:
    """The points of their queries and those that they make, of the same N answers."""

    of_queries: Points
    of_answers: AnswerPoints
