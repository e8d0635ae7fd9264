"""Write a run's requests to files in OpenAI's batch format, one request per line.

While requests await their results, the run's assignments stay open, but no other run of the judge
over the campaign may start. `JudgeRun.manifest["batch"]` names the files with their hashes.
`judging.batch_api.results` loads the answers. `judging.runs.lifecycle.ask_to_stop` abandons the
batch.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from django.db import transaction

from annotation.answers.submission import LostLeaseError
from annotation.models import Assignment, Campaign
from datasets.console import Tick
from judging import manifest
from judging.answers import cache
from judging.answers.results import find_stored_results, record
from judging.backends.base import Answer, Backend, Findings, Request, SetupError
from judging.batch_api.format import DIGEST, BatchError, Files, cannot_write, custom_id
from judging.batch_api.runner import body_sha256
from judging.judge_backends import build_backend
from judging.models import Judge, JudgeRun
from judging.prompts.request import Prepared, Preparer
from judging.runs import ledger, lifecycle, prompts

CLAIM_SIZE = 256


class EndedError(Exception):
    """A person stopped the run while its requests were being written."""


@runtime_checkable
class WritesBodies(Protocol):
    """A backend whose requests can be written to files, for the path `batch_url` of a server.

    The path is empty if its protocol has no such files.
    """

    batch_url: str

    def body(self, request: Request) -> dict[str, Any]: ...

    def read_reply(self, status: int, headers: Mapping[str, str], raw: bytes) -> Answer:
        """Read the answer in a response. Raises BackendError."""
        ...


@dataclass(frozen=True)
class BatchFiles:
    """A run that awaits batch results, its files, and the number of answers already known.

    `left_out` counts assignments in no file: workers died while asking them, so they are asked
    alone.
    """

    run: JudgeRun
    files: tuple[Path, ...]
    requests: int
    known: int
    left_out: int = 0


def write(
    campaign: Campaign,
    judge: Judge,
    path: Path,
    limit: int | None = None,
    reuse: str = JudgeRun.Reuse.NEVER,
    tick: Tick = lambda done: None,
    offline: bool = False,
) -> BatchFiles:
    """Write a request for each open assignment, all of them or none.

    Above 50,000 requests or 200 MB further files follow, `F.2.jsonl` and so on. For a runner
    without a server (`offline`) there is one file, with the digest of each request. Raises
    BatchError, LeasedRunError, ChangedPromptError, SetupError.
    """
    backend = build_backend(judge)
    check_writable(backend)
    preparer = build_preparer(campaign, judge, backend)
    run = lifecycle.start(campaign, judge, limit, reuse=reuse, offline=True)
    if (lease := lifecycle.lease_run(run)) is None:
        raise lifecycle.LeasedRunError(f"another run of judge {judge} has just started")
    manifest.begin(run, backend, Findings())
    files = Files(path, offline=offline)
    try:
        _store_intent(run, lease, files)
        known = _fill(files, run, lease, preparer, tick)
        return _publish(files, run, lease, known)
    except EndedError as ended:
        _give_up(files, run, lease, lifecycle.wished_state(run))
        wrong = f"{run} was stopped while its requests were written, so no file was created"
        raise BatchError(wrong) from ended
    except BaseException as error:
        why = f"{type(error).__name__}: {error}"[:500]
        _give_up(files, run, lease, JudgeRun.State.STOPPED, why)
        if isinstance(error, OSError):
            raise cannot_write(path, error) from error
        raise


def finish_interrupted(campaign: Campaign, judge: Judge) -> BatchFiles | None:
    """Finish the batch of a process that died after it had written all files.

    Return None if there is none. Incomplete files are removed. Raises BatchError, LeasedRunError.
    """
    run = lifecycle.active_runs(campaign, judge).first()
    intent = run.manifest.get(lifecycle.INTENT) if run else None
    if run is None or not intent:
        return None
    if (lease := lifecycle.lease_run(run)) is None:
        raise lifecycle.LeasedRunError(f"{run} of judge {judge} is at work")
    files = Files.from_intent(intent)
    try:
        if files.parts and files.finish_interrupted():
            return _record_files(files, run, lease, 0)
    except EndedError:
        _give_up(files, run, lease, lifecycle.wished_state(run))
        return None
    except BaseException:
        lifecycle.hand_over(run, lease)
        raise
    _give_up(files, run, lease, JudgeRun.State.INTERRUPTED)
    return None


def _give_up(files: Files, run: JudgeRun, lease: uuid.UUID, state: str, error: str = "") -> None:
    """End the run and remove its files."""
    files.discard()
    run.refresh_from_db(fields=["manifest"])
    run.manifest.pop(lifecycle.INTENT, None)
    JudgeRun.objects.filter(pk=run.pk, lease=lease).update(manifest=run.manifest)
    lifecycle.finish(run, lease, state, error)


def check_writable(backend: Backend) -> WritesBodies:
    """Check that a backend's requests can be written to files. Raises SetupError."""
    if not isinstance(backend, WritesBodies):
        raise SetupError("it asks no server, so it has no requests; run it without files")
    if not backend.batch_url:
        raise SetupError(
            "its server does not read files in OpenAI's batch format; run it without files"
        )
    return backend


