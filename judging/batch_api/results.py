"""Load a file of results, written by `vllm run-batch` or a provider's batch service.

Lines are matched with assignments by their custom id alone, in any order, and are treated like
replies of a server. A line with an error leaves its assignment open, unless the error is final,
such as a text that is too long, or is the assignment's own (`judging.batch_api.errors`). The whole
file is checked before anything is stored.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from django.db import IntegrityError, transaction

from annotation.answers.submission import LostLeaseError
from annotation.models import Assignment, Campaign
from datasets.console import Tick
from judging import manifest
from judging.answers.calls import Call, storable
from judging.answers.results import ANSWERED, FINAL, Failure, Result, find_stored_results, record
from judging.backends.base import Answer, BackendError, FinalError, Request
from judging.backends.completeness import with_whole_prompt
from judging.batch_api import requests
from judging.batch_api.errors import Errors, is_answered_before
from judging.batch_api.format import (
    DIGEST,
    Index,
    Line,
    ReadReply,
    build_index,
    detect_kind,
    open_file,
    read_reply_line,
)
from judging.batch_api.requests import build_preparer, check_writable
from judging.batch_api.runner import body_sha256
from judging.engine.worker import format_reasons
from judging.judge_backends import build_backend
from judging.models import ACTIVE, Judge, JudgeCall, JudgeRun
from judging.prompts.request import Prepared, Preparer
from judging.runs import lifecycle
from judging.runs.ledger import LEASED, OPEN
from judging.runs.lifecycle import refuse_lost_lease
from tandem.files.rows import InputError, Place
from tandem.verbs import verb_of

GROUP = 64
CHUNK = 500
CANCELLED = Assignment.Status.CANCELLED
State = JudgeRun.State
Outcome = Answer | Failure | None


@dataclass
class LoadedResults:
    """The counts of a file of results.

    `before` counts lines loaded earlier, `late` answers to assignments that were answered in
    another way meanwhile, and `missing` requests without a result so far.
    """

    run: JudgeRun
    done: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    before: int = 0
    late: int = 0
    missing: int = 0


def load_results(
    campaign: Campaign,
    judge: Judge,
    path: Path,
    tick: Tick = lambda done: None,
    runners: Sequence[Mapping[str, Any]] | None = None,
) -> LoadedResults:
    """Store the answers of a file. Loading the same file again stores nothing.

    The run ends only once each of its requests has an answer or an error. `runners` describe the
    processes that answered, if no server did: then each line must have the digest of its request,
    and the last line may be incomplete. Raises InputError before anything is stored if a
    line cannot be used, and LeasedRunError if another run of the judge is at work.
    """
    index = build_index(path, growing=runners is not None)
    run = _run_of(index, campaign, judge)
    _check_digests(run, index, are_owed=runners is not None)
    loaded = LoadedResults(run)
    if run.state not in ACTIVE and not _has_news(run, index):
        loaded.before, loaded.missing = len(index.lines), _count_missing(run)
        return loaded
    lease = _lease(run)
    try:
        _describe_runners(run, lease, runners or ())
        _store_all(loaded, lease, index, tick)
    except BaseException:
        _wait_for_rest(run, lease)
        raise
    loaded.missing = _count_missing(run)
    if loaded.missing:
        _wait_for_rest(run, lease)
    else:
        lifecycle.finish(run, lease, State.DONE)
        manifest.end(run)
    return loaded


def _run_of(index: Index, campaign: Campaign, judge: Judge) -> JudgeRun:
    """Return the run of a file of results. Raises InputError if a line has another assignment."""
    found = JudgeRun.objects.select_related("campaign__batch", "judge__rater", "judge__base__rater")
    run = found.filter(pk=index.run, campaign=campaign, judge=judge).first()
    if run is None or not run.manifest.get("batch"):
        wrong = f"its requests were not written for judge {judge} over {campaign}"
        raise InputError(Place(index.path.name), wrong, "give the right campaign and judge")
    rows = Assignment.objects.filter(item__campaign=campaign, rater=judge.rater_id)
    for chunk in _chunks(list(index.lines), CHUNK):
        known = set(rows.filter(uid__in=chunk).values_list("uid", flat=True))
        if strange := [uid for uid in chunk if uid not in known]:
            wrong = "the custom_id belongs to no assignment of this judge"
            raise InputError(index.place(strange[0]), wrong, "remove the line")
    return run


def _check_digests(run: JudgeRun, index: Index, are_owed: bool) -> None:
    """Check that the lines answer the requests that would be sent. Raises InputError."""
    if are_owed and (bare := [uid for uid in index.lines if uid not in index.digests]):
        remedy = "give the file that the folder's runner wrote"
        raise InputError(index.place(bare[0]), f"has no {DIGEST}", remedy)
    preparer = build_preparer(run.campaign, run.judge, build_backend(run.judge))
    sends = check_writable(preparer.backend)
    for chunk in _chunks(list(index.digests), CHUNK):
        rows = Assignment.objects.filter(uid__in=chunk).order_by("id")
        for row in rows.select_related("item__campaign", "item__query"):
            sent = body_sha256(sends.body(preparer.prepare(row).request))
            if index.digests[row.uid] != sent:
                wrong = "answers a request other than the one that Tandem would send"
                remedy = "remove the line, and start the runner in the folder that "
                remedy += f"{verb_of('run_judge')} wrote"
                raise InputError(index.place(row.uid), wrong, remedy)


def _describe_runners(
    run: JudgeRun, lease: uuid.UUID, runners: Sequence[Mapping[str, Any]]
) -> None:
    """Add the processes that answered to the manifest, unless it has them already."""
    run.refresh_from_db(fields=["manifest"])
    known = run.manifest["batch"].get("runners", [])
    if added := [each for each in map(storable, runners) if each not in known]:
        run.manifest["batch"]["runners"] = [*known, *added]
        JudgeRun.objects.filter(pk=run.pk, lease=lease).update(manifest=run.manifest)


def _has_news(run: JudgeRun, index: Index) -> bool:
    """Return whether a line has a result that was not loaded in this run before."""
    read_reply = check_writable(build_backend(run.judge)).read_reply
    with open_file(index.path) as file:
        for chunk in _chunks(list(index.lines), CHUNK):
            settled, returned = _returned_uids(run, chunk)
            for uid in chunk:
                if uid not in returned:
                    return True
                if uid in settled:
                    continue
                if _read_line(index.line(file, uid), read_reply)[1] is not None:
                    return True
    return False


def _returned_uids(
    run: JudgeRun, uids: Sequence[uuid.UUID]
) -> tuple[set[uuid.UUID], set[uuid.UUID]]:
    """Return the assignments with a result in this run, and those with any line in a file."""
    calls = JudgeCall.objects.filter(run=run, assignment__uid__in=uids)
    came = list(calls.values_list("assignment__uid", "state"))
    return {uid for uid, state in came if state in (ANSWERED, *FINAL)}, {uid for uid, _ in came}


def _count_missing(run: JudgeRun) -> int:
    returned = JudgeCall.objects.filter(run=run, reused_from=None)
    asked = int(run.manifest["batch"]["requests"])
    return max(0, asked - returned.values("assignment").distinct().count())


def _lease(run: JudgeRun) -> uuid.UUID:
    """Lease a run whose requests are out, or were given up. Raises LeasedRunError."""
    ended = JudgeRun.objects.filter(pk=run.pk).exclude(state__in=ACTIVE)
    try:
        with transaction.atomic():
            ended.update(state=State.QUEUED, wish=JudgeRun.Wish.NONE, error="", ended_at=None)
    except IntegrityError as error:
        raise lifecycle.LeasedRunError(f"another run of judge {run.judge} is at work") from error
    if (lease := lifecycle.lease_run(run)) is None:
        raise lifecycle.LeasedRunError(f"{run} of judge {run.judge} is at work")
    return lease


def _wait_for_rest(run: JudgeRun, lease: uuid.UUID) -> None:
    """Release the lease and let the run wait for its remaining answers."""
    with transaction.atomic():
        lifecycle.hand_over(run, lease)
        waiting = JudgeRun.objects.filter(pk=run.pk, lease=None, state=State.RUNNING)
        # Workers must not take the run, even if it was queued meanwhile.
        waiting.update(state=State.QUEUED, queued=False)


def _store_all(loaded: LoadedResults, lease: uuid.UUID, index: Index, tick: Tick) -> None:
    run, done = loaded.run, 0
    preparer = build_preparer(run.campaign, run.judge, build_backend(run.judge))
    read_reply = check_writable(preparer.backend).read_reply
    with open_file(index.path) as file:
        read = (_read_line(index.line(file, uid), read_reply) for uid in index.lines)
        others = any(isinstance(outcome, Answer) for _, outcome, _ in read)
        errors = Errors(others, is_answered_before(run))
        for uids in _in_ledger_order(index):
            if lifecycle.renew(run, lease) is None:
                raise LostLeaseError
            _Group(loaded, lease, preparer, errors, uids).store(index, file)
            done += len(uids)
            tick(done)


def _in_ledger_order(index: Index) -> Iterator[list[uuid.UUID]]:
    """Yield groups in the order of the ledger, so that an item's assignments stay together."""
    ids: dict[uuid.UUID, int] = {}
    for chunk in _chunks(list(index.lines), CHUNK):
        ids.update(Assignment.objects.filter(uid__in=chunk).values_list("uid", "pk"))
    return _chunks(sorted(ids, key=ids.__getitem__), GROUP)


