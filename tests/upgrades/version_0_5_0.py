"""A database as version 0.5.0 left it, for tests to upgrade.

`version-0.5.0.jsonl` holds what version 0.5.0 itself stored, one row per line: Ada answered the
first item and changed her answer, then began the next; Ben answered the first and began the next;
an imported file gave Cyd's answers the revisions 1 and 3; and a judge was paused after three of
four items.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.apps.registry import Apps
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.management.color import no_style
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from annotation.models import User
from tests.databases import copy_version_0_5_0, other_database
from tests.migrating import VERSION_0_5_0, quickly

STORED = [
    (label, row)
    for label, row in map(
        json.loads, (Path(__file__).parent / "version-0.5.0.jsonl").open(encoding="utf-8")
    )
]
ADAS_COOKIE = "0123456789abcdefghijklmnopqrstuv"
RESERVED = timezone.now() + timedelta(minutes=50)


@contextmanager
def installed(django_db_blocker: Any) -> Iterator[Apps]:
    """The models of version 0.5.0, on a database of their own that holds what it stored.

    Its tables come from a copy of the tests' database that was made when the migrations of that
    version had run.
    """
    name = f"{connection.settings_dict['NAME']}_0_5_0"
    copy_version_0_5_0(name)
    with other_database(django_db_blocker, name):
        apps = MigrationLoader(connection).project_state(VERSION_0_5_0).apps
        plant(apps)
        log_ada_in(apps)
        install_axes()
        yield apps


def plant(apps: Apps) -> None:
    models = []
    for label, row in STORED:
        model = apps.get_model(label)
        fields = {field.attname: field for field in model._meta.concrete_fields}
        model(**{name: fields[name].to_python(value) for name, value in row.items()}).save()
        models.append(model)
    begun = apps.get_model("annotation.Assignment").objects.filter(held_until__isnull=False)
    begun.update(held_until=RESERVED)
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def install_axes() -> None:
    """Create what version 0.5.0 counted wrong passwords in, which is no part of this version."""
    key = "integer PRIMARY KEY"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE axes_accessattempt (id {key}, username varchar(255))")
        refers = "REFERENCES axes_accessattempt DEFERRABLE INITIALLY DEFERRED"
        cursor.execute(
            f"CREATE TABLE axes_accessattemptexpiration (access_attempt_id {key} {refers})"
        )
        cursor.execute(f"CREATE TABLE axes_accesslog (id {key})")
        cursor.execute("INSERT INTO axes_accessattempt VALUES (1, 'ada')")
        cursor.execute("INSERT INTO axes_accessattemptexpiration VALUES (1)")
    MigrationRecorder(connection).record_applied("axes", "0001_initial")


def log_ada_in(apps: Apps) -> None:
    """Store Ada's session as version 0.5.0 did, under the key that is in her browser's cookie."""
    with quickly():
        MigrationExecutor(connection).migrate([("sessions", "0001_initial")])
    ada = apps.get_model("annotation.User").objects.get(username="ada")
    same = User(password=ada.password, role=ada.role, sessions=ada.sessions)
    data = {
        SESSION_KEY: str(ada.pk),
        BACKEND_SESSION_KEY: "django.contrib.auth.backends.ModelBackend",
        HASH_SESSION_KEY: same.get_session_auth_hash(),
    }
    ends = timezone.now() + timedelta(days=7)
    Session(ADAS_COOKIE, SessionStore().encode(data), ends).save(force_insert=True)
