"""The forms of people and tokens accept valid values and optional fields."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms

from annotation.models import User
from annotation.views.accounts import TokenForm
from annotation.views.people import (
    CampaignInviteForm,
    InviteForm,
    JoinForm,
    MemberForm,
    ParticipationForm,
    ProlificForm,
    ReasonForm,
)
from tests.page_cast import Study, make_study

SETTINGS = {"pool": "open", "hold_minutes": "", "items_per_person": ""}
CAMPAIGN_INVITE = {"campaign_role": "annotator", "note": ""}
JOIN = {"name": "eve", "password": " a long word ", "again": " a long word "}
MEMBER = {"account": "ada", "role": "annotator"}
REASON = {"reason": "too fast"}
PROLIFIC = {"study_id": "s", "completion_code": "c", "most_people": "5"}
GOOD: dict[type[forms.Form], dict[str, str]] = {
    ParticipationForm: SETTINGS,
    CampaignInviteForm: CAMPAIGN_INVITE,
    JoinForm: JOIN,
    MemberForm: MEMBER,
    ReasonForm: REASON,
    ProlificForm: PROLIFIC,
}


def wrong(kind: type[forms.Form], **changed: str) -> set[str]:
    """The fields that a form refuses."""
    return set(kind(GOOD[kind] | changed).errors)


@pytest.mark.every_case
@pytest.mark.parametrize("kind", GOOD)
def test_valid_forms_are_accepted(kind: type[forms.Form]) -> None:
    assert wrong(kind) == set()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (ParticipationForm, "pool"), (CampaignInviteForm, "campaign_role"), (JoinForm, "name"),
        (JoinForm, "password"), (JoinForm, "again"), (MemberForm, "account"), (MemberForm, "role"),
        (ReasonForm, "reason"), (ProlificForm, "study_id"), (ProlificForm, "completion_code"),
        (ProlificForm, "most_people"),
    ],
)  # fmt: skip
def test_missing_fields_are_reported(kind: type[forms.Form], field: str) -> None:
    assert wrong(kind, **{field: ""}) == {field}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "field", "most"),
    [
        (CampaignInviteForm, "note", 150), (JoinForm, "name", 150), (MemberForm, "account", 150),
        (ReasonForm, "reason", 500), (ProlificForm, "study_id", 64),
        (ProlificForm, "completion_code", 64),
    ],
)  # fmt: skip
def test_texts_have_a_maximum_length(kind: type[forms.Form], field: str, most: int) -> None:
    assert wrong(kind, **{field: "x" * most}) == set()
    assert wrong(kind, **{field: "x" * (most + 1)}) == {field}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "field", "least", "most"),
    [
        (ParticipationForm, "hold_minutes", 5, 527_040),
        (ParticipationForm, "items_per_person", 1, 1_000_000),
        (ProlificForm, "most_people", 1, 10_000),
    ],
)
def test_numbers_have_bounds(kind: type[forms.Form], field: str, least: int, most: int) -> None:
    for number in (least, most):
        assert wrong(kind, **{field: str(number)}) == set()
    for number in (least - 1, most + 1):
        assert wrong(kind, **{field: str(number)}) == {field}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "field", "codes"),
    [
        (ParticipationForm, "pool", {"open", "named"}),
        (CampaignInviteForm, "campaign_role", {"annotator", "adjudicator"}),
        (MemberForm, "role", {"annotator", "adjudicator", "researcher"}),
    ],
)
def test_only_offered_choices_are_accepted(
    kind: type[forms.Form], field: str, codes: set[str]
) -> None:
    for code in ("annotator", "adjudicator", "researcher", "admin", "open", "named"):
        assert (wrong(kind, **{field: code}) == set()) == (code in codes)


def test_annotator_is_the_preselected_role() -> None:
    assert CampaignInviteForm()["campaign_role"].initial == "annotator"
    assert MemberForm()["role"].initial == "annotator"


def test_a_password_is_typed_twice_and_keeps_its_blanks() -> None:
    form = JoinForm(JOIN)
    assert form.is_valid()
    assert form.cleaned_data["password"] == form.cleaned_data["again"] == " a long word "
    assert wrong(JoinForm, again="a long word") == {"again"}
    assert wrong(JoinForm, password="", again="a long word") == {"password"}
    long = "x" * 4096
    assert wrong(JoinForm, password=long, again=long) == set()
    assert wrong(JoinForm, password=long + "x", again=long + "x") == {"password", "again"}


@pytest.mark.django_db
class TestFormsOfAnAccount:
    @pytest.fixture
    def study(self) -> Study:
        return make_study()

    def invite(self, user: User, **changed: Any) -> set[str]:
        good = {"role": "annotator", "campaign_role": "annotator", "campaign": "", "note": ""}
        return set(InviteForm(good | changed, user=user).errors)

    def test_invitations_offer_only_readable_campaigns(self, study: Study) -> None:
        campaign = str(study.campaign.pk)
        assert self.invite(study.root) == set()
        assert self.invite(study.root, campaign=campaign) == set()
        assert self.invite(study.ada, campaign=campaign) == {"campaign"}
        for role in ("annotator", "researcher", "admin"):
            assert self.invite(study.root, role=role) == set()
            assert (self.invite(study.root, campaign_role=role) == set()) == (role != "admin")
        assert self.invite(study.root, role="") == {"role"}
        assert self.invite(study.root, campaign_role="") == {"campaign_role"}
        assert self.invite(study.root, campaign_role="adjudicator") == set()
        assert self.invite(study.root, note="x" * 150) == set()
        assert self.invite(study.root, note="x" * 151) == {"note"}

    def token(self, user: User, **changed: Any) -> set[str]:
        good = {"scopes": ["read"], "days": "90", "note": ""}
        return set(TokenForm(good | changed, user=user).errors)

    def test_a_token_created_on_the_page_lasts_a_year_at_most(self, study: Study) -> None:
        for days, fits in (("0", False), ("1", True), ("365", True), ("366", False), ("", False)):
            assert (self.token(study.rita, days=days) == set()) == fits
        assert self.token(study.rita, note="x" * 100) == set()
        assert self.token(study.rita, note="x" * 101) == {"note"}
        assert self.token(study.rita, scopes=[]) == {"scopes"}
        assert self.token(study.ada, scopes=["read", "label"]) == set()
        assert self.token(study.ada, scopes=["manage"]) == {"scopes"}
        assert self.token(study.rita, scopes=["people"]) == set()
