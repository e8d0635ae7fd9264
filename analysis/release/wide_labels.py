"""Labels in the wide form: a row for each unit, and a column for each rater of each variable."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from analysis.release.layout import WIDE_FACTS
from annotation.exports.rows import label_rows
from annotation.models import Campaign
from tandem.files.spreadsheet import write_rows
from tandem.labels.file.rows import LabelRow
from tandem.labels.file.wide import graded, wide_column


def wide_pieces(campaign: Campaign) -> Iterator[bytes]:
    """Yield the wide labels as CSV. Labels are read twice: first for the columns, then for rows."""
    columns = _columns(campaign)
    rows = (row for _, of in groupby(label_rows(campaign), _item) for row in _rows(list(of)))
    for line in write_rows((*WIDE_FACTS, *columns), rows):
        yield line.encode("utf-8")


def _columns(campaign: Campaign) -> list[str]:
    """Return the raters' columns by variable, rater and replicate. Columns of grades come last."""
    labels, grades = set[tuple[str, str, int]](), set[tuple[str, str, int]]()
    for row in label_rows(campaign):
        if row.value is not None:
            labels.add((row.variable, row.rater, row.replicate))
        if row.grade is not None:
            grades.add((graded(row.variable), row.rater, row.replicate))
    return [wide_column(*each) for each in (*sorted(labels), *sorted(grades))]


def _item(row: LabelRow) -> str:
    return row.item


def _rows(of_item: list[LabelRow]) -> Iterator[dict[str, str | None]]:
    rows: dict[tuple[str | None, str], dict[str, str | None]] = {}
    for label in of_item:
        if label.value is None:
            continue
        row = rows.setdefault(
            (label.kind, label.unit), {name: getattr(label, name) for name in WIDE_FACTS}
        )
        row[wide_column(label.variable, label.rater, label.replicate)] = label.value
        if label.grade is not None:
            column = wide_column(graded(label.variable), label.rater, label.replicate)
            row[column] = label.grade
    yield from rows.values()
