"""Key-point recall (Long2RAG): which of the query's key points a report makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.units import key_point_units
from tandem.protocols import material
from tandem.protocols.base import YES_NO, Evidence, ItemSpec, Protocol, Text, Variable


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


PROTOCOL = Protocol(
    name="key-point-recall",
    version="1",
    title="Key point recall",
    summary="Say which of the query’s key points each report makes.",
    lacks="No query has both a report and a key point.",
    variables=(
        Variable(
            "entailed",
            "key-point",
            "Does the report make this point?",
            (*YES_NO, "neutral"),
            words={"yes": "Yes", "no": "No", "neutral": "Neutral"},
        ),
        Variable(
            "failure",
            "key-point",
            "What is wrong?",
            ("incomplete", "general", "missing"),
            asked_if={"entailed": ("no", "neutral")},
            words={
                "incomplete": "Incomplete",
                "general": "Too general",
                "missing": "Missing",
            },
            meanings={
                "incomplete": "A part of the point is made, another left out.",
                "general": "Something so broad is said that the point is not really made.",
                "missing": "The point is not there, or the report says the opposite.",
            },
        ),
    ),
    make_items=make_items,
    needs=("key_points", "reports"),
    evidence=Evidence("entailed", "report", owed_if="yes"),
    folder=Path(__file__).parent,
)
