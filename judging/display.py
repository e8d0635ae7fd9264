"""Display of runs and calls: a run's status in words, and foreign texts made safe to show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import Now

from annotation.prerequisites import ready_for_judges
from datasets.text import as_sentence
from judging import manifest
from judging.backends.logprobs import STORED_KEY
from judging.costs import with_last_cost
from judging.models import ACTIVE, JudgeCall, JudgeRun
from judging.runs import ledger, lifecycle
from judging.runs.grants import sharing_runs
from judging.runs.rests import describe_rest
from tandem.document import join_words
from tandem.verbs import verb_of

UNTAKEN_SECONDS = 10
RECENT_CALLS = 200
STALE_SECONDS = 120.0
LONGEST_SHOWN = 40_000
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ESCAPED = {chr(code): f"‹U+{code:04X}›" for code in _DIRECTIONS}
_CONTROLS = {chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_VISIBLE = str.maketrans(_ESCAPED | _CONTROLS | {"\x7f": "\u2421"})


@dataclass(frozen=True)
class RunStatus:
    """A run's status: a word, the colour of its sign, and a note with what to do."""

    word: str
    kind: str = ""
    note: str = ""
    paused: bool = False
    resting: bool = False
    """It can be asked before the server's time, although the server will probably refuse."""
    barren: bool = False
    """It ended early, and a new run can go on all the same."""
    untaken: bool = False
    """No worker took the run, so that it can be worked on beside the web server."""


@dataclass(frozen=True)
class Planning:
    """The progress of planning: requests are planned for `done` of the campaign's `items`."""

    done: int
    items: int


@dataclass(frozen=True)
class Progress:
    """A run in numbers. `rate` is in requests per second, `left` in seconds, if known.

    While `planning` is not None, there will be more requests than are counted.
    """

    run: JudgeRun
    status: RunStatus
    open: int
    closed: int
    cancelled: int
    rate: float | None
    left: float | None
    planning: Planning | None = None

    @property
    def total(self) -> int:
        return self.open + self.closed + self.cancelled

    @property
    def ended(self) -> bool:
        return self.run.state not in ACTIVE

    @property
    def failures(self) -> list[tuple[str, int]]:
        return sorted(self.run.failures.items(), key=lambda each: (-each[1], each[0]))

    @property
    def tokens(self) -> int:
        return self.run.prompt_tokens + self.run.completion_tokens