class _Group:
    """Assignments whose results are stored together. The open ones are leased until then."""

    def __init__(
        self,
        loaded: LoadedResults,
        lease: uuid.UUID,
        preparer: Preparer,
        errors: Errors,
        uids: list[uuid.UUID],
    ) -> None:
        self.loaded, self.lease, self.preparer, self.errors = loaded, lease, preparer, errors
        self.read_reply = check_writable(preparer.backend).read_reply
        self.settled, self.returned = _returned_uids(loaded.run, uids)
        rows = Assignment.objects.filter(uid__in=uids)
        rows.filter(status__in=(OPEN, CANCELLED)).update(status=LEASED, lease=lease)
        self.rows = list(rows.select_related("item__campaign", "item__query").order_by("id"))

    def store(self, index: Index, file: BinaryIO) -> None:
        results = []
        for row in self.rows:
            result = self._result(self.preparer.prepare(row), index.line(file, row.uid))
            results += [result] if result else []
        run, preparer = self.loaded.run, self.preparer
        done, failures = run.done, Counter(run.failures)
        record(run, self.lease, preparer.schema, results)
        run.refresh_from_db(fields=["done", "failures"])
        self.loaded.done += run.done - done
        self.loaded.failures += Counter(run.failures) - failures
        Assignment.objects.filter(lease=self.lease, status=LEASED).update(status=OPEN, lease=None)

    def _result(self, prepared: Prepared, line: Line) -> Result | None:
        """Return the result to store for a line. None if it changes nothing."""
        row, loaded = prepared.assignment, self.loaded
        is_ours = row.lease == self.lease
        call, outcome, error = _read_line(line, self.read_reply, prepared.request)
        if row.uid in self.settled or (row.uid in self.returned and outcome is None):
            loaded.before += 1
            # If a process died before it stored the labels, only the call exists.
            paid = find_stored_results([prepared]) if is_ours and row.uid in self.settled else []
            return paid[0] if paid else None
        if error and is_ours and self.errors.is_own(row, error, call):
            outcome = Failure("error")
        if outcome is None:
            loaded.errors[call.state] += 1
        loaded.late += outcome is not None and not is_ours
        return Result(prepared, (call,), outcome if is_ours else None)


