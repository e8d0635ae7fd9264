"""A person can log in at an identity provider by a verified address, as well as by password."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.db import IntegrityError
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import LogInCount, User
from annotation.people import identities, login_limits
from annotation.people.identities import (
    Identity,
    account_for,
    check_connectable,
    email_of,
    identity_of,
    is_linked,
    set_email,
    take_part,
    unlink,
)
from annotation.people.invitations import invite
from annotation.people.membership import PeopleError
from annotation.people.second_factor import Required, has_factor, is_required, kinds_of, remove_all
from audit.models import Event
from datasets.models import Team
from tests.page_cast import _user, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return _user("ada", "annotator")


def test_an_email_address_belongs_to_one_account_even_under_simultaneous_requests(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_email(ada, " Ada@uni.example ")
    assert EmailAddress.objects.get().email == "ada@uni.example"
    set_email(ada, "ada@uni.example")
    ben = _user("ben", "annotator")
    with pytest.raises(PeopleError, match="another account"):
        set_email(ben, "ada@uni.example")

    def taken(**fields: object) -> None:
        raise IntegrityError("UNIQUE")

    monkeypatch.setattr(EmailAddress.objects, "create", taken)
    with pytest.raises(PeopleError, match="another account"):
        set_email(ben, "ben@uni.example")
    set_email(ada, "")
    assert not EmailAddress.objects.exists()


def test_removing_the_factors_of_an_account_without_any_does_nothing(ada: User) -> None:
    assert not remove_all(ada)


def test_a_network_address_in_use_stays_known_and_others_are_forgotten(ada: User) -> None:
    now = timezone.now()
    login_limits.remember("ada", "192.0.2.1")
    known = LogInCount.objects.get()
    for days, kept in ((0.9, True), (1.1, False)):
        at = now - timedelta(days=days)
        LogInCount.objects.update(last_at=at)
        login_limits.remember("ada", "192.0.2.1")
        known.refresh_from_db()
        assert (known.last_at == at) == kept, "once a day is enough"
    old = now - login_limits.KNOWN_FOR - timedelta(minutes=1)
    LogInCount.objects.update(last_at=old)
    wrong = {"kind": "address", "source": "", "since": old}
    LogInCount.objects.create(**wrong, account="a", last_at=now - timedelta(days=2.1))
    LogInCount.objects.create(**wrong, account="b", last_at=now - timedelta(days=1.9))
    login_limits.remember("ben", "192.0.2.2")
    assert set(LogInCount.objects.values_list("account", flat=True)) == {
        "b", login_limits.digest_of("ben"),
    }  # fmt: skip


def identity(uid: str = "u1", email: str = "", name: str = "eve") -> Identity:
    return Identity(uid, email, name)


def link(user: User, uid: str = "u1") -> SocialAccount:
    return SocialAccount.objects.create(user=user, uid=uid, provider="sso")


def wrong(act: Any) -> str:
    with pytest.raises(PeopleError) as found:
        act()
    return str(found.value)


def events_called(event: str) -> list[tuple[str, dict[str, Any]]]:
    rows = Event.objects.filter(event=event).order_by("pk")
    return [(each.object_id, each.facts) for each in rows]


class TestProviderClaims:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("claims", "email"),
        [
            ({"email": " Ada@Uni.example ", "email_verified": True}, "ada@uni.example"),
            ({"email": "ada@uni.example", "email_verified": "true"}, "ada@uni.example"),
            ({"email": "ada@uni.example", "email_verified": "yes"}, ""),
            ({"email": "ada@uni.example", "email_verified": False}, ""),
            ({"email": "ada@uni.example"}, ""),
            ({"email": 7, "email_verified": True}, ""),
            ({"email_verified": True}, ""),
        ],
    )
    def test_an_email_address_counts_only_if_verified(
        self, claims: dict[str, Any], email: str
    ) -> None:
        assert identity_of({"sub": "s", **claims}, "i").email == email

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("claims", "name"),
        [
            ({"preferred_username": "Ada L.", "email": "x@y"}, "AdaL."),
            ({"preferred_username": "", "email": "ada+1@uni.example"}, "ada+1"),
            ({"preferred_username": "a" * 101}, "a" * 100),
            ({"email": None}, "person"),
            ({"preferred_username": "//"}, "person"),
            ({"preferred_username": 7}, "7"),
        ],
    )
    def test_an_account_name_is_proposed_from_the_claims(
        self, claims: dict[str, Any], name: str
    ) -> None:
        assert identity_of({"sub": "s", **claims}, "i").name == name

    def test_a_person_is_identified_by_issuer_and_subject(self) -> None:
        uids = [identity_of({"sub": s}, i).uid for s, i in (("s", "i"), ("t", "i"), ("s", "j"))]
        assert len(set(uids)) == 3
        assert {len(uid) for uid in uids} == {64}
        for sub in (None, "", 7):
            assert wrong(lambda sub=sub: identity_of({"sub": sub}, "i")) == (
                "the identity provider does not say who you are; ask an administrator"
            )


class TestChoiceOfAccount:
    def test_the_unlinked_account_with_the_verified_address_is_used(self, ada: User) -> None:
        ben = _user("ben", "annotator")
        for user in (ada, ben):
            set_email(user, f"{user.username}@uni.example")
        assert account_for(identity(email="ada@uni.example"), None) == ada
        EmailAddress.objects.filter(user=ada).update(verified=False)
        with pytest.raises(PeopleError):
            account_for(identity(email="ada@uni.example"), None)
        EmailAddress.objects.update(verified=True)
        link(ada, "another")
        assert "no account for you" in wrong(
            lambda: account_for(identity(email="ada@uni.example"), None)
        )
        assert account_for(identity(email="ben@uni.example"), None) == ben

    def test_an_invitation_creates_an_account_with_a_free_name(self, ada: User) -> None:
        _user("ADA2", "annotator")
        for name in ("ada3", "ada5"):
            made = invite("researcher").invitation
            user = account_for(identity(name="Ada" if name == "ada3" else "ada5"), made)
            made.refresh_from_db()
            assert (user.username.lower(), user.role, made.used_by) == (name, "researcher", user)
            assert not user.has_usable_password()

    def test_newcomers_get_an_account_if_the_site_allows_it(self, settings: Settings) -> None:
        settings.TANDEM_OIDC_NEWCOMERS = "none"
        assert wrong(lambda: account_for(identity(), None)) == (
            "this site has no account for you; ask an administrator for an invitation, and open "
            "it before you log in here"
        )
        settings.TANDEM_OIDC_NEWCOMERS = "annotator"
        user = account_for(identity(), None)
        assert (user.username, user.role) == ("eve", "annotator")
        assert not User.objects.get().has_usable_password()
        assert events_called("account.made") == [
            (str(user.pk), {"role": "annotator", "how": "oidc"})
        ]

    def test_an_existing_account_takes_part_by_an_invitation(self) -> None:
        study = make_study()
        readers = Team.objects.create(name="Readers")
        take_part(None, study.ada)
        take_part(invite("annotator").invitation, study.ada)
        assert not study.ada.memberships.exists()
        take_part(invite("annotator", study.campaign).invitation, study.ada)
        assert study.ada.memberships.get().campaign == study.campaign
        take_part(invite("annotator", team=readers).invitation, study.ada)
        assert readers.members.get().user == study.ada
        set_email(study.ben, "ben@uni.example")
        made = invite("annotator", study.campaign).invitation
        assert account_for(identity(email="ben@uni.example"), made) == study.ben
        assert study.ben.memberships.exists()


class TestLinks:
    def test_an_identity_has_one_account_and_an_account_one_identity(self, ada: User) -> None:
        ben = _user("ben", "annotator")
        check_connectable(identity(), ada)
        link(ada)
        check_connectable(identity(), ada)
        check_connectable(identity("u2"), ben)
        assert wrong(lambda: check_connectable(identity(), ben)) == (
            "this log-in belongs to another account here; log in with it instead"
        )
        assert wrong(lambda: check_connectable(identity("u2"), ada)) == (
            "your account is linked with another log-in; remove that link first"
        )

    def test_an_identity_is_unlinked_once(self, ada: User) -> None:
        ben = _user("ben", "annotator")
        for user in (ada, ben):
            link(user, user.username)
        assert is_linked(ada)
        assert unlink(ada)
        assert events_called("identity.unlinked") == [(str(ada.pk), {})]
        assert not unlink(ada)
        assert not is_linked(ada)
        assert is_linked(ben)
        assert events_called("identity.unlinked") == [(str(ada.pk), {})]


def test_changes_that_cannot_be_recorded_are_undone(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    settings.TANDEM_OIDC_NEWCOMERS = "annotator"
    link(ada)
    set_email(ada, "ada@uni.example")
    monkeypatch.setattr(identities, "record", full)
    for act in (
        lambda: account_for(identity("u2"), None),
        lambda: unlink(ada),
        lambda: set_email(ada, "another@uni.example"),
    ):
        with pytest.raises(OSError, match="no space left"):
            act()
    assert User.objects.get() == ada
    assert is_linked(ada)
    assert email_of(ada) == "ada@uni.example"


class TestAddresses:
    def test_an_email_address_is_set_changed_and_removed(self, ada: User) -> None:
        ben = _user("ben", "annotator")
        set_email(ben, "ben@uni.example")
        set_email(ada, "ada@uni.example")
        set_email(ada, " ADA@home.example")
        row = EmailAddress.objects.get(user=ada)
        assert (row.email, row.verified, row.primary) == ("ada@home.example", True, True)
        assert (email_of(ada), email_of(ben)) == ("ada@home.example", "ben@uni.example")
        set_email(ada, " ")
        assert (email_of(ada), email_of(ben)) == ("", "ben@uni.example")
        own = [facts for pk, facts in events_called("account.email") if pk == str(ada.pk)]
        assert own == [{"set": True}, {"set": True}, {"set": False}]

    def test_an_invalid_address_and_a_guests_address_are_refused(self, ada: User) -> None:
        assert wrong(lambda: set_email(ada, "ada")) == "this is not an e-mail address; correct it"
        ada.is_guest = True
        assert wrong(lambda: set_email(ada, "ada@uni.example")) == (
            "a guest has no log-in; invite the person to an account instead"
        )
        assert not EmailAddress.objects.exists()


class TestFactors:
    def test_the_kinds_of_factors_leave_out_recovery_codes(self, ada: User) -> None:
        ben = _user("ben", "annotator")
        for user, kind in (
            (ada, "webauthn"), (ada, "totp"), (ada, "recovery_codes"), (ben, "recovery_codes"),
        ):  # fmt: skip
            Authenticator.objects.create(user=user, type=kind, data={})
        assert kinds_of([ada, ben]) == {ada.pk: ["webauthn", "totp"]}
        assert kinds_of([ben]) == {}
        assert (has_factor(ada), has_factor(ben)) == (True, False)
        sessions = ada.sessions
        before = Event.objects.count()
        assert remove_all(ada)
        assert not Authenticator.objects.filter(user=ada).exists()
        assert Authenticator.objects.get().user == ben
        assert ada.sessions == sessions + 1
        assert Event.objects.count() == before + 1
        assert events_called("factor.removed") == [(str(ada.pk), {"kind": "all"})]

    def test_a_second_factor_is_required_by_role_and_never_of_guests(
        self, ada: User, settings: Settings
    ) -> None:
        settings.TANDEM_SECOND_FACTOR = ["annotator"]
        assert is_required(ada)
        assert not is_required(User(role="researcher"))
        assert not is_required(User(role="annotator", is_guest=True))

    @pytest.mark.parametrize(("path", "asks"), [("/api/v1/", False), ("/x/api/", True)])
    def test_pages_require_a_second_factor_and_the_api_does_not(
        self, ada: User, settings: Settings, path: str, asks: bool
    ) -> None:
        settings.TANDEM_SECOND_FACTOR = ["annotator"]
        request: Any = RequestFactory().get(path)
        request.user, request.session, request.resolver_match = ada, {}, None
        answer: Any = Required(lambda _: HttpResponse()).process_view(request)
        assert (answer is not None) is asks
        if asks:
            assert answer["Location"] == f"{reverse('mfa_index')}?next=%2Fx%2Fapi%2F"
