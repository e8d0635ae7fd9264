"""Creating tokens: who may have one, for how long, how many, and what the audit trail records."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from knox.models import AuthToken

from annotation.models import User
from audit.models import Event
from datasets.api_tokens import TokenError, make_token, revoke, revoke_all, tokens_of
from datasets.models import Grant

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create(username="ada", role="researcher")


def events() -> list[tuple[Any, ...]]:
    rows = Event.objects.order_by("pk")
    return list(rows.values_list("event", "object_kind", "object_id", "facts"))


@pytest.mark.every_case
@pytest.mark.parametrize(("days", "fits"), [(0, False), (1, True), (3650, True), (3651, False)])
def test_a_token_lasts_from_one_day_to_ten_years(ada: User, days: int, fits: bool) -> None:
    if not fits:
        with pytest.raises(TokenError, match="for 1 to 3650 days"):
            make_token(ada, days=days)
        assert not AuthToken.objects.exists()
        return
    grant, words = make_token(ada, days=days)
    left = grant.token.expiry - timezone.now()
    assert timedelta(days=days, minutes=-5) < left <= timedelta(days=days)
    assert words.startswith("tandem_")
    assert events() == [("token.made", "account", str(ada.pk), {"days": days})]


def test_a_token_lasts_a_year_by_default(ada: User) -> None:
    assert make_token(ada)[0].token.expiry > timezone.now() + timedelta(days=364)
    assert events()[0][3] == {"days": 365}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("role", "asked", "granted"),
    [
        ("annotator", (), ["label"]),
        ("researcher", (), ["read"]),
        ("admin", (), ["read"]),
        ("researcher", ("people", "read"), ["read", "people"]),
        ("annotator", ("label", "read"), ["read", "label"]),
    ],
)
def test_scopes_are_stored_in_a_fixed_order(
    role: str, asked: tuple[str, ...], granted: list[str]
) -> None:
    user = User.objects.create(username="u", role=role)
    grant, _ = make_token(user, asked, note="nightly")
    assert (grant.scopes, grant.note, grant.token.user) == (granted, "nightly", user)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("role", "scope"), [("annotator", "manage"), ("admin", "label"), ("researcher", "fly")]
)
def test_a_scope_that_the_role_cannot_use_is_refused(role: str, scope: str) -> None:
    user = User.objects.create(username="u", role=role)
    with pytest.raises(TokenError, match=f"no use for the scope {scope}"):
        make_token(user, ("read", scope))


@pytest.mark.every_case
@pytest.mark.parametrize(("length", "fits"), [(100, True), (101, False)])
def test_a_note_has_at_most_100_characters(ada: User, length: int, fits: bool) -> None:
    if fits:
        assert make_token(ada, note="x" * length)[0].note == "x" * length
    else:
        with pytest.raises(TokenError, match="at most 100 characters"):
            make_token(ada, note="x" * length)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("state", "why"),
    [({"is_active": False}, "is disabled"), ({"is_guest": True}, "a guest cannot have a token")],
)
def test_guests_and_disabled_accounts_get_no_token(
    ada: User, state: dict[str, bool], why: str
) -> None:
    User.objects.filter(pk=ada.pk).update(**state)
    ada.refresh_from_db()
    with pytest.raises(TokenError, match=why):
        make_token(ada)


def test_an_account_has_at_most_fifty_valid_tokens(ada: User) -> None:
    ben = User.objects.create(username="ben", role="annotator")
    make_token(ben)
    first = make_token(ada)[0]
    for _ in range(49):
        make_token(ada)
    with pytest.raises(TokenError, match="has 50 tokens"):
        make_token(ada)
    AuthToken.objects.filter(pk=first.token_id).update(expiry=timezone.now())
    assert make_token(ada)
    assert make_token(ben)


def test_an_account_sees_its_own_tokens_newest_first(ada: User) -> None:
    ben = User.objects.create(username="ben", role="annotator")
    grants = [make_token(user)[0] for user in (ada, ben, ada)]
    assert list(tokens_of(ada)) == [grants[2], grants[0]]
    assert list(tokens_of(ben)) == [grants[1]]


def test_one_token_or_all_of_an_account_can_be_revoked(ada: User) -> None:
    ben = User.objects.create(username="ben", role="annotator")
    first, *_ = [make_token(user)[0] for user in (ada, ada, ada, ben)]
    before = len(events())
    revoke(first)
    assert not Grant.objects.filter(pk=first.pk).exists()
    assert revoke_all(ada) == 2
    assert revoke_all(ada) == 0
    assert [token.user for token in AuthToken.objects.all()] == [ben]
    mine = ("account.sessions", "account", str(ada.pk))
    assert events()[before:] == [(*mine, {"tokens": number}) for number in (1, 2, 0)]


def test_no_token_changes_if_the_event_cannot_be_recorded(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = make_token(ada)[0]

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the trail is full")

    monkeypatch.setattr("datasets.api_tokens.record", fail)
    for act in (lambda: make_token(ada), lambda: revoke(kept), lambda: revoke_all(ada)):
        with pytest.raises(RuntimeError, match="the trail is full"):
            act()
    assert [grant.pk for grant in tokens_of(ada)] == [kept.pk]
    assert AuthToken.objects.count() == 1
