"""Fixed shares after an earlier round: nobody is allotted an item that they may not answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Assignment, Campaign, User, rater_of
from annotation.people.shares import share_statuses
from annotation.presentation import asked_units, present
from annotation.progress.person import progress_here
from datasets.models import Batch
from tests.once import once
from tests.page_cast import Study, study_of

pytestmark = pytest.mark.django_db
QUERIES = ("q1", "q2", "q3", "q4")
LINES = [
    {
        "id": query,
        "text": "What of it?",
        "passages": [{"id": f"{query}p", "text": "It is old.", "relevant": True}],
        "questions": [{"id": f"{query}:1", "text": "How old?"}],
        "reports": [{"id": f"{query}r", "text": "Old.", "system": "one"}],
    }
    for query in QUERIES
]
SECOND = ("action", "descriptor", "deflected")


@once
def study(folder: Path) -> Study:
    """Four requests, each answered by one person first."""
    design = Design(variables=("descriptor", "deflected"))
    return study_of("grounded-answer", folder, design, LINES)


def second_round(shares: Mapping[str, float], **design: Any) -> Campaign:
    return create_campaign(
        "Second",
        "grounded-answer",
        Batch.objects.get(name="b"),
        Design(**{"variables": SECOND, "prerequisite": "Study", **design}),
        settings=CampaignSettings(shares=dict(shares)),
        pool="open",
    ).campaign


def answer(held: Assignment, action: str = "") -> None:
    said = {"descriptor": "complete", "deflected": "no"} | ({"action": action} if action else {})
    units = {
        name: {**said, "written": {"text": "It is old [1].", "citations": [f"{unit.key}p"]}}
        for name, unit in asked_units(held, present(held.item)).items()
    }
    submit(held, {"units": units, "comment": None}, "page")


def work(campaign: Campaign, user: User, most: int = 99, action: str = "") -> list[str]:
    """Answer items until there are none; return their requests."""
    campaign.refresh_from_db()
    found: list[str] = []
    while len(found) < most and (held := next_assignment(campaign, rater_of(user))):
        answer(held, action)
        found.append(held.item.key)
    return sorted(found)


def test_two_people_with_half_of_both_rounds_check_each_other(study: Study) -> None:
    change(study.campaign, CampaignSettings(shares={"ada": 0.5, "ben": 0.5}))
    second = second_round({"ada": 0.5, "ben": 0.5})
    assert [each.allotted for each in share_statuses(second)] == [2, 2]
    first = {user: work(study.campaign, user) for user in (study.ada, study.ben)}
    assert work(second, study.ada, action="keep") == first[study.ben]
    assert work(second, study.ben, action="keep") == first[study.ada]


def test_shares_made_impossible_by_the_first_round_are_refused_with_what_is_possible(
    study: Study,
) -> None:
    change(study.campaign, CampaignSettings(shares={"ada": 0.75, "ben": 0.25}))
    with pytest.raises(DesignError, match=r"ada can give 1 of 4 answers, .* give at most 0\.25"):
        second_round({"ada": 0.5, "ben": 0.5})
    assert not Campaign.objects.filter(name="Second").exists()
    second = second_round({"ada": 0.25, "ben": 0.75})
    assert [each.allotted for each in share_statuses(second)] == [1, 3]
    with pytest.raises(DesignError, match=r"ben can give 3 of 4 answers"):
        change(second, CampaignSettings(shares={"ben": 1.0}))
    assert [each.allotted for each in share_statuses(second)] == [1, 3]


def test_shares_that_leave_an_item_to_nobody_are_refused(study: Study) -> None:
    study.campaign.items.filter(key="q1").update(quota=2)
    assert work(study.campaign, study.ada, most=1) == work(study.campaign, study.ben, most=1)
    with pytest.raises(DesignError, match=r"leave 1 of 4 answers to nobody: .* another person"):
        second_round({"ada": 0.5, "ben": 0.5})
    second = second_round({"ada": 0.5, "ben": 0.25})
    assert work(second, study.rita, action="keep") == ["q1"]


def test_items_a_person_answered_in_the_first_round_go_to_the_others(study: Study) -> None:
    second = second_round({"ada": 0.5, "ben": 0.5})
    assert len(work(study.campaign, study.ada)) == 4
    assert [each.allotted for each in share_statuses(second)] == [0, 2]
    assert progress_here(study.ben, second).left == 4
    assert work(second, study.ada, action="keep") == []
    assert work(second, study.ben, action="keep") == list(QUERIES)


def test_items_sampled_from_own_answers_are_allotted_to_the_same_person(study: Study) -> None:
    batch = Batch.objects.get(name="b")
    first = create_campaign(
        "Coverage",
        "report-coverage",
        batch,
        Design(),
        settings=CampaignSettings(shares={"ada": 0.5, "ben": 0.5}),
        pool="open",
    ).campaign
    design = Design(prerequisite="Coverage", sampling="own", per_passage=1)
    with pytest.raises(DesignError, match="rita can give 0 of 4 answers"):
        create_campaign(
            "Rating",
            "rubric-passage",
            batch,
            design,
            settings=CampaignSettings(shares={"rita": 1.0}),
            pool="open",
        )
    own = CampaignSettings(shares={"ada": 0.5, "ben": 0.5})
    rating = create_campaign(
        "Rating", "rubric-passage", batch, design, settings=own, pool="open"
    ).campaign
    covered = {
        each.account: set(first.items.filter(allotments__user=each.user).values_list("query"))
        for each in share_statuses(first)
    }
    rated = {
        each.account: set(rating.items.filter(allotments__user=each.user).values_list("query"))
        for each in share_statuses(rating)
    }
    assert covered == rated
