"""Figures of other tools, measured on a similar machine (see README.md)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A line of the table. `best` is the figure of the best other tool, which `by` names."""

    key: str
    title: str
    unit: str
    best: float | None = None
    by: str = ""
    more_is_better: bool = False

    def ratio(self, value: float) -> float | None:
        """Return how many times better a figure is than the best other tool's; below 1 is worse."""
        if self.best is None or not value:
            return None
        return value / self.best if self.more_is_better else self.best / value


LS, DOCCANO, POTATO = "Label Studio 1.23.2", "doccano", "Potato"

FIGURES = (
    Figure("import.tasks_per_second", "import, loading alone", "tasks/s", 4810, LS, True),
    Figure("import.whole_tasks_per_second", "import, whole command", "tasks/s", 4810, LS, True),
    Figure("import.rows_per_second", "import, loading alone", "rows/s"),
    Figure("import.processor_seconds", "import, processor time", "s"),
    Figure("import.peak_mb", "import, peak memory", "MB"),
    Figure("import_questions.tasks_per_second", "import with 2 sub-questions", "tasks/s"),
    Figure("import_questions.rows_per_second", "import with 2 sub-questions", "rows/s"),
    Figure("campaign.seconds", "creating a campaign of them", "s"),
    Figure("campaign.peak_mb", "creating a campaign, peak memory", "MB"),
    Figure("export.whole_seconds", "export of texts and labels, two commands", "s", 5.2, DOCCANO),
    Figure("export.seconds", "export, work alone", "s", 5.2, DOCCANO),
    Figure("export.peak_mb", "export, peak memory", "MB", 760, LS),
    Figure("one.save.median", "save, 1 person, median", "ms"),
    Figure("one.save.p95", "save, 1 person, 95th percentile", "ms", 21, f"{POTATO}, {DOCCANO}"),
    Figure("one.open.median", "open next, 1 person, median", "ms"),
    Figure("one.open.p95", "open next, 1 person, 95th percentile", "ms", 26, POTATO),
    Figure("many.save.median", "save, 16 people, median", "ms"),
    Figure("many.save.p95", "save, 16 people, 95th percentile", "ms", 80, POTATO),
    Figure("many.open.median", "open next, 16 people, median", "ms"),
    Figure("many.open.p95", "open next, 16 people, 95th percentile", "ms", 609, POTATO),
    Figure("visit.kilobytes", "first visit of an item's page", "kB", 800, DOCCANO),
    Figure("visit.requests", "first visit of an item's page", "requests", 24, DOCCANO),
    Figure("growth.save", "save, 10 times the items: median", "times"),
    Figure("growth.open", "open next, 10 times the items: median", "times"),
)
