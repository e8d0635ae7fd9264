"""LabelRow and SpanRow, which are one line of the labels file, and the missing reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tandem.files.rows import Place

COLUMNS = (
    "campaign",
    "protocol",
    "item",
    "unit",
    "kind",
    "variable",
    "value",
    "missing",
    "rater",
    "rater_kind",
    "replicate",
    "created_at",
    "revision",
    "seconds",
    "score",
    "spans",
    "assisted_by",
    "batch",
    "query",
    "system",
    "setting",
    "meta",
)

BESIDE = ("carried", "exposed", "grade", "decided_by")
"""Columns that a table has only if a campaign needs them."""
UNREAD = ("carried", "decided_by")
"""Columns that are written for others, and that no reader of labels keeps."""
KNOWN = (*COLUMNS, *BESIDE)
"""All columns that a file may have."""
GRADE = "grade"
"""The key of a judge's grade in a stored label's meta; files have a column for it. A grade is an
answer on the judge's own scale, before the judge's file mapped it to a code."""
OWN_SENTENCES = "own_sentences"
"""The key, in a stored label's meta, of the verdicts on all sentences of a judge that split the
text itself: their number by code. Labels of units that the judge did not name are missing."""

Reason = Literal[
    "unreadable",
    "ambiguous",
    "off-label",
    "unmatched",
    "refused",
    "truncated",
    "filtered",
    "too-long",
    "timeout",
    "error",
]
"""Why a judge's label is missing."""
REASONS = (*get_args(Reason), "declined")
"""Why a label is missing: a judge's reasons, and a person who declined."""


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A range of the text `field`, in code points, or only its words if `start` is None."""

    field: str
    start: int | None
    end: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A line of the labels file. Exactly one of `value` and `missing` is not None."""

    item: str
    unit: str
    variable: str
    rater: str
    value: str | None = None
    missing: str | None = None
    campaign: str | None = None
    protocol: str | None = None
    kind: str | None = None
    rater_kind: str = "human"
    replicate: int = 0
    created_at: str | None = None
    revision: int | None = None
    seconds: float | None = None
    score: float | None = None
    spans: tuple[SpanRow, ...] | None = None
    assisted_by: str | None = None
    carried: str | None = None
    batch: str | None = None
    query: str | None = None
    system: str | None = None
    setting: str | None = None
    meta: Mapping[str, Any] | None = None
    exposed: bool | None = None
    grade: str | None = None
    decided_by: str | None = None
    place: Place = field(default=Place(""), compare=False)

    @property
    def stored_meta(self) -> Mapping[str, Any] | None:
        """The meta as a label stores it, with the grade."""
        return self.meta if self.grade is None else {**(self.meta or {}), GRADE: self.grade}


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """A row, and the name of its unit in responses. `codes` are those of a set of codes."""

    row: LabelRow
    name: str
    codes: tuple[str, ...] | None = None


def as_line(row: LabelRow) -> dict[str, Any]:
    """Return a row as the JSON object of its line. Absent values are left out."""
    values = {name: getattr(row, name) for name in KNOWN}
    if row.spans is not None:
        values["spans"] = [
            {"field": s.field, "start": s.start, "end": s.end, "text": s.text} for s in row.spans
        ]
    return {name: value for name, value in values.items() if value is not None}
