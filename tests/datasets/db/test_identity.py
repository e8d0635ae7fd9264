"""A site's database is recognised by what it is, and not by its address."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection

from datasets.site_lock import identity


@pytest.mark.django_db
@pytest.mark.postgresql(only=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no server")
def test_a_database_on_a_server_is_the_same_under_another_address() -> None:
    here = dict(connection.settings_dict)
    found = identity(here)
    assert found.startswith("postgresql:")
    assert identity(here | {"HOST": "localhost"}) == found
    assert identity(here | {"NAME": "postgres"}) not in ("", found)


def test_a_server_that_is_away_has_no_identity() -> None:
    away = {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", "PORT": 1}
    assert identity(away) == ""


def test_a_file_is_the_same_by_another_path(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path)
    names = [tmp_path / "a.sqlite3", tmp_path / "linked" / "a.sqlite3", tmp_path / "b.sqlite3"]
    one, same, other = (identity({"ENGINE": "config.sqlite", "NAME": name}) for name in names)
    assert one == same != other
