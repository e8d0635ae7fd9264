"""Which units wait for an adjudicator, and in which order."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.adjudication.dispute_queue import (
    QueuePart,
    next_dispute,
    queue,
    queue_sizes,
    queued_units,
    with_texts,
)
from annotation.adjudication.disputes import (
    Disagreement,
    _disagreement,
    _Tally,
    _tally,
    adjudicable,
    counted_labels,
    disputed_units,
    disputes,
    own_units,
    sent_units,
    unit_disagreements,
)
from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.exposure import ledger
from annotation.models import (
    AdjudicationRequest,
    Assignment,
    Exclusion,
    Item,
    Label,
    Membership,
    Rater,
    Response,
    rater_of,
)
from annotation.people.membership import exclude
from datasets.models import Batch
from tests.annotation.adjudication.cast import (
    QUESTIONS,
    Dispute,
    answer,
    decided,
    make_dispute,
)
from tests.once import once

pytestmark = pytest.mark.django_db
UNITS = ("q:0", "q:1", "q:2")


@once
def there() -> Dispute:
    return make_dispute()


def names(there: Dispute, **part: Any) -> list[str]:
    found = queue(there.study.campaign, there.dora, QueuePart(**part))
    units = {unit.pk: unit.name for item in Item.objects.all() for unit in item.units.all()}
    return [units[each.unit] for each in found]


@pytest.mark.postgresql
def test_ties_come_first_then_narrow_majorities_then_disputes_by_judges(there: Dispute) -> None:
    assert names(there) == ["q:0", "q:1", "q:2"]


def test_the_queue_says_how_people_split_without_naming_them(there: Dispute) -> None:
    found = queue(there.study.campaign, there.dora)
    assert [each.disagreements for each in found] == [
        (Disagreement("answerable", (1, 1, 1), judges=False),),
        (Disagreement("answerable", (2, 1), judges=False),),
        (Disagreement("answerable", (3,), judges=True),),
    ]
    assert [each.disagreements[0].is_tie for each in found] == [True, False, False]


def test_the_queue_can_be_limited_to_disputes_of_people_or_of_judges(there: Dispute) -> None:
    assert names(there, of="people") == ["q:0", "q:1"]
    assert names(there, of="judges") == ["q:2"]


def test_the_queue_can_be_limited_to_one_variable(there: Dispute) -> None:
    assert names(there, variable="answerable") == ["q:0", "q:1", "q:2"]
    assert names(there, variable="rating") == []


def test_the_queue_can_be_limited_to_one_item(there: Dispute) -> None:
    first, second = Item.objects.order_by("position")[:2]
    assert names(there, item=first.pk) == ["q:0", "q:1", "q:2"]
    assert names(there, item=second.pk) == []


def test_a_label_by_one_rater_alone_is_no_dispute(there: Dispute) -> None:
    answer(there.study.assignment(there.study.ada), "invalid", "no", "no")
    assert names(there) == ["q:0", "q:1", "q:2"]


@pytest.mark.postgresql
def test_units_of_an_item_stay_together_in_the_queue(there: Dispute) -> None:
    """The second report has a tie on its last question, the first one has a tie and two more."""
    answer(there.study.assignment(there.study.ada), "no", "no", "no")
    answer(there.study.assignment(there.study.ben), "no", "no", "invalid")
    found = queue(there.study.campaign, there.dora)
    assert [each.item_position for each in found] == [0, 0, 0, 1]
    # A split into three has a smaller majority than a split into two.
    assert [each.rank for each in found] == [(0, 1 / 3), (1, 2 / 3), (2, 1.0), (0, 0.5)]


@pytest.mark.postgresql
def test_decided_units_leave_the_queue_and_can_be_reread(there: Dispute) -> None:
    decided(there, there.units[0])
    assert names(there) == ["q:1", "q:2"]
    assert names(there, state="decided") == ["q:0"]
    assert queue_sizes(there.study.campaign) == {"open": 2, "decided": 1}


def test_after_a_decision_the_next_dispute_of_the_same_item_follows(there: Dispute) -> None:
    first, second, third = there.units
    decided(there, second)
    campaign, dora = there.study.campaign, there.dora
    assert next_dispute(campaign, dora, second, QueuePart()) == first.pk
    decided(there, first)
    assert next_dispute(campaign, dora, first, QueuePart()) == third.pk
    decided(there, third)
    assert next_dispute(campaign, dora, third, QueuePart()) is None


def test_labels_of_excluded_raters_make_no_dispute(there: Dispute) -> None:
    exclude(there.study.campaign, Rater.objects.get(user=there.cleo), "answered at random")
    assert names(there, of="people") == ["q:0"]
    exclude(there.study.campaign, there.judge, "broken")
    assert names(there) == ["q:0"]


def test_labels_given_with_a_judges_label_in_view_make_no_dispute(there: Dispute) -> None:
    cleo = Assignment.objects.filter(rater__user=there.cleo)
    cleo.update(assisted_by="planted-judge")
    assert names(there, of="people") == ["q:0"]


def test_only_the_first_of_a_judges_repeated_answers_counts(there: Dispute) -> None:
    again = Assignment.objects.create(
        item=there.item, rater=there.judge, replicate=1, asked=["q:0", "q:1", "q:2"]
    )
    answer(again, "no", "no", "no")
    assert names(there, of="judges") == ["q:2"]


def test_superseded_labels_make_no_dispute(there: Dispute) -> None:
    for user, codes in ((there.study.ada, ("no", "yes", "no")), (there.cleo, ("no", "yes", "no"))):
        answer(Assignment.objects.get(rater__user=user, item=there.item), *codes)
    assert names(there, of="people") == []


def test_labels_of_another_campaign_make_no_dispute(there: Dispute) -> None:
    before, count = names(there), counted_labels(there.study.campaign).count()
    other = create_campaign("Other", "report-coverage", Batch.objects.get(), Design()).campaign
    item = other.items.get(key=there.item.key)
    for user, code in ((there.study.ada, "yes"), (there.study.ben, "no")):
        held = Assignment.objects.create(
            item=item, rater=rater_of(user), asked=["q:0", "q:1", "q:2"]
        )
        answer(held, code, code, code)
    assert names(there) == before
    exclude(other, rater_of(there.study.ben), "slow")
    assert names(there) == before
    assert counted_labels(there.study.campaign).count() == count == 12


def test_gold_items_have_no_disputes(there: Dispute) -> None:
    Item.objects.filter(pk=there.item.pk).update(use=Item.Use.GOLD)
    assert names(there) == []


def test_the_queue_leaves_out_units_that_the_adjudicator_labelled(there: Dispute) -> None:
    """Dora answered one question of a file before she became an adjudicator."""
    dora = Rater.objects.create(name="person-dora", user=there.dora)
    mine = Assignment.objects.create(item=there.item, rater=dora, asked=["q:1"])
    answer_one = {"units": {"q:1": {"evidence": [], "answerable": "no"}}, "comment": None}
    submit(mine, answer_one, "api")
    assert names(there) == ["q:0", "q:2"]


@pytest.mark.postgresql
def test_the_database_finds_the_disputes_in_one_query(there: Dispute) -> None:
    with CaptureQueriesContext(connection) as found:
        assert len(disputes(counted_labels(there.study.campaign))) == 3
    assert len(found) == 1


def test_a_dispute_lists_its_variables_and_ranks_by_the_most_disputed_one(
    there: Dispute,
) -> None:
    unit, campaign = there.units[2], there.study.campaign
    answers = Response.objects.filter(assignment__rater__kind="human")
    for response, zeta, about in zip(answers, "112", "123", strict=True):
        for variable, value in (("zeta", zeta), ("about", about)):
            Label.objects.create(response=response, unit=unit, variable=variable, value=value)
    found = unit_disagreements(counted_labels(campaign), unit.pk)
    assert found == [
        Disagreement("about", (1, 1, 1), judges=False),
        Disagreement("answerable", (3,), judges=True),
        Disagreement("zeta", (2, 1), judges=False),
    ]
    (dispute,) = disputes(counted_labels(campaign).filter(unit=unit))
    assert dispute.rank == (0, 1 / 3)
    assert unit_disagreements(counted_labels(campaign), unit.pk + 1000) == []
    Label.objects.filter(unit=unit).exclude(variable="answerable").delete()
    assert names(there, of="sent") == []
    AdjudicationRequest.objects.create(unit=there.units[1])
    AdjudicationRequest.objects.create(unit=unit)
    assert names(there, of="sent") == ["q:1", "q:2"]


def test_excluded_raters_count_again_once_the_exclusion_is_undone(
    there: Dispute,
) -> None:
    campaign, cleo = there.study.campaign, Rater.objects.get(user=there.cleo)
    decided(there, there.units[0])
    assert counted_labels(campaign).count() == 12, "an adjudicator's decision is none of them"
    exclude(campaign, cleo, "answered at random")
    assert counted_labels(campaign).count() == 9
    Exclusion.objects.update(undone_at=timezone.now())
    assert counted_labels(campaign).count() == 12


def test_only_members_with_the_role_adjudicate(
    there: Dispute,
) -> None:
    study, campaign = there.study, there.study.campaign
    other = create_campaign("Other", "report-coverage", campaign.batch, Design()).campaign
    items = (other.items.get(position=0), campaign.items.get(position=1))
    elsewhere, here = (
        Assignment.objects.create(item=item, rater=rater_of(study.rita), asked=list(UNITS))
        for item in items
    )
    for user in (study.rita, study.root, study.ben):
        Membership.objects.create(campaign=campaign, user=user, role="adjudicator")
    Membership.objects.create(campaign=campaign, user=there.cleo, role="annotator")
    answer(elsewhere, "no", "no", "no")
    for user in (there.dora, study.rita, study.ben):
        assert list(adjudicable(user)) == [campaign]
    for user in (study.root, study.ada, there.cleo):
        assert not adjudicable(user).exists()
    answer(here, "no", "no", "no")
    assert not adjudicable(study.rita).exists(), "a researcher who answered"
    there.dora.is_active = False
    assert not adjudicable(there.dora).exists()
    Membership.objects.filter(user=study.ben, role="adjudicator").update(ended_at=timezone.now())
    assert not adjudicable(study.ben).exists()
    assert set(own_units(study.rita, campaign)) == set(items[1].units.values_list("pk", flat=True))


def test_units_sent_by_a_researcher_come_first_and_listing_them_records_a_look(
    there: Dispute,
) -> None:
    campaign, dora = there.study.campaign, there.dora
    first, second, third = there.units
    other = create_campaign("Other", "report-coverage", campaign.batch, Design()).campaign
    for unit in (third, other.items.get(position=0).units.get(name="q:0")):
        AdjudicationRequest.objects.create(unit=unit)
    assert sent_units(campaign) == {third.pk}
    with ledger.collect_looks() as notes:
        assert queued_units(campaign, dora) == [third.pk, first.pk, second.pk]
        assert not notes
        found = queue(campaign, dora)
    assert [each.unit for each in found] == [third.pk, first.pk, second.pk]
    (note,) = notes
    assert note["kind"] == "disputes"
    assert note["scope"] == {"units": sorted(unit.pk for unit in there.units)}
    assert next_dispute(campaign, dora, third, QueuePart()) == first.pk
    assert next_dispute(campaign, dora, first, QueuePart()) == third.pk
    texts = [(each.unit, query, unit) for each, query, unit in with_texts(campaign, found[:2])]
    query = "What of the harbour? ⛵"
    assert texts == [(third.pk, query, QUESTIONS[2]), (first.pk, query, QUESTIONS[0])]


def test_counting_disputes_finds_the_same_units_for_any_labels(there: Dispute) -> None:
    campaign, random = there.study.campaign, Random(0)
    numbers = set()
    for _ in range(20):
        for label in Label.objects.all():
            Label.objects.filter(pk=label.pk).update(value=random.choice(("yes", "yes", "no")))
        found = {each.unit for each in disputes(counted_labels(campaign))}
        assert disputed_units(campaign) == found
        numbers.add(len(found))
    assert len(numbers) > 1


def test_units_without_disagreement_are_not_loaded(there: Dispute) -> None:
    for user in (there.study.ada, there.study.ben):
        answer(there.study.assignment(user), "no", "no", "no")
    labels = counted_labels(there.study.campaign)
    assert labels.values("unit").distinct().count() == 6
    read = list(_tally(labels))
    assert {each.unit[3] for each in read} == {unit.pk for unit in there.units}
    first = (0, there.item.pk, 0, there.units[0].pk)
    assert sorted(each[1:] for each in read if each.unit == first) == [
        ("answerable", "invalid", "human", 1),
        ("answerable", "no", "human", 1),
        ("answerable", "yes", "human", 1),
        ("answerable", "yes", "judge", 1),
    ]


def test_a_judge_disputes_only_units_with_a_majority_of_people() -> None:
    def disagreement(*tallies: tuple[str, str, int]) -> Disagreement | None:
        unit = (0, 1, 0, 1)
        return _disagreement("rating", [_Tally(unit, "rating", *each) for each in tallies])

    assert disagreement(("yes", "judge", 2), ("no", "judge", 1)) is None
    assert disagreement(("yes", "human", 2), ("no", "human", 1), ("no", "judge", 2)) == (
        Disagreement("rating", (2, 1), judges=True)
    )
    assert disagreement(("yes", "human", 2), ("no", "human", 1), ("yes", "judge", 1)) == (
        Disagreement("rating", (2, 1), judges=False)
    )
    assert disagreement(("yes", "human", 1), ("no", "human", 1), ("no", "judge", 1)) == (
        Disagreement("rating", (1, 1), judges=False)
    )
    assert disagreement(("yes", "human", 1), ("no", "judge", 1)) == (
        Disagreement("rating", (1,), judges=True)
    )
