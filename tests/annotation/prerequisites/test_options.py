"""What a campaign waits for, by its options; tested without a database."""

from __future__ import annotations

import pytest
from django.db.models import Q

from annotation import prerequisites
from annotation.models import Campaign, Item
from annotation.prerequisites.base import PrerequisiteRule, prerequisite_of
from annotation.prerequisites.label_validation import source_campaign, validated_judge
from annotation.prerequisites.rubric_passage import chances


def campaign(protocol: str = "rubric-passage", **options: object) -> Campaign:
    return Campaign(name="Own", protocol=protocol, options=options)


def test_prerequisite_judge_and_source_campaign_are_read_from_the_options() -> None:
    for given in ({}, {"prerequisite": None, "validates": None}, {"prerequisite": ""}):
        plain = campaign(**given)
        assert prerequisite_of(plain) == validated_judge(plain) == ""
        assert source_campaign(plain) == "Own"
    named = campaign(prerequisite="First", validates="j@here@Other")
    assert prerequisite_of(named) == "First"
    assert prerequisites.judge_shown(named) == validated_judge(named) == "j@here"
    assert source_campaign(named) == "Other"


@pytest.mark.parametrize(
    "cases",
    [
        [
            ({}, ""),
            ({"validates": "j"}, "the labels from judge j"),
            (
                {"prerequisite": "First", "sampling": "own"},
                "your own answers in “First”: submit all items of a request that you can get there",
            ),
            (
                {"prerequisite": "First", "strata": "j"},
                "everyone to be done with the same request in “First”, and judge j too",
            ),
            (
                {"prerequisite": "First", "validates": "j"},
                "everyone to be done with the same request in “First” and for the labels from "
                "judge j",
            ),
        ]
    ],
)
def test_reasons_to_wait_are_described_in_words(cases: list[tuple[dict[str, str], str]]) -> None:
    for options, said in cases:
        assert str(prerequisites.describe_waits(campaign(**options))) == said
    practised = campaign(validates="j")
    practised.practice_of_id = practised.pk = 1
    practised.practice_of, practised.qualify = practised, 0.855
    assert str(prerequisites.describe_waits(practised)) == (
        "the practice to be passed with 86% correct and for the labels from judge j"
    )


def test_judges_wait_only_for_a_shared_sample() -> None:
    for sampling in ("own", "all"):
        assert prerequisites.ready_for_judges(campaign(prerequisite="F", sampling=sampling)) == Q()
    assert prerequisites.ready_for_judges(campaign()) == Q()
    assert prerequisites.ready_for_judges(campaign(prerequisite="First")) != Q()


def test_without_a_prerequisite_every_unit_is_asked() -> None:
    item, names = Item(campaign=campaign()), ["a", "b"]
    assert prerequisites.units_asked_of_judges(item, names) == names
    assert prerequisites.units_asked_so_far(item.campaign, [1]) is None
    whole = campaign(prerequisite="First", sampling="all")
    assert prerequisites.units_asked_so_far(whole, [1]) is None
    every = PrerequisiteRule((), lambda *_: Q(), lambda *_: Q(), prerequisites.PRACTICE.describe)
    assert not every.samples(whole)


def test_an_exhausted_stratum_is_replaced_by_the_other_in_the_probabilities() -> None:
    """Four of seven: `yes` comes first in half of all seeds."""
    strata = {"a": "yes", "b": "no", "c": "no", "d": "no", "e": "no", "f": "invalid"}
    names = [*strata, "g"]
    assert chances(names, strata, 4) == {
        "a": 1, **dict.fromkeys("bcde", 3 / 4), **dict.fromkeys("fg", 0),
    }  # fmt: skip
    assert chances(names, strata, 1) == {
        "a": 1 / 2, **dict.fromkeys("bcde", 1 / 8), **dict.fromkeys("fg", 0),
    }  # fmt: skip
    assert chances(names, strata, 6) == {**dict.fromkeys("abcde", 1), "f": 1 / 2, "g": 1 / 2}
    assert chances(names, strata, 9) == dict.fromkeys(names, 1)
