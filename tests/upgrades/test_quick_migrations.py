"""Quick migrations create the same tables as Django's own migrations."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from tests.databases import ON_POSTGRESQL, copy_version_0_5_0, other_database
from tests.extent import Extent
from tests.migrating import VERSION_0_5_0, quickly

ON_SQLITE = ("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2",)
ON_SERVER = (
    "SELECT table_name, ordinal_position, column_name, udt_name, character_maximum_length,"
    " is_nullable, column_default, is_identity, generation_expression"
    " FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    " ORDER BY 1, 2",
    "SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger"
    " WHERE NOT tgisinternal ORDER BY 1, 2",
)


def tables() -> list[Any]:
    """Everything that determines what can be stored where."""
    found = []
    with connection.cursor() as cursor:
        for statement in ON_SERVER if ON_POSTGRESQL else ON_SQLITE:
            cursor.execute(statement)
            found.append(cursor.fetchall())
    return found


@pytest.mark.long
def test_quick_migrations_create_the_same_tables_as_djangos_own(
    django_db_setup: None, django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Extent.everything, "only then do Django's own migrations create the tests' database"
    with django_db_blocker.unblock():
        expected = tables()
    monkeypatch.setattr(Extent, "everything", False)
    with other_database(django_db_blocker, f"{connection.settings_dict['NAME']}_quick"):
        with quickly():
            call_command("migrate", verbosity=0)
        assert tables() == expected
    assert all(expected)


def test_the_database_copied_for_upgrade_tests_has_the_empty_tables_of_version_0_5_0(
    django_db_setup: None, django_db_blocker: Any
) -> None:
    name = f"{connection.settings_dict['NAME']}_copied"
    with django_db_blocker.unblock():
        copy_version_0_5_0(name)
    with other_database(django_db_blocker, name):
        applied = MigrationRecorder(connection).applied_migrations()
        assert set(VERSION_0_5_0) <= set(applied)
        assert ("datasets", "0004_use_of_passages") not in applied
        names = set(connection.introspection.table_names())
        assert {"annotation_response", "judging_judgecall"} < names
        assert not names & {"datasets_team", "django_session"}
        with connection.cursor() as cursor:
            for table in names - {"django_migrations"}:
                cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {table})")  # noqa: S608
                assert cursor.fetchone() in {(False,), (0,)}, table
