"""Report coverage (CRUX, task 1): which sub-questions can be answered from a report alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tandem.protocols import material
from tandem.protocols.base import (
    YES_NO,
    Evidence,
    ItemSpec,
    Protocol,
    Text,
    UnitSpec,
    Variable,
)


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    units = tuple(UnitSpec("question", q.id, q.text) for q in query.questions)
    for report in query.reports if units else ():
        yield ItemSpec(
            key=report.id,
            units=units,
            texts=(Text("report", report.text, "Report"),),
            report=report.id,
            system=report.system,
            setting=report.setting,
        )


PROTOCOL = Protocol(
    name="report-coverage",
    version="1",
    title="Report coverage",
    summary="Say which of its questions each report answers, and highlight where.",
    lacks="No query has both a report and a question.",
    variables=(
        Variable(
            "answerable",
            "question",
            "Can the report answer it?",
            YES_NO,
            escapes=("invalid",),
            words={"yes": "Yes", "no": "No", "invalid": "Makes no sense"},
        ),
        Variable(
            "rating",
            "question",
            "How well does the report answer it?",
            tuple("012345"),
            level="ordinal",
            optional=True,
        ),
    ),
    make_items=make_items,
    needs=("questions", "reports"),
    evidence=Evidence("answerable", "report", owed_if="yes"),
    folder=Path(__file__).parent,
    sections={"Rating, where it is asked": ("rating",)},
)
