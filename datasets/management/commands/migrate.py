"""`migrate`: Django's command, which refuses the database of a newer version of Tandem."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connection

from datasets.db.versions import NewerDatabaseError, record_version, refuse_newer_database
from datasets.models import Migrated


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        ours = options["database"] == DEFAULT_DB_ALIAS
        try:
            if ours:
                refuse_newer_database()
        except NewerDatabaseError as error:
            raise CommandError(str(error)) from error
        super().handle(*args, **options)
        if ours and not (options["plan"] or options["check_unapplied"]) and _has_table():
            record_version()


def _has_table() -> bool:
    """Return whether the table of versions exists, which earlier migrations lack."""
    return Migrated._meta.db_table in connection.introspection.table_names()
