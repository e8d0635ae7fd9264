"""Files of rows: JSON Lines, CSV, workbooks and Parquet, read and refused with their line.

`rows` has the parts of a query and the place of an error. `tables` opens a file in any of these
forms, and `spreadsheet` writes CSV that no spreadsheet runs.
"""

from __future__ import annotations

from pathlib import Path

SUFFIXES = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".tab", ".parquet", ".xlsx")


def names_a_file(word: str) -> bool:
    """Return whether a word of a command line is the path of a file, and not a campaign's name."""
    return Path(word).suffix.lower() in SUFFIXES or Path(word).is_file()
