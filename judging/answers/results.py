"""Store the results of a group of assignments: their calls, and their answers as labels."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from annotation.answers.submission import (
    Circumstances,
    LostLeaseError,
    PreparedAnswer,
    fail_many,
    prepare,
    submit_many,
)
from annotation.answers.types import Detail
from annotation.blinding import SWAPPED_CODES
from annotation.models import Assignment
from annotation.protocols.schema import CampaignSchema
from datasets.db.locks import brief_transaction
from datasets.db.prepared import InList, Parameter, PreparedUpdate
from datasets.db.prepared import Prepared as PreparedQuery
from judging.answers.calls import Attempt, Call, Tally, store_calls
from judging.answers.logprobs import score_answer, select_logprobs
from judging.backends.base import Answer, FinalError
from judging.backends.completeness import accepts_no_reason, complete, with_whole_prompt
from judging.models import JudgeCall, JudgeRun, Strike
from judging.parsers.base import Reading, Score, Step, UnreadError
from judging.prompts.perturbations import restore_order
from judging.prompts.request import Prepared
from judging.runs.ledger import lock
from judging.runs.shards import has_lease
from tandem.labels.file.rows import GRADE, OWN_SENTENCES, Reason
from tandem.protocols.base import Payload
from tandem.protocols.validation import RefusedError

ANSWERED = "answered"
UNCHANGED_STEPS: tuple[Step, ...] = ("as-is",)
FINAL: tuple[Reason, ...] = (
    "unreadable", "refused", "truncated", "filtered", "too-long", "error",
)  # fmt: skip
"""The missing reasons that are the state of a call: the server answered, but gave no answer."""


@dataclass(frozen=True)
class Failure:
    """A result without labels, for a missing reason."""

    reason: Reason


@dataclass(frozen=True)
class Result:
    """The new calls of an assignment and its outcome. Without an outcome, it stays open.

    After a repair, `first` is the answer before it, which counts if the outcome cannot be read.
    """

    prepared: Prepared
    calls: Sequence[Call] = ()
    outcome: Answer | Failure | None = None
    seconds: float | None = None
    first: Answer | None = None


def record(
    run: JudgeRun, lease: uuid.UUID, schema: CampaignSchema, results: Sequence[Result]
) -> int:
    """Store calls and answers, and return the number of closed assignments.

    Raises LostLeaseError. The calls are stored even if the lease is lost or closing fails, since
    they have been paid for. Assignments that another worker has leased meanwhile stay with it.
    """
    readings = Readings()
    attempts = _attempts(results, readings)
    closings: list[_Closing] = []
    wrong: Exception | None = None
    try:
        closings += [
            _prepare_closing(each, lease, schema, readings) for each in results if each.outcome
        ]
    except Exception as error:
        wrong = error
    with brief_transaction():
        # The worker's lease is locked before its assignments, as in a takeover.
        is_held = has_lease(run, lease)
        tally = store_calls(run, attempts if is_held else _not_stored(run, attempts))
        for result in results:
            # A later result of the same assignment counts on.
            result.prepared.assignment.attempts += len(result.calls)
        try:
            with transaction.atomic():
                _close(run if is_held else None, lease, closings, tally)
        except Exception as error:
            wrong = error
            if not connection.needs_rollback:
                _add_calls(run, tally)
    if wrong is not None:
        raise wrong
    return tally.done + tally.failures.total()


class Readings:
    """Reads each answer once."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Answer, Reading | UnreadError]] = {}

    def of(self, prepared: Prepared, answer: Answer) -> Reading | UnreadError:
        if id(answer) not in self._found:
            try:
                found: Reading | UnreadError = prepared.read(answer)
            except UnreadError as error:
                found = error
            # Keep the answer too, so that no other object gets its id.
            self._found[id(answer)] = answer, found
        return self._found[id(answer)][1]


def _attempts(results: Sequence[Result], readings: Readings) -> list[Attempt]:
    """Number the calls. An assignment may have several results, such as one with a probe."""
    found: list[Attempt] = []
    asked: Counter[int] = Counter()
    for result in results:
        row, own = result.prepared.assignment, result.prepared.request_hash
        pk, before = row.pk, row.attempts
        for call in result.calls:
            asked[pk] += 1
            read = _with_reading(call, result.prepared, readings)
            found.append((pk, before + asked[pk], call.request_hash or own, read))
    return found


def _with_reading(call: Call, prepared: Prepared, readings: Readings) -> Call:
    """Note how the answer was read, and remove log probabilities that give no score."""
    if call.answer is None or call.state != ANSWERED:
        return call
    reading = readings.of(prepared, call.answer)
    if isinstance(reading, UnreadError):
        reading = Reading({}, steps=())
    answer, selected = call.answer, select_logprobs(prepared, call.answer, reading)
    if selected is not answer.logprobs:
        answer = replace(answer, logprobs=selected)
    return replace(call, answer=answer, reading="+".join(reading.steps))


