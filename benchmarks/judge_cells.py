"""The benchmark figures of the judge engine, with their bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.machine import processors

UNITS = 16  # per item, whose requests share their beginning
MOST_PROCESSOR = 0.5  # milliseconds a call
MOST_MEMORY = 250.0  # MB
MOST_SAVE = 3.0  # times the idle 95th percentile
MOST_START = 1500.0  # milliseconds of processor time
FEW_CORES = 2


@dataclass(frozen=True)
class Cell:
    """A run of `calls` requests to a server that takes `latency` seconds for each.

    The judge may have `at_once` requests in flight. Above `capacity` the server answers 429.
    `least` is the bar for the share of ideal throughput, `most_rejected` the one for rejected
    calls. `shares_of_bare` are bars for the calls per second, as a share of those of a bare HTTP
    client: on more than two processors, and on two.
    """

    latency: float
    at_once: int
    calls: int
    least: float | None = None
    capacity: int | None = None
    faults: tuple[str, ...] = ()
    timeout: float | None = None
    most_rejected: float | None = None
    shares_of_bare: tuple[float, float] | None = None

    @property
    def least_of_bare(self) -> float | None:
        if self.shares_of_bare is None:
            return None
        return self.shares_of_bare[processors() <= FEW_CORES]

    @property
    def name(self) -> str:
        extra = f", {self.capacity} at most" if self.capacity else ""
        faults = f", {' '.join(self.faults)}" if self.faults else ""
        return f"{self.latency:g} s, {self.at_once} at once, {self.calls:,} calls{extra}{faults}"

    @property
    def ideal(self) -> float:
        """Return the seconds of a run if the server were never idle."""
        return self.calls * self.latency / min(self.at_once, self.capacity or self.at_once)

    @property
    def server(self) -> list[str]:
        """Return the arguments of the fake server."""
        capacity = ["--capacity", str(self.capacity)] if self.capacity else []
        faults = [word for fault in self.faults for word in ("--fault", fault)]
        return ["--latency", str(self.latency), *capacity, *faults]

    @property
    def params(self) -> list[str]:
        timeout = ["--param", f"timeout={self.timeout:g}"] if self.timeout else []
        return ["--param", f"concurrency={self.at_once}", *timeout]


BARRED = (
    Cell(0.5, 64, 2_560, 0.95),
    Cell(0.1, 64, 6_400, 0.90, shares_of_bare=(0.95, 0.95)),
    Cell(0.1, 256, 10_240, 0.70, shares_of_bare=(0.80, 0.60)),
    Cell(0.1, 64, 4_000, 0.93, capacity=50, most_rejected=0.06),
    Cell(0.5, 64, 2_560, 0.85, faults=("500:0.05", "hang:0.01"), timeout=5.0),
)
GRID = tuple(
    Cell(latency, at_once, 40 * at_once) for latency in (0.1, 0.5, 2.0) for at_once in (8, 64, 256)
)
LARGE = Cell(0.0, 64, 100_000)
TINY = (Cell(0.01, 8, 64, 0.0), Cell(0.01, 8, 64, 0.0, capacity=4, most_rejected=1.0))

Figures = Mapping[str, Any]


def lines(databases: Mapping[str, Figures]) -> str:
    """Return a line for each figure of each database, with its bar and whether it meets it."""
    rows: list[Sequence[str]] = [("", "figure", "is", "bar", "")]
    for name, figures in databases.items():
        for cell in figures["cells"]:
            rows += [(name, *row) for row in _cell(cell)]
        rows += [(name, *row) for row in _others(figures)]
    widths = [max(len(row[n]) for row in rows) for n in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _cell(cell: Figures) -> list[Sequence[str]]:
    name = cell["name"]
    start = f"{name}: start-up, ms of processor"
    rows = [
        _row(f"{name}: share of ideal", cell["share"], least=cell["least"]),
        _row(f"{name}: the same, whole command", cell["share_of_command"]),
        _row(f"{name}: ms of processor a call", cell["processor"], most=MOST_PROCESSOR),
        *_bare(name, cell),
        _row(start, cell["start"], most=MOST_START),
        _row(f"{name}: calls a second", cell["rate"]),
        _row(f"{name}: peak memory, MB", cell["peak_mb"], most=MOST_MEMORY),
    ]
    if cell["most_rejected"] is not None:
        rejected = f"{name}: rejected share"
        rows.append(_row(rejected, cell["rejected"], most=cell["most_rejected"]))
    return rows


def _bare(name: str, cell: Figures) -> list[Sequence[str]]:
    """Format the figures beside those of the HTTP client alone, in the same run."""
    if (bare := cell["bare"]) is None:
        return []
    share = f"{name}: share of the calls a second of a bare HTTP client"
    return [
        _row(f"{name}: the same of a bare HTTP client", bare["processor"]),
        _row(f"{name}: times a bare HTTP client", cell["processor"] / bare["processor"]),
        _row(share, cell["rate"] / bare["rate"], least=cell["least_of_bare"]),
    ]


def _others(figures: Figures) -> list[Sequence[str]]:
    rows = []
    if large := figures.get("large"):
        name = f"{large['calls']:,} calls: peak memory, MB"
        rows.append(_row(name, large["peak_mb"], most=MOST_MEMORY))
    if saves := figures.get("saves"):
        rows.append(_row("save while idle, 95th percentile, ms", saves["idle"]))
        rows.append(_row("save during a run, the same", saves["during"]))
        name = "save during a run over idle, 95th percentile"
        rows.append(_row(name, saves["during"] / saves["idle"], most=MOST_SAVE))
    return rows


def _row(
    name: str, value: float, least: float | None = None, most: float | None = None
) -> Sequence[str]:
    bar = f">= {least:g}" if least is not None else f"<= {most:g}" if most is not None else ""
    holds = (least is None or value >= least) and (most is None or value <= most)
    return name, f"{value:,.3g}", bar, ("holds" if holds else "MISSED") if bar else ""
