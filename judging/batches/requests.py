"""Requests in a file, for a run that is made elsewhere: OpenAI's batch format, one request a line.

While a run's requests are out, its rows stay open, but no other run of the judge over the campaign
may begin: `JudgeRun.manifest["batch"]` names the files with their hashes. `judging.batches.results`
takes the answers in; `runs.ask_to_stop` gives the batch up.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

from django.db import transaction

from annotation.models import Assignment, Campaign
from annotation.submit import LostLeaseError
from datasets.console import Tick
from judging.answers import reusing
from judging.answers.results import record, stored_results
from judging.backends.base import Backend, Findings, Request, SetupError
from judging.batches.lines import custom_id
from judging.models import Judge, JudgeRun
from judging.prompting import read_prompt
from judging.prompts.preparing import Prepared, Preparer
from judging.rows import ledger, runs
from judging.rows.lanes import backend_of
from judging.running import manifests

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
CLAIMED = 256
URL = "/v1/chat/completions"


class BatchError(Exception):
    """A batch file that cannot be written: what is wrong, and what to do."""


@runtime_checkable
class Sends(Protocol):
    """What a backend has whose requests can be sent by others."""

    def body(self, request: Request) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Written:
    """The run whose requests are out, the files that hold them, and what needed no asking."""

    run: JudgeRun
    files: tuple[Path, ...]
    requests: int
    known: int


def write(
    campaign: Campaign,
    judge: Judge,
    path: Path,
    limit: int | None = None,
    reuse: str = JudgeRun.Reuse.NEVER,
    tick: Tick = lambda done: None,
) -> Written:
    """Writes a request for each open row, whole or not at all, and leaves the run out.

    Above 50,000 requests or 200 MB there are further files beside the first, `F.2.jsonl` and so
    on. Raises BatchError, runs.HeldError, runs.ChangedPromptError, SetupError.
    """
    backend = backend_of(judge)
    bodies_of(backend)
    preparer = preparer_of(campaign, judge, backend)
    run = runs.start(campaign, judge, limit, reuse=reuse)
    # Whoever answers the requests, it is not by this lane.
    run.lane = None
    run.save(update_fields=["lane"])
    if (lease := runs.take(run)) is None:
        raise runs.HeldError(f"another run of judge {judge} has just begun")
    manifests.begin(run, backend, Findings())
    files = Files(path)
    try:
        known = _fill(files, run, lease, preparer, tick)
        return _let_go(files, run, lease, known)
    except BaseException as error:
        files.discard()
        runs.finish(run, lease, JudgeRun.State.STOPPED, f"{type(error).__name__}: {error}"[:500])
        if isinstance(error, OSError):
            raise _unwritable(path, error) from error
        raise


def bodies_of(backend: Backend) -> Sends:
    """The backend as one whose requests can be written. Raises SetupError."""
    if not isinstance(backend, Sends):
        raise SetupError("it asks no server, so there is nothing to write; leave --batch-file out")
    return backend


def preparer_of(campaign: Campaign, judge: Judge, backend: Backend) -> Preparer:
    return Preparer(campaign, judge, read_prompt(runs.prompt_of(judge, campaign)), backend)


def _fill(files: Files, run: JudgeRun, lease: uuid.UUID, preparer: Preparer, tick: Tick) -> int:
    """Writes the requests of all open rows; the number that had an answer already."""
    known, left, sends = 0, run.limit, bodies_of(preparer.backend)
    while left is None or left > 0:
        if runs.renew(run, lease) is None:
            raise LostLeaseError
        room = CLAIMED if left is None else min(CLAIMED, left)
        rows = ledger.claim(run.campaign, run.judge, lease, room)
        if not rows:
            break
        left = None if left is None else left - len(rows)
        asked, found = _parted(run, preparer.prepare_all(rows))
        record(run, lease, preparer.schema, preparer.by_unit, found)
        known += len(found)
        files.add(_lines(run, asked, sends))
        tick(files.requests + known)
    return known


def _parted(run: JudgeRun, prepared: list[Prepared]) -> tuple[list[Prepared], list[Any]]:
    """What is to be asked, and results of what is not."""
    found = stored_results(prepared)
    paid = {result.prepared.assignment.pk for result in found}
    found += reusing.reused_results(run, [p for p in prepared if p.assignment.pk not in paid])
    answered = {result.prepared.assignment.pk for result in found}
    return [p for p in prepared if p.assignment.pk not in answered], found


def _lines(run: JudgeRun, asked: Sequence[Prepared], sends: Sends) -> Iterator[bytes]:
    rows = Assignment.objects.filter(pk__in=[each.assignment.pk for each in asked])
    uids = dict(rows.values_list("pk", "uid"))
    for each in asked:
        name = custom_id(run.pk, uids[each.assignment.pk])
        body = sends.body(each.request)
        request = {"custom_id": name, "method": "POST", "url": URL, "body": body}
        yield json.dumps(request, ensure_ascii=False).encode() + b"\n"


def _let_go(files: Files, run: JudgeRun, lease: uuid.UUID, known: int) -> Written:
    """Puts the files in their places and leaves the run out; one without requests is done."""
    if not files.requests:
        files.discard()
        runs.finish(run, lease, JudgeRun.State.DONE)
        manifests.end(run)
        return Written(run, (), 0, known)
    files.put_in_place()
    told = [{"name": p.path.name, "sha256": p.sha256, "requests": p.requests} for p in files.parts]
    with transaction.atomic():
        held = JudgeRun.objects.select_for_update().filter(pk=run.pk, lease=lease).first()
        if held is None:
            raise LostLeaseError
        held.manifest["batch"] = {"files": told, "requests": files.requests}
        held.state, held.queued = JudgeRun.State.QUEUED, False
        held.save(update_fields=["manifest", "state", "queued"])
        runs.hand_over(run, lease)
    run.refresh_from_db()
    return Written(run, tuple(p.path for p in files.parts), files.requests, known)


@dataclass
class Part:
    """One file, written beside its place first."""

    path: Path
    beside: Path
    file: BinaryIO
    requests: int = 0
    size: int = 0
    in_place: bool = False
    hash: Any = field(default_factory=hashlib.sha256)

    @property
    def sha256(self) -> str:
        return str(self.hash.hexdigest())

    def add(self, line: bytes) -> None:
        self.file.write(line)
        self.hash.update(line)
        self.requests += 1
        self.size += len(line)


class Files:
    """Requests in as many files as they need, none of which is in its place until all are whole."""

    def __init__(self, path: Path) -> None:
        self.first = path
        self.parts: list[Part] = []

    @property
    def requests(self) -> int:
        return sum(part.requests for part in self.parts)

    def add(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._part_for(line).add(line)

    def put_in_place(self) -> None:
        for part in self.parts:
            part.file.flush()
            os.fsync(part.file.fileno())
            part.file.close()
        for part in self.parts:
            part.beside.rename(part.path)
            part.in_place = True

    def discard(self) -> None:
        """Leaves nothing behind of what is not out."""
        for part in self.parts:
            part.file.close()
            with suppress(OSError):
                (part.path if part.in_place else part.beside).unlink(missing_ok=True)

    def _part_for(self, line: bytes) -> Part:
        last = self.parts[-1] if self.parts else None
        if last and last.requests < MOST_REQUESTS and last.size + len(line) <= MOST_BYTES:
            return last
        self.parts.append(_part(self._path(len(self.parts) + 1)))
        return self.parts[-1]

    def _path(self, number: int) -> Path:
        first = self.first
        return first if number == 1 else first.with_name(f"{first.stem}.{number}{first.suffix}")


def _part(path: Path) -> Part:
    if path.exists():
        raise BatchError(f"{path} is there already; move it away, or choose another file")
    beside = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}")
    try:
        return Part(path, beside, beside.open("xb"))
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> BatchError:
    why = (error.strerror or str(error)).lower()
    return BatchError(f"{path} cannot be written ({why}); choose another file")


def out_run(campaign: Campaign, judge: Judge) -> JudgeRun | None:
    """The run of this judge whose requests are out, if there is one."""
    found = runs.active(campaign, judge).first()
    return found if found and found.manifest.get("batch") else None


def names_of(run: JudgeRun) -> Iterator[str]:
    """The names of the files that hold a run's requests."""
    batch = run.manifest.get("batch") or {}
    return (str(each["name"]) for each in batch.get("files", ()))