def build_preparer(campaign: Campaign, judge: Judge, backend: Backend) -> Preparer:
    return Preparer(campaign, judge, prompts.checked_prompt(judge, campaign), backend)


def _fill(files: Files, run: JudgeRun, lease: uuid.UUID, preparer: Preparer, tick: Tick) -> int:
    """Write the requests of all open assignments, and return how many had an answer already."""
    known, left, sends = 0, run.limit, check_writable(preparer.backend)
    while left is None or left > 0:
        if (orders := lifecycle.renew(run, lease)) is None:
            raise LostLeaseError
        if orders.wish:
            raise EndedError
        room = CLAIM_SIZE if left is None else min(CLAIM_SIZE, left)
        rows = ledger.claim(run.campaign, run.judge, lease, room)
        if not rows:
            break
        left = None if left is None else left - len(rows)
        asked, found = _split_answered(run, preparer.prepare_all(rows))
        record(run, lease, preparer.schema, found)
        known += len(found)
        files.add(_lines(run, asked, sends, files.offline))
        tick(files.requests + known)
    return known


def _split_answered(run: JudgeRun, prepared: list[Prepared]) -> tuple[list[Prepared], list[Any]]:
    """Split requests into those to ask and results of those already answered."""
    found = find_stored_results(prepared)
    paid = {result.prepared.assignment.pk for result in found}
    found += cache.reused_results(run, [p for p in prepared if p.assignment.pk not in paid])
    answered = {result.prepared.assignment.pk for result in found}
    return [p for p in prepared if p.assignment.pk not in answered], found


def _lines(
    run: JudgeRun, asked: Sequence[Prepared], sends: WritesBodies, digested: bool
) -> Iterator[bytes]:
    rows = Assignment.objects.filter(pk__in=[each.assignment.pk for each in asked])
    uids = dict(rows.values_list("pk", "uid"))
    for each in asked:
        name = custom_id(run.pk, uids[each.assignment.pk])
        body = sends.body(each.request)
        request = {"custom_id": name, "method": "POST", "url": sends.batch_url, "body": body}
        if digested:
            request[DIGEST] = body_sha256(body)
        yield json.dumps(request, ensure_ascii=False).encode() + b"\n"


def _publish(files: Files, run: JudgeRun, lease: uuid.UUID, known: int) -> BatchFiles:
    """Move the files into place and mark the run as waiting for results.

    A run without requests is done.
    """
    left_out = ledger.count_isolated(run.campaign, run.judge)
    if not files.requests:
        _give_up(files, run, lease, JudgeRun.State.DONE)
        manifest.end(run)
        return BatchFiles(run, (), 0, known, left_out)
    files.close()
    # Recorded before and after, so that `finish_interrupted` can complete it if this process dies.
    _store_intent(run, lease, files)
    files.move_into_place()
    return _record_files(files, run, lease, known, left_out)


def _store_intent(run: JudgeRun, lease: uuid.UUID, files: Files) -> None:
    with _lock_run(run, lease) as locked_run:
        locked_run.manifest[lifecycle.INTENT] = files.intent
        locked_run.save(update_fields=["manifest"])


def _record_files(
    files: Files, run: JudgeRun, lease: uuid.UUID, known: int, left_out: int = 0
) -> BatchFiles:
    described = [
        {"name": p.path.name, "sha256": p.sha256, "requests": p.requests} for p in files.parts
    ]
    batch = {"files": described, "requests": files.requests}
    if files.offline:
        batch["folder"] = files.first.absolute().parent.name
    with _lock_run(run, lease) as locked_run:
        locked_run.manifest["batch"] = batch
        del locked_run.manifest[lifecycle.INTENT]
        locked_run.state, locked_run.queued = JudgeRun.State.QUEUED, False
        locked_run.save(update_fields=["manifest", "state", "queued"])
        lifecycle.hand_over(run, lease)
    run.refresh_from_db()
    paths = tuple(part.path for part in files.parts)
    return BatchFiles(run, paths, files.requests, known, left_out)


@contextmanager
def _lock_run(run: JudgeRun, lease: uuid.UUID) -> Iterator[JudgeRun]:
    """Lock the run during the block. Raises LostLeaseError, EndedError."""
    with transaction.atomic():
        locked_run = JudgeRun.objects.select_for_update().filter(pk=run.pk, lease=lease).first()
        if locked_run is None:
            raise LostLeaseError
        if locked_run.wish:
            raise EndedError
        yield locked_run
