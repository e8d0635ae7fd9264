"""The helpers for databases: noticing changes, and keeping copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.utils import timezone

from annotation.models import User
from tests import databases
from tests.databases import assert_unchanged

pytestmark = pytest.mark.django_db


def test_a_changed_row_is_noticed() -> None:
    user = User.objects.create(username="ada")
    with pytest.raises(AssertionError), assert_unchanged():
        User.objects.filter(pk=user.pk).update(username="eve")
    with pytest.raises(AssertionError), assert_unchanged():
        User.objects.create(username="ben")
    with pytest.raises(AssertionError), assert_unchanged(), connection.cursor() as cursor:
        cursor.execute("WITH rows AS (SELECT 1) DELETE FROM datasets_teammember")


def test_reading_rollbacks_sessions_and_excluded_models_are_no_change() -> None:
    User.objects.create(username="ada")
    with assert_unchanged():
        assert User.objects.count() == 1
        with transaction.atomic():
            User.objects.update(username="eve")
            transaction.set_rollback(True)
        Session.objects.create(session_key="s", session_data="", expire_date=timezone.now())
    with assert_unchanged((User,)):
        User.objects.update(username="eve")


@pytest.mark.once
def test_the_last_used_database_files_are_kept_each_with_its_version_0_5_0_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("new", "old"):
        (tmp_path / name).write_text(name)
    monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "new"))
    monkeypatch.setattr(databases, "_OF_VERSION_0_5_0", str(tmp_path / "old"))
    monkeypatch.setattr(databases, "KEPT", 2)
    folder = tmp_path / "kept"
    for number in range(4):
        databases._keep(folder / f"{number}.sqlite3")
        os.utime(folder / f"{number}.sqlite3", (number, number))
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "2.sqlite3": "new",
        "3.sqlite3": "new",
        "2.of_0_5_0": "old",
        "3.of_0_5_0": "old",
    }
