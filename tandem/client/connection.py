"""A connection to a site: its lists, jobs and files, and the progress of what it does."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tandem.client.transport import SiteError, Transport
from tandem.types import JSON

WIDTH = 24
QUICKEST, SLOWEST, GROWTH = 0.5, 5.0, 1.3


@dataclass(frozen=True)
class Progress:
    """What is under way, how much of it is done, and a note such as the time left.

    `total` is 0 where it is unknown.
    """

    what: str
    done: int
    total: int
    note: str = ""

    def __str__(self) -> str:
        share = min(1.0, self.done / self.total) if self.total else 0.0
        bar = "█" * round(share * WIDTH) + "░" * (WIDTH - round(share * WIDTH))
        count = f" {self.done:,} of {self.total:,}" if self.total else ""
        return f"{self.what} {bar}{count}{f', {self.note}' if self.note else ''}"


Callback = Callable[[Progress], None]


class Line:
    """Writes progress over the same line of the standard error."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, progress: Progress) -> None:
        line = str(progress)
        if line != self._last:
            sys.stderr.write(f"\r{line.ljust(len(self._last))}")
            sys.stderr.flush()
        self._last = line

    def end(self) -> None:
        if self._last:
            sys.stderr.write("\n")
            sys.stderr.flush()
        self._last = ""


def is_watched() -> bool:
    """Return whether a person sees the standard error: in a terminal, or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Watch:
    """Repeats a question with growing pauses until it has an answer, and tells the progress."""

    def __init__(self, progress: bool | Callback, sleep: Callable[[float], None]) -> None:
        self._line = Line() if progress is True and is_watched() else None
        self._tell = self._line or (progress if callable(progress) else None)
        self._sleep = sleep
        self._pause = QUICKEST

    def tell(self, progress: Progress) -> None:
        if self._tell is not None:
            self._tell(progress)

    def pause(self, until: float | None = None) -> bool:
        """Wait a little longer than before. Return False if that would be after `until`."""
        if until is not None and time.monotonic() + self._pause > until:
            return False
        self._sleep(self._pause)
        self._pause = min(SLOWEST, self._pause * GROWTH)
        return True

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.end()


PAGE = 200


class Connection:
    """A site that is asked through `transport`; `progress` is as in `Client`."""

    def __init__(self, transport: Transport, progress: bool | Callback) -> None:
        self.transport, self._progress = transport, progress

    def watch(self) -> Watch:
        return Watch(self._progress, self.transport.sleep)

    def result(self, path: str, what: str, **query: Any) -> Any:
        """Return the answer of an address whose result a job may compute, after waiting for it."""
        answer = self.transport.get(path, **query)
        while answer.status == 202:
            answer = self.transport.get(self._job_result(answer.data, what))
        return answer.data

    def save(self, path: str, target: Path, what: str) -> Path:
        """Download a file that a job may write. A file of that name stays until it is whole."""
        part = target.with_name(f"{target.name}.part")
        try:
            with part.open("wb") as file:
                address = path
                while (answer := self.transport.download(address, file)) is not None:
                    address = self._job_result(answer.data, what)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target

    def _job_result(self, job: JSON, what: str) -> str:
        with self.watch() as watch:
            while job["state"] in ("waiting", "running"):
                watch.tell(of_job(what, job))
                watch.pause()
                job = self.transport.get(job["address"]).data
        if job["state"] != "done" or job["result"] is None:
            raise SiteError(what, None, job["error"] or f"the job is {job['state']}", job)
        return str(job["result"])

    def all(self, path: str, **query: Any) -> Iterator[JSON]:
        """Yield the entries of a list, from all its pages."""
        page = self.transport.get(path, page_size=PAGE, **query).data
        yield from page["results"]
        while page["next"]:
            page = self.transport.get(page["next"]).data
            yield from page["results"]


def of_job(what: str, job: JSON) -> Progress:
    return Progress(what, job["done"], job["total"], job["state"])
