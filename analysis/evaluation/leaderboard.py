"""The values that a protocol's declared measures have for each report, as a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis.evaluation.inputs import PEOPLE
from tandem.files.rows import Query
from tandem.formats.leaderboard import Score, leaderboard_lines
from tandem.scores.options import ZERO
from tandem.types import JSON


def leaderboard(report: JSON, queries: Iterable[Query]) -> str:
    """Return a leaderboard of a report of measures.

    Values by people bear the measure's name, those by another evaluator `MEASURE@NAME`. A report
    without a value has no line. Topics that a run lacks have 0 if the report counts them so.
    """
    return "".join(leaderboard_lines(_scores(report, tuple(queries))))


def _scores(report: JSON, queries: tuple[Query, ...]) -> Iterator[Score]:
    places = {r.id: (r.system or "", q.id) for q in queries for r in q.reports}
    systems = dict.fromkeys(system for system, _ in places.values() if system)
    there = set(places.values())
    lacking = [(s, q.id) for q in queries for s in systems if (s, q.id) not in there]
    counts_zero = report["options"]["missing_topics"]["value"] == ZERO
    for name, of in report["measures"].items():
        for by, values in of.get("reports", {}).items():
            measure = name if by == PEOPLE else f"{name}@{by}"
            found = {places[each]: value for each, value in values.items() if value is not None}
            found |= dict.fromkeys(lacking, 0.0) if counts_zero else {}
            for (system, query), value in found.items():
                if system:
                    yield Score(system, query, measure, value)
