"""Writing a run's requests to files in OpenAI's batch format, one request in each line.

While a run's requests are out, its rows stay open, but no other run of the judge over the campaign
may begin. `JudgeRun.manifest["batch"]` names the files with their hashes.
`judging.batch_api.results` takes the answers in; `judging.runs.lifecycle.ask_to_stop` gives the
batch up.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
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
from judging.backends.base import Backend, Findings, Request, SetupError
from judging.batch_api.format import BatchError, Files, custom_id, unwritable
from judging.lanes import build_backend
from judging.models import Judge, JudgeRun
from judging.prompts.request import Prepared, Preparer
from judging.prompts.template import read_prompt
from judging.runs import ledger, lifecycle

CLAIMED = 256
URL = "/v1/chat/completions"


class EndedError(Exception):
    """Somebody wished the run to end while its requests were being written."""


@runtime_checkable
class Sends(Protocol):
    """What a backend has whose requests can be sent by others."""

    def body(self, request: Request) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Written:
    """The run whose requests are out, the files that hold them, and what needed no asking.

    `left_out` rows are in no file: workers died while they held them, so they are asked alone.
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
) -> Written:
    """Writes a request for each open row, whole or not at all, and leaves the run out.

    Above 50,000 requests or 200 MB there are further files beside the first, `F.2.jsonl` and so
    on. Raises BatchError, runs.LeasedRunError, runs.ChangedPromptError, SetupError.
    """
    backend = build_backend(judge)
    bodies_of(backend)
    preparer = preparer_of(campaign, judge, backend)
    run = lifecycle.start(campaign, judge, limit, reuse=reuse, offline=True)
    if (lease := lifecycle.take(run)) is None:
        raise lifecycle.LeasedRunError(f"another run of judge {judge} has just started")
    manifest.begin(run, backend, Findings())
    files = Files(path)
    try:
        _intend(run, lease, files)
        known = _fill(files, run, lease, preparer, tick)
        return _let_go(files, run, lease, known)
    except EndedError as ended:
        _give_up(files, run, lease, lifecycle.wished_state(run))
        wrong = f"{run} was ended while its requests were written, and none is out"
        raise BatchError(wrong) from ended
    except BaseException as error:
        why = f"{type(error).__name__}: {error}"[:500]
        _give_up(files, run, lease, JudgeRun.State.STOPPED, why)
        if isinstance(error, OSError):
            raise unwritable(path, error) from error
        raise


def go_on(campaign: Campaign, judge: Judge) -> Written | None:
    """Puts the files in their places that a process had written when it died, and the run out.

    None where there are none. What one left that died before is thrown away. Raises BatchError,
    runs.LeasedRunError.
    """
    run = lifecycle.active(campaign, judge).first()
    intent = run.manifest.get(lifecycle.INTENT) if run else None
    if run is None or not intent:
        return None
    if (lease := lifecycle.take(run)) is None:
        raise lifecycle.LeasedRunError(f"{run} of judge {judge} is at work")
    files = Files.intended(intent)
    try:
        if files.parts and files.go_on():
            return _out(files, run, lease, 0)
    except EndedError:
        _give_up(files, run, lease, lifecycle.wished_state(run))
        return None
    except BaseException:
        lifecycle.hand_over(run, lease)
        raise
    _give_up(files, run, lease, JudgeRun.State.INTERRUPTED)
    return None


def _give_up(files: Files, run: JudgeRun, lease: uuid.UUID, state: str, error: str = "") -> None:
    """Ends the run: nothing is out, and nothing is left of what was to be."""
    files.discard()
    run.refresh_from_db(fields=["manifest"])
    run.manifest.pop(lifecycle.INTENT, None)
    JudgeRun.objects.filter(pk=run.pk, lease=lease).update(manifest=run.manifest)
    lifecycle.finish(run, lease, state, error)


def bodies_of(backend: Backend) -> Sends:
    """The backend as one whose requests can be written. Raises SetupError."""
    if not isinstance(backend, Sends):
        raise SetupError("it asks no server, so there is nothing to write; leave --batch-file out")
    return backend


def preparer_of(campaign: Campaign, judge: Judge, backend: Backend) -> Preparer:
    return Preparer(campaign, judge, read_prompt(lifecycle.prompt_for(judge, campaign)), backend)


def _fill(files: Files, run: JudgeRun, lease: uuid.UUID, preparer: Preparer, tick: Tick) -> int:
    """Writes the requests of all open rows; the number that had an answer already."""
    known, left, sends = 0, run.limit, bodies_of(preparer.backend)
    while left is None or left > 0:
        if (orders := lifecycle.renew(run, lease)) is None:
            raise LostLeaseError
        if orders.wish:
            raise EndedError
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
    found = find_stored_results(prepared)
    paid = {result.prepared.assignment.pk for result in found}
    found += cache.reused_results(run, [p for p in prepared if p.assignment.pk not in paid])
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
    left_out = ledger.count_isolated(run.campaign, run.judge)
    if not files.requests:
        _give_up(files, run, lease, JudgeRun.State.DONE)
        manifest.end(run)
        return Written(run, (), 0, known, left_out)
    files.close()
    # Told before and after, so that whoever dies in between leaves what `go_on` can finish.
    _intend(run, lease, files)
    files.put_in_place()
    return _out(files, run, lease, known, left_out)


def _intend(run: JudgeRun, lease: uuid.UUID, files: Files) -> None:
    with _held(run, lease) as held:
        held.manifest[lifecycle.INTENT] = files.intent
        held.save(update_fields=["manifest"])


def _out(files: Files, run: JudgeRun, lease: uuid.UUID, known: int, left_out: int = 0) -> Written:
    told = [{"name": p.path.name, "sha256": p.sha256, "requests": p.requests} for p in files.parts]
    with _held(run, lease) as held:
        held.manifest["batch"] = {"files": told, "requests": files.requests}
        del held.manifest[lifecycle.INTENT]
        held.state, held.queued = JudgeRun.State.QUEUED, False
        held.save(update_fields=["manifest", "state", "queued"])
        lifecycle.hand_over(run, lease)
    run.refresh_from_db()
    paths = tuple(part.path for part in files.parts)
    return Written(run, paths, files.requests, known, left_out)


@contextmanager
def _held(run: JudgeRun, lease: uuid.UUID) -> Iterator[JudgeRun]:
    """The run, nobody else's meanwhile. Raises LostLeaseError, EndedError."""
    with transaction.atomic():
        held = JudgeRun.objects.select_for_update().filter(pk=run.pk, lease=lease).first()
        if held is None:
            raise LostLeaseError
        if held.wish:
            raise EndedError
        yield held
