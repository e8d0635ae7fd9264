"""Rankings evaluated by raters: relevant are the passages that they rated highly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tandem.scores.base import Measure, MeasureValues, values_of
from tandem.scores.contexts import (
    Contexts,
    Ratings,
    in_oracles,
    in_pools,
    members,
    of_cells,
    questions_without_failures,
    required_grades,
)
from tandem.scores.options import Options
from tandem.scores.retrieval import Ranked
from tandem.statistics import Bools, Floats

BY_ORACLE, REQUIRED = "oracle", "required"


@dataclass(frozen=True)
class RatedRankings:
    """One system's contexts as rankings, with relevance by one rater's ratings."""

    ratings: Ratings
    contexts: Contexts

    def compute(self, measure: Measure, options: Options) -> MeasureValues:
        """Compute a measure of rankings, which depends on all cells that decide relevance."""

        def value(of: Contexts) -> Floats:
            relevance = relevance_of(self.ratings, of, options)
            return values_of(
                measure.of(Ranked(relevance, of.ranked, of.depth, of.present), options)
            )

        if options.relevance == BY_ORACLE:
            return value(self.contexts)
        needs = in_oracles if options.relevance == REQUIRED else in_pools
        return of_cells(self.contexts, options, value, needs)


def relevance_of(ratings: Ratings, contexts: Contexts, options: Options) -> Floats:
    """Return the relevance of the passages under the options, as gains, (Q, P).

    A question with a failed judgement does not count for any passage.
    """
    known = contexts.answers.bests
    key = "relevance", options.relevance, contexts.counted.tobytes(), contexts.oracle.tobytes()
    if key not in known:
        oracle = members(contexts.oracle, ratings.passages.shape[1])
        known[key] = _relevance(ratings, contexts, oracle, options)
    return known[key]


def _relevance(ratings: Ratings, contexts: Contexts, oracle: Bools, options: Options) -> Floats:
    if options.relevance == BY_ORACLE:
        return oracle.astype(float)
    found = contexts.answers
    if options.relevance != REQUIRED:
        return (
            (found.yes & questions_without_failures(contexts)[:, None, :]).any(axis=2).astype(float)
        )
    if found.gaps:
        sound = ~np.asarray(found.failed.any(axis=1))[:, None, :]
        found = replace(found, yes=found.yes & sound)
        ratings = replace(ratings, values=np.where(sound, ratings.values, np.nan))
    return required_grades(ratings, found, oracle, options.eta).astype(float)