def _read_line(
    line: Line, read_reply: ReadReply, request: Request | None = None
) -> tuple[Call, Outcome, BackendError | None]:
    """Read a line as a call, and as the outcome of its assignment if it has one, or an error.

    With its request, an answer to a part of the prompt is a failure.
    """
    now = datetime.now(UTC)
    try:
        answer = read_reply_line(line, read_reply)
        answer = with_whole_prompt(request, answer) if request else answer
    except BackendError as error:
        own = getattr(error, "answer", None)
        call = Call(error.state, now, 0.0, error.message, error.status, error.body, own)
        if isinstance(error, FinalError):
            return call, Failure(error.reason), None
        return call, None, error
    return Call(ANSWERED, now, 0.0, status=answer.status, answer=answer), answer, None


def _chunks(uids: list[uuid.UUID], size: int) -> Iterator[list[uuid.UUID]]:
    return (uids[start : start + size] for start in range(0, len(uids), size))


NEXT_STEPS = (
    f"Send them to vllm run-batch or a batch service, and give the file of results to "
    f"{verb_of('run_judge')} with --batch-file."
)

LEFT_OUT = (
    f"requests during which workers died are not included; {verb_of('run_judge')} without "
    "--batch-file and --offline asks them one by one."
)
REST = "load their file too, or abandon them with --stop"


