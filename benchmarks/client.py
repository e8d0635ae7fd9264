"""People at work over HTTP, in a separate process: `python -m benchmarks.client …`.

It prints one JSON object with the seconds of every save and of every next item.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.person import Person, WrittenSave, WrongPageError
from benchmarks.site import PATIENCE
from benchmarks.visit import first_visit

WARM_UP = 4


async def work(site: str, campaign: int, people: int, saves: int) -> dict[str, Any]:
    """Send `saves` answers in total from several people at once, after a few that do not count."""
    staff = [Person(site, campaign, number) for number in range(people)]
    try:
        for person in staff:
            await person.log_in()
        pages = [await person.first_page() for person in staff]
        each = max(1, saves // people)
        turns = zip(staff, pages, strict=True)
        await asyncio.gather(*(person.work(page, each, WARM_UP) for person, page in turns))
    finally:
        for person in staff:
            await person.session.close()
    timings = [asdict(person.timings) for person in staff]
    return {kind: [s for each in timings for s in each[kind]] for kind in ("save", "open")}


async def save_alone(
    site: str, campaign: int, people: int, sessions: Sequence[str]
) -> dict[str, list[float]]:
    """Save from many desks at once, without opening pages.

    Each answer comes from another account, whose item was opened before the first save, so that
    the same number of saves is under way all the time. The first of each desk do not count. The
    requests are written beforehand, so that sending them takes little of the site's processors.
    """
    waiting = []
    for number, session in enumerate(sessions):
        person = Person(site, campaign, number)
        try:
            await person.come_in(session)
            waiting.append(person.written_save(await person.first_page()))
        finally:
            await person.session.close()
    desks = Desks(site, waiting[::-1], uncounted=people * WARM_UP)
    began = time.perf_counter()
    with ThreadPoolExecutor(people) as threads:
        for done in [threads.submit(desks.save_all) for _ in range(people)]:
            done.result()
    whole = time.perf_counter() - began
    return {"save": desks.seconds, "per_second": [len(sessions) / whole]}


class Desks:
    """Desks that send saves from one pile, each over a connection that is kept alive."""

    def __init__(self, site: str, waiting: list[WrittenSave], uncounted: int) -> None:
        self._host, self._waiting = urlsplit(site).netloc, waiting
        self._counted = len(waiting) - uncounted
        self.seconds: list[float] = []

    def save_all(self) -> None:
        """Send saves from the pile until it is empty."""
        connection = HTTPConnection(self._host, timeout=PATIENCE)
        with contextlib.closing(connection):
            while True:
                try:
                    save = self._waiting.pop()
                except IndexError:
                    return
                counts = len(self._waiting) < self._counted
                began = time.perf_counter()
                connection.request("POST", save.address, save.body, save.headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 200:
                    raise WrongPageError(f"POST {save.address}: {answer.status} {text[:300]!r}")
                if counts:
                    self.seconds.append(time.perf_counter() - began)


async def visit(site: str, campaign: int) -> dict[str, Any]:
    person = Person(site, campaign, 0)
    try:
        await person.log_in()
        return await first_visit(person)
    finally:
        await person.session.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.client", description=__doc__)
    parser.add_argument("site")
    parser.add_argument("--campaign", type=int, required=True)
    parser.add_argument("--people", type=int, default=1)
    parser.add_argument("--saves", type=int, default=0, help="none: a first visit")
    parser.add_argument("--sessions", type=Path, help="a JSON list of session keys: saves alone")
    options = parser.parse_args()
    done: Coroutine[Any, Any, dict[str, Any]]
    if options.sessions:
        keys = json.loads(options.sessions.read_text("utf-8"))
        done = save_alone(options.site, options.campaign, options.people, keys)
    elif options.saves:
        done = work(options.site, options.campaign, options.people, options.saves)
    else:
        done = visit(options.site, options.campaign)
    print(json.dumps(asyncio.run(done)))


if __name__ == "__main__":
    main()
