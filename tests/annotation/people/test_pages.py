"""The pages of people by their parts: who is counted, what is refused with which status."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse

from annotation.access import open_campaigns, visible_campaigns
from annotation.answers.submission import submit
from annotation.models import (
    Campaign,
    Invitation,
    LogInCount,
    Membership,
    User,
)
from annotation.people import login_limits
from annotation.people.accounts import forget
from annotation.people.invitations import invite
from annotation.people.membership import readable
from annotation.views.orders import posted_number
from judging.access import authored_responses, visible_judges, visible_runs
from tests.judging.cast import judge
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload
from tests.team_cast import give_away

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    return make_study()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("", 0), ("x", 0), ("-7", 0), ("٣", 0), ("9" * 15, 10**15 - 1), ("9" * 16, 0)],
)
def test_a_malformed_number_names_nobody(text: str, number: int) -> None:
    assert posted_number(RequestFactory().post("/", {"rater": text}), "rater") == number


def test_erasing_one_account_keeps_the_log_in_counts_of_others(study: Study) -> None:
    for name in ("ada", "ben"):
        LogInCount.objects.create(kind="address", account=login_limits.digest_of(name), wrong=1)
    forget(study.ada)
    assert LogInCount.objects.get().account == login_limits.digest_of("ben")


class TestMembers:
    def test_only_the_named_member_is_removed(self, study: Study) -> None:
        for user in (study.ada, study.ben, study.rita):
            Membership.objects.create(campaign=study.campaign, user=user, role=user.role)
        here = reverse("campaign-people-change", args=[study.campaign.pk])
        rita = client_of(study.rita)
        ada = Membership.objects.get(user=study.ada)
        assert rita.post(here, {"order": "remove", "member": str(ada.pk)}).status_code == 302
        there = Membership.objects.filter(ended_at=None).values_list("user__username", flat=True)
        assert sorted(there) == ["ben", "rita"]
        ada.refresh_from_db()
        assert ada.by == study.rita
        page = rita.get(reverse("campaign-people", args=[study.campaign.pk])).content.decode()
        assert '<th scope="row">ben</th>' in page
        assert '<th scope="row">ada</th>' not in page
        own = Membership.objects.get(user=study.rita)
        assert rita.post(here, {"order": "remove", "member": str(own.pk)}).status_code == 409
        assert sorted(there.all()) == ["ben", "rita"]

    def test_a_campaign_invitation_records_its_author(self, study: Study) -> None:
        here = reverse("campaign-invite", args=[study.campaign.pk])
        answer = client_of(study.rita).post(here, {"campaign_role": "annotator"})
        assert answer.status_code == 200
        made = Invitation.objects.get()
        assert (made.by, made.campaign, made.role) == (study.rita, study.campaign, "annotator")

    def test_a_refused_form_is_shown_again_as_typed(self, study: Study) -> None:
        rita = client_of(study.rita)
        page = rita.get(reverse("campaign-people", args=[study.campaign.pk])).content.decode()
        assert 'name="find"' in page
        here = reverse("campaign-invite", args=[study.campaign.pk])
        answer = rita.post(here, {"campaign_role": "king", "note": "for Dee"})
        assert answer.status_code == 422
        assert 'value="for Dee"' in answer.content.decode()


class TestSettings:
    def test_settings_are_changed_together_or_not_at_all(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise RuntimeError("no room")

        monkeypatch.setattr("annotation.people.membership.set_most_items", fail)
        given = {"pool": "named", "hold_minutes": "30", "items_per_person": "2"}
        with pytest.raises(RuntimeError):
            self.change(study, study.rita, **given)
        study.campaign.refresh_from_db()
        assert (study.campaign.pool, study.campaign.hold_minutes) == ("open", None)

    def change(self, study: Study, user: User, **given: str) -> int:
        where = reverse("campaign-people-change", args=[study.campaign.pk])
        status = client_of(user).post(where, {"order": "settings", **given}).status_code
        study.campaign.refresh_from_db()
        return status

    def test_each_setting_can_be_set_and_cleared(self, study: Study) -> None:
        given = {"pool": "named", "hold_minutes": "30", "items_per_person": "2"}
        assert self.change(study, study.rita, **given) == 302
        campaign = study.campaign
        assert (campaign.pool, campaign.hold_minutes, campaign.items_per_person) == ("named", 30, 2)
        assert Membership.objects.get().user == study.rita
        assert self.change(study, study.rita, pool="open") == 302
        assert (campaign.pool, campaign.hold_minutes, campaign.items_per_person) == (
            "open",
            None,
            None,
        )

    def test_an_unchanged_lease_length_extends_no_lease(self, study: Study) -> None:
        held = study.assignment(study.ada)
        assert self.change(study, study.rita, pool="open", hold_minutes="30") == 302
        held.refresh_from_db()
        until = held.held_until
        assert until is not None
        assert self.change(study, study.rita, pool="open", hold_minutes="30") == 302
        held.refresh_from_db()
        assert held.held_until == until
        assert not Membership.objects.exists()

    def test_invalid_settings_are_refused(self, study: Study) -> None:
        assert self.change(study, study.rita, pool="shut") == 422
        assert self.change(study, study.rita, pool="open", hold_minutes="4") == 422
        assert study.campaign.hold_minutes is None


class TestInviting:
    def test_too_many_people_who_join_are_asked_to_wait(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("annotation.views.people.seconds_to_wait", lambda *_: 90)
        made = invite("annotator", by=study.root)
        late: Any = Client().post(f"{reverse('join')}?key={made.key}", {"name": "eve"})
        assert (late.status_code, late["Retry-After"]) == (429, "90")


class TestVisibility:
    def test_campaigns_are_visible_by_role(self, study: Study) -> None:
        visible = {
            user.username: (
                readable(user).count(),
                open_campaigns(user).count(),
                visible_campaigns(user).count(),
            )
            for user in (study.ada, study.rita, study.root)
        }
        assert visible == {"ada": (0, 1, 1), "rita": (1, 1, 1), "root": (1, 0, 1)}
        Campaign.objects.update(is_open=False)
        assert [open_campaigns(u).count() for u in (study.ada, study.rita)] == [0, 0]
        assert [visible_campaigns(u).count() for u in (study.ada, study.rita)] == [0, 1]

    def test_a_campaign_one_has_begun_stays_visible(self, study: Study) -> None:
        study.assignment(study.ada)
        Campaign.objects.update(is_open=False)
        assert visible_campaigns(study.ada).count() == 1
        assert visible_campaigns(study.ben).count() == 0

    def test_a_campaign_without_free_items_is_visible_to_no_annotator(self, study: Study) -> None:
        study.campaign.items.update(quota=0)
        assert visible_campaigns(study.ada).count() == 0
        study.campaign.items.filter(position=0).update(quota=1, use="gold")
        assert visible_campaigns(study.ada).count() == 0
        study.campaign.items.filter(position=0).update(use="practice")
        assert visible_campaigns(study.ada).count() == 1

    def test_current_answers_are_readable_only_in_ones_own_campaigns(self, study: Study) -> None:
        answers = submit(study.assignment(study.ada), payload("no"), "page")
        assert answers is not None
        assert [authored_responses(u).count() for u in (study.rita, study.root, study.ada)] == [
            1,
            1,
            0,
        ]
        give_away(study.campaign)
        assert [authored_responses(u).count() for u in (study.rita, study.root)] == [0, 1]

    def test_judges_and_runs_are_visible_to_researchers_and_admins_only(self, study: Study) -> None:
        second, first = judge("zeta"), judge("alpha")
        assert list(visible_judges(study.rita)) == list(visible_judges(study.root)) == [
            first, second,
        ]  # fmt: skip
        assert visible_judges(study.ada).count() == visible_runs(study.ada).count() == 0


class TestTokens:
    def test_an_account_at_the_token_limit_is_told_to_revoke_some(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("datasets.api_tokens.MOST_TOKENS", 1)
        ada, where = client_of(study.ada), reverse("tokens")
        form = {"note": "", "scopes": ada.get(where).context["form"].initial["scopes"], "days": "9"}
        assert [ada.post(where, form).status_code for _ in range(2)] == [200, 422]
        assert b"revoke some first" in ada.post(where, form).content
