"""Taking in a file of results, written by `vllm run-batch` or a provider's batch service.

Lines are matched with rows by their custom id alone, in any order, and are treated like answers of
a server. A line with an error leaves its row open, unless the error is the row's own result, such
as a text that is too long. The whole file is checked before anything is stored.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from django.db import IntegrityError, transaction

from annotation.answers.submission import LostLeaseError
from annotation.models import Assignment, Campaign
from datasets.console import Tick
from datasets.rows import InputError, Place
from judging import manifest
from judging.answers.calls import Call
from judging.answers.results import ANSWERED, FINAL, Failure, Result, find_stored_results, record
from judging.backends.base import Answer, BackendError, FinalError
from judging.batch_api import requests
from judging.batch_api.format import Index, Line, index_of, kind_of, opened, reply_in
from judging.batch_api.requests import preparer_of
from judging.engine.worker import format_reasons
from judging.lanes import build_backend
from judging.models import ACTIVE, Judge, JudgeCall, JudgeRun
from judging.prompts.request import Prepared, Preparer
from judging.runs import lifecycle
from judging.runs.ledger import LEASED, OPEN
from judging.runs.lifecycle import LeasedRunError

GROUP = 64
CHUNK = 500
CANCELLED = Assignment.Status.CANCELLED
State = JudgeRun.State
Verdict = Answer | Failure | None


@dataclass
class Taken:
    """What a file of results came to.

    `before` had come back already, `late` are answers to rows that were answered otherwise since,
    `missing` are requests of the run that have not come back yet.
    """

    run: JudgeRun
    done: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    before: int = 0
    late: int = 0
    missing: int = 0


def take_in(campaign: Campaign, judge: Judge, path: Path, tick: Tick = lambda done: None) -> Taken:
    """Stores the answers of a file; a second time, nothing.

    The run ends only once each of its requests has an answer or an error. Raises InputError before
    anything is stored if a line cannot be used, and LeasedRunError if another run of the judge is
    at work.
    """
    index = index_of(path)
    run = _run_of(index, campaign, judge)
    taken = Taken(run)
    if run.state not in ACTIVE and not _anything_new(run, index):
        taken.before, taken.missing = len(index.lines), _missing(run)
        return taken
    lease = _lease(run)
    try:
        _store_all(taken, lease, index, tick)
    except BaseException:
        _leave_out(run, lease)
        raise
    taken.missing = _missing(run)
    if taken.missing:
        _leave_out(run, lease)
    else:
        lifecycle.finish(run, lease, State.DONE)
        manifest.end(run)
    return taken


def _run_of(index: Index, campaign: Campaign, judge: Judge) -> JudgeRun:
    """The run whose requests came back. Raises InputError where a line is of none of its rows."""
    found = JudgeRun.objects.select_related("campaign__batch", "judge__rater", "judge__base__rater")
    run = found.filter(pk=index.run, campaign=campaign, judge=judge).first()
    if run is None or not run.manifest.get("batch"):
        wrong = f"its requests were not written for judge {judge} over {campaign}"
        raise InputError(Place(index.path.name), wrong, "give the campaign and judge that they are")
    rows = Assignment.objects.filter(item__campaign=campaign, rater=judge.rater_id)
    for chunk in _chunks(list(index.lines), CHUNK):
        known = set(rows.filter(uid__in=chunk).values_list("uid", flat=True))
        if strange := [uid for uid in chunk if uid not in known]:
            wrong = "the custom_id is of no row of this judge"
            raise InputError(index.place(strange[0]), wrong, "leave the line out")
    return run


def _anything_new(run: JudgeRun, index: Index) -> bool:
    """Whether a line tells more of its row than came back in this run before."""
    with opened(index.path) as file:
        for chunk in _chunks(list(index.lines), CHUNK):
            settled, back = _back(run, chunk)
            for uid in chunk:
                if uid not in back:
                    return True
                if uid not in settled and _read(index.line(file, uid))[1] is not None:
                    return True
    return False


def _back(run: JudgeRun, uids: Sequence[uuid.UUID]) -> tuple[set[uuid.UUID], set[uuid.UUID]]:
    """Which of the rows came back in this run with a result, and which with anything."""
    calls = JudgeCall.objects.filter(run=run, assignment__uid__in=uids)
    came = list(calls.values_list("assignment__uid", "state"))
    return {uid for uid, state in came if state in (ANSWERED, *FINAL)}, {uid for uid, _ in came}


def _missing(run: JudgeRun) -> int:
    back = JudgeCall.objects.filter(run=run, reused_from=None)
    asked = int(run.manifest["batch"]["requests"])
    return max(0, asked - back.values("assignment").distinct().count())


def _lease(run: JudgeRun) -> uuid.UUID:
    """The lease of a run that is out, or that was given up. Raises runs.LeasedRunError."""
    ended = JudgeRun.objects.filter(pk=run.pk).exclude(state__in=ACTIVE)
    try:
        with transaction.atomic():
            ended.update(state=State.QUEUED, wish=JudgeRun.Wish.NONE, error="", ended_at=None)
    except IntegrityError as error:
        raise lifecycle.LeasedRunError(f"another run of judge {run.judge} is at work") from error
    if (lease := lifecycle.take(run)) is None:
        raise lifecycle.LeasedRunError(f"{run} of judge {run.judge} is at work")
    return lease


def _leave_out(run: JudgeRun, lease: uuid.UUID) -> None:
    """Gives the lease back; the run waits for the rest of its answers."""
    with transaction.atomic():
        lifecycle.hand_over(run, lease)
        waiting = JudgeRun.objects.filter(pk=run.pk, lease=None, state=State.RUNNING)
        # Workers have nothing to do with it, even where it was queued meanwhile.
        waiting.update(state=State.QUEUED, queued=False)


def _store_all(taken: Taken, lease: uuid.UUID, index: Index, tick: Tick) -> None:
    run, done = taken.run, 0
    preparer = preparer_of(run.campaign, run.judge, build_backend(run.judge))
    with opened(index.path) as file:
        for uids in _in_order(index):
            if lifecycle.renew(run, lease) is None:
                raise LostLeaseError
            _Group(taken, lease, preparer, uids).store(index, file)
            done += len(uids)
            tick(done)


def _in_order(index: Index) -> Iterator[list[uuid.UUID]]:
    """The rows in the order of the ledger, so that those of an item are prepared together."""
    ids: dict[uuid.UUID, int] = {}
    for chunk in _chunks(list(index.lines), CHUNK):
        ids.update(Assignment.objects.filter(uid__in=chunk).values_list("uid", "pk"))
    return _chunks(sorted(ids, key=ids.__getitem__), GROUP)


class _Group:
    """Some rows with what came back of them; those that are open are leased to us meanwhile."""

    def __init__(
        self, taken: Taken, lease: uuid.UUID, preparer: Preparer, uids: list[uuid.UUID]
    ) -> None:
        self.taken, self.lease, self.preparer = taken, lease, preparer
        self.settled, self.back = _back(taken.run, uids)
        rows = Assignment.objects.filter(uid__in=uids)
        rows.filter(status__in=(OPEN, CANCELLED)).update(status=LEASED, lease=lease)
        self.rows = list(rows.select_related("item__campaign", "item__query").order_by("id"))

    def store(self, index: Index, file: BinaryIO) -> None:
        results = []
        for row in self.rows:
            result = self._result(self.preparer.prepare(row), index.line(file, row.uid))
            results += [result] if result else []
        run, preparer = self.taken.run, self.preparer
        done, failures = run.done, Counter(run.failures)
        record(run, self.lease, preparer.schema, preparer.by_unit, results)
        run.refresh_from_db(fields=["done", "failures"])
        self.taken.done += run.done - done
        self.taken.failures += Counter(run.failures) - failures
        Assignment.objects.filter(lease=self.lease, status=LEASED).update(status=OPEN, lease=None)

    def _result(self, prepared: Prepared, line: Line) -> Result | None:
        """What is to be stored of a line; None where it changes nothing."""
        row, taken = prepared.assignment, self.taken
        is_ours = row.lease == self.lease
        call, verdict = _read(line)
        if row.uid in self.settled or (row.uid in self.back and verdict is None):
            taken.before += 1
            # A process that died before the labels were written has left the call alone.
            paid = find_stored_results([prepared]) if is_ours and row.uid in self.settled else []
            return paid[0] if paid else None
        if verdict is None:
            taken.errors[call.state] += 1
        taken.late += verdict is not None and not is_ours
        return Result(prepared, (call,), verdict if is_ours else None)


def _read(line: Line) -> tuple[Call, Verdict]:
    """A line as the call that it tells of, and its row's result, if it has one."""
    now = datetime.now(UTC)
    try:
        answer = reply_in(line)
    except BackendError as error:
        own = getattr(error, "answer", None)
        call = Call(error.state, now, 0.0, error.message, error.status, error.body, own)
        return call, Failure(error.reason) if isinstance(error, FinalError) else None
    return Call(ANSWERED, now, 0.0, status=answer.status, answer=answer), answer


