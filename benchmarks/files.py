"""Rows per second and peak memory of each export and of importing labels.

Every command is a separate process, and its whole time counts, including the start of Python. Each
item has ten labels from one person, one of them with a span. A batch of 10,000 items of 4 kB is
loaded as well, whatever the number of labels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.material import write_tasks
from benchmarks.processes import Cost, manage, python
from benchmarks.site import production
from benchmarks.suite import Say, server_of, temporary_folder

Figures = dict[str, Any]

FULL, QUICK = 20_000, 200
QUESTIONS, CHARACTERS = 10, 400
LARGE, QUICK_LARGE, LARGE_CHARACTERS = 10_000, 100, 4_000
"""The number of items in the separate batch, and the length of their texts."""
MOST_MEMORY = 250.0  # MB, of an export of any size
TABLE = ("jsonl", "csv", "parquet")
EXPORTED = {
    **dict.fromkeys(("labels", "spans", "responses", "units", "batch"), TABLE),
    "web-annotations": ("jsonld",),
    "label-studio": ("json",),
}
FOLDERS = ("all", "dataset")


def run_files(databases: Sequence[str], labels: int, say: Say) -> dict[str, Figures]:
    return {name: measure_files(name, labels, say) for name in databases}


def measure_files(database: str, labels: int, say: Say) -> Figures:
    """Measure one database, which is created for this and deleted."""
    with temporary_folder() as folder, server_of(database) as url:
        env = production(folder, url)
        manage("migrate", "--verbosity", "0", env=env)
        rows = _Rows(folder, env)
        large = QUICK_LARGE if labels <= QUICK else LARGE
        say(f"{database}: a batch of {large:,} items …")
        figures = [rows.batch(large)]
        say(f"{database}: a campaign with {labels:,} labels …")
        figures += rows.loading(labels // QUESTIONS)
        for what, forms in EXPORTED.items():
            for form in forms:
                say(f"{database}: {what} as {form} …")
                figures.append(rows.export(what, form))
        for what in FOLDERS:
            figures.append(rows.bundle(what))
        say(f"{database}: the same labels coming in …")
        figures.append(rows.importing(labels))
        return {"labels": labels, "rows": figures}


class _Rows:
    """Runs commands on one database, and keeps the cost of each for a number of rows."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.folder, self.env = folder, env

    def batch(self, items: int) -> Figures:
        path = write_tasks(self.folder / "large.jsonl", items, 0, LARGE_CHARACTERS)
        cost = manage("load_batch", path, "--name", "large", env=self.env)
        return _row("load_batch, items of 4 kB", items, cost, path.stat().st_size)

    def loading(self, tasks: int) -> list[Figures]:
        path = write_tasks(self.folder / "b.jsonl", tasks, QUESTIONS, CHARACTERS)
        cost = manage("load_batch", path, "--name", "b", env=self.env)
        for name in ("c", "again"):
            self._inside("campaign", name, "b", 1)
        self._inside("people", "c", 4)
        return [_row("load_batch, queries", tasks, cost, path.stat().st_size)]

    def export(self, what: str, form: str) -> Figures:
        path, told = self.folder / f"{what}.{form}", self.folder / "manifest.json"
        cost = manage(
            "export", "--campaign", "c", "--what", what, "--format", form, "--output", path,
            "--manifest", told, env=self.env,
        )  # fmt: skip
        return _row(f"export {what} as {form}", _exported(told), cost, path.stat().st_size)

    def bundle(self, what: str) -> Figures:
        path = self.folder / what
        cost = manage("export", "--campaign", "c", "--what", what, "--output", path, env=self.env)
        size = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        return _row(f"export {what}", _exported(path / "manifest.json"), cost, size)

    def importing(self, labels: int) -> Figures:
        path = self.folder / "labels.jsonl"
        cost = manage("import_labels", path, "--campaign", "again", env=self.env)
        return _row("import_labels, labels", labels, cost, path.stat().st_size)

    def _inside(self, *arguments: object) -> Cost:
        return python("-m", "benchmarks.inside", *arguments, env=self.env)


def _exported(manifest: Path) -> int:
    return sum(file["rows"] for file in json.loads(manifest.read_text("utf-8"))["files"])


def _row(name: str, rows: int, cost: Cost, size: int) -> Figures:
    return {
        "name": name,
        "rows": rows,
        "seconds": cost.wall,
        "rows_per_second": rows / cost.wall,
        "processor_seconds": cost.processor,
        "peak_mb": cost.peak_mb,
        "file_mb": size / 1e6,
    }


def lines(databases: Mapping[str, Figures]) -> str:
    """Return a line for each command of each database; exports have a bar for memory."""
    head = ("", "", "rows", "rows/s", "seconds", "processor", "peak, MB", "file, MB", "")
    table = [head, *(_line(name, row) for name, each in databases.items() for row in each["rows"])]
    widths = [max(len(row[n]) for row in table) for n in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if n in (0, 1, 8) else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def _line(database: str, row: Figures) -> tuple[str, ...]:
    verdict = ""
    if row["name"].startswith("export"):
        holds = row["peak_mb"] <= MOST_MEMORY
        verdict = f"{'holds' if holds else 'missed'}: at most {MOST_MEMORY:g} MB"
    numbers = (row["rows"], row["rows_per_second"])
    return (
        database,
        row["name"],
        *(f"{number:,.0f}" for number in numbers),
        f"{row['seconds']:.1f}",
        f"{row['processor_seconds']:.1f}",
        f"{row['peak_mb']:.0f}",
        f"{row['file_mb']:.1f}",
        verdict,
    )
