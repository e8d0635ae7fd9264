"""All figures of one database, in the order of a growing project."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.material import write_tasks
from benchmarks.processes import Cost, manage, python
from benchmarks.scales import Scale
from benchmarks.site import production, site
from scripts.services import postgres

DATABASES = ("sqlite", "postgresql")
ROWS = 2  # for the simplest task, a query and a report
QUESTIONS = 2
RATERS = 2
Say = Callable[[str], None]
Figures = dict[str, Any]


def measure(database: str, scale: Scale, static: Path, say: Say) -> Figures:
    """Measure one database, which is created for this and deleted."""
    with temporary_folder() as folder, server_of(database) as url:
        suite = _Suite(folder, production(folder, url), scale)
        suite.env["TANDEM_STATIC_DIR"] = str(static)
        manage("migrate", "--verbosity", "0", env=suite.env)
        figures: Figures = {}
        for step in (suite.small, suite.loading, suite.campaign, suite.exporting, suite.large):
            say(f"{database}: {step.__name__} …")
            figures |= step()
        figures["growth"] = {
            kind: figures["one"][kind]["median"] / figures["small"][kind]["median"]
            for kind in ("save", "open")
        }
        return figures


@contextmanager
def temporary_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tandem-benchmarks-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server_of(database: str) -> Iterator[str | None]:
    with postgres() if database == "postgresql" else nullcontext() as server:
        yield server.url() if server else None


class _Suite:
    """The measurements of one database; `campaign_id` is that of the large one."""

    def __init__(self, folder: Path, env: dict[str, str], scale: Scale) -> None:
        self.folder, self.env, self.scale = folder, env, scale
        self.campaign_id = 0

    def small(self) -> Figures:
        """Measure a small project alone, before the large one exists."""
        path = write_tasks(
            self.folder / "small.jsonl", self.scale.small, QUESTIONS, self.scale.text
        )
        manage("load_batch", path, "--name", "small", env=self.env)
        campaign = self._study("small", "small").answer()["made"]["id"]
        with site(self.folder, self.env) as address:
            return {"small": self._work(address, campaign, people=1)}

    def loading(self) -> Figures:
        plain = self._import("plain", questions=0, rows=ROWS)
        return {
            "import": plain,
            "import_questions": self._import("full", QUESTIONS, rows=ROWS + QUESTIONS),
        }

    def _import(self, name: str, questions: int, rows: int) -> Figures:
        tasks = self.scale.tasks
        path = write_tasks(self.folder / f"{name}.jsonl", tasks, questions, self.scale.text)
        whole, alone = [], []
        for turn in range(self.scale.repeats):
            whole.append(manage("load_batch", path, "--name", f"{name} {turn} whole", env=self.env))
            alone.append(self._inside("load", path, f"{name} {turn}").answer())
        seconds = median(each["seconds"] for each in alone)
        return {
            "seconds": seconds,
            "tasks_per_second": tasks / seconds,
            "rows_per_second": rows * tasks / seconds,
            "whole_tasks_per_second": tasks / median(cost.wall for cost in whole),
            "processor_seconds": median(cost.processor for cost in whole),
            "peak_mb": max(cost.peak_mb for cost in whole),
        }

    def campaign(self) -> Figures:
        cost = self._study("large", "full 0")
        answer = cost.answer()
        self.campaign_id = answer["made"]["id"]
        return {"campaign": {"peak_mb": cost.peak_mb, **answer}}

    def _study(self, name: str, batch: str) -> Cost:
        """Create a campaign over a batch in which one person has answered each item."""
        cost = self._inside("campaign", name, batch, RATERS)
        self._inside("people", name, self.scale.people)
        return cost

    def exporting(self) -> Figures:
        alone, whole, peak = [], [], []
        for _ in range(self.scale.repeats):
            costs = [self._exported(what) for what in ("units", "labels")]
            whole.append(sum(cost.wall for cost in costs))
            peak += [cost.peak_mb for cost in costs]
            work = [self._work_of_export(what) for what in ("units", "labels")]
            alone.append(sum(each["seconds"] for each in work))
        lines = {what: self._lines(what) for what in ("units", "labels")}
        return {
            "export": {
                "seconds": median(alone),
                "whole_seconds": median(whole),
                "peak_mb": max(peak),
                **lines,
            }
        }

    def _exported(self, what: str) -> Cost:
        path = self.folder / f"{what}.jsonl"
        return manage(
            "export", "--campaign", "large", "--what", what, "--output", path, env=self.env
        )

    def _work_of_export(self, what: str) -> Figures:
        path = self.folder / f"{what}.alone.jsonl"
        answer: Figures = self._inside("export", "large", what, path).answer()
        return answer

    def _lines(self, what: str) -> int:
        with (self.folder / f"{what}.jsonl").open("rb") as file:
            return sum(1 for _ in file)

    def large(self) -> Figures:
        with site(self.folder, self.env) as address:
            visit = python(
                "-m", "benchmarks.client", address, "--campaign", self.campaign_id, env=self.env
            ).answer()
            return {
                "visit": {**visit, "kilobytes": visit["bytes"] / 1000},
                "one": self._work(address, self.campaign_id, people=1),
                "many": self._work(address, self.campaign_id, people=self.scale.people),
            }

    def _work(self, address: str, campaign: int, people: int) -> Figures:
        cost = python(
            "-m", "benchmarks.client", address, "--campaign", campaign, "--people", people,
            "--saves", self.scale.saves, env=self.env,
        )  # fmt: skip
        return {kind: spread(seconds) for kind, seconds in cost.answer().items()}

    def _inside(self, *arguments: object) -> Cost:
        return python("-m", "benchmarks.inside", *arguments, env=self.env)


def spread(seconds: list[float]) -> Figures:
    """Return the number of values, their median and 95th percentile, in milliseconds."""
    milliseconds = [1000 * each for each in seconds]
    return {
        "n": len(seconds),
        "median": median(milliseconds),
        "p95": quantiles(milliseconds, n=20, method="inclusive")[-1],
    }
