"""The database holds digests of session keys, so that nobody who reads it can log in."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import pytest
from asgiref.sync import async_to_sync
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotation.models import User
from annotation.people.accounts import end_sessions
from config.sessions import SessionStore, digest_of_key

pytestmark = pytest.mark.django_db
MIGRATION = import_module("annotation.migrations.0030_digests_of_session_keys")


@pytest.fixture
def ada() -> User:
    return User.objects.create(username="ada", role="annotator")


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def key_of(browser: Client) -> str:
    return str(browser.cookies["sessionid"].value)


def logged_in(key: str) -> bool:
    client = Client()
    client.cookies["sessionid"] = key
    return client.get("/tasks/").status_code == 200


def everything_stored() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM django_session")
        return repr(cursor.fetchall())


def test_no_row_contains_the_key_of_a_cookie(browser: Client) -> None:
    assert logged_in(key_of(browser))
    assert Session.objects.count() == 1
    assert key_of(browser) not in everything_stored()


@pytest.mark.postgresql
def test_what_a_stranger_reads_in_the_database_is_no_key(browser: Client) -> None:
    assert not logged_in(Session.objects.get().pk)
    assert logged_in(key_of(browser))


def test_logging_out_deletes_the_row(browser: Client) -> None:
    key = key_of(browser)
    browser.post("/logout/")
    assert Session.objects.count() == 0
    assert not logged_in(key)


def test_a_log_in_replaces_the_key_and_its_row(browser: Client, ada: User) -> None:
    before = key_of(browser)
    store = SessionStore(before)
    store.cycle_key()
    assert [row.pk for row in Session.objects.all()] == [digest_of_key(str(store.session_key))]
    assert not logged_in(before)
    assert logged_in(str(store.session_key))


def test_sessions_ended_everywhere_are_ended(browser: Client, ada: User) -> None:
    end_sessions(ada)
    assert not logged_in(key_of(browser))


def test_clearsessions_deletes_what_has_expired_and_nothing_else(
    browser: Client, ada: User
) -> None:
    other = Client()
    other.force_login(ada)
    expired = Session.objects.filter(pk=digest_of_key(key_of(other)))
    assert expired.update(expire_date=timezone.now() - timedelta(seconds=1)) == 1
    call_command("clearsessions")
    assert [row.pk for row in Session.objects.all()] == [digest_of_key(key_of(browser))]


@pytest.mark.postgresql
def test_the_migration_stores_the_digest_that_the_site_looks_for(ada: User) -> None:
    keys = [f"{number:032x}" for number in range(5)]
    ends = timezone.now() + timedelta(days=1)
    for key in keys:
        Session.objects.create(session_key=key, session_data="", expire_date=ends)
    for _ in range(2):
        MIGRATION.replace_keys(None, connection.schema_editor())
        assert {row.pk for row in Session.objects.all()} == set(map(digest_of_key, keys))


def test_servers_that_await_find_the_same_sessions(browser: Client) -> None:
    key = key_of(browser)

    async def work() -> None:
        store = SessionStore(key)
        assert (await store.aload())["_auth_user_id"]
        assert await store.aexists(key)
        await store.asave()
        await store.adelete()
        assert not await store.aexists(key)
        assert await SessionStore(key).aload() == {}

    async_to_sync(work)()
    assert Session.objects.count() == 0
