"""The session and the account of a request are found as by Django's own queries."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import models
from django.test import Client
from django.utils import timezone

from annotation.models import User
from config.sessions import SessionStore, digest_of_key

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


def fields_of(row: models.Model) -> dict[str, Any]:
    return {f.attname: getattr(row, f.attname) for f in row._meta.concrete_fields}


def test_an_account_has_all_its_fields() -> None:
    User.objects.create(username="ada", language="de", email="ada@example.org")
    ada = User.objects.filter(username="ada").get()
    assert fields_of(User.objects.get(pk=ada.pk)) == fields_of(ada)


def test_each_look_up_reads_the_database_again() -> None:
    ada = User.objects.create(username="ada", role="annotator")
    assert User.objects.get(pk=ada.pk).role == "annotator"
    User.objects.filter(pk=ada.pk).update(role="researcher")
    assert User.objects.get(pk=ada.pk).role == "researcher"


@pytest.mark.every_case
@pytest.mark.parametrize("key", [0, -1, 2**70])
def test_no_account_is_found_by_an_unknown_key(key: int) -> None:
    with pytest.raises(User.DoesNotExist):
        User.objects.get(pk=key)


def test_other_conditions_are_asked_as_usual() -> None:
    ada = User.objects.create(username="ada")
    assert User.objects.get(username="ada") == ada
    with pytest.raises(User.DoesNotExist):
        User.objects.get(pk=ada.pk, username="ben")


def test_an_expired_session_is_not_found_and_loses_its_key() -> None:
    client = Client()
    client.force_login(User.objects.create(username="ada"))
    key = client.session.session_key
    assert SessionStore(key).load()["_auth_user_id"]
    Session.objects.filter(pk=digest_of_key(str(key))).update(
        expire_date=timezone.now() - timedelta(seconds=1)
    )
    expired = SessionStore(key)
    assert expired.load() == {}
    assert expired.session_key is None


def test_an_unknown_session_is_empty() -> None:
    assert SessionStore("unknown-session-key").load() == {}
