"""The promise: whatever researchers ask for, and however slow some clients are, people can save.
Researchers do not starve for it.

Sixteen people save once a second each, first alone, and then while others ask for reports and
exports and slow connections stay open. These others also ask alone, before and after, beside one
person who saves: without new labels the last export would be sent again and again. Both bars are
ratios within one run: the 99th percentiles of a save and of `/health/live` are at most three times
those of the quiet site, and the others get at least half as many answers as when they are alone.

`python -m benchmarks.promise …` is the client, in a process of its own; it prints one JSON object.
With `--load` it is everybody else, in another process, as they are at other machines: a client that
reads their responses would be late to notice that a save is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from benchmarks.material import write_tasks
from benchmarks.person import Person
from benchmarks.processes import manage, python
from benchmarks.site import production, site
from benchmarks.suite import server_of, temporary_folder

Figures = dict[str, Any]
STUDY = "promise"
MOST_TIMES, LEAST_SHARE = 3.0, 0.5
PARTS = ("alone", "busy", "busy", "alone")
"""Whether people save while the others ask. In this order, a longer queue or a change of the
machine's speed counts for both."""
PROBE_SECONDS = 0.1
READY = b"ready\n"
SCRIPT = {"Accept": "application/json"}
"""Makes the site answer with the job's address where a person would see the page that waits."""
EXPORTS_PER_HOUR = 12
"""The site's limit for a person and a campaign."""
SHARE = 0.99


@dataclass(frozen=True)
class Size:
    """The numbers of clients of each kind, and the seconds that each kind of part takes in all."""

    people: int = 16
    reports: int = 20
    exports: int = 20
    slow: int = 50
    seconds: int = 60


FULL = Size()
QUICK = Size(people=2, reports=2, exports=2, slow=4, seconds=3)


def measure_promise(database: str, size: Size, static: Path) -> Figures:
    with temporary_folder() as folder, server_of(database) as url:
        env = production(folder, url) | {"TANDEM_STATIC_DIR": str(static)}
        env |= {"TANDEM_WITH_WORKERS": "1"}
        manage("migrate", "--verbosity", "0", env=env)
        # Each item is answered by one person beforehand, so that reports have much to compute.
        items = 2 * size.people * (size.seconds + 5)
        tasks = write_tasks(folder / "tasks.jsonl", items, 2, 4000)
        manage("load_batch", tasks, "--name", STUDY, env=env)
        made = python("-m", "benchmarks.inside", "campaign", STUDY, STUDY, 2, env=env).answer()
        python("-m", "benchmarks.inside", "people", STUDY, size.people, env=env)
        # Others export in each part, since the limit of exports is by the hour.
        researchers = size.reports + len(PARTS) * size.exports
        keys = {
            "people": _sessions(0, size.people, "annotator", env),
            "researchers": _sessions(1000, researchers, "admin", env),
        }
        (folder / "sessions.json").write_text(json.dumps(keys), "utf-8")
        with site(folder, env) as address:
            figures: Figures = python(
                "-m", __name__, address, made["made"]["id"], folder / "sessions.json",
                json.dumps(asdict(size)), env=env,
            ).answer()  # fmt: skip
        return figures


def _sessions(first: int, count: int, role: str, env: dict[str, str]) -> list[str]:
    cost = python("-m", "benchmarks.inside", "sessions", first, count, role, env=env)
    keys: list[str] = cost.answer()["made"]
    return keys


def lines(database: str, figures: Figures) -> str:
    rows = [f"{database}: 99th percentile", "                 quiet ms   busy ms  times"]
    for name, of in figures["p99"].items():
        kept = "kept" if of["times"] <= MOST_TIMES else "missed"
        rows.append(
            f"{name:14} {of['quiet']:9.1f} {of['busy']:9.1f} {of['times']:6.1f}  "
            f"at most {MOST_TIMES:g}: {kept}"
        )
    rows.append("                    alone      busy  share")
    for name, of in figures["answers"].items():
        kept = "kept" if of["share"] is not None and of["share"] >= LEAST_SHARE else "missed"
        rows.append(
            f"{name:14} {of['alone']:10} {of['busy']:9} {of['share'] or 0:6.2f}  "
            f"at least {LEAST_SHARE:g}: {kept}"
        )
    others = ", ".join(f"{n} {what}" for what, n in sorted(figures["others"].items()))
    return "\n".join([*rows, f"while people saved: {others}"])


