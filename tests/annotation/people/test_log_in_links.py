"""A link that logs in: for which accounts there is one, and what ends it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import User
from annotation.people import identities
from annotation.people.identities import account_of, log_in_key
from annotation.people.membership import PeopleError
from audit.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create(username="ada", password="!")


def test_a_log_in_link_is_for_one_account_and_recorded_in_the_trail(ada: User) -> None:
    ben = User.objects.create(username="ben", password="!")
    key = log_in_key(ada)
    assert account_of(key) == ada
    assert key.startswith(f"{ada.pk}-")
    assert account_of(key.replace(f"{ada.pk}-", f"{ben.pk}-", 1)) is None
    for wrong in ("", "-", str(ada.pk), f"{ada.pk}-x", key[:-1], f"x{key}"):
        assert account_of(wrong) is None
    event = Event.objects.get(event="login.link")
    assert (event.object_kind, event.object_id, Event.objects.count()) == (
        "account",
        str(ada.pk),
        1,
    )


@pytest.mark.parametrize("changes", [{"is_active": False}, {"is_guest": True}])
def test_an_account_that_cannot_log_in_gets_no_link(ada: User, changes: dict[str, Any]) -> None:
    key = log_in_key(ada)
    User.objects.filter(pk=ada.pk).update(**changes)
    assert account_of(key) is None
    ada.refresh_from_db()
    with pytest.raises(PeopleError, match="this account cannot log in; enable it first, or name"):
        log_in_key(ada)
    assert Event.objects.count() == 1


@pytest.mark.every_case
@pytest.mark.parametrize(
    "changes",
    [{"last_login": timezone.now()}, {"role": "researcher"}, {"password": "!2"}, {"sessions": 7}],
    ids=lambda changes: next(iter(changes)),
)
def test_a_log_in_a_new_role_or_password_invalidates_the_link(
    ada: User, changes: dict[str, Any]
) -> None:
    key = log_in_key(ada)
    User.objects.filter(pk=ada.pk).update(**changes)
    assert account_of(key) is None


def test_a_log_in_link_expires_after_ten_minutes(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2026, 3, 1, 12)  # noqa: DTZ001
    monkeypatch.setattr(identities._keys, "_now", lambda: at)
    key = log_in_key(ada)
    at += timedelta(minutes=10)
    assert account_of(key) == ada
    at += timedelta(seconds=1)
    assert account_of(key) is None
