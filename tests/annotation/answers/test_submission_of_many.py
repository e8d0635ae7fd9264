"""Many answers at once: `submit` has the same rules for each, and a refusal affects only one."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.answers.submission import (
    Circumstances,
    LostLeaseError,
    PreparedAnswer,
    StoredRevision,
    fail,
    fail_many,
    prepare,
    submit,
    submit_many,
)
from annotation.models import Assignment, Campaign, Draft, Label, Response, Span
from annotation.presentation import present, schema
from audit.models import Event
from tandem.protocols.validation import RefusedError
from tests.annotation.answering import good_answer, person
from tests.cast import campaign_of

pytestmark = [pytest.mark.usefixtures("batch"), pytest.mark.postgresql]
LEASE = uuid.UUID(int=7)


@pytest.fixture
def rows(batch: Path) -> list[Assignment]:
    """One item's assignments of four people."""
    campaign: Campaign = campaign_of("report-coverage")
    item = campaign.items.get(key="r")
    made = [person(item, name) for name in ("ann", "ben", "cleo", "dan")]
    Assignment.objects.update(lease=LEASE)
    return made


def ready(row: Assignment, **changes: object) -> PreparedAnswer:
    units = good_answer(row)
    units["🌉"] |= changes
    spec, asked = present(row.item), schema(row.item.campaign)
    payload = {"units": units, "comment": None}
    return prepare(row, payload, "judge", spec, asked, keep_refusal=True)


def group(rows: list[Assignment]) -> list[tuple[PreparedAnswer, Circumstances]]:
    return [(ready(row), Circumstances(lease=LEASE, seconds=n)) for n, row in enumerate(rows)]


def statuses() -> list[str]:
    return list(Assignment.objects.order_by("pk").values_list("status", flat=True))


def test_each_answer_gets_its_own_labels_and_spans(rows: list[Assignment]) -> None:
    outcomes = submit_many(group(rows))
    submit(person(rows[0].item, "eve"), ready(rows[0]).payload, "judge")
    written = [
        list(Label.objects.filter(response__assignment__rater__name=name)
             .order_by("unit").values_list("unit", "value", "spans__start", "spans__quote"))
        for name in ("ann", "ben", "cleo", "dan", "eve")
    ]  # fmt: skip
    assert outcomes == [StoredRevision(1, created=True)] * 4
    assert all(each == written[-1] != [] for each in written)
    seconds = Assignment.objects.exclude(rater__name="eve").order_by("pk")
    assert list(seconds.values_list("seconds", flat=True)) == [0, 1, 2, 3]


def test_one_failing_answer_does_not_affect_the_others_of_its_group(rows: list[Assignment]) -> None:
    Assignment.objects.filter(pk=rows[1].pk).update(lease=None)
    offers = group(rows)
    offers[2] = ready(rows[2], answerable="perhaps"), offers[2][1]
    Assignment.objects.filter(pk=rows[3].pk).delete()
    kinds = [type(each) for each in submit_many(offers)]
    assert kinds == [StoredRevision, LostLeaseError, RefusedError, LostLeaseError]
    assert statuses() == ["done", "open", "open"]


def test_a_new_answer_supersedes_and_an_equal_one_changes_nothing(
    rows: list[Assignment],
) -> None:
    submit_many(group(rows[:2]))
    Assignment.objects.update(lease=LEASE)
    Draft.objects.create(assignment=rows[0], payload={})
    offers = group(rows[:2])
    offers[0] = ready(rows[0], answerable="no", evidence=[]), offers[0][1]
    assert submit_many(offers) == [
        StoredRevision(2, created=True),
        StoredRevision(1, created=False),
    ]
    assert Response.objects.filter(current=True).count() == 2
    assert not Draft.objects.exists()


def test_an_answer_to_a_deleted_assignment_reports_a_lost_lease(rows: list[Assignment]) -> None:
    sent = ready(rows[0])
    Assignment.objects.filter(pk=rows[0].pk).delete()
    with pytest.raises(Assignment.DoesNotExist):
        submit(rows[0], sent.payload, "judge")


