"""Finding people to add: by the beginning of a name, e-mail or team, and only whom one may find."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.models import User
from annotation.people.accounts import find_people
from datasets.models import Team, TeamMember
from tests.once import once
from tests.page_cast import Study, client_of, make_study

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@once
def study() -> Study:
    made = make_study()
    for name, email, first in (
        ("ben.adams", "b@example.org", ""),
        ("carla", "adele@example.org", "Ada"),
        ("zoe", "zoe@library.example.org", ""),
    ):
        User.objects.create(username=name, email=email, first_name=first)
    return made


def names(study: Study, text: str, by: User | None = None) -> list[str]:
    found = find_people(by or study.rita, study.campaign, text)
    return [each.account.username for each in found]


def test_accounts_are_found_by_the_beginning_of_name_email_or_team_in_this_order(
    study: Study,
) -> None:
    assert names(study, "ad") == ["ada", "ben.adams", "carla"]
    assert names(study, "ade") == ["carla"]
    assert names(study, "LIB") == ["zoe"]
    assert names(study, "ada ben") == ["ben.adams"], "each word has to begin something"
    assert names(study, "dam") == []
    team = Team.objects.create(name="Adelaide")
    TeamMember.objects.create(team=team, user=study.ben)
    TeamMember.objects.create(team=team, user=study.rita)
    assert names(study, "ade") == ["carla", "ben", "rita"]


def test_guests_admins_disabled_accounts_and_other_teams_are_not_found(study: Study) -> None:
    User.objects.create(username="ada-guest", is_guest=True)
    User.objects.create(username="ada-gone", is_active=False)
    TeamMember.objects.filter(user__username="ben.adams").delete()
    assert names(study, "ada") == ["ada", "carla"]
    assert names(study, "ada", study.root) == ["ada", "ben.adams", "carla"]
    assert names(study, "root") == []


def test_an_email_is_shown_only_to_admins_and_to_a_person_who_typed_it(study: Study) -> None:
    def mail(text: str, by: User) -> str:
        return find_people(by, study.campaign, text)[0].email

    assert mail("carla", study.rita) == ""
    assert mail("adele@", study.rita) == "adele@example.org"
    assert mail("carla", study.root) == "adele@example.org"


def test_a_found_person_is_added_in_the_chosen_role(study: Study) -> None:
    rita, address = client_of(study.rita), reverse("campaign-people", args=[study.campaign.pk])
    part = rita.get(address, {"find": "ben.", "role": "adjudicator"}, headers=HTMX)
    body = part.content.decode()
    assert body.startswith('<div id="found-people"')
    assert 'name="account" value="ben.adams"' in body
    assert 'name="role" value="adjudicator"' in body
    sent = {"order": "add", "account": "ben.adams", "role": "adjudicator"}
    added = rita.post(
        reverse("campaign-people-change", args=[study.campaign.pk]), sent, follow=True
    )
    assert "ben.adams is now adjudicator here." in added.content.decode()
    assert names(study, "") == [], "a researcher knows by pseudonym who answers"
    unasked = find_people(study.root, study.campaign, "")
    assert "ben.adams" not in {each.account.username for each in unasked}, "no member"
    assert {"ada", "ben", "carla"} <= {each.account.username for each in unasked}
    again = rita.get(address, {"find": "ben.", "role": "adjudicator"}).content.decode()
    assert '<span class="pill plain">adjudicator</span></li>' in again
    assert "Add the account “nobody”" in rita.get(address, {"find": "nobody"}).content.decode()


def test_asking_for_an_adjudicator_presets_the_role_in_both_forms(study: Study) -> None:
    rita, address = client_of(study.rita), reverse("campaign-people", args=[study.campaign.pk])
    page = rita.get(address, {"add": "1", "role": "adjudicator"}).content.decode()
    chosen = re.findall(r'<option value="(\w+)" selected', page)
    assert chosen == ["adjudicator", "adjudicator"]
    plain = rita.get(address, {"add": "1", "role": "nobody"}).content.decode()
    assert re.findall(r'<option value="(\w+)" selected', plain) == ["annotator", "annotator"]
