"""The state of answers changes with every answer that is given, withdrawn or restored."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.answers.storage import restore_answer, withdraw_answers
from annotation.answers.submission import answers_of
from annotation.models import Assignment, Response
from tests.annotation.adjudication.cast import Dispute, answer, make_dispute
from tests.once import once

pytestmark = pytest.mark.django_db


@once
def there() -> Dispute:
    return make_dispute()


def test_the_state_identifies_the_current_responses(there: Dispute) -> None:
    current = list(Response.objects.filter(current=True).values_list("pk", flat=True))
    found = answers_of(there.study.campaign.name)
    assert (found["number"], found["newest"], found["sum"]) == (4, max(current), sum(current))
    assert answers_of("another")["number"] == 0


def test_revisions_and_withdrawals_change_the_state_and_restoring_changes_it_back(
    there: Dispute,
) -> None:
    name = there.study.campaign.name
    first = answers_of(name)
    judge = Assignment.objects.get(rater=there.judge)
    answer(judge, "yes", "yes", "no")
    revised = answers_of(name)
    assert revised != first
    withdraw_answers([judge.pk], deletes=False)
    assert answers_of(name) not in (first, revised)
    restore_answer(judge, None)
    assert answers_of(name) == revised


def test_withdrawing_one_answer_and_restoring_another_changes_the_state(there: Dispute) -> None:
    name = there.study.campaign.name
    one, other = Assignment.objects.filter(rater__kind="human").order_by("pk")[:2]
    withdraw_answers([one.pk], deletes=False)
    before = answers_of(name)
    restore_answer(one, one.slot)
    withdraw_answers([other.pk], deletes=False)
    assert answers_of(name) != before


def test_responses_are_joined_with_items_once_while_nothing_changes(there: Dispute) -> None:
    answers_of(there.study.campaign.name)
    with CaptureQueriesContext(connection) as queries:
        answers_of(there.study.campaign.name)
    assert not any("annotation_item" in each["sql"] for each in queries.captured_queries)
