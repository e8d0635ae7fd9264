"""Section: sources of the noise of a score: queries, systems, people, and their interactions."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from ..document import Cell, Number, RaterName, Table
from ..labels.resampling import Scores
from ..labels.selection import ReportOptions
from ..statistics import Components, Decision, Floats, decisions, variance_components
from ..types import JSON
from .base import SYSTEMS, SectionPart


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
    width = options.width * (scores_table.span if np.isfinite(scores_table.span) else 1)
    found = variance_components(
        values[items, raters], scores_table.queries[items], systems[items], raters, options.seed
    )
    return _as_json(found, decisions(found, width), width)


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


AIMS = {
    "system_mean": "One system's mean",
    "difference": "Difference of two systems",
    "overall_mean": "Mean over systems",
}


FACETS = ("query", "system", "rater")


def components_tables(score: JSON) -> list[Table]:
    """Return the tables; none in snapshots of older reports, or if nothing is known."""
    found = score.get("components")
    if not found:
        return []
    raters: list[tuple[str | RaterName, JSON]] = [
        ("people", found["humans"]),
        *((RaterName(n, "judge"), of) for n, of in _judges_less_people(found)),
    ]
    known = [(who, of) for who, of in raters if of["sources"]]
    return [_sources(known), _decisions(found["humans"])] if known else []


def _judges_less_people(found: JSON) -> Iterator[tuple[str, JSON]]:
    for name, of in found["judges"].items():
        yield f"{name} less people", of


def _sources(known: list[tuple[str | RaterName, JSON]]) -> Table:
    names = list(dict.fromkeys(each["source"] for _, of in known for each in of["sources"]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(_variance(of, name) for _, of in known)) for name in names
    )
    caption = "Variance of a single score by source"
    return Table(caption, ("Source", *(who for who, _ in known)), rows)


def _variance(of: JSON, name: str) -> Number:
    found = next((each for each in of["sources"] if each["source"] == name), None)
    if found is None:
        pooled = "part of the residual" if name in of["pooled"] else "not in this design"
        return Number(None, reason=pooled)
    ends = found.get("low"), found.get("high")
    return Number(found["variance"], *ends, found.get("method", ""), digits=4)


def _decisions(people: JSON) -> Table:
    rows = tuple(_decision(each) for each in people["decisions"])
    header = ("Of", "Width now", "Queries", "Systems", "Raters per report")
    caption = f"What an interval of width {people['width']:g} needs by these components"
    return Table(caption, header, rows)


def _decision(of: JSON) -> tuple[Cell, ...]:
    plans = {each["facet"]: each for each in of["plans"]}
    cells = (plans.get(facet) for facet in FACETS)
    return (
        AIMS[of["aim"]],
        Number(of["interval_width"]),
        *(
            _plan(each) if each else Number(None, reason="it does not depend on it")
            for each in cells
        ),
    )


def _plan(of: JSON) -> Number:
    return Number(of["needed"], reason=of.get("reason", ""), digits=0)


PART = SectionPart(
    SYSTEMS, title="Sources of noise", tables=lambda shown: components_tables(shown.score)
)
