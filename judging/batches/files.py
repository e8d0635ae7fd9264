"""What a file given to `--batch-file` is for, and what to tell of it.

Where there is no such file, requests are written to it; a file of results is taken in; for a file
of requests it is said what comes next.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from annotation.models import Campaign
from annotation.submit import LostLeaseError
from datasets.console import Tick
from judging.batches import requests
from judging.batches.lines import kind_of
from judging.batches.results import Taken, take_in
from judging.models import ACTIVE, Judge, JudgeRun
from judging.rows.runs import HeldError
from judging.running.summary import by_reason

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
        raise HeldError("another process took the run over meanwhile; try again") from error


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
    told = [f"{taken.done:,} done, {failed:,} failed{by_reason(taken.failures)}"]
    counts: Mapping[str, int] = {
        f"came back with errors and stay open{by_reason(taken.errors)}": taken.errors.total(),
        "had come before": taken.before,
        "were answered otherwise meanwhile": taken.late,
        "have not come back: give their file too, or give them up with --stop": taken.missing,
    }
    told += [f"{count:,} {what}" for what, count in counts.items() if count]
    return f"{str(taken.run).capitalize()}, from {path}: {'; '.join(told)}."
