"""The items of report coverage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.base import Protocol
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, Text, UnitSpec, Variable
from tandem.protocols.report_coverage import DECLARATION


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


PROTOCOL = Protocol.of(
    DECLARATION,
    summary="Say which of its questions each report answers, and highlight where.",
    lacks="No query has both a report and a question.",
    make_items=make_items,
    needs=("questions", "reports"),
    folder=Path(__file__).parent,
    sections={"Rating, where it is asked": ("rating",)},
)
