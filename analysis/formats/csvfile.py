"""The report as one long table: a row a number, in full precision, with where it stands.

Texts that a spreadsheet would run as a formula are defused; numbers stay numbers.
"""

from __future__ import annotations

from analysis.formats.base import JSON, Format
from analysis.formats.facts import COLUMNS, facts
from annotation.exports.spreadsheet import write_rows


def as_csv(report: JSON) -> str:
    """Every number of the report; `facts` says what the columns are."""
    return "".join(write_rows(COLUMNS, facts(report)))


FORMAT = Format("csv", "CSV", "csv", "text/csv; charset=utf-8", as_csv)
