"""Storing results: which answer counts, for which assignment, and at which cost."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest
from django.utils import timezone

from annotation.answers.submission import LostLeaseError
from annotation.models import Assignment, Campaign, Label, Response
from judging.answers import results
from judging.answers.calls import Call, storable, storable_text
from judging.answers.results import Failure, Result, find_stored_results, record
from judging.backends.base import Answer
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer
from judging.models import JudgeCall, JudgeRun, Strike
from judging.prompts.request import Prepared, Preparer
from judging.runs import ledger, lifecycle
from tests.judging.cast import judge

PROSE = Answer("The report does not answer it.")


def said(code: str) -> Answer:
    return Answer(json.dumps({"answerable": code, "evidence": []}))


def call(answer: Answer | None = None, state: str = "answered", **more: object) -> Call:
    return Call(state, timezone.now(), 2.0, answer=answer, **more)  # type: ignore[arg-type]


@dataclass
class Held:
    """A run with its lease, and the first of its rows."""

    run: JudgeRun
    lease: uuid.UUID
    preparer: Preparer
    prepared: Prepared

    @property
    def row(self) -> Assignment:
        return Assignment.objects.get(pk=self.prepared.assignment.pk)

    def again(self) -> Prepared:
        """The row as the next pump reads it."""
        rows = Assignment.objects.select_related("item__campaign", "item__query")
        return self.preparer.prepare(rows.get(pk=self.prepared.assignment.pk))

    def store(self, *results: Result) -> int:
        return record(self.run, self.lease, self.preparer.schema, results)


@pytest.fixture
def held(campaign: Campaign) -> Held:
    rater = judge(granularity="unit")
    run = lifecycle.start(campaign, rater)
    lease = lifecycle.lease_run(run)
    assert lease is not None
    preparer = build_preparer(campaign, rater, Scripted({}))
    rows = ledger.claim(campaign, rater, lease, 1)
    return Held(run, lease, preparer, preparer.prepare_all(rows)[0])


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("first", "repair", "stands"),
    [
        (said("no"), PROSE, "no"),
        (said("no"), said("invalid"), "invalid"),
        (PROSE, said("invalid"), "invalid"),
        (None, said("no"), "no"),
    ],
)
def test_a_readable_first_answer_counts_unless_its_repair_is_readable(
    held: Held, first: Answer | None, repair: Answer, stands: str
) -> None:
    assert held.store(Result(held.prepared, (), repair, 3.0, first)) == 1
    assert Label.objects.get().value == stands
    assert (held.row.status, held.row.seconds) == ("done", 3.0)


def test_an_unreadable_answer_and_repair_close_the_assignment_without_a_label(held: Held) -> None:
    assert held.store(Result(held.prepared, (), PROSE, 3.0, PROSE)) == 1
    assert not Label.objects.exists()
    assert (held.row.status, held.row.reason) == ("failed", "unreadable")
    held.run.refresh_from_db()
    assert (held.run.done, held.run.failures) == (0, {"unreadable": 1})


def test_a_run_counts_its_requests_and_answers(held: Held) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 5,
             "prompt_tokens_details": {"cached_tokens": 3}}  # fmt: skip
    answer = replace(said("no"), usage=usage)
    calls = (call(None, "status-500"), call(answer))
    assert held.store(Result(held.prepared, calls, answer, 3.0)) == 1
    held.run.refresh_from_db()
    counted = {name: getattr(held.run, name) for name in results.SUMS}
    assert counted == {
        "done": 1, "calls": 2, "reused": 0, "prompt_tokens": 7, "cached_tokens": 3,
        "completion_tokens": 5, "thinking_tokens": 0, "cost": 0,
    }  # fmt: skip
    assert held.row.attempts == 2


class TestStoredBefore:
    """Answers of a dead process that were stored as calls but not as labels."""

    def stored(self, held: Held, *calls: Call) -> Result:
        held.store(Result(held.prepared, calls))
        (found,) = find_stored_results([held.again()])
        return found

    def repair(self, answer: Answer | None, state: str = "answered") -> Call:
        return call(answer, state, repair=True, request_hash="of the repair")

    def test_a_first_answer_is_kept_beside_its_repair(self, held: Held) -> None:
        found = self.stored(held, call(said("no")), self.repair(PROSE))
        assert (found.outcome, found.first) == (PROSE, said("no"))
        held.store(found)
        assert Label.objects.get().value == "no"

    def test_a_failed_repair_keeps_the_first_answer(self, held: Held) -> None:
        found = self.stored(held, call(said("no")), self.repair(None, "truncated"))
        assert found.outcome == said("no")

    def test_a_repair_of_a_truncated_answer_counts(self, held: Held) -> None:
        found = self.stored(held, call(PROSE, "truncated"), self.repair(said("no")))
        assert found.outcome == said("no")

    def test_a_repair_without_its_first_answer_is_ignored(self, held: Held) -> None:
        held.store(Result(held.prepared, (self.repair(said("no")),)))
        assert find_stored_results([held.again()]) == []

    def test_a_truncated_answer_is_closed_with_its_reason(self, held: Held) -> None:
        found = self.stored(held, call(PROSE, "truncated"))
        assert (found.outcome, found.seconds) == (Failure("truncated"), 2.0)

    def test_a_call_that_failed_in_transport_is_made_again(self, held: Held) -> None:
        held.store(Result(held.prepared, (call(None, "status-500"),)))
        assert find_stored_results([held.again()]) == []


def test_unstorable_characters_are_escaped_at_any_depth() -> None:
    odd = {"a\0": [{"b": "x\ud800"}, 1, None, True], "c": "plain"}
    assert storable(odd) == {"a\\u0000": [{"b": "x\\ud800"}, 1, None, True], "c": "plain"}
    for odd_text, written in (("x\0", "x\\u0000"), ("\udfff", "\\udfff")):
        assert storable({"a": [odd_text]}) == {"a": [written]}
        assert storable_text(odd_text) == written
    plain = {"a": ["é", 1]}
    assert storable(plain) is plain


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("count", "counted"), [(2**31 - 1, 2**31 - 1), (2**31, 0), (-1, 0), (True, 0), ("7", 0), (0, 0)]
)
def test_unstorable_token_counts_are_ignored(held: Held, count: object, counted: int) -> None:
    usage = {
        "prompt_tokens": count,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": count},
    }
    paid = call(Answer("{}", usage=usage))
    held.store(Result(held.prepared, (paid,)))
    held.run.refresh_from_db()
    counts = held.run.prompt_tokens, held.run.cached_tokens, held.run.completion_tokens
    assert counts == (counted, counted, 1)


def test_attempts_are_numbered_across_workers(held: Held) -> None:
    held.store(Result(held.prepared, (call(None, "deadline"), call(None, "deadline"))))
    held.store(Result(held.again(), (call(said("no")),), said("no")))
    assert list(JudgeCall.objects.order_by("pk").values_list("attempt", flat=True)) == [1, 2, 3]
    assert held.row.attempts == 3


def test_paid_calls_are_counted_even_if_the_lease_is_lost(held: Held) -> None:
    JudgeRun.objects.update(lease=uuid.uuid4(), cost=Decimal(1), calls=4, done=2)
    paid = call(said("no"), cost=Decimal("0.5"))
    with pytest.raises(LostLeaseError):
        held.store(Result(held.prepared, (paid,), said("no")))
    held.run.refresh_from_db()
    assert (held.run.cost, held.run.calls, held.run.done) == (Decimal("1.5"), 5, 2)
    assert JudgeCall.objects.get().cost == Decimal("0.5")
    assert not Response.objects.exists()
    assert held.row.status == "leased"


def test_a_failed_closing_keeps_the_call_and_counts_nothing(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(rows: list[int]) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(results, "_forget_strikes", broken)
    paid = call(said("no"), cost=Decimal("0.5"))
    with pytest.raises(ZeroDivisionError):
        held.store(Result(held.prepared, (paid,), said("no")))
    held.run.refresh_from_db()
    assert (held.run.cost, held.run.calls, held.run.done) == (Decimal("0.5"), 1, 0)
    assert not Response.objects.exists()
    assert (held.row.status, held.row.attempts) == ("leased", 1)


def test_costs_belong_to_the_run_that_paid(held: Held) -> None:
    other = lifecycle.start(held.run.campaign, judge("other"))
    paid = call(said("no"), cost=Decimal("0.5"))
    held.store(Result(held.prepared, (paid,), said("no")))
    held.run.refresh_from_db()
    other.refresh_from_db()
    assert (held.run.cost, held.run.done) == (Decimal("0.5"), 1)
    assert (other.cost, other.calls, other.done) == (0, 0, 0)


def test_a_reassigned_assignment_is_not_counted(held: Held) -> None:
    Assignment.objects.filter(pk=held.prepared.assignment.pk).update(lease=uuid.uuid4())
    assert held.store(Result(held.prepared, (), said("no"))) == 0
    assert held.store(Result(held.prepared, (), Failure("timeout"))) == 0
    held.run.refresh_from_db()
    assert (held.run.done, held.run.failures) == (0, {})
    assert held.row.status == "leased"


def test_a_result_clears_only_its_own_strikes(held: Held) -> None:
    other = ledger.claim(held.run.campaign, held.run.judge, held.lease, 1)[0]
    Strike.objects.bulk_create(Strike(assignment=row, count=1) for row in (held.row, other))
    held.store(Result(held.prepared, (), said("no")))
    assert Strike.objects.get().assignment == other


def test_a_reused_answer_costs_nothing(held: Held) -> None:
    held.store(Result(held.prepared, (call(None, "deadline"),)))
    source = JudgeCall.objects.get().pk
    paid = {"prompt_tokens": 7, "completion_tokens": 3}
    taken = call(Answer(said("no").text, usage=paid), cost=Decimal(0), reused_from=source)
    held.store(Result(held.again(), (taken,), said("no")))
    held.run.refresh_from_db()
    assert (held.run.calls, held.run.reused, held.run.done) == (1, 1, 1)
    assert (held.run.prompt_tokens, held.run.completion_tokens, held.run.cost) == (0, 0, 0)


class TestReading:
    """A call records how its answer was read, and two different verdicts give no label."""

    def asked(self, held: Held, text: str) -> JudgeCall:
        answer = Answer(text)
        assert held.store(Result(held.prepared, (call(answer),), answer, 3.0)) == 1
        return JudgeCall.objects.get()

    @pytest.mark.parametrize(
        ("around", "steps"),
        [
            ("{}", "as-is"),
            ("```json\n{}\n```", "fence"),
            ("<think>Hm.</think>Sure: {}", "thinking+prose"),
        ],
    )
    def test_an_answer_with_surrounding_text_becomes_a_label_and_its_reading_steps_are_stored(
        self, held: Held, around: str, steps: str
    ) -> None:
        stored = self.asked(held, around.replace("{}", said("no").text))
        assert Label.objects.get().value == "no"
        assert (stored.reading, stored.completion) == (steps, around.replace("{}", said("no").text))

    def test_two_different_answers_are_missing_as_ambiguous(self, held: Held) -> None:
        stored = self.asked(held, f"{said('no').text} or {said('invalid').text}")
        assert not Label.objects.exists()
        assert (held.row.status, held.row.reason, stored.reading) == ("failed", "ambiguous", "")
        held.run.refresh_from_db()
        assert held.run.failures == {"ambiguous": 1}

    def test_a_label_says_by_which_steps_it_was_read(self, held: Held) -> None:
        self.asked(held, f"```json\n{said('no').text}\n```")
        assert Label.objects.get().meta == {"reading": "fence"}
