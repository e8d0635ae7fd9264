"""An older version of Tandem refuses a database that a newer version has migrated.

It would not know some columns and tables, and so would drop what is in them without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, OperationalError, connection
from django.db.backends.signals import connection_created
from django.db.migrations.recorder import MigrationRecorder

from datasets.models import Migrated

LONGEST_LIST = 3


class NewerDatabaseError(Exception):
    """A newer version of Tandem has migrated the database."""


@cache
def known_migrations() -> frozenset[tuple[str, str]]:
    """Return the migrations of our own apps, by app and name, without importing them."""
    return frozenset(
        (config.label, name)
        for config in apps.get_app_configs()
        if Path(config.path).parent == settings.BASE_DIR
        for _, name, _ in iter_modules([f"{config.path}/migrations"])
    )


def unknown_migrations(applied: Iterable[tuple[str, str]] | None = None) -> list[str]:
    """Return the migrations of our apps that this version does not have, as `app.name`.

    They are those `applied` to this database, unless those of another are given.
    """
    ours = {label for label, _ in known_migrations()}
    if applied is None:
        applied = MigrationRecorder(connection).applied_migrations()
    unknown = {each for each in applied if each[0] in ours} - known_migrations()
    return sorted(".".join(each) for each in unknown)


def newer_database() -> str:
    """Return why this version cannot use the database, and the way back; else nothing."""
    unknown = unknown_migrations()
    if not unknown:
        return ""
    names = unknown[:LONGEST_LIST] + ["…"] * (len(unknown) > LONGEST_LIST)
    return (
        f"The database was migrated by {_migrated_by()}, and this is {settings.TANDEM_VERSION}, "
        f"which does not know {', '.join(names)}. Start the newer version again, or restore a "
        "backup from before the upgrade (tandem restore)."
    )


def refuse_newer_database() -> None:
    """Raise NewerDatabaseError if a newer version has migrated the database.

    Does nothing while the database is away, since others report that.
    """
    try:
        found = newer_database()
    except OperationalError:
        return
    if found:
        raise NewerDatabaseError(found)


@contextmanager
def refusing_newer_database() -> Iterator[None]:
    """Within the block, refuse a newer database at the first connection, if there is any."""

    def refuse(**_: Any) -> None:
        connection_created.disconnect(refuse)
        refuse_newer_database()

    connection_created.connect(refuse, weak=False)
    try:
        yield
    finally:
        connection_created.disconnect(refuse)


def record_version() -> None:
    """Note in the database that this version has migrated it, unless the last one was the same."""
    this = {"version": settings.TANDEM_VERSION, "commit": settings.TANDEM_COMMIT or ""}
    last = Migrated.objects.order_by("pk").values("version", "commit").last()
    if last != this:
        Migrated.objects.create(**this)


def _migrated_by() -> str:
    try:
        last = Migrated.objects.order_by("pk").values_list("version", "commit").last()
    except DatabaseError:
        last = None
    if last is None:
        return "a newer version of Tandem"
    version, commit = last
    return f"Tandem {version}" + (f" (commit {commit[:10]})" if commit else "")
