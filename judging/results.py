"""Writing down what calls brought: first the calls, then the answers, a group at a time."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from annotation.doors import Payload, from_judge
from annotation.models import Assignment
from annotation.protocols.checking import RefusedError
from annotation.protocols.schema import Schema
from annotation.submit import Circumstances, LostLeaseError, fail, submit
from judging.backends.base import Answer, Reason
from judging.models import JudgeCall, JudgeRun
from judging.preparing import Prepared

ANSWERED = "answered"
FINAL: tuple[Reason, ...] = ("unreadable", "refused", "truncated", "filtered", "too-long")
MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True)
class Call:
    """One attempt, as it will be stored."""

    state: str
    sent_at: datetime
    seconds: float
    detail: str = ""
    status: int | None = None
    body: str = ""
    answer: Answer | None = None


@dataclass(frozen=True)
class Failure:
    """A result without labels."""

    reason: Reason


@dataclass(frozen=True)
class Result:
    """What became of a row: its new calls, and an answer or a reason. With neither it stays."""

    prepared: Prepared
    calls: Sequence[Call] = ()
    verdict: Answer | Failure | None = None
    seconds: float | None = None


@dataclass
class Tally:
    """What a group of results adds to its run."""

    done: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def record(
    run: JudgeRun, lease: uuid.UUID, schema: Schema, by_unit: bool, results: Sequence[Result]
) -> int:
    """Stores calls and answers; the number of rows that were closed. Raises LostLeaseError.

    The calls are kept even where the lease is lost: they were made, and paid.
    """
    _store_calls(run, results)
    tally = _counted_calls(results)
    with transaction.atomic():
        held = JudgeRun.objects.select_for_update().filter(pk=run.pk, lease=lease).first()
        if held is None:
            raise LostLeaseError
        for result in results:
            if result.verdict is not None:
                _settle(result, lease, schema, by_unit, tally)
        _add(held, tally)
    return tally.done + tally.failures.total()


def _settle(result: Result, lease: uuid.UUID, schema: Schema, by_unit: bool, tally: Tally) -> None:
    assignment, verdict = result.prepared.assignment, result.verdict
    reason = verdict.reason if isinstance(verdict, Failure) else "unreadable"
    if isinstance(verdict, Answer):
        try:
            submit(
                assignment,
                _payload(result.prepared, verdict.text, by_unit),
                "judge",
                Circumstances(lease=lease, seconds=result.seconds),
                spec=result.prepared.spec,
                asked_schema=schema,
            )
        except RefusedError:
            pass
        else:
            tally.done += 1
            return
    fail(assignment, reason, lease)
    tally.failures[reason] += 1


def _payload(prepared: Prepared, text: str, by_unit: bool) -> Payload:
    """The payload of a completion, under the units' real names."""
    payload = from_judge(text, prepared.units, by_unit)
    names = prepared.names
    payload["units"] = {names.get(name, name): each for name, each in payload["units"].items()}
    return payload


def _store_calls(run: JudgeRun, results: Sequence[Result]) -> None:
    rows = [
        _row(run, result.prepared, n, call)
        for result in results
        for n, call in enumerate(result.calls, start=result.prepared.assignment.attempts + 1)
    ]
    if not rows:
        return
    with transaction.atomic():
        JudgeCall.objects.bulk_create(rows)
        for count, ids in _by_count(results).items():
            Assignment.objects.filter(pk__in=ids).update(attempts=F("attempts") + count)


def _by_count(results: Iterable[Result]) -> dict[int, list[int]]:
    counted: dict[int, list[int]] = {}
    for result in results:
        if result.calls:
            counted.setdefault(len(result.calls), []).append(result.prepared.assignment.pk)
    return counted


def _row(run: JudgeRun, prepared: Prepared, attempt: int, call: Call) -> JudgeCall:
    answer = call.answer
    return JudgeCall(
        run=run,
        assignment=prepared.assignment,
        attempt=attempt,
        request_hash=prepared.request_hash,
        state=call.state,
        detail=storable_text(call.detail)[:300],
        http_status=call.status,
        completion=storable_text(answer.text) if answer else None,
        body=storable_text(call.body),
        finish_reason=storable_text(answer.finish_reason)[:40] if answer else "",
        usage=storable(answer.usage) if answer else {},
        logprobs=storable(answer.logprobs) if answer else None,
        model_returned=storable_text(answer.model)[:200] if answer else "",
        sent_at=call.sent_at,
        seconds=call.seconds,
    )


def _counted_calls(results: Iterable[Result]) -> Tally:
    tally = Tally()
    for call in (call for result in results for call in result.calls):
        usage = call.answer.usage if call.answer else {}
        tally.calls += 1
        tally.prompt_tokens += _tokens(usage, "prompt_tokens")
        tally.completion_tokens += _tokens(usage, "completion_tokens")
    return tally


def _tokens(usage: Mapping[str, Any], name: str) -> int:
    count = usage.get(name)
    if not isinstance(count, int) or isinstance(count, bool):
        return 0
    return count if 0 <= count <= MOST_TOKENS else 0


def _add(run: JudgeRun, tally: Tally) -> None:
    run.done += tally.done
    run.failures = dict(Counter(run.failures) + tally.failures)
    run.calls += tally.calls
    run.prompt_tokens += tally.prompt_tokens
    run.completion_tokens += tally.completion_tokens
    run.save(update_fields=["done", "failures", "calls", "prompt_tokens", "completion_tokens"])


def stored_results(prepared: Sequence[Prepared]) -> list[Result]:
    """Results for which an equal request was answered before, but never written as labels.

    A process that dies between the two leaves such answers; they are paid and are not asked again.
    """
    tried = {p.assignment.pk: p for p in prepared if p.assignment.attempts}
    calls = JudgeCall.objects.filter(assignment__in=tried, state__in=(ANSWERED, *FINAL))
    found: dict[int, Result] = {}
    for call in calls.order_by("id"):
        one = tried[call.assignment_id]
        if call.request_hash == one.request_hash:
            found[call.assignment_id] = Result(one, (), _verdict(call), call.seconds)
    return list(found.values())


def _verdict(call: JudgeCall) -> Answer | Failure:
    reason = next((reason for reason in FINAL if reason == call.state), None)
    return Failure(reason) if reason else Answer(call.completion or "", call.finish_reason)


def storable_text(text: str) -> str:
    """A text with what no database keeps, NUL and halves of surrogate pairs, written as escapes."""
    return "".join(
        f"\\u{ord(c):04x}" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text
    )


def storable(value: Any) -> Any:
    """The same for JSON."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, Mapping):
        return {storable_text(str(key)): storable(each) for key, each in value.items()}
    return [storable(each) for each in value] if isinstance(value, list) else value