def with_clock(runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    """Annotate runs with their latest cost, and with the database's time as `now`."""
    related = runs.select_related("judge__rater", "campaign", "lane")
    return with_last_cost(related).annotate(now=Now())


def is_leased(run: Any) -> bool:
    """Return whether a worker leads a run that was loaded `with_clock`."""
    return run.lease is not None and bool(run.lease_until > run.now)


def describe_status(run: Any) -> RunStatus:
    """Return the status of a run that was loaded `with_clock`."""
    if run.state not in ACTIVE:
        return _ended(run)
    leased = is_leased(run)
    if run.wish:
        doing = "Stopping" if run.wish == JudgeRun.Wish.STOP else "Cancelling"
        return RunStatus(doing, "warn", "Calls in progress are finished first.")
    if run.lane is not None and run.lane.paused:
        return RunStatus("Paused", "no", run.lane.paused, paused=True)
    if not leased and run.rests_until is not None and run.rests_until > run.now:
        word = describe_rest(run.rests_until, run.now).capitalize()
        return RunStatus(word, "warn", as_sentence(run.error), resting=True)
    if leased:
        # The error of an active run describes the current problem with its server.
        return RunStatus("Running", "warn" if run.error else "plain", run.error or _sharing(run))
    return _describe_idle(run)


def _sharing(run: JudgeRun) -> str:
    others = [f"{other} of judge {other.judge}" for other in sharing_runs(run)]
    return f"It shares its server with {join_words(others)}." if others else ""


def _describe_idle(run: Any) -> RunStatus:
    if file := first_batch_file(run):
        words = (
            f"Its requests are in {file[0]}. Load the results with {verb_of('run_judge')} "
            f"{file[1]}, or stop the run to abandon them."
        )
        return RunStatus("Out", "warn", words)
    if not run.queued:
        words = "The command that worked on it has ended. Continue: what is answered stays."
        return RunStatus("Interrupted", "warn", words)
    since = run.lease_until or run.started_at
    if run.now - since < timedelta(seconds=UNTAKEN_SECONDS):
        return RunStatus("Queued", "other", "A worker will start it in a moment.")
    return RunStatus(
        "No worker",
        "no",
        f"No worker has started it for over {UNTAKEN_SECONDS} seconds. Run it here, beside the "
        "website, or start a worker with make worker, or celery -A config worker.",
        untaken=True,
    )


def first_batch_file(run: JudgeRun) -> tuple[str, str] | None:
    """Return the first batch file of a run's requests, and the option that loads its results."""
    batch = run.manifest.get("batch")
    return lifecycle.batch_place(batch) if batch else None


REST = "What is answered stays; continuing asks only for the rest."


def _ended(run: JudgeRun) -> RunStatus:
    if run.state == JudgeRun.State.DONE:
        return RunStatus("Done", "yes")
    if run.state == JudgeRun.State.CANCELLED:
        return RunStatus(
            "Cancelled", "", f"Open requests were closed, and continuing reopens them. {REST}"
        )
    if run.ended_early:
        return RunStatus("Ended early", "no", as_sentence(run.error), barren=True)
    word = "Stopped" if run.state == JudgeRun.State.STOPPED else "Interrupted"
    return RunStatus(word, "no" if run.error else "warn", run.error or REST)


def progress_of(run: Any) -> Progress:
    """Return the progress of a run that was loaded `with_clock`, in a few queries."""
    counts = ledger.count_by_status(run.campaign, run.judge)
    waiting = counts.get("open", 0) + counts.get("leased", 0)
    closed = counts.get("done", 0) + counts.get("failed", 0)
    rate = _rate(run) if run.state in ACTIVE else None
    ahead = waiting
    if run.limit is not None:
        ahead = min(waiting, max(0, run.limit - run.done - run.failed))
    left = ahead / rate if rate and run.state in ACTIVE else None
    cancelled = counts.get("cancelled", 0)
    status, planning = describe_status(run), planning_of(run)
    return Progress(run, status, waiting, closed, cancelled, rate, left, planning)


def planning_of(run: JudgeRun) -> Planning | None:
    """Return the planning progress of a queued run, until its worker has planned everything."""
    to_plan = run.queued and run.state in ACTIVE and run.judge.base_id is None
    if not to_plan or manifest.has_begun(run):
        return None
    ready = run.campaign.items.filter(ready_for_judges(run.campaign)).count()
    rows = ledger.assignments_of(run.campaign, run.judge)
    planned = rows.aggregate(items=Count("item", distinct=True))["items"]
    return Planning(planned, ready) if planned < ready else None


def _rate(run: Any) -> float | None:
    """Return requests per second over the newest calls. None if they are old or few."""
    rows = JudgeCall.objects.filter(run=run, reused_from=None).order_by("-id")
    recent = list(rows.values_list("sent_at", "seconds")[:RECENT_CALLS])
    ends = [sent + timedelta(seconds=seconds) for sent, seconds in recent]
    if len(ends) < 2 or (run.now - max(ends)).total_seconds() > STALE_SECONDS:
        return None
    span = (max(ends) - min(sent for sent, _ in recent)).total_seconds()
    return len(ends) / span if span > 0 else None


def make_displayable(text: str, longest: int = LONGEST_SHOWN) -> str:
    """Make a foreign text safe to display: control characters become visible symbols."""
    return text[:longest].replace("\r\n", "\n").translate(_VISIBLE)


def is_cut(text: str, longest: int = LONGEST_SHOWN) -> bool:
    return len(text) > longest


def seconds_in_words(seconds: float | None) -> str:
    """Format a duration with up to two units: 45 s, 12 min, 3 h 20 min."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def logprob_facts(logprobs: Any) -> dict[str, float | int] | None:
    """Return mean and minimum log probability of the stored tokens, and the number of tokens."""
    found = logprobs if isinstance(logprobs, Mapping) else {}
    tokens = found.get(STORED_KEY, found.get("content"))
    values = list(_logprobs(tokens))
    if not values:
        return None
    return {
        "stored": len(values),
        "tokens": found.get("tokens", len(values)),
        "mean": math.fsum(values) / len(values),
        "least": min(values),
    }


def _logprobs(tokens: Any) -> Iterator[float]:
    for token in tokens if isinstance(tokens, Sequence) else ():
        value = token.get("logprob") if isinstance(token, Mapping) else None
        if isinstance(value, int | float) and math.isfinite(value):
            yield float(value)