@refuse_lost_lease()
def exchange(
    campaign: Campaign,
    judge: Judge,
    path: Path,
    limit: int | None,
    reuse: str,
    tick: Tick = lambda done: None,
) -> str:
    """Write requests or load results, and return a line for people.

    Raises the errors of `requests.write` and `load_results`.
    """
    is_new = not path.exists()
    interrupted = requests.finish_interrupted(campaign, judge)
    if is_new:
        written = interrupted or requests.write(campaign, judge, path, limit, reuse, tick)
        return describe_written(written)
    kind, run = detect_kind(path)
    if kind == "results":
        return describe_loaded(path, load_results(campaign, judge, path, tick))
    ours = JudgeRun.objects.filter(campaign=campaign, judge=judge)
    found = ours.filter(pk=run).first() if run is not None else None
    if found is None or not found.manifest.get("batch"):
        return f"{path} contains requests, but not of judge {judge}'s batch; choose a new file."
    if found.state not in ACTIVE:
        return f"{path} has the requests of {found}, which is {found.state}; choose a new file."
    return f"{path} has the requests of {found}, which wait for results. {NEXT_STEPS}"


def describe_written(written: requests.BatchFiles, next_steps: str = NEXT_STEPS) -> str:
    run = written.run
    loaded = f"{written.known:,} had an answer already" if written.known else ""
    if not written.files:
        return (
            f"{str(run).capitalize()}: nothing is left to ask; {loaded or 'no assignment is open'}."
        )
    names = " and ".join(str(path) for path in written.files)
    extra = f" ({loaded})" if loaded else ""
    apart = f" {written.left_out:,} {LEFT_OUT}" if written.left_out else ""
    return f"Wrote {written.requests:,} requests of {run} to {names}{extra}. {next_steps}{apart}"


def describe_loaded(path: Path, loaded: LoadedResults, rest: str = REST) -> str:
    failed = loaded.failures.total()
    described = [f"{loaded.done:,} done, {failed:,} failed{format_reasons(loaded.failures)}"]
    errors = format_reasons(loaded.errors)
    counts: Mapping[str, int] = {
        f"came back with errors and stay open{errors}": loaded.errors.total(),
        "were loaded before": loaded.before,
        "were answered in another way meanwhile": loaded.late,
        f"have not come back: {rest}": loaded.missing,
    }
    described += [f"{count:,} {what}" for what, count in counts.items() if count]
    cut = manifest.cut_prompts_warning(loaded.run)
    line = f"{str(loaded.run).capitalize()}, from {path}: {'; '.join(described)}."
    return f"{line} {cut[0].upper()}{cut[1:]}." if cut else line
