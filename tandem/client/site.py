"""A site as a notebook uses it: its batches, campaigns, judges, runs, invitations and snapshots."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeVar

from tandem.client.transport import (
    Callback,
    Connection,
    Progress,
    SiteError,
    Transport,
    new_key,
    of_job,
)
from tandem.dataframes import Kind, check_kind, convert
from tandem.labels.frame import Frame
from tandem.labels.selection import ReportOptions
from tandem.labels.tables import Reading, Table, frame_of, lines_of
from tandem.results import Report
from tandem.similar import did_you_mean
from tandem.types import JSON

ENDED = ("done", "stopped", "interrupted", "cancelled")
MOST_LINKS = 3
"""How many invitations are tried until the answer with the link arrives."""
BUNDLES = ("all", "dataset")
"""The exports that are a ZIP archive of several files."""


class Resource:
    """An object of a site: `json` is the API's answer, and `LIST` the address of its kind."""

    LIST = ""

    def __init__(self, site: Connection, json: JSON) -> None:
        self.site, self.json = site, json

    @property
    def id(self) -> int:
        return int(self.json["id"])

    @property
    def name(self) -> str:
        return str(self.json["name"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Batch(Resource):
    """A batch of queries with reports and passages."""

    LIST = "batches/"

    @property
    def counts(self) -> dict[str, int]:
        return dict(self.json["counts"])


class Judge(Resource):
    """A judge of the site: a model with a prompt and parameters."""

    LIST = "judges/"


class Invitation(Resource):
    """An invitation. `link` works once; whoever has it can join, so no representation shows it."""

    @property
    def link(self) -> str:
        return str(self.json["link"])

    def revoke(self) -> None:
        self.site.transport.post(f"invitations/{self.id}/revoke/")

    def __repr__(self) -> str:
        return f"Invitation({self.id}, {self.json['state']})"


class Run(Resource):
    """A run of a judge over a campaign. `await run` waits without blocking a notebook."""

    @property
    def state(self) -> str:
        """One of queued, running, done, stopped, interrupted and cancelled."""
        return str(self.json["state"])

    @property
    def cost(self) -> float | None:
        """What it has cost in US dollars; None where that is unknown."""
        return None if self.json["cost"] is None else float(self.json["cost"])

    @property
    def tokens(self) -> int:
        """The tokens of prompts and completions so far."""
        return int(self.json["prompt_tokens"] + self.json["completion_tokens"])

    def refresh(self) -> Self:
        self.json = self.site.transport.get(f"runs/{self.id}/").data
        return self

    def wait(self, timeout: float | None = None) -> Self:
        """Wait until the run has ended, and return it. Raises TimeoutError after `timeout` seconds.

        A run ends early if it reaches its budget or somebody stops it; then `state` and
        `json["error"]` say so.
        """
        until = None if timeout is None else time.monotonic() + timeout
        with self.site.watch() as watch:
            while True:
                watch.tell(self._progress())
                if self.state in ENDED:
                    return self
                if not watch.pause(until):
                    raise TimeoutError(f"the run {self.id} is {self.state} after {timeout:g} s")
                self.refresh()

    def __await__(self) -> Generator[Any, None, Self]:
        return asyncio.to_thread(self.wait).__await__()

    def stop(self) -> Self:
        """End the run after the calls in progress; a new run takes it up again."""
        return self._order("stop")

    def cancel(self) -> Self:
        """End the run, and close what it has not asked."""
        return self._order("cancel")

    def _order(self, order: str) -> Self:
        self.json = self.site.transport.post(f"runs/{self.id}/order/", {"order": order}).data
        return self

    def _progress(self) -> Progress:
        found = self.json["progress"]
        left, notes = found["seconds_left"], [found["word"].lower()]
        if self.state not in ENDED and left is not None:
            notes.append(f"about {left:.0f} s left")
        notes.append(f"{self.tokens:,} tokens")
        if self.cost is not None:
            notes.append(f"${self.cost:.2f}")
        done = self.json["done"] + self.json["failed"]
        total = done + found["open"]
        limit = self.json["limit"]
        total = total if limit is None else min(total, limit)
        return Progress(str(self.json["judge_name"]), done, total, ", ".join(notes))

    def __repr__(self) -> str:
        said = f", {self.json['error']!r}" if self.json["error"] else ""
        counts = f"{self.json['done']} done, {self.json['failed']} failed"
        return f"Run({self.id}, {self.json['judge_name']!r}, {self.state}, {counts}{said})"


class Snapshot(Resource):
    """A frozen report, which never changes. `sha256` is the digest of its JSON."""

    @property
    def key(self) -> str:
        return str(self.json["key"])

    @property
    def sha256(self) -> str:
        return str(self.json["sha256"])

    def save(self, path: str | Path) -> Path:
        """Write the frozen JSON, byte for byte."""
        return self.site.save(f"reports/{self.key}/", Path(path), "Snapshot")

    def __repr__(self) -> str:
        return f"Snapshot({self.key!r})"


class Campaign(Resource):
    """A campaign: people and judges answer the same items under one protocol."""

    LIST = "campaigns/"

    @property
    def path(self) -> str:
        return f"campaigns/{self.id}/"

    def refresh(self) -> Self:
        self.json = self.site.transport.get(self.path).data
        return self

    def progress(self) -> JSON:
        """Return who has answered how much."""
        return dict(self.site.transport.get(f"{self.path}progress/").data)

    def change(self, **settings: Any) -> Self:
        """Change settings, such as `is_open=False`: the fields of `POST campaigns/ID/terms/`."""
        self.json = self.site.transport.post(f"{self.path}terms/", settings).data
        return self

    def invite(self, note: str = "", **more: Any) -> Invitation:
        """Invite a person, by a link that works once. The site stores only the link's digest.

        If the answer with the link is lost, the invitation is revoked and another one created.
        `more` are the fields of `POST invitations/`, such as `campaign_role="adjudicator"`.
        """
        body = {"campaign": self.id, "note": note, **more}
        for _ in range(MOST_LINKS):
            made = Invitation(self.site, self.site.transport.post("invitations/", body).data)
            if made.json["link"]:
                return made
            made.revoke()
        raise SiteError("invite", None, "the answer with the link was lost each time", {})

    def import_labels(self, table: Table, **options: Any) -> JSON:
        """Import labels from elsewhere, all or nothing: any table that `tandem.report` takes.

        Importing the same labels again changes nothing. `options` are the fields of `POST
        campaigns/ID/imports/`, such as `rater="crowd"`. Returns the numbers of imported labels.
        """
        lines = [json.loads(line) for line in lines_of(table)]
        found: JSON = self.site.transport.post(
            f"{self.path}imports/", {"labels": lines, **options}
        ).data
        return found

    def estimate(self, judge: Judge | str, **limits: Any) -> JSON:
        """Return how many requests a run would send, and what it would cost. Nothing is sent."""
        path, query = f"judges/{self._judge(judge).id}/estimate/", {"campaign": self.id, **limits}
        return dict(self.site.result(path, "Estimate", **query))

    def run(
        self,
        judge: Judge | str,
        *,
        limit: int | None = None,
        most_tokens: int | None = None,
        most_cost: float | None = None,
        concurrency: int | None = None,
        workers: int | None = None,
        reuse: str = "never",
    ) -> Run:
        """Start a judge over everything that it has no result for. A worker of the site runs it.

        The budget is `limit` requests, `most_tokens` tokens, and `most_cost` US dollars, which
        applies only if the model's price is known. Up to `workers` processes work on it at once.
        An active run is returned as it is.
        """
        cost = None if most_cost is None else f"{most_cost:.6f}"
        order = {
            "judge": self._judge(judge).id,
            "campaign": self.id,
            "limit": limit,
            "most_tokens": most_tokens,
            "most_cost": cost,
            "concurrency": concurrency,
            "workers": workers,
            "reuse": reuse,
        }
        return Run(self.site, self.site.transport.post("runs/", order).data)

    def _judge(self, judge: Judge | str) -> Judge:
        return find(self.site, Judge, judge) if isinstance(judge, str) else judge

    def export(self, what: str, path: str | Path) -> Path:
        """Download an export, in the form of the file's suffix: `export("labels", "l.parquet")`.

        `dataset` (Parquet and a card) and `all` are ZIP archives, with a manifest of SHA-256
        digests. `exports` lists all. Raises SiteError if there is no such export.
        """
        target = Path(path)
        form = target.suffix.removeprefix(".")
        if what in BUNDLES and form == "zip":
            form = self.exports()[what][0]
        return self.site.save(f"{self.path}exports/{what}/{form}/", target, f"Export of {what}")

    def exports(self) -> dict[str, list[str]]:
        """Return the exports of the campaign, each with its forms."""
        rows = self.site.transport.get(f"{self.path}exports/").data["results"]
        return {each["what"]: list(each["files"]) for each in rows}

    def labels(self, kind: Kind | None = None) -> Any:
        """Return all current labels, and missing ones with their reasons, as a frame.

        The frame is of pandas if that is installed, else of pyarrow; `kind` chooses `pandas`,
        `polars` or `arrow`. It comes as a Parquet file, so the labels are never in memory as text.
        """
        import pyarrow.parquet as pq

        kind = check_kind(kind)
        with TemporaryDirectory() as folder:
            return convert(pq.read_table(self._labels_in(folder)), kind)

    def _labels_in(self, folder: str) -> Path:
        return self.export("labels", Path(folder, "labels.parquet"))

    def report(self, **options: Any) -> Report:
        """Return the site's report, as `tandem.report` does of a table, with the same options.

        `options` are those of the report's page, such as `epsilon=0.15` and `judge=["small"]`.
        """
        found = self.site.result(f"{self.path}report/", f"Report of {self.name}", **options)
        chosen = ReportOptions.of_report(found)

        def labels() -> Frame:
            with TemporaryDirectory() as folder:
                return frame_of(self._labels_in(folder), Reading.of(), chosen)[0]

        return Report({"hints": [], **found}, labels, chosen)

    def freeze(self, report: Report | None = None, **options: Any) -> Snapshot:
        """Store a report for good, under an address of its own.

        It is the given report, or the current one with these options. Raises SiteError (409) if the
        labels have changed since.
        """
        if report is None:
            inputs = self.report(**options).json["inputs"]
        else:
            inputs, options = report.json["inputs"], report.options.as_parameters()
        body, key = {"campaign": self.id, "inputs": inputs["sha256"], **options}, new_key()
        with self.site.watch() as watch:
            while (answer := self.site.transport.post("reports/", body, key)).status == 202:
                watch.tell(of_job("Snapshot", answer.data))
                watch.pause()
        return Snapshot(self.site, answer.data)


Named = TypeVar("Named", bound=Resource)


def every(site: Connection, kind: type[Named]) -> list[Named]:
    """Return all objects of a kind that the account may see."""
    return [kind(site, each) for each in site.all(kind.LIST)]


def find(site: Connection, kind: type[Named], name: str) -> Named:
    """Return the object of this name. Raises KeyError, which names the nearest ones."""
    found = every(site, kind)
    for each in found:
        if each.name == name:
            return each
    names = [each.name for each in found]
    hint = did_you_mean(name, names, f"there are {', '.join(names) or 'none'}")
    raise KeyError(f"there is no {kind.__name__.lower()} {name!r} that you may see; {hint}")


Files = str | Path | Sequence[str | Path]
AT_WORK = ("reading", "keeping")


class Client(Connection):
    """A site, over its API, with the rights of a token.

    `url` and `token` default to the variables TANDEM_SITE and TANDEM_TOKEN. `progress` is a
    function that gets a `Progress`, or whether to write one line in a terminal or a notebook.
    `timeout` is the most seconds for one answer, and `patience` the most seconds to try again after
    a lost connection or a refusal for now. Nothing is done twice by a repetition. Methods raise
    SiteError.
    """

    def __init__(
        self,
        url: str = "",
        token: str = "",
        *,
        progress: bool | Callback = True,
        timeout: float = 60,
        patience: float = 180,
    ) -> None:
        url, token = (
            given or os.environ.get(name, "")
            for given, name in ((url, "TANDEM_SITE"), (token, "TANDEM_TOKEN"))
        )
        if not url or not token:
            raise ValueError(
                "give the site's address and a token, or set TANDEM_SITE and TANDEM_TOKEN; "
                "`tandem token create NAME` and the page of your tokens create one"
            )
        super().__init__(Transport(url, token, timeout, patience), progress)

    @property
    def url(self) -> str:
        return self.transport.url

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def whoami(self) -> JSON:
        """Return the account's name and role, and the scopes of the token."""
        found: JSON = self.transport.get("").data
        return {name: found[name] for name in ("account", "role", "scopes")}

    def batches(self) -> list[Batch]:
        return every(self, Batch)

    def batch(self, name: str) -> Batch:
        """Return the batch of this name. Raises KeyError."""
        return find(self, Batch, name)

    def campaigns(self) -> list[Campaign]:
        return every(self, Campaign)

    def campaign(self, name: str) -> Campaign:
        """Return the campaign of this name. Raises KeyError."""
        return find(self, Campaign, name)

    def judges(self) -> list[Judge]:
        return every(self, Judge)

    def judge(self, name: str) -> Judge:
        """Return the judge of this name. Raises KeyError."""
        return find(self, Judge, name)

    def load_batch(
        self, name: str, files: Files | Iterable[JSON], *, format: str = "", team: str = ""
    ) -> Batch:
        """Load files as a batch, or queries as mappings, all or nothing.

        A batch of this name with the same content is returned as it is. Raises SiteError with the
        line and the mend if a file is refused.
        """
        with TemporaryDirectory() as folder:
            paths = _paths(files, Path(folder, "batch.jsonl"))
            given = {"name": name, "format": format, "team": team}
            fields = {field: value for field, value in given.items() if value}
            upload: JSON = self.transport.upload("uploads/", fields, paths).data
        upload = self._settled(upload, f"Reading {name}")
        if name in upload["preview"]["same_as"]:
            self.transport.post(f"uploads/{upload['key']}/discard/")
            return self.batch(name)
        try:
            decision = {"digest": upload["preview"]["digest"], "name": name}
            upload = self.transport.post(f"uploads/{upload['key']}/keep/", decision).data
        except SiteError:
            # At most three uploads may wait for a decision.
            self.transport.post(f"uploads/{upload['key']}/discard/")
            raise
        upload = self._settled(upload, f"Loading {name}")
        return Batch(self, self.transport.get(f"batches/{upload['batch']}/").data)

    def _settled(self, upload: JSON, what: str) -> JSON:
        with self.watch() as watch:
            while upload["state"] in AT_WORK:
                watch.tell(Progress(what, upload["queries_read"] or 0, 0))
                watch.pause()
                upload = self.transport.get(f"uploads/{upload['key']}/").data
        if upload["state"] not in ("ready", "kept"):
            raise SiteError("load_batch", None, upload["error"] or upload["state"], upload)
        return upload

    def create_campaign(
        self, name: str, protocol: str, batch: Batch | str, **settings: Any
    ) -> Campaign:
        """Create a campaign over a batch. The same campaign again is returned as it is.

        `settings` are the fields of `POST campaigns/`, such as `raters_per_item=2`,
        `deadline="2030-12-31"` and `options={"seed": 7}`. The site refuses others by name.
        """
        body = {"name": name, "protocol": protocol, "batch": getattr(batch, "name", batch)}
        return Campaign(self, self.transport.post("campaigns/", {**body, **settings}).data)

    def create_judge(self, name: str, backend: str, **definition: Any) -> Judge:
        """Create a judge. `definition` are the fields of `POST judges/`, such as `model`."""
        body = {"name": name, "backend": backend, **definition}
        return Judge(self, self.transport.post("judges/", body).data)


def _paths(files: Files | Iterable[JSON], written: Path) -> list[Path]:
    """Return files, or the file into which queries were written."""
    if isinstance(files, str | Path):
        return [Path(files)]
    found = list(files)
    if all(isinstance(each, str | Path) for each in found):
        return [Path(each) for each in found if isinstance(each, str | Path)]
    with written.open("w", encoding="utf-8") as file:
        for query in found:
            if not isinstance(query, Mapping):
                raise TypeError(f"a query is {type(query).__name__}; give mappings, or paths")
            file.write(json.dumps(query, ensure_ascii=False) + "\n")
    return [written]
