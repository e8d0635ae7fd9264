"""A site as a notebook uses it: loading batches, and creating campaigns and judges."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tandem.client.connection import Connection
from tandem.client.progress import Callback, Progress
from tandem.client.resources import Batch, Campaign, Judge, every, find
from tandem.client.transport import SiteError, Transport
from tandem.types import JSON

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
