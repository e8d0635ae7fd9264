"""Section: sources of the noise of a score: queries, systems, people, and their interactions."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..labels.resampling import Scores
from ..labels.selection import ReportOptions
from ..statistics import Components, Decision, Floats, decisions, variance_components
from ..types import JSON


def components(
    scores_table: Scores, options: ReportOptions, comparable: Collection[str] | None
) -> JSON:
    """Return the components of people's scores, and of each judge's difference from people's mean.

    `comparable` are the items on which judges are compared with people; None for all.
    """
    labels = scores_table.labels
    both = scores_table if comparable is None else scores_table.only(comparable)
    more = {
        labels.raters[n].name: (both.values[:, n] - both.people)[:, None]
        for n in labels.columns("judge")
    }
    return {
        "humans": _block(scores_table, scores_table.values[:, labels.columns("human")], options),
        "judges": {name: _block(scores_table, values, options) for name, values in more.items()},
    }


def _block(scores_table: Scores, values: Floats, options: ReportOptions) -> JSON:
    """Return the block of the scores (I, R) of some raters."""
    systems = np.unique(
        [item.system or "" for item in scores_table.frame.items], return_inverse=True
    )[1]
    items, raters = np.nonzero(np.isfinite(values))
    found = variance_components(
        values[items, raters], scores_table.queries[items], systems[items], raters, options.seed
    )
    return _as_json(found, decisions(found, options.width), options.width)


def _as_json(found: Components, planned: list[Decision], width: float) -> JSON:
    total = sum(found.variances.values())
    made: JSON = {
        "scores": found.scores,
        "queries": found.queries,
        "systems": found.systems,
        "raters": found.raters,
        "per_item": found.per_item,
        "sources": [
            {
                "source": source,
                "variance": value,
                "share": value / total if total else None,
                **{
                    name: getattr(found.estimates[source], name)
                    for name in ("low", "high", "method")
                },
            }
            for source, value in found.variances.items()
        ],
        "pooled": list(found.pooled),
        "width": width,
        "decisions": [
            {
                "aim": each.aim,
                "interval_width": each.width,
                "plans": [
                    {"facet": facet, "needed": plan.needed, "more": plan.more}
                    | ({} if plan.reason is None else {"reason": plan.reason})
                    for facet, plan in each.plans.items()
                ],
            }
            for each in planned
        ],
    }
    return made if found.reason is None else {**made, "reason": found.reason}
