"""Who may take items of a campaign, and who may read it."""

from __future__ import annotations

import pytest
from django.core.management import CommandError
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.assignments.queue import has_reached_limit, next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Membership, User, rater_of
from annotation.people.membership import (
    PeopleError,
    add_member,
    end_membership,
    readable,
    set_most_items,
    set_pool,
    workable,
)
from datasets.models import Batch
from tests.annotation.people.cast import assert_whole, take
from tests.api.cast import assert_error, body, place, script_of
from tests.cast import run
from tests.once import once
from tests.page_cast import Study, answers, client_of, make_study, page, payload
from tests.team_cast import join_team

pytestmark = pytest.mark.django_db
READ = ("results", "campaign-people", "judges-compared")


def is_adjudicator(user: User, campaign: Campaign) -> bool:
    return Membership.objects.filter(
        campaign=campaign, user=user, role="adjudicator", ended_at=None
    ).exists()


@once
def study() -> Study:
    return make_study(reports=4)


def works(user: User) -> bool:
    return workable(user).exists()


def reads(user: User) -> bool:
    return readable(user).exists()


class TestOpenPool:
    def test_in_an_open_pool_the_accounts_role_decides(self, study: Study) -> None:
        may = {u.username: (works(u), reads(u)) for u in User.objects.all()}
        assert may == {
            "ada": (True, False),
            "ben": (True, False),
            "rita": (True, True),
            "root": (False, True),
        }

    def test_a_campaign_role_takes_precedence(self, study: Study) -> None:
        add_member(study.campaign, study.rita, "annotator")
        assert (works(study.rita), reads(study.rita)) == (True, False)
        add_member(study.campaign, study.ada, "adjudicator")
        assert not works(study.ada)
        assert is_adjudicator(study.ada, study.campaign)
        assert take(study, study.ada) is None

    def test_a_removed_person_stays_out_of_an_open_pool(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        end_membership(study.campaign, study.ada)
        mine.refresh_from_db()
        assert (mine.status, mine.slot) == ("cancelled", None)
        assert not works(study.ada)
        assert take(study, study.ada) is None
        assert_whole(study.campaign)

    def test_a_person_removed_between_items_gets_no_more(self, study: Study) -> None:
        mine, client = study.assignment(study.ada), client_of(study.ada)
        Membership.objects.create(campaign=study.campaign, user=study.ada, ended_at=mine.created_at)
        form = answers("no", "no", "no", version=0, seen=0)
        answer = client.post(page("submit", mine), form)
        assert answer.status_code == 200
        assert answer.json()["next"] == reverse("finished", args=[study.campaign.pk])
        content = client.get(answer.json()["next"]).content.decode()
        assert "All done" in content
        assert client.post(reverse("take-next", args=[study.campaign.pk])).status_code == 404

    def test_an_ended_role_gives_no_access(self, study: Study) -> None:
        for user, role in ((study.ben, "adjudicator"), (study.rita, "researcher")):
            add_member(study.campaign, user, role)
            end_membership(study.campaign, user)
        assert not is_adjudicator(study.ben, study.campaign)
        assert not works(study.rita)
        assert not reads(study.rita)
        add_member(study.campaign, study.rita, "annotator")
        assert works(study.rita)

    def test_a_deactivated_account_gets_no_items(self, study: Study) -> None:
        User.objects.filter(pk=study.ada.pk).update(is_active=False)
        study.ada.refresh_from_db()
        assert not works(study.ada)

    def test_a_role_in_another_campaign_gives_no_access(self, study: Study) -> None:
        other = create_campaign(
            "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
        ).campaign
        add_member(other, study.ada, "adjudicator")
        assert workable(study.ada).get() == study.campaign
        assert not is_adjudicator(study.ada, study.campaign)
        assert take(study, study.ada)

    def test_only_a_role_that_labels_keeps_a_persons_leases(self, study: Study) -> None:
        mine, other = study.assignment(study.rita), study.assignment(study.ben)
        add_member(study.campaign, study.rita, "annotator")
        mine.refresh_from_db()
        assert mine.status == "open"
        add_member(study.campaign, study.rita, "adjudicator")
        mine.refresh_from_db()
        other.refresh_from_db()
        assert (mine.status, mine.reason, other.status) == ("cancelled", "freed", "open")
        assert_whole(study.campaign)

    def test_guests_and_disabled_accounts_get_no_campaign_role(self, study: Study) -> None:
        User.objects.filter(pk=study.ben.pk).update(is_guest=True)
        User.objects.filter(pk=study.ada.pk).update(is_active=False)
        for user, why in ((study.ben, "one campaign only"), (study.ada, "switched off")):
            user.refresh_from_db()
            with pytest.raises(PeopleError, match=why):
                add_member(study.campaign, user, "annotator")
        assert not Membership.objects.exists()

    def test_a_guest_sees_no_open_campaign_and_reads_none(self, study: Study) -> None:
        for user in (study.ada, study.rita):
            User.objects.filter(pk=user.pk).update(is_guest=True)
            user.refresh_from_db()
        assert not works(study.ada)
        assert not reads(study.rita)


class TestNamedPool:
    @pytest.fixture(autouse=True)
    def _named(self, study: Study) -> None:
        join_team(study.rita, role="member")
        set_pool(study.campaign, "named")

    def test_a_named_pool_is_hidden_on_every_page(self, study: Study) -> None:
        ben, rita, pk = client_of(study.ben), client_of(study.rita), study.campaign.pk
        assert "Pilot" not in ben.get(reverse("work")).content.decode()
        assert ben.post(reverse("take-next", args=[pk])).status_code == 404
        assert ben.get(reverse("finished", args=[pk])).status_code == 404
        assert reverse("results", args=[pk]) not in rita.get(reverse("campaigns")).content.decode()
        for name in READ:
            assert rita.get(reverse(name, args=[pk])).status_code == 404
            assert client_of(study.root).get(reverse(name, args=[pk])).status_code == 200

    def test_a_researcher_who_restricts_the_pool_becomes_a_member(self, study: Study) -> None:
        set_pool(study.campaign, "open")
        set_pool(study.campaign, "named", study.rita)
        assert reads(study.rita)
        assert Membership.objects.get(user=study.rita).role == "researcher"

    def test_an_admin_who_restricts_the_pool_does_not_become_a_member(self, study: Study) -> None:
        set_pool(study.campaign, "open", study.root)
        set_pool(study.campaign, "named", study.root)
        assert not Membership.objects.exists()

    def test_only_members_who_label_keep_their_leases_when_the_pool_is_restricted(
        self, study: Study
    ) -> None:
        set_pool(study.campaign, "open")
        mine, bens, ritas = (study.assignment(u) for u in (study.ada, study.ben, study.rita))
        for user, role in ((study.ben, "annotator"), (study.rita, "adjudicator")):
            Membership.objects.create(campaign=study.campaign, user=user, role=role)
        set_pool(study.campaign, "named")
        states = [Assignment.objects.get(pk=each.pk) for each in (mine, bens, ritas)]
        assert [each.status for each in states] == ["cancelled", "open", "cancelled"]
        assert {each.reason for each in states} == {"expired", ""}
        assert_whole(study.campaign)

    def test_ones_own_work_stays_visible(self, study: Study) -> None:
        add_member(study.campaign, study.ada, "annotator")
        mine = study.assignment(study.ada)
        submit(mine, payload("no"), "page")
        end_membership(study.campaign, study.ada)
        assert client_of(study.ada).get(page("item", mine)).status_code == 200

    def test_a_removed_person_cannot_revise_answers(self, study: Study) -> None:
        add_member(study.campaign, study.ada, "annotator")
        mine = study.assignment(study.ada)
        submit(mine, payload("no"), "page")
        end_membership(study.campaign, study.ada)
        form = answers("invalid", "no", "no", version=0, seen=1)
        answer = client_of(study.ada).post(page("submit", mine), form)
        assert answer.status_code == 422
        assert "no longer take part in this campaign" in answer.json()["problems"][0]["message"]
        again = body("invalid", "no", "no", revision=1, draft=1)
        assert_error(script_of(study.ada).put(place(mine, "response/"), again), 422)
        assert mine.responses.get().revision == 1
        add_member(study.campaign, study.ada, "annotator")
        sent = {**form, "version": 1}
        assert client_of(study.ada).post(page("submit", mine), sent).status_code == 200


class TestRoleLimits:
    @pytest.mark.postgresql
    def test_a_role_written_directly_into_the_database_has_no_effect(self, study: Study) -> None:
        Membership.objects.create(campaign=study.campaign, user=study.ada, role="researcher")
        assert not reads(study.ada)

    @pytest.mark.postgresql
    def test_the_database_refuses_unknown_roles_and_pools(self, study: Study) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            Membership.objects.create(campaign=study.campaign, user=study.ada, role="owner")
        with pytest.raises(IntegrityError), transaction.atomic():
            Campaign.objects.update(pool="shut")


class TestItemLimit:
    @pytest.mark.postgresql
    def test_the_limit_of_items_is_exact(self, study: Study) -> None:
        rater = rater_of(study.ada)
        set_most_items(study.campaign, 2)
        assert not has_reached_limit(study.campaign, rater)
        submit(study.assignment(study.ada), payload("no"), "page")
        assert not has_reached_limit(study.campaign, rater)
        submit(study.assignment(study.ada), payload("no"), "page")
        assert has_reached_limit(study.campaign, rater)
        set_most_items(study.campaign, 3)
        assert not has_reached_limit(study.campaign, rater)

    def test_imported_answers_do_not_count_towards_the_limit(self, study: Study) -> None:
        set_most_items(study.campaign, 1)
        item = study.campaign.items.get(position=3)
        Assignment.objects.create(
            item=item, rater=rater_of(study.ada), asked=["q:0"], status="done", slot=None
        )
        assert study.assignment(study.ada).item != item

    def test_items_of_other_campaigns_do_not_count_towards_the_limit(self, study: Study) -> None:
        other = create_campaign(
            "Other", "report-coverage", Batch.objects.get(), Design(), pool="open"
        ).campaign
        assert next_assignment(other, rater_of(study.ada))
        set_most_items(study.campaign, 1)
        assert take(study, study.ada)

    def test_my_work_counts_up_to_the_limit_of_items(self, study: Study) -> None:
        set_most_items(study.campaign, 3)
        submit(study.assignment(study.ada), payload("no"), "page")
        content = client_of(study.ada).get(reverse("work")).content.decode()
        assert "1 of 3" in content

    def test_a_released_slot_does_not_count_towards_the_limit(self, study: Study) -> None:
        set_most_items(study.campaign, 1)
        mine = study.assignment(study.ada)
        Assignment.objects.filter(pk=mine.pk).update(status="cancelled", slot=None)
        assert next_assignment(study.campaign, rater_of(study.ada))


class TestCommand:
    def test_the_command_sets_and_shows_people(self, study: Study) -> None:
        run("campaign_people", "Pilot", "--pool", "named", "--items-per-person", 2, "--add", "ada")
        submit(study.assignment(study.ada), payload("no"), "page")
        output = run("campaign_people", "Pilot")
        assert output.startswith("pool named; lease without end; items per person: 2\n")
        assert "member ada: annotator\n" in output
        assert f"human {study.ada.rater.name}: 1 answered, 0 reserved\n" in output
        assert "Leases last 527040 minutes." in run("campaign_people", "Pilot", "--hold", 527_040)
        run("campaign_people", "Pilot", "--remove", "ada", "--items-per-person", 0)
        assert "member" not in run("campaign_people", "Pilot")

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--add", "nobody"), "no account"),
            (("--add", "ada", "--role", "researcher"), "cannot be researcher"),
            (("--hold", "4"), "from 5 to 527040 minutes"),
            (("--items-per-person", "-1"), "0 or more"),
            (("--exclude", "nobody"), "no rater"),
        ],
    )
    def test_the_command_explains_errors(
        self, study: Study, options: tuple[str, ...], message: str
    ) -> None:
        with pytest.raises(CommandError, match=message):
            run("campaign_people", "Pilot", *options)
