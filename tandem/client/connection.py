"""A connection to a site: what its lists, its jobs and its files have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tandem.client.progress import Callback, Progress, Watch
from tandem.client.transport import SiteError, Transport
from tandem.types import JSON

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