@dataclass(frozen=True)
class _Closing:
    """An assignment with its checked answer, or with a missing reason."""

    assignment: Assignment
    answer: tuple[PreparedAnswer, Circumstances] | None
    reason: str = ""


def _prepare_closing(
    result: Result, lease: uuid.UUID, schema: CampaignSchema, readings: Readings
) -> _Closing:
    """Do the slow part of closing an assignment, before anything is locked."""
    prepared, outcome = result.prepared, result.outcome
    if not isinstance(outcome, Answer):
        reason = outcome.reason if isinstance(outcome, Failure) else "error"
        return _Closing(prepared.assignment, None, reason)
    faults: list[str] = []
    for answer in filter(None, (outcome, result.first)):
        reading = readings.of(prepared, answer)
        if isinstance(reading, UnreadError):
            faults.append(reading.fault)
        elif ready := _validated(prepared, reading, schema):
            circumstances = Circumstances(
                lease=lease,
                seconds=result.seconds,
                details=_with_notes(prepared, reading, _details(prepared, answer, reading)),
                missing=missing_of(prepared, reading),
            )
            return _Closing(prepared.assignment, (ready, circumstances))
    return _Closing(prepared.assignment, None, next(iter(faults), "unreadable"))


def _validated(
    prepared: Prepared, reading: Reading, schema: CampaignSchema
) -> PreparedAnswer | None:
    """Check a reading before it is stored. Return None if it does not have the requested form."""
    try:
        return prepare(
            prepared.assignment,
            payload_of(prepared, reading),
            prepared.channel,
            prepared.spec,
            schema,
            asked=prepared.asked,
            basis=prepared.basis,
        )
    except RefusedError:
        return None


def payload_of(prepared: Prepared, reading: Reading) -> Payload:
    """Return the payload of a reading, by the units' real names."""
    names = prepared.names
    units = {names.get(name, name): each for name, each in reading.units.items()}
    return restore_order(prepared.assignment, {"units": units, "comment": None})


def _details(prepared: Prepared, answer: Answer, reading: Reading) -> dict[tuple[str, str], Detail]:
    """Return the scores of the labels: the parser's own, else those of the log probabilities."""
    if not reading.scores:
        return dict(score_answer(prepared, answer, reading))
    swapped = SWAPPED_CODES if prepared.assignment.shown else {}
    return {
        (prepared.names.get(name, name), variable): Detail(score.value, _meta(score, swapped))
        for (name, variable), score in reading.scores.items()
    }


def _with_notes(
    prepared: Prepared, reading: Reading, details: dict[tuple[str, str], Detail]
) -> dict[tuple[str, str], Detail]:
    """Note on each label the judge's grade, and the steps by which its answer was read.

    An answer that was read unchanged has no such note. Where a judge split a text itself, and not
    as the units are split, each label also has the verdicts on all its own sentences.
    """
    steps = "" if reading.steps == UNCHANGED_STEPS else "+".join(reading.steps)
    for unit in prepared.request.facts.units:
        name, entry = prepared.names.get(unit.name, unit.name), reading.units.get(unit.name)
        for variable in unit.variables:
            if not isinstance(entry, Mapping) or variable.name not in entry:
                continue
            grade = reading.grades.get((unit.name, variable.name), "")
            own = _own_sentences(reading, variable.name)
            notes = (("reading", steps), (GRADE, grade), (OWN_SENTENCES, own))
            if noted := {key: note for key, note in notes if note}:
                known = details.get((name, variable.name), Detail())
                details[name, variable.name] = Detail(known.score, {**(known.meta or {}), **noted})
    return details


def _own_sentences(reading: Reading, variable: str) -> Mapping[str, int]:
    """Return the counts of a judge's own sentences by code, if a unit has no label of its own."""
    split = any(name == variable for _, name in reading.missing)
    return reading.own.get(variable, {}) if split else {}


def _meta(score: Score, swapped: Mapping[str, str]) -> dict[str, Any]:
    """Return the label's metadata, with codes as they are stored."""
    meta = dict(score.meta)
    if shares := meta.get("probabilities"):
        meta["probabilities"] = {swapped.get(code, code): p for code, p in shares.items()}
    if bounded := meta.get("bounded"):
        meta["bounded"] = [swapped.get(code, code) for code in bounded]
    return meta


def missing_of(prepared: Prepared, reading: Reading) -> dict[str, dict[str, str]]:
    """Return the missing reasons of single labels, by the units' real names and variable."""
    missing: dict[str, dict[str, str]] = {}
    for (name, variable), fault in reading.missing.items():
        missing.setdefault(prepared.names.get(name, name), {})[variable] = fault
    return missing


