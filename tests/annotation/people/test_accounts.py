"""Role changes, deactivation, log-out and erasure of accounts: labels stay, identities do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse
from knox.models import AuthToken

from analysis.campaigns.reports import campaign_report
from annotation.answers.submission import submit
from annotation.exports import rows
from annotation.models import Assignment, Draft, Label, Membership, Rater, User, rater_of
from annotation.people.accounts import (
    change_role,
    end_sessions,
    forget,
    rename_rater,
    switch_off,
    switch_on,
    uses_account_name,
)
from annotation.people.invitations import invite, join
from annotation.people.membership import PeopleError, add_member
from tandem.labels.selection import ReportOptions
from tests.annotation.people.cast import assert_whole
from tests.api.cast import Script, script_of
from tests.cast import run
from tests.once import once
from tests.page_cast import PASSWORD, Study, client_of, make_study, payload

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    return make_study()


def is_in(client: Client, where: str = "home") -> bool:
    answer = client.get(reverse(where), follow=True)
    return not answer.redirect_chain or "/login/" not in answer.redirect_chain[-1][0]


def may_ask(script: Script) -> bool:
    return bool(script.get("").status_code == 200)


def everything_exported(study: Study) -> str:
    """Return everything that is exported from the campaign: labels, responses and the report."""
    lines = [*rows.labels(study.campaign), *rows.responses(study.campaign)]
    report = campaign_report(study.campaign, ReportOptions(resamples=2))
    return json.dumps([lines, report], default=str)


class TestPseudonyms:
    def test_exports_and_reports_contain_no_account_names(self, study: Study) -> None:
        User.objects.filter(pk=study.ada.pk).update(
            username="adelaide", email="adelaide@example.org", first_name="Adelaide"
        )
        submit(study.assignment(study.ada), payload("no"), "page")
        said = everything_exported(study)
        assert "adelaide" not in said.casefold()
        assert rater_of(study.ada).name in said

    def test_pseudonyms_reveal_nothing_and_are_unique(self, study: Study) -> None:
        names = [rater_of(user).name for user in (study.ada, study.ben, study.rita)]
        assert len(set(names)) == 3
        assert rater_of(study.ada).name == names[0]
        assert all(name.startswith("person-") and len(name) == 13 for name in names)

    def test_a_pseudonym_may_be_chosen_if_no_rater_or_account_has_it(self, study: Study) -> None:
        mine, bens = rater_of(study.ada), rater_of(study.ben)
        assert rename_rater(mine, "  Blue   heron ") == "Blue heron"
        assert rename_rater(mine, "Blue heron") == "Blue heron"
        with pytest.raises(PeopleError, match="another rater has this name"):
            rename_rater(bens, "Blue heron")
        with pytest.raises(PeopleError, match="name of an account"):
            rename_rater(bens, "ADA")
        assert set(Rater.objects.values_list("name", flat=True)) == {"Blue heron", bens.name}

    def test_a_pseudonym_equal_to_the_account_name_is_detected(self, study: Study) -> None:
        rater = Rater.objects.create(name="Ada", user=study.ada)
        assert uses_account_name(rater)
        rename_rater(rater)
        assert not uses_account_name(rater)


class TestRoleChanges:
    def test_a_new_role_ends_sessions_and_tokens(self, study: Study) -> None:
        client, script = client_of(study.ada), script_of(study.ada)
        assert is_in(client)
        assert may_ask(script)
        assert change_role(study.ada, "researcher")
        assert not is_in(client)
        assert not may_ask(script)
        assert not change_role(study.ada, "researcher")

    def test_a_role_changed_in_the_database_ends_sessions(self, study: Study) -> None:
        client = client_of(study.ada)
        User.objects.filter(pk=study.ada.pk).update(role="admin")
        assert not is_in(client)

    def test_only_enabled_admins_count_as_the_last_admin(self, study: Study) -> None:
        other = User.objects.create(username="olga", role="admin", is_active=False)
        for action in (switch_off, forget, lambda user: change_role(user, "researcher")):
            with pytest.raises(PeopleError, match="the only admin"):
                action(study.root)
        assert change_role(other, "annotator")
        switch_on(other)
        change_role(other, "admin")
        assert switch_off(study.root)

    def test_a_guest_and_an_unknown_role_are_refused(self, study: Study) -> None:
        with pytest.raises(PeopleError, match="a role is one of"):
            change_role(study.ada, "boss")
        User.objects.filter(pk=study.ada.pk).update(is_guest=True)
        study.ada.refresh_from_db()
        with pytest.raises(PeopleError, match="a guest has no other role"):
            change_role(study.ada, "researcher")
        study.ada.refresh_from_db()
        assert study.ada.role == "annotator"

    def test_setting_the_same_role_ends_nothing(self, study: Study) -> None:
        before = study.ada.sessions
        assert not change_role(study.ada, "annotator")
        study.ada.refresh_from_db()
        assert study.ada.sessions == before

    def test_a_new_admin_loses_leases_and_campaign_roles(self, study: Study) -> None:
        add_member(study.campaign, study.ada, "annotator")
        mine, other = study.assignment(study.ada), study.assignment(study.ben)
        change_role(study.ada, "admin")
        mine.refresh_from_db()
        other.refresh_from_db()
        assert (mine.status, mine.reason, other.status) == ("cancelled", "left", "open")
        assert Membership.objects.get().ended_at
        assert_whole(study.campaign)


class TestDeactivation:
    def test_a_deactivated_account_loses_sessions_and_leases(self, study: Study) -> None:
        done = study.assignment(study.ada)
        submit(done, payload("no"), "page")
        held = study.assignment(study.ada)
        client, script = client_of(study.ada), script_of(study.ada)
        assert switch_off(study.ada)
        assert not study.ada.is_active
        assert not is_in(client)
        assert not may_ask(script)
        assert not AuthToken.objects.filter(user=study.ada).exists()
        entry = {"username": "ada", "password": PASSWORD}
        assert "is wrong" in Client().post(reverse("login"), entry).content.decode()
        held.refresh_from_db()
        assert (held.status, held.reason, held.slot) == ("cancelled", "left", None)
        assert Label.objects.filter(response__assignment=done).count() == 3
        assert rater_of(study.ada).name in everything_exported(study)
        assert_whole(study.campaign)
        assert not switch_off(study.ada)

    def test_a_reactivated_account_has_to_log_in_again(self, study: Study) -> None:
        client = client_of(study.ada)
        switch_off(study.ada)
        assert switch_on(study.ada)
        assert not is_in(client)
        entry = {"username": "ada", "password": PASSWORD}
        assert Client().post(reverse("login"), entry).status_code == 302

    def test_reactivation_restores_only_assignments_that_the_deactivation_released(
        self, study: Study
    ) -> None:
        left, freed = study.assignment(study.ada), study.assignment(study.ben)
        switch_off(study.ada)
        assert not switch_off(study.ada)
        Assignment.objects.filter(pk=freed.pk).update(status="cancelled", slot=None, reason="left")
        assert switch_on(study.ada)
        assert not switch_on(study.ada)
        reasons = [Assignment.objects.get(pk=each.pk).reason for each in (left, freed)]
        assert reasons == ["expired", "left"]

    def test_ending_sessions_logs_out_every_browser(self, study: Study) -> None:
        clients = [client_of(study.ada) for _ in range(2)]
        assert Session.objects.count() == 2
        end_sessions(study.ada)
        assert not any(map(is_in, clients))


class TestErasure:
    def test_erasing_an_account_keeps_its_answers(self, study: Study) -> None:
        Rater.objects.create(name="ada", user=study.ada)
        made = invite("annotator", study.campaign, note="Ada Lovelace", by=study.root).invitation
        made.used_at, made.used_by = made.created_at, study.ada
        made.save()
        submit(study.assignment(study.ada), payload("no"), "page")
        begun = study.assignment(study.ada)
        Draft.objects.create(assignment=begun, payload=payload("no"))
        labels = Label.objects.count()
        name = forget(study.ada)
        assert name is not None
        assert name.startswith("person-")
        assert Label.objects.count() == labels == 3
        assert not Draft.objects.exists()
        assert not User.objects.filter(username="ada").exists()
        assert Rater.objects.get(name=name).user is None
        made.refresh_from_db()
        assert (made.note, made.used_by, made.state) == ("", None, "used")
        assert '"ada"' not in everything_exported(study)
        assert_whole(study.campaign)

    def test_erasing_an_account_does_not_affect_others(self, study: Study) -> None:
        mine, others = study.assignment(study.ada), study.assignment(study.ben)
        for each in (mine, others):
            Draft.objects.create(assignment=each, payload=payload("no"))
        used = invite("annotator", study.campaign, note="Eve", by=study.root).invitation
        join(used, study.ben)
        forget(study.ada)
        assert Draft.objects.get().assignment == others
        used.refresh_from_db()
        assert used.note == "Eve"
        others.refresh_from_db()
        assert others.status == "open"

    def test_a_failed_erasure_keeps_the_whole_account(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError("the disk is full")

        monkeypatch.setattr("annotation.people.accounts.record", full)
        AuthToken.objects.create(user=study.ada)
        with pytest.raises(OSError, match="full"):
            forget(study.ada)
        assert User.objects.get(pk=study.ada.pk).is_active
        assert AuthToken.objects.filter(user=study.ada).exists()

    def test_erasing_an_account_without_work_leaves_nothing(self, study: Study) -> None:
        rater_of(study.ben)
        assert forget(study.ben) is None
        assert not Rater.objects.exists()


class TestPages:
    def test_an_admin_sees_accounts_and_pseudonyms(self, study: Study) -> None:
        name, root = rater_of(study.ada).name, client_of(study.root)
        for where in (reverse("people"), reverse("person", args=[study.ada.pk])):
            said = root.get(where).content.decode()
            assert name in said
            assert "ada" in said

    def test_a_researcher_sees_pseudonyms_only(self, study: Study) -> None:
        submit(study.assignment(study.ada), payload("no"), "page")
        where = reverse("campaign-people", args=[study.campaign.pk])
        said = client_of(study.rita).get(where).content.decode()
        assert rater_of(study.ada).name in said
        assert ">ada<" not in said

    def test_each_action_on_an_account_is_carried_out(self, study: Study) -> None:
        root, where = client_of(study.root), reverse("person-change", args=[study.ada.pk])
        rater = rater_of(study.ada)
        root.post(where, {"order": "role", "role": "researcher"})
        root.post(where, {"order": "pseudonym", "name": "rater 1"})
        root.post(where, {"order": "off"})
        study.ada.refresh_from_db()
        rater.refresh_from_db()
        assert (study.ada.role, study.ada.is_active, rater.name) == (
            "researcher", False, "rater 1",
        )  # fmt: skip
        root.post(where, {"order": "on"})
        study.ada.refresh_from_db()
        assert study.ada.is_active


class TestCommand:
    def test_the_command_shows_and_changes_an_account(self, study: Study) -> None:
        assert run("person", "ada") == "ada: annotator, on\nhas taken no item yet\n"
        assert run("person", "ada", "--role", "researcher") == "ada is researcher now.\n"
        assert run("person", "ada", "--off") == "ada is switched off.\n"
        assert run("person", "ada", "--on") == "ada is switched on.\n"
        rater_of(study.ada)
        assert run("person", "ada", "--pseudonym", "r 1") == "ada labels as r 1.\n"
        assert "Ended" in run("person", "ada", "--end-sessions")
        assert run("person", "ada", "--forget") == "Deleted ada.\n"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("nobody",), "no account"),
            (("root", "--off"), "only admin"),
            (("ben", "--pseudonym"), "has no pseudonym until"),
        ],
    )
    def test_the_command_explains_errors(
        self, study: Study, arguments: tuple[str, ...], message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(CommandError, match=message):
            run("person", *arguments)
