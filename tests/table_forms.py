"""One table of labels in every form that people have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

FORMS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "csv": lambda t, path: t.to_csv(path, index=False),
    "csv with a byte order mark": lambda t, path: t.to_csv(path, index=False, encoding="utf-8-sig"),
    "csv with an index": lambda t, path: t.to_csv(path),
    "csv of semicolons": lambda t, path: t.to_csv(path, index=False, sep=";"),
    "sep=": lambda t, path: path.write_text("sep=;\n" + t.to_csv(index=False, sep=";"), "utf-8"),
    "rows of commas": lambda t, path: path.write_text(
        t.to_csv(index=False) + "," * (len(t.columns) - 1) + "\n", "utf-8"
    ),
    "tsv": lambda t, path: t.to_csv(path, index=False, sep="\t"),
    "json lines": lambda t, path: t.to_json(path, orient="records", lines=True),
    "json array": lambda t, path: t.to_json(path, orient="records"),
    "json array of many lines": lambda t, path: t.to_json(path, orient="records", indent=1),
    "parquet": lambda t, path: t.to_parquet(path),
    "xlsx": lambda t, path: _excel(t, path, index=False),
    "xlsx with an index": lambda t, path: _excel(t, path, index=True),
}
"""The writer of each form, which is recognised by its content, not by the file's name."""


def _excel(table: pd.DataFrame, path: Path, index: bool) -> None:
    with path.open("wb") as file:
        table.to_excel(file, index=index, engine="openpyxl")


def in_form(form: str, table: pd.DataFrame, folder: Path) -> Path:
    """Write a table as a file without a telling name."""
    path = folder / "table"
    FORMS[form](table, path)
    return path
