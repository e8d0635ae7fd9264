"""The queue keeps the disputes it has found, and searches again only what may have changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import caches
from django.db.models import QuerySet

from annotation.adjudication import dispute_queue
from annotation.adjudication.dispute_queue import QueuePart, queue, queued_units
from annotation.adjudication.disputes import UnitKey, counted_labels, disagreements, disputes
from annotation.answers.storage import withdraw_answers
from annotation.models import Assignment, Item, Label, Rater, User
from annotation.people.membership import exclude
from tests.annotation.adjudication.cast import Dispute, answer, decided, make_dispute
from tests.once import once

pytestmark = pytest.mark.django_db
Searches = list[set[int]]
"""The items whose disagreements were looked for, by search."""


@once
def there() -> Dispute:
    return make_dispute()


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch, there: Dispute) -> Searches:
    """Every search from now on; the queue was read once before."""
    queue(there.study.campaign, there.dora)
    found: Searches = []

    def noted(labels: QuerySet[Label]) -> Iterator[tuple[UnitKey, dispute_queue.Disagreement]]:
        found.append(set(labels.values_list("unit__item", flat=True)))
        return disagreements(labels)

    monkeypatch.setattr(dispute_queue, "disagreements", noted)
    return found


def agrees(there: Dispute) -> bool:
    """Whether the queue has the disputes that a search of everything finds."""
    everything = {each.unit: each for each in disputes(counted_labels(there.study.campaign))}
    every = [*queue(there.study.campaign, there.dora)]
    every += queue(there.study.campaign, there.dora, QueuePart(state="decided"))
    return {each.unit: each for each in every} == everything


def second(there: Dispute, user: User, *codes: str) -> Assignment:
    """Answer the second item as a person who has not answered it yet."""
    item = there.study.campaign.items.get(position=1)
    rater = Rater.objects.get(user=user)
    made = Assignment.objects.create(item=item, rater=rater, asked=["q:0", "q:1", "q:2"])
    answer(made, *codes)
    return made


def test_nothing_is_searched_while_nothing_changes(there: Dispute, searches: Searches) -> None:
    for _ in range(2):
        assert len(queue(there.study.campaign, there.dora)) == 3
    assert searches == []


def test_a_new_answer_is_searched_for_in_its_item_alone(there: Dispute, searches: Searches) -> None:
    made = second(there, there.study.ada, "invalid", "no", "no")
    assert agrees(there)
    assert searches[:1] == [{made.item_id}]
    second(there, there.study.ben, "no", "no", "no")
    assert agrees(there)
    assert len(queue(there.study.campaign, there.dora)) == 4


def test_a_revision_replaces_the_answer_before(there: Dispute, searches: Searches) -> None:
    answer(Assignment.objects.get(rater__name="planted-judge"), "yes", "yes", "no")
    assert len(queue(there.study.campaign, there.dora)) == 2
    assert searches == [{there.item.pk}]
    assert agrees(there)


def test_a_decision_leaves_the_queue_at_once(there: Dispute, searches: Searches) -> None:
    first = there.units[0]
    decided(there, first)
    assert first.pk not in queued_units(there.study.campaign, there.dora)
    assert agrees(there)


def test_a_withdrawn_answer_causes_a_complete_search(there: Dispute, searches: Searches) -> None:
    withdraw_answers([Assignment.objects.get(rater__name="planted-judge").pk], deletes=False)
    assert agrees(there)
    assert len(queue(there.study.campaign, there.dora)) == 2


def test_a_withdrawal_beside_a_new_answer_is_noticed(there: Dispute, searches: Searches) -> None:
    withdraw_answers([Assignment.objects.get(rater__name="planted-judge").pk], deletes=True)
    second(there, there.study.ada, "invalid", "no", "no")
    assert agrees(there)


def test_an_excluded_person_and_a_gold_item_do_not_count(
    there: Dispute, searches: Searches
) -> None:
    exclude(there.study.campaign, Rater.objects.get(user=there.cleo), "answered at random")
    assert agrees(there)
    Item.objects.filter(pk=there.item.pk).update(use=Item.Use.GOLD)
    assert len(queue(there.study.campaign, there.dora)) == 0
    assert agrees(there)


def test_processes_share_the_disputes_that_one_has_found(
    there: Dispute, searches: Searches
) -> None:
    dispute_queue._CACHE.clear()
    assert len(queue(there.study.campaign, there.dora)) == 3
    assert searches == []
    dispute_queue._CACHE.clear()
    caches["reports"].clear()
    assert len(queue(there.study.campaign, there.dora)) == 3
    assert len(searches) == 1


def test_a_page_of_the_queue_is_in_its_order(there: Dispute) -> None:
    found = queue(there.study.campaign, there.dora)
    assert [each.unit for each in found[1:3]] == found.units[1:3]
    assert found[0].unit == found.units[0]
    assert (len(found), found.items) == (3, 1)