def test_replacements_and_gaps_in_revision_numbers_are_recorded(
    rows: list[Assignment],
) -> None:
    def recorded() -> list[tuple[str, str, object]]:
        events = Event.objects.filter(event__startswith="answer.").order_by("pk")
        return list(events.values_list("event", "object_id", "facts"))

    submit_many(group(rows[:2]))
    assert recorded() == []
    no = {"answerable": "no", "evidence": []}
    submit_many([
        (ready(rows[0], **no), Circumstances(revision=2)),
        (ready(rows[1], **no), Circumstances(revision=5)),
        (ready(rows[2]), Circumstances(revision=1)),
        (ready(rows[3]), Circumstances(revision=2)),
    ])  # fmt: skip
    first, second, _, fourth = (str(row.pk) for row in rows)
    assert recorded() == [
        ("answer.changed", first, {"door": "judge"}),
        ("answer.changed", second, {"door": "judge"}),
        ("answer.numbered", second, {"revision": 5}),
        ("answer.numbered", fourth, {"revision": 2}),
    ]


def test_the_returned_response_equals_the_stored_one(rows: list[Assignment]) -> None:
    outcome = submit(rows[0], ready(rows[0]).payload, "judge")
    stored = Response.objects.get()
    for field in Response._meta.concrete_fields:
        assert getattr(outcome.response, field.attname) == getattr(stored, field.attname)


def test_a_group_cannot_contain_two_answers_to_one_assignment(rows: list[Assignment]) -> None:
    with pytest.raises(ValueError, match="two answers to one"):
        submit_many(group([rows[0], rows[0]]))
    assert not Response.objects.exists()


def test_the_number_of_statements_does_not_grow_with_the_group(rows: list[Assignment]) -> None:
    with CaptureQueriesContext(connection) as one:
        submit_many(group(rows[:1]))
    offers = group(rows[1:])
    with CaptureQueriesContext(connection) as three:
        submit_many(offers)
    assert len(three) <= len(one)
    assert Span.objects.exists()


def test_a_group_is_rolled_back_with_the_surrounding_transaction(rows: list[Assignment]) -> None:
    with CaptureQueriesContext(connection) as found:
        assert submit_many([]) == []
        assert fail_many([]) == []
        assert not found
        submit_many(group(rows[:1]))
        fail_many([(rows[1], "timeout")], LEASE)
    assert not [each["sql"] for each in found if "SAVEPOINT" in each["sql"]]
    assert statuses() == ["done", "failed", "open", "open"]


def test_a_failure_has_one_of_the_known_reasons_or_changes_nothing(rows: list[Assignment]) -> None:
    with pytest.raises(ValueError, match="'tired' is not a missing reason"):
        fail_many([(rows[0], "timeout"), (rows[1], "tired")], LEASE)
    with pytest.raises(LostLeaseError):
        fail(rows[0], "timeout", uuid.UUID(int=8))
    assert statuses() == ["open"] * 4
    fail(rows[0], "timeout", LEASE)
    assert statuses() == ["failed", "open", "open", "open"]
    Assignment.objects.filter(pk=rows[3].pk).delete()
    with pytest.raises(LostLeaseError):
        fail(rows[3], "timeout")


def test_many_failures_are_stored_each_with_its_reason(rows: list[Assignment]) -> None:
    Assignment.objects.filter(pk=rows[1].pk).update(lease=None)
    submit_many(group(rows[2:3]))
    reasons = ("timeout", "timeout", "error", "declined")
    wrong = fail_many(list(zip(rows, reasons, strict=True)), LEASE)
    assert [each is None for each in wrong] == [True, False, False, True]
    assert statuses() == ["failed", "open", "done", "declined"]
    assert Assignment.objects.get(pk=rows[0].pk).reason == "timeout"
