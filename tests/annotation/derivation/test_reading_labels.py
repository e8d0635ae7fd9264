"""The units of queries with their labels, as rules read them from a campaign."""

from __future__ import annotations

from django.utils import timezone

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.derivation.labels import LabelledUnit, LabelReader, _range_of
from annotation.models import Assignment, Exclusion, Item, Rater, rater_of
from annotation.people.membership import exclude
from tests.annotation.adjudication.cast import Dispute, answer, decided, make_dispute
from tests.once import once


@once
def there() -> Dispute:
    return make_dispute()


def read(there: Dispute, rater: Rater | None = None, *variables: str) -> list[LabelledUnit]:
    reader = LabelReader(there.study.campaign, variables or ("answerable",), rater)
    found = reader.read([there.item.query_id])
    assert set(found) <= {there.item.query_id}
    return found.get(there.item.query_id, [])


def test_units_are_in_campaign_order_with_peoples_labels(there: Dispute) -> None:
    campaign = there.study.campaign
    other = create_campaign("Other", "report-coverage", campaign.batch, Design()).campaign
    held = Assignment.objects.create(
        item=other.items.get(position=0), rater=rater_of(there.study.rita), asked=["q:0"]
    )
    names, second = ["q:0", "q:1", "q:2"], campaign.items.get(position=1)
    held.asked = names
    held.save()
    answer(held, "yes", "yes", "yes")
    found = read(there)
    assert [(each.item, each.key) for each in found] == [
        (item.key, name) for item in (there.item, second) for name in names
    ]
    assert found[0] == LabelledUnit(
        there.item.key, "question", "q:0", "q:0", "hidden-system-0:r", "hidden-system-0", None, 3,
        people={"answerable": {"yes": 1, "no": 1, "invalid": 1}},
    )  # fmt: skip
    assert [each.people for each in found[1:]] == [
        {"answerable": {"yes": 2, "no": 1}}, {"answerable": {"no": 3}}, {}, {}, {},
    ]  # fmt: skip
    assert found[1].digest_content() == [
        there.item.key, "question", "q:1", {"answerable": {"yes": 2, "no": 1}}, {}, 3,
    ]  # fmt: skip
    assert not any(each.people for each in read(there, None, "rating"))
    assert LabelReader(campaign, ("answerable",)).read([there.item.query_id + 1]) == {}
    Item.objects.filter(pk=there.item.pk).update(use=Item.Use.GOLD)
    assert [each.item for each in read(there)] == [second.key] * 3


def test_the_reference_is_kept_separate_and_excluded_raters_are_left_out(there: Dispute) -> None:
    decided(there, there.units[0])
    exclude(there.study.campaign, Rater.objects.get(user=there.cleo), "slow")
    first, second, third, *_ = read(there)
    assert first.reference == {"answerable": {"yes": 1}}
    assert first.people == {"answerable": {"yes": 1, "no": 1}}
    assert (second.reference, second.people) == ({}, {"answerable": {"yes": 2}})
    assert third.people == {"answerable": {"no": 2}}
    Exclusion.objects.update(undone_at=timezone.now())
    batch, ada = there.study.campaign.batch, rater_of(there.study.ada)
    other = create_campaign("Other", "report-coverage", batch, Design()).campaign
    Exclusion.objects.create(campaign=other, rater=ada, reason="slow")
    assert read(there)[2].people == {"answerable": {"no": 3}}
    names = ["q:0", "q:1", "q:2"]
    again = Assignment.objects.create(item=there.item, rater=ada, replicate=1, asked=names)
    answer(again, "no", "no", "yes")
    answer(Assignment.objects.get(rater=ada, replicate=0), "no", "no", "invalid")
    assert read(there)[2].people == {"answerable": {"no": 2, "invalid": 1}}


def test_assisted_labels_count_only_for_units_without_unassisted_ones(there: Dispute) -> None:
    people = Assignment.objects.filter(rater__kind="human")
    people.filter(rater__user=there.cleo).update(assisted_by="planted-judge")
    assert read(there)[1].people == {"answerable": {"yes": 2}}
    cleo = Rater.objects.get(user=there.cleo)
    assert read(there, cleo)[1].people == {"answerable": {"no": 1}}
    people.update(assisted_by="planted-judge")
    assert read(there)[1].people == {"answerable": {"yes": 2, "no": 1}}


def test_with_one_deciding_rater_a_unit_is_open_while_that_rater_works_on_it(
    there: Dispute,
) -> None:
    study, cleo = there.study, Rater.objects.get(user=there.cleo)
    mine = study.assignment(there.cleo)
    for status in ("open", "leased"):
        Assignment.objects.filter(pk=mine.pk).update(status=status)
        found = read(there, cleo)
        assert [(each.asked, each.open) for each in found] == [(0, False)] * 3 + [(0, True)] * 3
        assert [each.people for each in found[:2]] == [
            {"answerable": {"invalid": 1}}, {"answerable": {"no": 1}},
        ]  # fmt: skip
    assert not any(each.open for each in read(there, rater_of(study.ada)))
    assert [each.people for each in read(there, there.judge)[:1]] == [{"answerable": {"yes": 1}}]
    assert not any(each.open for each in read(there))


def test_under_own_sampling_the_asked_raters_of_each_unit_are_counted(
    there: Dispute,
) -> None:
    there.study.campaign.options["sampling"] = "own"
    there.study.campaign.save()
    assert [each.asked for each in read(there)] == [3, 3, 3, 0, 0, 0]
    Assignment.objects.filter(rater__user=there.cleo).update(status="cancelled")
    Assignment.objects.filter(rater__user=there.study.ada).update(asked=["q:1"])
    assert [each.asked for each in read(there)] == [1, 2, 1, 0, 0, 0]


def test_keys_close_together_are_queried_as_a_range() -> None:
    assert _range_of("unit", [6, 3, 4]) == {"unit__gte": 3, "unit__lte": 6}
    assert _range_of("unit", [1, 4]) == {"unit__gte": 1, "unit__lte": 4}
    assert _range_of("unit", [1, 5]) == {}
    assert _range_of("item", [7]) == {"item__gte": 7, "item__lte": 7}
    assert _range_of("item", []) == {}
