"""Another team's campaign stays hidden, even from a request that names it or its people."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.models import Admission, Campaign, Exclusion, Item, Rater
from annotation.people.membership import add_member, set_pool
from tests.api.cast import Script, assert_error, script_of
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload, plant
from tests.team_cast import give_away, join_team

pytestmark = pytest.mark.django_db
CLOSED, MISSING = "Pilot", "No such thing"
NEW: dict[str, Any] = {"name": "Mine", "protocol": "report-coverage", "batch": "harbour"}
REFERENCES = (
    {"protocol": "rubric-passage", "options": {"prerequisite": "NAME"}},
    {"protocol": "rubric-passage", "options": {"passages": "relevant:NAME"}},
    {"options": {"validates": "planted-judge@NAME"}},
    {"practice_of": "NAME"},
)
each_reference = pytest.mark.parametrize(
    "named", REFERENCES, ids=("prerequisite", "passages", "validates", "practice")
)


@once
def study() -> Study:
    """Ada and Ben are members and have answered; Rita, a researcher, is not a member."""
    study = make_study()
    submit(study.assignment(study.ada), payload("no", "planted-comment"), "page")
    plant(study)
    set_pool(study.campaign, "named")
    give_away(study.campaign)
    for user in (study.ada, study.ben):
        add_member(study.campaign, user, "annotator")
    Item.objects.filter(campaign=study.campaign, position=1).update(use="practice")
    return study


@pytest.fixture
def rita(study: Study) -> Script:
    return script_of(study.rita)


@pytest.fixture
def browser(study: Study) -> Client:
    return client_of(study.rita)


def naming(what: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the body of a new campaign that refers to another one by `name`."""
    filled = {
        key: {k: v.replace("NAME", name) for k, v in value.items()}
        if isinstance(value, dict)
        else value.replace("NAME", name)
        for key, value in what.items()
    }
    return NEW | filled


class TestReferencesToAnotherCampaign:
    @pytest.mark.every_case
    @each_reference
    @pytest.mark.parametrize("path", ["campaigns/", "campaigns/rehearsal/"])
    def test_another_teams_campaign_is_refused_like_a_missing_one(
        self, rita: Script, named: dict[str, Any], path: str
    ) -> None:
        errors = {}
        for name in (CLOSED, MISSING):
            (problem,) = assert_error(rita.post(path, naming(named, name)), 422)
            errors[name] = problem["wrong"].replace(name, "NAME")
        assert errors[CLOSED] == errors[MISSING]
        assert not Campaign.objects.filter(name="Mine").exists()

    @pytest.mark.every_case
    @each_reference
    def test_an_account_may_name_a_campaign_that_it_may_read(
        self, study: Study, rita: Script, named: dict[str, Any]
    ) -> None:
        add_member(study.campaign, study.rita, "researcher")
        answer = rita.post("campaigns/rehearsal/", naming(named, CLOSED)).content.decode()
        assert "does not exist" not in answer

    @pytest.mark.every_case
    @each_reference
    def test_a_similar_name_is_suggested_only_to_those_who_may_read_it(
        self, study: Study, rita: Script, named: dict[str, Any]
    ) -> None:
        for name in ("Pilt", "PILOT", "Pilot2"):
            (problem,) = assert_error(rita.post("campaigns/", naming(named, name)), 422)
            assert CLOSED not in problem["wrong"].replace(f"'{name}'", "")
        add_member(study.campaign, study.rita, "researcher")
        (problem,) = assert_error(rita.post("campaigns/", naming(named, "Pilt")), 422)
        assert f"did you mean '{CLOSED}'?" in problem["wrong"]

    def test_a_similar_batch_is_suggested_only_to_those_who_may_see_it(
        self, study: Study, rita: Script
    ) -> None:
        wrong = {**NEW, "batch": "harbor"}
        (problem,) = assert_error(rita.post("campaigns/", wrong), 400)
        assert "did you mean 'harbour'?" in problem["wrong"]
        give_away(study.campaign.batch)
        (problem,) = assert_error(rita.post("campaigns/", wrong), 400)
        assert "harbour" not in problem["wrong"]

    def test_the_page_does_not_offer_another_teams_campaign(self, browser: Client) -> None:
        form = {"protocol": "report-coverage", "batch": "harbour", "name": "Mine", "seed": "3",
                "raters_per_item": "2", "overlap": "1", "human_share": "1", "items": "fixed",
                "variables": ["answerable"], "validates": f"planted-judge@{CLOSED}"}  # fmt: skip
        for dry in ({}, {"dry": "1", "people": "2"}):
            answer = browser.post("/campaigns/new/", {**form, **dry})
            assert answer.status_code == 422
            assert "which does not exist" in answer.content.decode()

    def test_another_teams_campaign_cannot_become_practice(
        self, study: Study, rita: Script
    ) -> None:
        own = rita.post("campaigns/", NEW).json()["id"]
        answer = rita.post(f"campaigns/{own}/terms/", {"practice_of": CLOSED})
        (problem,) = assert_error(answer, 422)
        assert "which does not exist" in problem["wrong"]
        assert Campaign.objects.get(pk=own).practice_of is None


class TestTakenNames:
    def test_creating_a_taken_name_reveals_nothing_about_its_design(
        self, study: Study, rita: Script, browser: Client
    ) -> None:
        same = NEW | {"name": CLOSED, "raters_per_item": 2}
        errors = [
            assert_error(rita.post("campaigns/", body), 422)[0]["wrong"]
            for body in (same, same | {"raters_per_item": 5})
        ]
        assert errors[0] == errors[1]
        assert "design" not in errors[0]
        join_team(study.rita, study.campaign.team, "manager")
        assert rita.post("campaigns/", same | {"team": "others"}).status_code == 200


class TestPeopleByNumber:
    def test_account_numbers_reveal_no_names(
        self, study: Study, rita: Script, browser: Client
    ) -> None:
        own = rita.post("campaigns/", NEW).json()["id"]
        for rater in Rater.objects.all():
            given = {"order": "exclude", "rater": rater.pk, "reason": "who are you"}
            answer = browser.post(reverse("campaign-people-change", args=[own]), given)
            assert answer.status_code == 404
            assert rater.name not in answer.content.decode()
        assert not Exclusion.objects.exists()

    def test_an_unrelated_account_cannot_be_added_by_number(
        self, study: Study, rita: Script, browser: Client
    ) -> None:
        own = rita.post("campaigns/", NEW).json()["id"]
        for rater in Rater.objects.filter(kind="human"):
            given = {"rater": rater.pk, "reason": "who are you"}
            answer = browser.post(reverse("campaign-admit", args=[own]), given)
            assert answer.status_code == 404
        assert not Admission.objects.exists()


def test_only_managers_export_a_campaign(study: Study, browser: Client) -> None:
    addresses = [reverse("exports", args=[study.campaign.pk])]
    addresses += [f"{addresses[0]}{what}/jsonl/" for what in ("labels", "responses", "units")]
    assert [browser.get(address).status_code for address in addresses] == [404] * 4
    add_member(study.campaign, study.rita, "researcher")
    assert [browser.get(address).status_code for address in addresses] == [403] * 4
    study.campaign.memberships.filter(user=study.rita).delete()
    join_team(study.rita, study.campaign.team, "manager")
    assert [browser.get(address).status_code for address in addresses] == [200] * 4
