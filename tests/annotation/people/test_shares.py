"""Fixed shares: who answers which part of the items, even after sampling and after changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.assignments.queue import _claim_within_share, next_assignment
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Allotment, Assignment, Campaign, Item, PersonShare, User, rater_of
from annotation.people.shares import (
    ShareError,
    _allotted,
    _Slots,
    read_shares,
    share_statuses,
)
from annotation.progress.person import progress_here
from annotation.progress.status import get_status
from tests.annotation.people.cast import assert_whole
from tests.api.cast import assert_error, script_of
from tests.cast import run
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload, study_of


def test_equal_shares_with_a_tenth_answered_by_all_give_everybody_a_quarter() -> None:
    items = [_Slots(n, str(n), 4 if n % 10 == 0 else 1) for n in range(100)]
    shares = dict.fromkeys((1, 2, 3, 4), 0.25)
    rows = list(_allotted(shares, items))
    assert len(rows) == len(set(rows)) == 130
    assert sorted(Counter(user for _, user in rows).values()) == [32, 32, 33, 33]
    assert Counter(item for item, _ in rows)[10] == 4
    # A third for one person, and the rest for anybody.
    assert len(list(_allotted({1: 1 / 3}, [_Slots(n, "", 1) for n in range(30)]))) == 10


def _topics(number: int, items: int, quota: int) -> list[_Slots]:
    """Topics with as many items each, whose items do not lie together."""
    return [_Slots(n, str(n), quota, query=n % number) for n in range(number * items)]


def test_whole_queries_go_to_the_same_people_by_their_shares() -> None:
    shares = {1: 0.5, 2: 0.25, 3: 0.25}
    rows = list(_allotted(shares, _topics(number=8, items=5, quota=1)))
    owners = {(item % 8, user) for item, user in rows}
    assert sorted(Counter(user for _, user in owners).items()) == [(1, 4), (2, 2), (3, 2)]
    pairs = list(_allotted(dict.fromkeys((1, 2, 3, 4), 0.25), _topics(number=6, items=5, quota=2)))
    assert len(set(pairs)) == 6 * 5 * 2
    assert Counter(item % 6 for item, _ in {(i % 6, u) for i, u in pairs}) == dict.fromkeys(
        range(6), 2
    )


def test_a_query_stays_with_who_began_it_and_what_is_left_over_is_left_whole() -> None:
    topics = _topics(number=4, items=3, quota=1)
    topics[5].holders.append(2)
    rows = dict(_allotted({1: 0.5, 2: 0.25}, topics))
    assert {rows[item] for item in (1, 5, 9)} == {2}
    # A quarter is for people without a share: one of the four queries.
    assert len(rows) == 9
    assert len({item % 4 for item in rows}) == 3
    barred = [replace(each, barred=(1,)) if each.query == 0 else each for each in topics]
    assert {user for item, user in _allotted({1: 1.0}, barred) if item % 4 == 0} == set()


def test_fewer_people_for_an_item_are_the_first_of_its_query() -> None:
    """With an overlap, some items of a query are answered by two people and others by one."""
    slots = [_Slots(n, str(n), 1 + n % 2, query=n // 4) for n in range(16)]
    people: dict[int, set[int]] = {}
    for item, user in _allotted(dict.fromkeys((1, 2, 3), 1 / 3), slots):
        people.setdefault(item // 4, set()).add(user)
    assert {len(each) for each in people.values()} == {2}


def test_shares_are_parsed_and_wrong_ones_refused_with_the_right_form() -> None:
    assert read_shares(["ada=0.25", " ben = .5"]) == {"ada": 0.25, "ben": 0.5}
    for wrong, message in (
        (["ada"], "write NAME=SHARE"),
        (["ada=0"], "not above 0"),
        (["ada=x"], "not above 0"),
        (["ada=.5", "ada=.2"], "two shares"),
        (["ada=.7", "ben=.4"], "1.1 together; give at most 1"),
    ):
        with pytest.raises(ShareError, match=message):
            read_shares(wrong)


@once
def study() -> Study:
    """Eight items with one slot each: half for Ada, a quarter for Ben, the rest for anybody."""
    study = make_study(reports=8, people=1)
    change(study.campaign, CampaignSettings(shares={"ada": 0.5, "ben": 0.25}))
    return study


def work(study: Study, user: User, most: int = 99) -> int:
    """Answer items until there are none; return their number."""
    number = 0
    campaign = Campaign.objects.get(pk=study.campaign.pk)
    while number < most and (mine := next_assignment(campaign, rater_of(user))):
        submit(mine, payload("no"), "page")
        number += 1
    return number


@pytest.mark.django_db
def test_one_person_owns_each_query_of_a_campaign(tmp_path: Path) -> None:
    lines = [
        {
            "id": f"q{n}",
            "text": "What of the bridge?",
            "questions": [{"id": f"q{n}:1", "text": "When?"}],
            "reports": [{"id": f"q{n}/{r}", "text": "In 1901.", "system": r} for r in "abc"],
        }
        for n in range(4)
    ]
    study = study_of("report-coverage", tmp_path, Design(allotment="queries"), lines)
    change(study.campaign, CampaignSettings(shares={"ada": 0.5, "ben": 0.5}))
    owners = set(Allotment.objects.values_list("item__query__key", "user__username"))
    assert sorted(Counter(name for _, name in owners).items()) == [("ada", 2), ("ben", 2)]
    assert {each.allotted for each in share_statuses(study.campaign)} == {6}


@pytest.mark.django_db
def test_everybody_gets_their_share_whoever_comes_first(study: Study) -> None:
    assert progress_here(study.ada, study.campaign).left == 4
    assert work(study, study.rita) == 2
    assert work(study, study.ben) == 2
    assert work(study, study.ada, most=1) == 1
    assert progress_here(study.ada, study.campaign).left == 3
    assert work(study, study.ada) == 3
    assert_whole(study.campaign)
    ada, ben = share_statuses(study.campaign)
    assert (ada.account, ada.share, ada.allotted, ada.done) == ("ada", 0.5, 4, 4)
    assert (ben.allotted, ben.done) == (2, 2)
    allotted = {person.name: person.allotted for person in get_status(study.campaign).people}
    assert allotted[rater_of(study.ada).name] == 4
    assert allotted[rater_of(study.rita).name] is None
    assert "of a share of 4" in run("progress", study.campaign.name, "--brief")
    shown = client_of(study.rita).get(reverse("campaign-people", args=[study.campaign.pk]))
    assert "Fixed shares" in shown.content.decode()


@pytest.mark.django_db
def test_a_share_changed_midway_keeps_begun_items(study: Study) -> None:
    assert work(study, study.ada, most=2) == 2
    held = next_assignment(study.campaign, rater_of(study.ada))
    assert held is not None
    change(study.campaign, CampaignSettings(shares={"ada": 0.25, "ben": 0.75}))
    assert [each.allotted for each in share_statuses(study.campaign)] == [3, 5]
    assert work(study, study.ada) == 1
    assert work(study, study.rita) == 0
    assert work(study, study.ben, most=1) == 1
    change(study.campaign, CampaignSettings(shares={}))
    assert not PersonShare.objects.exists()
    assert not Allotment.objects.exists()
    assert work(study, study.rita) == 4
    assert_whole(study.campaign)
    assert Assignment.objects.filter(status="done").count() == 8


@pytest.mark.django_db
def test_shares_are_declared_by_command_page_and_api(study: Study) -> None:
    make = ("--protocol", "report-coverage", "--batch", "harbour", "--raters-per-item", "2")
    run(
        "create_campaign",
        "Split",
        "--pool",
        "open",
        *make,
        "--share",
        "ada=0.5",
        "--share",
        "ben=0.5",
    )
    campaign = Campaign.objects.get(name="Split")
    assert [each.allotted for each in share_statuses(campaign)] == [8, 8]
    assert "share ada: 0.5, 0 of 8 items answered" in run("campaign_people", "Split")
    with pytest.raises(CommandError, match="no account 'cy' to have a share"):
        run("set_campaign", "Split", "--share", "cy=0.5")
    run("set_campaign", "Split", "--no-shares")
    rita, terms = script_of(study.rita, "manage"), f"campaigns/{campaign.pk}/terms/"
    assert rita.post(terms, {"shares": {"ada": 0.25}}).status_code == 200
    assert [each.allotted for each in share_statuses(campaign)] == [4]
    assert_error(rita.post(terms, {"shares": {"ada": 0.9, "ben": 0.9}}), 422)
    page = client_of(study.rita)
    place = reverse("campaign-terms", args=[campaign.pk])
    assert page.post(place, {"shares": "ada=0.5, ben=x"}).status_code == 422
    assert page.post(place, {"shares": "ada=0.5, ben=0.5"}).status_code == 302
    assert [each.share for each in share_statuses(campaign)] == [0.5, 0.5]
    with pytest.raises(DesignError, match="root may not label"):
        change(campaign, CampaignSettings(shares={"root": 0.5}))


@pytest.mark.django_db
def test_a_slot_reserved_for_another_persons_share_is_not_claimed(study: Study) -> None:
    """Between the choice of an item and the claim of its slot, shares may have changed."""
    change(study.campaign, CampaignSettings(shares={"ada": 1.0}))
    item = Item.objects.select_related("campaign").filter(campaign=study.campaign)[0]
    for user, slot in ((study.rita, None), (study.ada, 1)):
        assert _claim_within_share(item, rater_of(user)) == slot
        item.refresh_from_db(fields=["taken"])
        assert item.taken == (slot or 0)
