"""The items of key-point recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.base import Protocol
from annotation.protocols.units import key_point_units
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, Text, Variable
from tandem.protocols.key_point_recall import DECLARATION


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    units = key_point_units(query)
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
    summary="Say which of the query’s key points each report makes.",
    lacks="No query has both a report and a key point.",
    make_items=make_items,
    needs=("key_points", "reports"),
    folder=Path(__file__).parent,
)