class Client:
    """People who save, and their waiting times in seconds."""

    def __init__(self, address: str, campaign: int, size: Size) -> None:
        self.address, self.campaign, self.size = address, campaign, size
        self.waited: dict[str, list[float]] = {"save": [], "health/live": []}
        self.until = 0.0

    async def run(self, people: list[str], load: list[str]) -> Figures:
        """Save without other load; then run the command `load` with and without people who save."""
        waited: dict[str, list[float]] = {}
        others = {part: Counter[str]() for part in PARTS}
        async with AsyncExitStack() as stack:
            staff = [await come_in(stack, self.address, self.campaign, key) for key in people]
            pages = [await person.first_page() for person in staff]
            quiet = await self._save_for(self.size.seconds, staff, pages)
            for number, part in enumerate(PARTS):
                beside = await asyncio.create_subprocess_exec(
                    *load, "--load", str(number), stdout=asyncio.subprocess.PIPE
                )
                assert beside.stdout is not None
                assert await beside.stdout.readline() == READY
                saving = staff if part == "busy" else staff[:1]
                found = await self._save_for(part_seconds(self.size), saving, pages)
                if part == "busy":
                    for name, seconds in found.items():
                        waited.setdefault(name, []).extend(seconds)
                others[part].update(json.loads(await beside.stdout.read()))
                await beside.wait()
        return {
            "p99": {name: _compared(quiet[name], waited[name]) for name in quiet},
            "answers": compare_answers(others["alone"], others["busy"]),
            "others": others["busy"],
        }

    async def _save_for(
        self, seconds: float, staff: list[Person], pages: list[str]
    ) -> dict[str, list[float]]:
        self.until = time.monotonic() + seconds
        self.waited = {name: [] for name in self.waited}
        working = (self._work(n, staff, pages) for n in range(len(staff)))
        await asyncio.gather(self._probe(), *working)
        return self.waited

    async def _work(self, number: int, staff: list[Person], pages: list[str]) -> None:
        """Save once a second, and open the next item between two saves."""
        due = time.monotonic() + number / len(staff)
        while due < self.until:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            person = staff[number]
            following = await self._timed("save", lambda p=person: p.save(pages[number]))  # type: ignore[misc]
            pages[number] = await person.text("GET", following)
            due = max(due + 1, time.monotonic())

    async def _probe(self) -> None:
        async with aiohttp.ClientSession() as session:

            async def probe() -> None:
                async with session.get(f"{self.address}/health/live") as answer:
                    assert await answer.text() == "ok"

            while time.monotonic() < self.until:
                await self._timed("health/live", probe)
                await asyncio.sleep(PROBE_SECONDS)

    async def _timed(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        began = time.perf_counter()
        done = await work()
        self.waited[name].append(time.perf_counter() - began)
        return done


async def come_in(stack: AsyncExitStack, address: str, campaign: int, key: str) -> Person:
    person = Person(address, campaign, 0)
    stack.push_async_callback(person.session.close)
    await person.come_in(key)
    return person


def part_seconds(size: Size) -> float:
    return size.seconds / PARTS.count("busy")


def _compared(quiet: list[float], busy: list[float]) -> dict[str, float]:
    before, after = 1000 * _percentile(quiet), 1000 * _percentile(busy)
    return {"quiet": before, "busy": after, "times": after / before}


def compare_answers(alone: Counter[str], busy: Counter[str]) -> Figures:
    """Return, for reports and exports, how many were answered alone and beside people who save.

    A file counts when it is there, and not the page that waits for it. `share` is null if none was
    answered alone.
    """
    figures: Figures = {}
    for what in ("reports", "exports"):
        found = [answered[f"{what} (200)"] for answered in (alone, busy)]
        share = found[1] / found[0] if found[0] else None
        figures[what] = {"alone": found[0], "busy": found[1], "share": share}
    return figures


class Load:
    """Researchers who continuously request reports and exports, and slow connections."""

    def __init__(self, address: str, campaign: int, size: Size, part: int) -> None:
        self.address, self.campaign, self.size, self.part = address, campaign, size, part
        self.answered: Counter[str] = Counter()

    async def run(self, researchers: list[str]) -> Figures:
        async with AsyncExitStack() as stack:
            first = self.size.reports + self.part * self.size.exports
            here = [*researchers[: self.size.reports], *researchers[first:][: self.size.exports]]
            others = [await come_in(stack, self.address, self.campaign, key) for key in here]
            print(READY.decode(), end="", flush=True)
            reports, exports = others[: self.size.reports], others[self.size.reports :]
            asking = [
                *(self._ask_for_reports(n, each) for n, each in enumerate(reports)),
                *(self._ask_for_exports(each) for each in exports),
                *(self._be_slow() for _ in range(self.size.slow)),
            ]
            # Requests are answered in the order in which they arrive.
            Random(self.part).shuffle(asking)
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*asking), part_seconds(self.size))
        return dict(self.answered)

    async def _ask_for_reports(self, number: int, person: Person) -> None:
        """Reload the report with new options each time, so that it has to be computed."""
        for turn in range(10_000):
            seed = 1 + number + (turn * len(PARTS) + self.part) * self.size.reports
            await self._ask("report", person, f"/campaigns/{self.campaign}/results/?seed={seed}")

    async def _ask_for_exports(self, person: Person) -> None:
        """Ask for the labels as often as the limit allows, and wait for each file."""
        pause = part_seconds(self.size) / EXPORTS_PER_HOUR
        for _ in range(EXPORTS_PER_HOUR):
            due = time.monotonic() + pause
            path = f"/campaigns/{self.campaign}/exports/labels/jsonl/"
            while path:
                path = await self._ask("export", person, path)
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _ask(self, what: str, person: Person, path: str) -> str:
        """Count the answer. If it says to wait, wait, and return the address of the result."""
        async with person.session.get(self.address + path, headers=SCRIPT) as answer:
            body = await answer.read()
            self.answered[f"{what}s ({answer.status})"] += 1
            if answer.status == HTTPStatus.ACCEPTED:
                await asyncio.sleep(float(answer.headers["Retry-After"]))
                return str(json.loads(body)["result"])
            if answer.status != HTTPStatus.OK:
                await asyncio.sleep(1)
            return ""

    async def _be_slow(self) -> None:
        """Send a request by one letter a second."""
        where = urlsplit(self.address)
        while True:
            _, writer = await asyncio.open_connection(where.hostname, where.port)
            self.answered["slow connections"] += 1
            try:
                for letter in b"GET /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":
                    writer.write(bytes([letter]))
                    await writer.drain()
                    await asyncio.sleep(1)
            except OSError:
                continue
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()


def _percentile(seconds: list[float]) -> float:
    """Return the smallest value that a share of `SHARE` of the values does not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(SHARE * len(ordered)))]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.promise", description=__doc__)
    parser.add_argument("address")
    parser.add_argument("campaign", type=int)
    parser.add_argument("sessions", type=Path)
    parser.add_argument("size", type=json.loads)
    parser.add_argument("--load", type=int, metavar="PART", help="be everybody who does not save")
    options = parser.parse_args(arguments)
    keys = json.loads(options.sessions.read_text("utf-8"))
    site = (options.address, options.campaign, Size(**options.size))
    if options.load is not None:
        done = Load(*site, options.load).run(keys["researchers"])
    else:
        load = [sys.executable, "-m", "benchmarks.promise", *arguments]
        done = Client(*site).run(keys["people"], load)
    print(json.dumps(asyncio.run(done)))


if __name__ == "__main__":
    main(sys.argv[1:])
