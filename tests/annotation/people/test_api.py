"""The API changes people with the same permissions as the pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from annotation.answers.submission import submit
from annotation.models import Invitation, Label, Membership, Rater, User, rater_of
from annotation.people.leases import open_assignments
from tests.api.cast import assert_error, script_of
from tests.once import once
from tests.page_cast import Study, make_study, payload
from tests.team_cast import give_away

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh_limits() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@once
def study() -> Study:
    return make_study()


class TestAccounts:
    def test_an_admin_reads_accounts_and_pseudonyms(self, study: Study) -> None:
        name = rater_of(study.ada).name
        people = script_of(study.root).get("people/").json()["results"]
        by_name = {each["name"]: each["pseudonym"] for each in people}
        assert by_name == {"ada": name, "ben": None, "rita": None, "root": None}

    def test_an_admin_changes_a_role_and_switches_off(self, study: Study) -> None:
        root, ada = script_of(study.root), script_of(study.ada)
        path = f"people/{study.ada.pk}/"
        assert root.put(path, {"role": "researcher"}).json()["role"] == "researcher"
        assert ada.get("").status_code == 401
        assert root.put(path, {"is_active": False}).json()["is_active"] is False
        assert root.put(path, {"is_active": True}).json()["is_active"] is True

    def test_nobody_changes_themselves(self, study: Study) -> None:
        User.objects.create(username="second", role="admin")
        path = f"people/{study.root.pk}/"
        assert_error(script_of(study.root).put(path, {"role": "annotator"}), 422)

    def test_an_admin_changes_a_persons_pseudonym(self, study: Study) -> None:
        root, path, before = script_of(study.root), f"people/{study.ada.pk}/", rater_of(study.ada)
        seen = root.get(path)["ETag"]
        assert root.put(path, {"pseudonym": "A7"}).json()["pseudonym"] == "A7"
        assert root.get(path)["ETag"] != seen
        assert root.put(path, {"pseudonym": ""}).json()["pseudonym"] not in ("A7", before.name)
        assert_error(root.put(path, {"pseudonym": "ben"}), 422)
        assert_error(root.put(f"people/{study.ben.pk}/", {"pseudonym": "B"}), 422)

    def test_an_account_is_deleted_and_its_answers_stay(self, study: Study) -> None:
        root, path = script_of(study.root), f"people/{study.ada.pk}/forget/"
        submit(study.assignment(study.ada), payload("no"), "api")
        name = Rater.objects.get(user=study.ada).name
        assert_error(root.post(path, {"name": "ben"}), 422)
        assert root.post(path, {"name": "ada"}).json() == {"pseudonym": name}
        assert not User.objects.filter(username="ada").exists()
        assert Label.objects.filter(response__assignment__rater__name=name).exists()
        assert_error(root.post(f"people/{study.root.pk}/forget/", {"name": "root"}), 422)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "sent", [{"role": "owner"}, {"is_superuser": True}, {"username": "x"}, {"is_guest": True}]
    )
    def test_fields_that_may_not_be_set_are_refused_by_name(
        self, study: Study, sent: dict[str, object]
    ) -> None:
        problems = assert_error(script_of(study.root).put(f"people/{study.ada.pk}/", sent), 400)
        assert {each["field"] for each in problems} == set(sent)


class TestInvitations:
    def test_the_link_of_an_invitation_is_shown_once(self, study: Study) -> None:
        rita = script_of(study.rita)
        sent = {"campaign": study.campaign.pk, "note": "Eve"}
        made = rita.post("invitations/", sent)
        assert made.status_code == 201
        link = made.json()["link"]
        assert Client().get(link.removeprefix("http://testserver")).status_code == 200
        (listed,) = rita.get("invitations/").json()["results"]
        assert "link" not in listed
        assert listed["state"] == "open"

    def test_a_researcher_invites_only_annotators_to_their_own_campaigns(
        self, study: Study
    ) -> None:
        rita = script_of(study.rita)
        assert_error(rita.post("invitations/", {"role": "admin"}), 422)
        give_away(study.campaign)
        assert_error(rita.post("invitations/", {"campaign": study.campaign.pk}), 422)
        assert not Invitation.objects.exists()

    def test_an_invitation_is_revoked(self, study: Study) -> None:
        root = script_of(study.root)
        number = root.post("invitations/", {"role": "researcher"}).json()["id"]
        assert root.post(f"invitations/{number}/revoke/").json()["state"] == "revoked"
        assert_error(script_of(study.rita).post(f"invitations/{number}/revoke/"), 404)


class TestACampaign:
    def test_a_campaigns_people_are_read_and_changed(self, study: Study) -> None:
        rita, path = script_of(study.rita), f"campaigns/{study.campaign.pk}/people/"
        changes = {"pool": "named", "hold_minutes": 60, "items_per_person": 2}
        reply = rita.put(path, changes).json()
        assert {name: reply[name] for name in changes} == changes
        assert reply["members"] == [{"name": "rita", "role": "researcher"}]
        assert rita.put(path, {"hold_minutes": None}).json()["hold_minutes"] is None
        assert rita.get(path).json()["items_per_person"] == 2
        assert_error(rita.put(path, {"hold_minutes": 1}), 400)

    def test_a_campaign_role_is_given_and_taken_away(self, study: Study) -> None:
        rita, path = script_of(study.rita), f"campaigns/{study.campaign.pk}/members/"
        reply = rita.put(path, {"name": "ada", "role": "adjudicator"}).json()
        assert reply["members"] == [{"name": "ada", "role": "adjudicator"}]
        assert rita.put(path, {"name": "ada", "role": None}).json()["members"] == []
        assert Membership.objects.get().ended_at
        assert_error(rita.put(path, {"name": "ada", "role": "researcher"}), 422)
        assert_error(rita.put(path, {"name": "nobody", "role": "annotator"}), 422)

    def test_leases_are_released_by_the_api(self, study: Study) -> None:
        study.assignment(study.ada)
        rater = rater_of(study.ada).pk
        path = f"campaigns/{study.campaign.pk}/raters/{rater}/free/"
        (released,) = script_of(study.rita).post(path).json()["raters"]
        assert released["held"] == 0
        assert not open_assignments(study.campaign).exists()
