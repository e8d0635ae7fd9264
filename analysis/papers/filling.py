"""A paper's tables as JSON, filled from material of a study."""

from __future__ import annotations

from typing import Any

from analysis.papers.base import Column, Grid, Paper, PaperTable, empty
from analysis.papers.material import Material
from analysis.papers.sources import AmbiguousError
from tandem.types import JSON, Progress, ignore_progress


def fill_tables(
    paper: Paper, material: Material, progress: Progress = ignore_progress
) -> list[JSON]:
    """Fill a paper's tables, in order.

    `progress` is called with the number of finished tables, and of all.
    """
    tables = []
    for done, table in enumerate(paper.tables):
        progress(done, len(paper.tables))
        tables.append(_table(table, material))
    return tables


def _table(table: PaperTable, material: Material) -> JSON:
    try:
        grids = table.build(material)
    except AmbiguousError as error:
        grids = [empty(table.name, (Column("Value"),), str(error), "Table")]
    made = [_grid(grid) for grid in grids]
    return {"key": table.key, "name": table.name, "about": table.about, "grids": made}


def _grid(grid: Grid) -> dict[str, Any]:
    return {
        "caption": grid.caption,
        "stub": grid.stub,
        "columns": [{"name": c.name, "scale": c.scale, "digits": c.digits} for c in grid.columns],
        "rows": [{"name": name, "cells": list(cells)} for name, cells in grid.rows],
        "apart": grid.apart,
        "printed": [],
        "judge": grid.by,
        "data": grid.data,
        "split": grid.split,
        "settings": grid.settings,
    }
