"""The judge engine as a command, with a server of fixed latency in another process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.judge_cells import BARRED, GRID, LARGE, TINY, UNITS, Cell
from benchmarks.material import write_tasks
from benchmarks.processes import ROOT, Cost, manage, python
from benchmarks.site import production, site
from benchmarks.suite import server_of, temporary_folder
from tests.fake_openai.running import fake_openai

TEXT = 4000
PEOPLE, ITEMS, FEW_ITEMS = 4, 1_200, 80
MOST_BARE = 6_400
LONG = Cell(0.1, 64, 48_000)
Say = Callable[[str], None]


def measure_judges(database: str, static: Path, say: Say, how: str = "bars") -> dict[str, Any]:
    """Return the engine's figures on one database; `how` is bars, grid or tiny."""
    cells = {"bars": BARRED, "grid": GRID, "tiny": TINY}[how]
    with temporary_folder() as folder, server_of(database) as url:
        env = production(folder, url) | {"TANDEM_STATIC_DIR": str(static)}
        manage("migrate", "--verbosity", "0", env=env)
        bench = _Bench(folder, env)
        figures: dict[str, Any] = {"cells": []}
        for cell in cells:
            say(f"{database}: {cell.name} …")
            figures["cells"].append(bench.cell(cell))
        if how == "bars":
            say(f"{database}: memory and saves …")
            figures["large"] = bench.cell(LARGE)
        if how != "grid":
            tiny = how == "tiny"
            figures["saves"] = bench.saves(TINY[0] if tiny else LONG, FEW_ITEMS if tiny else ITEMS)
        return figures


class _Bench:
    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.folder, self.env = folder, env
        self.judges = 0
        self.campaigns: dict[int, int] = {}

    def cell(self, cell: Cell) -> dict[str, Any]:
        campaign = self._campaign(cell.calls // UNITS)
        with fake_openai(*cell.server) as server:
            judge = self._judge(cell, server.url)
            cost = self._run(campaign, judge)
            bare = self._bare(cell, server.url)
        start = self._run(campaign, judge)
        ran = python("-m", "benchmarks.inside", "judged", judge, env=self.env).answer()["made"]
        seconds = ran["seconds"]
        return {
            "name": cell.name,
            "least": cell.least,
            "most_rejected": cell.most_rejected,
            "share": cell.ideal / seconds,
            "share_of_command": cell.ideal / cost.wall,
            "processor": 1000 * (cost.processor - start.processor) / ran["calls"],
            "bare": bare,
            "start": 1000 * start.processor,
            "rate": ran["calls"] / seconds,
            "least_of_bare": cell.least_of_bare,
            "peak_mb": cost.peak_mb,
            **ran,
            "rejected": ran["rejected"] / ran["calls"],
        }

    def _bare(self, cell: Cell, url: str) -> dict[str, float] | None:
        """Return the figures of an HTTP client alone, where the server answers all calls."""
        if cell.capacity or cell.faults:
            return None
        asked = url, cell.at_once, min(cell.calls, MOST_BARE)
        return dict(python("-m", "benchmarks.bare_calls", *asked, env=self.env).answer())

    def saves(self, cell: Cell, items: int) -> dict[str, float]:
        """Return the 95th percentiles of a save in ms, when idle and while a judge is at work."""
        judged = self._campaign(cell.calls // UNITS)
        people = self._study(items)
        saves = items // 8  # two rounds, a few as warm-up; items have one slot
        with fake_openai(*cell.server) as server, site(self.folder, self.env) as address:
            idle = self._saved(address, people, saves)
            with self._at_work(judged, self._judge(cell, server.url)):
                during = self._saved(address, people, saves)
        return {"idle": idle, "during": during}

    def _saved(self, address: str, campaign: int, saves: int) -> float:
        found = python(
            "-m", "benchmarks.client", address, "--campaign", campaign, "--people", PEOPLE,
            "--saves", saves, env=self.env,
        ).answer()  # fmt: skip
        return 1000 * quantiles(found["save"], n=20, method="inclusive")[-1]

    def _campaign(self, items: int) -> str:
        """Return the name of a campaign with this many items, created at first use."""
        name = f"judged {items}"
        if items not in self.campaigns:
            path = write_tasks(self.folder / f"{items}.jsonl", items, UNITS, TEXT)
            self._make(name, path, "--option", "sampling=all")
            self.campaigns[items] = items
        return name

    def _make(self, name: str, path: Path, *options: str) -> None:
        manage("load_batch", path, "--name", name, env=self.env)
        manage(
            "create_campaign", name, "--protocol", "report-coverage", "--batch", name, *options,
            env=self.env,
        )  # fmt: skip

    def _study(self, items: int) -> int:
        """Create a campaign in which people have answered each item once."""
        path = write_tasks(self.folder / "people.jsonl", items, 2, TEXT)
        manage("load_batch", path, "--name", "people", env=self.env)
        made = self._inside("campaign", "people", "people", 2)["id"]
        self._inside("people", "people", PEOPLE)
        return int(made)

    def _inside(self, *arguments: object) -> dict[str, Any]:
        made: dict[str, Any] = python("-m", "benchmarks.inside", *arguments, env=self.env).answer()
        return dict(made["made"])

    def _judge(self, cell: Cell, url: str) -> str:
        self.judges += 1
        name = f"judge {self.judges}"
        manage(
            "create_judge", name, "--backend", "openai", "--model", "fake", "--base-url", url,
            "--granularity", "unit", *cell.params, env=self.env,
        )  # fmt: skip
        return name

    def _run(self, campaign: str, judge: str) -> Cost:
        return manage("run_judge", "--campaign", campaign, "--judge", judge, env=self.env)

    @contextmanager
    def _at_work(self, campaign: str, judge: str) -> Iterator[None]:
        command = [sys.executable, "manage.py", "run_judge", "--campaign", campaign]
        with (self.folder / "run.log").open("wb") as said:
            process = subprocess.Popen(
                [*command, "--judge", judge], cwd=ROOT, env={**os.environ, **self.env},
                stdout=said, stderr=said,
            )  # fmt: skip
            try:
                yield
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
                process.wait()


def run_judges(databases: Sequence[str], static: Path, say: Say, how: str) -> dict[str, Any]:
    """Return the figures by database."""
    return {name: measure_judges(name, static, say, how) for name in databases}