def _chunks(uids: list[uuid.UUID], size: int) -> Iterator[list[uuid.UUID]]:
    return (uids[start : start + size] for start in range(0, len(uids), size))


NEXT = (
    "Have them answered by vllm run-batch or a batch service, and give the file of results to "
    "run_judge with --batch-file."
)

LEFT_OUT = (
    "rows that brought down the process that asked them stay out; run_judge without --batch-file "
    "asks them one by one."
)


def exchange(
    campaign: Campaign,
    judge: Judge,
    path: Path,
    limit: int | None,
    reuse: str,
    tick: Tick = lambda done: None,
) -> str:
    """Writes or takes in; a line for people. Raises what `requests.write` and `take_in` do."""
    try:
        return _exchanged(campaign, judge, path, limit, reuse, tick)
    except LostLeaseError as error:
        raise LeasedRunError("another process took the run over meanwhile; try again") from error


def _exchanged(
    campaign: Campaign, judge: Judge, path: Path, limit: int | None, reuse: str, tick: Tick
) -> str:
    is_new = not path.exists()
    went_on = requests.go_on(campaign, judge)
    if is_new:
        written = went_on or requests.write(campaign, judge, path, limit, reuse, tick)
        return _written(written)
    kind, run = kind_of(path)
    if kind == "results":
        return _taken(path, take_in(campaign, judge, path, tick))
    ours = JudgeRun.objects.filter(campaign=campaign, judge=judge)
    found = ours.filter(pk=run).first() if run is not None else None
    if found is None or not found.manifest.get("batch"):
        return f"{path} holds requests, but none that are out for judge {judge}; choose a new file."
    if found.state not in ACTIVE:
        return f"{path} holds the requests of {found}, which is {found.state}; choose a new file."
    return f"{path} holds the requests of {found}, which are out. {NEXT}"


def _written(written: requests.Written) -> str:
    run = written.run
    taken = f"{written.known:,} needed no asking" if written.known else ""
    if not written.files:
        return f"{str(run).capitalize()}: nothing is left to be asked; {taken or 'no row is open'}."
    names = " and ".join(str(path) for path in written.files)
    extra = f" ({taken})" if taken else ""
    apart = f" {written.left_out:,} {LEFT_OUT}" if written.left_out else ""
    return f"Written: {written.requests:,} requests of {run} to {names}{extra}. {NEXT}{apart}"


def _taken(path: Path, taken: Taken) -> str:
    failed = taken.failures.total()
    told = [f"{taken.done:,} done, {failed:,} failed{format_reasons(taken.failures)}"]
    counts: Mapping[str, int] = {
        f"came back with errors and stay open{format_reasons(taken.errors)}": taken.errors.total(),
        "had come before": taken.before,
        "were answered otherwise meanwhile": taken.late,
        "have not come back: give their file too, or give them up with --stop": taken.missing,
    }
    told += [f"{count:,} {what}" for what, count in counts.items() if count]
    return f"{str(taken.run).capitalize()}, from {path}: {'; '.join(told)}."
