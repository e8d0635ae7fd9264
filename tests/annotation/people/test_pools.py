"""New campaigns are for named people unless they are opened to all."""

from __future__ import annotations

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.chosen_items import choose_items, create_chosen
from annotation.campaign_setup.creation import CreatedCampaign, create_campaign
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Campaign, User, rater_of
from annotation.people.membership import (
    add_member,
    end_membership,
    find_readable,
    set_pool,
    workable,
)
from tests.cast import run
from tests.page_cast import Study, client_of, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study()


def new(study: Study, pool: str | None = None, by: User | None = None) -> CreatedCampaign:
    batch, design = study.campaign.batch, Design(raters_per_item=2)
    return create_campaign("New", "report-coverage", batch, design, by=by, pool=pool)


def test_only_members_of_a_new_campaign_take_its_items(study: Study) -> None:
    named = new(study).campaign
    assert not workable(study.ada).filter(pk=named.pk).exists()
    assert next_assignment(named, rater_of(study.ada)) is None
    add_member(named, study.ada, "annotator")
    assert next_assignment(named, rater_of(study.ada)) is not None


def test_a_researcher_sees_a_campaign_that_they_create(study: Study) -> None:
    named = new(study, by=study.rita).campaign
    assert [str(each.user) for each in named.memberships.all()] == ["rita"]
    assert find_readable(study.rita, named.pk) == named


def test_people_with_a_share_are_named_by_it(study: Study) -> None:
    batch, design = study.campaign.batch, Design(raters_per_item=2)
    settings = CampaignSettings(shares={"ada": 0.5, "ben": 0.5})
    made = create_campaign("Shared", "report-coverage", batch, design, settings=settings).campaign
    assert {str(each.user): each.role for each in made.memberships.all()} == {
        "ada": "annotator", "ben": "annotator",
    }  # fmt: skip
    end_membership(made, study.ada)
    with pytest.raises(DesignError, match="ada may not label in this campaign; add the person"):
        change(made, CampaignSettings(shares={"ada": 0.4, "ben": 0.5}))


def test_everybody_in_the_team_takes_items_of_a_campaign_opened_to_all(study: Study) -> None:
    opened = new(study, "open", study.rita).campaign
    assert workable(study.ada).filter(pk=opened.pk).exists()
    assert not opened.memberships.exists()


def test_creating_a_campaign_again_leaves_its_pool_and_refuses_another(study: Study) -> None:
    campaign = new(study, "open").campaign
    assert new(study).unchanged
    assert new(study, "open").unchanged
    with pytest.raises(DesignError, match="the pool of campaign 'New' is open; change it on its"):
        new(study, "named")
    campaign.refresh_from_db()
    assert campaign.pool == "open"


def test_the_command_names_people_unless_told_otherwise(study: Study) -> None:
    command = ("create_campaign", "--protocol", "report-coverage", "--batch", "harbour")
    run(*command, "first")
    run(*command, "second", "--pool", "open")
    pools = dict(Campaign.objects.values_list("name", "pool"))
    assert (pools["first"], pools["second"]) == ("named", "open")
    with pytest.raises(CommandError, match="the pool of campaign 'first' is named"):
        run(*command, "first", "--pool", "open")


@pytest.mark.parametrize(("sent", "pool"), [({}, "named"), ({"pool": "open"}, "open")])
def test_the_form_names_people_unless_told_otherwise(
    study: Study, sent: dict[str, str], pool: str
) -> None:
    rita, task = client_of(study.rita), {"protocol": "report-coverage", "batch": "harbour"}
    form = rita.get(reverse("campaign-new"), task).context["form"]
    assert form["pool"].value() == "named"
    filled = {name: form[name].value() for name in form.fields if name != "pool"}
    values = {name: value for name, value in filled.items() if value is not None}
    answer = rita.post(reverse("campaign-new"), {**values, **task, "name": "Mine", **sent})
    assert answer.status_code == 302, answer.context["form"].errors
    assert Campaign.objects.get(name="Mine").pool == pool
    assert rita.get(answer["Location"]).status_code == 200


@pytest.mark.parametrize("pool", ["named", "open"])
def test_a_campaign_over_chosen_items_is_for_the_same_people(study: Study, pool: str) -> None:
    set_pool(study.campaign, pool, study.rita)
    item = study.campaign.items.first()
    assert item is not None
    unit = item.units.first()
    assert unit is not None
    chosen = choose_items(study.campaign, [(item.key, unit.kind, unit.key)])
    assert create_chosen(chosen, "First", by=study.rita).campaign.pool == pool
