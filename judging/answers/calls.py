"""Store each attempt as a call, and add up its tokens and cost for the run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import F

from annotation.models import Assignment
from datasets.db.prepared import InList, Parameter, PreparedInsert, PreparedUpdate
from judging.backends.base import Answer
from judging.costs import count_tokens, price_book_of
from judging.models import JudgeCall, JudgeRun
from tandem.grouping import grouped

MAX_REASONING = 64 * 1024
CHUNK = 100
Row = tuple[Any, ...]
Attempt = tuple[int, int, str, "Call"]


@dataclass(frozen=True)
class Call:
    """One attempt, as it will be stored. If `cost` is not set, it is computed from the usage.

    `request_hash` is set if the request sent was not the assignment's own. `reading` names the
    steps of the ladder by which the answer was read. `address` is the number of the address that
    was asked, from 0, if the judge has several.
    """

    state: str
    sent_at: datetime
    seconds: float
    detail: str = ""
    status: int | None = None
    body: str = ""
    answer: Answer | None = None
    repair: bool = False
    cost: Decimal | None = None
    reused_from: int | None = None
    request_hash: str = ""
    reading: str = ""
    address: int | None = None


@dataclass
class Tally:
    """The sums that a group of results adds to its run."""

    done: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    reused: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    thinking_tokens: int = 0
    cost: Decimal = Decimal(0)


def store_calls(run: JudgeRun, attempts: Sequence[Attempt]) -> Tally:
    """Insert attempts, count them on their assignments, and return the sums for the run."""
    rows = [_call_values(run, *attempt) for attempt in attempts]
    for start in range(0, len(rows), CHUNK):
        _calls.rows(rows[start : start + CHUNK])
    for count, assignments in _by_count(attempts).items():
        _count_attempts.run(rows=assignments, count=count)
    return _tally(attempts, rows)


def _by_count(attempts: Iterable[Attempt]) -> dict[int, list[int]]:
    """Group the assignments by their number of attempts."""
    counts = Counter(assignment for assignment, *_ in attempts)
    return grouped((times, assignment) for assignment, times in counts.items())


def _call_values(
    run: JudgeRun, assignment: int, attempt: int, request_hash: str, call: Call
) -> Row:
    answer = call.answer
    return (
        run.pk,
        assignment,
        attempt,
        request_hash,
        call.state,
        storable_text(call.detail)[:300],
        call.status,
        storable_text(answer.text) if answer else None,
        storable_text(answer.reasoning[:MAX_REASONING]) if answer else "",
        storable_text(call.body),
        storable_text(answer.finish_reason)[:40] if answer else "",
        storable(answer.usage) if answer else {},
        storable(answer.logprobs) if answer else None,
        storable_text(answer.model)[:200] if answer else "",
        _cost(run, call),
        call.repair,
        call.reused_from,
        call.reading,
        call.address,
        call.sent_at,
        call.seconds,
    )


COLUMNS = (
    "run_id",
    "assignment_id",
    "attempt",
    "request_hash",
    "state",
    "detail",
    "http_status",
    "completion",
    "reasoning",
    "body",
    "finish_reason",
    "usage",
    "logprobs",
    "model_returned",
    "cost",
    "repair",
    "reused_from_id",
    "reading",
    "address",
    "sent_at",
    "seconds",
)
COST = COLUMNS.index("cost")


def _cost(run: JudgeRun, call: Call) -> Decimal | None:
    """Return US dollars. None if nothing was used or the price is unknown."""
    if call.cost is not None or call.answer is None or not call.answer.usage:
        return call.cost
    # Cached on the run, since every group of results needs the same rates.
    if (book := vars(run).get("price_book")) is None:
        book = vars(run)["price_book"] = price_book_of(run)
    rates = book.on(call.sent_at.date())
    return rates.cost(call.answer.usage) if rates else None


def _tally(attempts: Iterable[Attempt], rows: Iterable[Row]) -> Tally:
    tally = Tally()
    for (*_, call), row in zip(attempts, rows, strict=True):
        if call.reused_from is not None:
            tally.reused += 1
            continue
        counts = count_tokens(call.answer.usage if call.answer else {})
        tally.calls += 1
        tally.prompt_tokens += counts.prompt_tokens
        tally.cached_tokens += counts.cached_tokens
        tally.completion_tokens += counts.completion_tokens
        tally.thinking_tokens += counts.thinking_tokens
        tally.cost += row[COST] or 0
    return tally


def storable_text(text: str) -> str:
    """Escape what no database stores in a text: NUL and lone surrogates."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def storable(value: Any) -> Any:
    """Apply `storable_text` to all texts in a JSON value."""
    # Most answers are many nested values without such characters, so look for their escapes first.
    encoded = json.dumps(value)
    return _storable(value) if "\\u0000" in encoded or "\\ud" in encoded else value


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, Mapping):
        return {storable_text(str(key)): _storable(each) for key, each in value.items()}
    return [_storable(each) for each in value] if isinstance(value, list) else value


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_count_attempts = PreparedUpdate(
    lambda: Assignment.objects.filter(InList("pk", "rows")),
    attempts=F("attempts") + Parameter("count"),
)
_calls = PreparedInsert(JudgeCall, COLUMNS)
