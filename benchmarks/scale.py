"""Pages of a campaign with a million items: the 95th percentile of each, over HTTP.

`python -m benchmarks --only scale [--items N] [--database …]`. The campaign is created inside the
database (`benchmarks.many_items`). One server runs as in production, and people come one after the
other, so that no time is spent in a queue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.person import Person
from benchmarks.processes import manage, python
from benchmarks.site import collect_files, production, site
from benchmarks.suite import Say, server_of, temporary_folder

Figures = dict[str, Any]
FULL, QUICK = 1_000_000, 2_000
PEOPLE = 12
ROUNDS, QUICK_ROUNDS = 8, 2
BAR = 300.0  # ms, the 95th percentile of every page
NEXT, SAVE, OPEN = "take the next item", "answer, and take the next", "an item's page"
READ = {
    "the campaigns": "/campaigns/",
    "a campaign": "/campaigns/{campaign}/",
    "its progress": "/campaigns/{campaign}/progress/",
    "its people": "/campaigns/{campaign}/people/",
    "its exports": "/campaigns/{campaign}/exports/",
}
"""What a researcher reads."""
WORK = {
    "a person's work": "/tasks/",
    "a person's progress in an item": "/tasks/{item}/progress/",
    "the page at the end": "/tasks/finished/{campaign}/",
}
"""The pages that an annotator reads besides the items."""


def run_scale(databases: Sequence[str], items: int, quick: bool, say: Say) -> dict[str, Figures]:
    return {name: measure_scale(name, items, quick, say) for name in databases}


def measure_scale(database: str, items: int, quick: bool, say: Say) -> Figures:
    """Measure one database, which is created for this and deleted."""
    with temporary_folder() as folder, server_of(database) as url:
        env = production(folder, url) | {"TANDEM_STATIC_DIR": str(collect_files(folder))}
        manage("migrate", "--verbosity", "0", env=env)
        say(f"{database}: a campaign with {items:,} items …")
        began = time.perf_counter()
        made = python("-m", "benchmarks.inside", "many", "c", items, PEOPLE, env=env).answer()
        figures = {"items": items, "making_seconds": time.perf_counter() - began}
        say(f"{database}: people at work …")
        rounds = QUICK_ROUNDS if quick else ROUNDS
        return figures | {"pages": _pages(folder, env, made["made"]["id"], rounds)}


def _pages(folder: Path, env: dict[str, str], campaign: int, rounds: int) -> dict[str, Figures]:
    with site(folder, env) as address:
        visit = _Visit(address, campaign, env)
        times = asyncio.run(visit.all(rounds))
    return {name: _spread(seconds) for name, seconds in times.items() if seconds}


class _Visit:
    """Rounds in which every person takes, opens and answers an item, and reads every page."""

    def __init__(self, address: str, campaign: int, env: Mapping[str, str]) -> None:
        self.address, self.campaign, self.env = address, campaign, env
        self.times: dict[str, list[float]] = {name: [] for name in (NEXT, OPEN, SAVE, *WORK, *READ)}

    async def all(self, rounds: int) -> dict[str, list[float]]:
        people = [Person(self.address, self.campaign, number) for number in range(PEOPLE + 1)]
        try:
            for person in people:
                await person.log_in()
            *staff, reader = people
            for turn in range(rounds + 1):
                await self._round(staff, reader, timed=turn > 0)
        finally:
            for person in people:
                await person.session.close()
        return self.times

    async def _round(self, staff: Sequence[Person], reader: Person, timed: bool) -> None:
        """Run a round. The first is not timed, since it includes imports and query planning."""
        before = {name: len(seconds) for name, seconds in self.times.items()}
        for person in staff:
            item = await self._take(person)
            page = await self._get(OPEN, person, item)
            following = await self._answer(person, page)
            for name, path in WORK.items():
                uid = following.rstrip("/").rpartition("/")[2]
                await self._get(name, person, path.format(campaign=self.campaign, item=uid))
            for name, path in READ.items():
                await self._get(name, reader, path.format(campaign=self.campaign))
        # A person with a lease would get the same slot again, so the leases end first.
        python("-m", "benchmarks.inside", "free", "c", env=self.env)
        if not timed:
            for name, seconds in self.times.items():
                del seconds[before[name] :]

    async def _take(self, person: Person) -> str:
        began = time.perf_counter()
        where = f"{self.address}/tasks/next/{self.campaign}/"
        async with person.session.post(
            where, headers=person.token(), allow_redirects=False
        ) as answer:
            await answer.read()
            self.times[NEXT].append(time.perf_counter() - began)
            return answer.headers["Location"]

    async def _answer(self, person: Person, page: str) -> str:
        began = time.perf_counter()
        following = await person.save(page)
        self.times[SAVE].append(time.perf_counter() - began)
        return following

    async def _get(self, name: str, person: Person, path: str) -> str:
        began = time.perf_counter()
        text = await person.text("GET", path)
        self.times[name].append(time.perf_counter() - began)
        return text


def _spread(seconds: Sequence[float]) -> Figures:
    milliseconds = [1000 * each for each in seconds]
    return {
        "n": len(seconds),
        "median": median(milliseconds),
        "p95": quantiles(milliseconds, n=20, method="inclusive")[-1],
        "worst": max(milliseconds),
    }


def lines(databases: Mapping[str, Figures]) -> str:
    """Return a line for each page of each database, with its bar."""
    head = ("", "milliseconds", "n", "median", "p95", "worst", "")
    table: list[tuple[str, ...]] = [head]
    for name, figures in databases.items():
        table += [_line(name, page, each) for page, each in figures["pages"].items()]
    widths = [max(len(row[n]) for row in table) for n in range(len(head))]
    rows = (
        "  ".join(
            cell.ljust(width) if n in (0, 1, 6) else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )
    made = (
        f"{name}: {each['items']:,} items made in {each['making_seconds']:.0f} s"
        for name, each in databases.items()
    )
    return "\n".join([*made, *rows])


def _line(database: str, page: str, figures: Figures) -> tuple[str, ...]:
    numbers = (f"{figures[name]:.0f}" for name in ("median", "p95", "worst"))
    verdict = "holds" if figures["p95"] <= BAR else "MISSED"
    return (database, page, str(figures["n"]), *numbers, f"{verdict}: at most {BAR:g} ms")
