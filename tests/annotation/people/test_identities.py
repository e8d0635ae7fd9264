"""Log-in at an identity provider, by a verified address, and what an account has beside it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.db import IntegrityError
from django.utils import timezone

from annotation.models import LogInCount, User
from annotation.people import login_limits
from annotation.people.identities import set_email
from annotation.people.membership import PeopleError
from annotation.people.second_factor import remove_all
from tests.page_cast import _user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return _user("ada", "annotator")


def test_an_address_belongs_to_one_account_even_if_two_ask_at_once(
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


def test_an_account_without_a_second_factor_has_none_to_lose(ada: User) -> None:
    assert not remove_all(ada)


def test_an_address_that_is_used_stays_known_and_others_are_forgotten(ada: User) -> None:
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