def _close(
    run: JudgeRun | None, lease: uuid.UUID, closings: Sequence[_Closing], tally: Tally
) -> None:
    if run is None:
        raise LostLeaseError
    outcomes = submit_many([each.answer for each in closings if each.answer])
    tally.done = sum(not isinstance(each, Exception) for each in outcomes)
    failed = [(each.assignment, each.reason) for each in closings if not each.answer]
    wrong = fail_many(failed, lease)
    tally.failures.update(
        reason for (_, reason), lost in zip(failed, wrong, strict=True) if lost is None
    )
    _forget_strikes([each.assignment.pk for each in closings])
    _count(run, tally)


def _forget_strikes(rows: list[int]) -> None:
    if struck := [pk for (pk,) in _strikes_of.rows(rows=rows)]:
        Strike.objects.filter(pk__in=struck).delete()


def _count(run: JudgeRun, tally: Tally) -> None:
    """Add to the run's counts at the end of the transaction, since other workers wait for it."""
    if tally.failures:
        same = JudgeRun.objects.filter(pk=run.pk)
        before = same.select_for_update(no_key=True).values_list("failures", flat=True).get()
        same.update(failures=dict(Counter(before) + tally.failures))
    _add_sums.run(pk=run.pk, **{name: getattr(tally, name) for name in SUMS})


def store_late(run: JudgeRun, attempts: Sequence[Attempt]) -> Tally:
    """Store and count calls without closing anything. A claim finds the answers among them.

    Calls that are stored already are left out.
    """
    tally = store_calls(run, _not_stored(run, attempts))
    _add_calls(run, tally)
    return tally


def _not_stored(run: JudgeRun, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Leave out the calls that another process has stored from this one's journal."""
    lock(JudgeRun.objects.filter(pk=run.pk))
    rows = {row for row, *_ in attempts}
    calls = JudgeCall.objects.filter(run=run, assignment__in=rows)
    stored = set(calls.values_list("assignment_id", "sent_at"))
    return [each for each in attempts if (each[0], each[-1].sent_at) not in stored]


def _add_calls(run: JudgeRun, tally: Tally) -> None:
    """Count the calls of a worker that lost its lease, since they have been paid for."""
    sums = {name: F(name) + getattr(tally, name) for name in SUMS if name != "done"}
    JudgeRun.objects.filter(pk=run.pk).update(**sums)


def find_stored_results(prepared: Sequence[Prepared]) -> list[Result]:
    """Return results whose answers are stored as calls but not as labels.

    They remain if a process dies between the two steps. They are paid for, so they are not asked
    again.
    """
    tried = {p.assignment.pk: p for p in prepared if p.assignment.attempts}
    if not tried:
        return []
    calls = JudgeCall.objects.filter(assignment__in=tried, state__in=(ANSWERED, *FINAL))
    found: dict[int, Result] = {}
    for call in calls.select_related("run__judge").order_by("id"):
        one, before = tried[call.assignment_id], found.get(call.assignment_id)
        # A repair belongs to the answer before it, although its request differs.
        if call.repair and before is not None:
            found[call.assignment_id] = _merge_repair(before, call)
        elif call.request_hash == one.request_hash:
            found[call.assignment_id] = Result(one, (), _outcome_of(call, one), call.seconds)
    return list(found.values())


def _merge_repair(before: Result, repair: JudgeCall) -> Result:
    """Combine an answer with its repair: the repair's outcome, or the answer before it."""
    outcome, first = _outcome_of(repair, before.prepared), before.outcome
    if not isinstance(first, Answer):
        return replace(before, outcome=outcome, seconds=repair.seconds)
    if isinstance(outcome, Failure):
        return replace(before, seconds=repair.seconds)
    return replace(before, outcome=outcome, seconds=repair.seconds, first=first)


def _outcome_of(call: JudgeCall, prepared: Prepared) -> Answer | Failure:
    """Return the outcome of a stored call. An answer of an older version may be incomplete."""
    reason = next((reason for reason in FINAL if reason == call.state), None)
    if reason:
        return Failure(reason)
    answer = answer_of(call)
    try:
        complete(answer, accept_no_reason=accepts_no_reason(call.run.judge.params))
        with_whole_prompt(prepared.request, replace(answer, usage=call.usage))
    except FinalError as error:
        return Failure(error.reason)
    return answer


def answer_of(call: JudgeCall) -> Answer:
    """Return the answer from a stored call."""
    return Answer(call.completion or "", call.finish_reason, logprobs=call.logprobs)


TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "thinking_tokens")
SUMS = ("done", "calls", "reused", *TOKENS, "cost")
_add_sums = PreparedUpdate(
    lambda: JudgeRun.objects.filter(pk=Parameter("pk")),
    **{
        field.name: F(field.name) + Parameter(field.name, field)
        for field in JudgeRun._meta.concrete_fields
        if field.name in SUMS
    },
)
_strikes_of = PreparedQuery(
    lambda: Strike.objects.filter(InList("assignment", "rows")).values_list("pk")
)
