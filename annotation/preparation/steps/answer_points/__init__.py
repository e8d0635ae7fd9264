"""Extract the key points of each answer, with quotes from it (Long²RAG, section 6.4).

Precision is the share of points in a generated answer that the retrieved documents support, so an
author lists these points first. The points are stored with the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from annotation.preparation.base import (
    Numbers,
    Result,
    Step,
    own_words,
    prompted,
    with_provenance,
    yes_no,
)
from annotation.protocols.base import Protocol, first_words
from tandem.files import rows
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, PointList, Text, UnitSpec, Variable

NAME = "answer-points"
FIELD = "report"


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    for report in query.reports:
        if report.key_points is None:
            yield ItemSpec(
                report.id,
                (UnitSpec("report", report.id, first_words(report.text)),),
                (Text(FIELD, report.text, "Answer"),),
                report=report.id,
                system=report.system,
                setting=report.setting,
            )


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with the points of its answers. Points from the batch are kept.

    An answer that makes no point gets an empty list. If the author's list was not accepted, the
    answer gets no list.
    """
    accepted = {result.item: result for result in results}
    return replace(query, reports=tuple(_add_points(r, accepted) for r in query.reports))


def _add_points(report: rows.Report, accepted: Mapping[str, Result]) -> rows.Report:
    result = accepted.get(report.id)
    if result is None or report.key_points is not None:
        return report
    meta = with_provenance(report.meta, NAME, result)
    return replace(report, key_points=tuple(_points(report, result)), meta=meta)


def _points(report: rows.Report, result: Result) -> Iterator[rows.AnswerPoint]:
    (answer,) = result.answers_of("report").values()
    for number, point in enumerate(answer["points"] or (), start=1):
        spans = own_words(report.text, point["evidence"])
        yield rows.AnswerPoint(f"{report.id}:p{number}", point["text"].strip(), spans)


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-answer-points",
        version="1",
        title="Key points of answers",
        variables=(yes_no("holds_points", "report", "Does the answer make any point?"),),
        make_items=make_items,
        needs=("reports",),
        listed=PointList(
            "points",
            "report",
            "The points that the answer makes",
            FIELD,
            asked_if={"holds_points": ("yes",)},
        ),
    ),
)
STEP = Step(
    NAME,
    TASK.title,
    "From each answer: the points that it makes itself, with quotes of it, word for word.",
    apply,
    TASK.name,
    TASK,
)
