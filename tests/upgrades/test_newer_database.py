"""A database that a newer version has migrated is refused everywhere, and the way back is named."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from config.apps import check_version
from datasets.db import versions
from datasets.models import Migrated
from tests import forks
from tests.cast import ROOT
from tests.commands import command_line
from tests.databases import environment
from tests.patience import PATIENCE

NAME = "9999_teams_of_teams"
TELLS = (
    "The database was migrated by Tandem 9.9.9 (commit 0123456789), and this is "
    f"{settings.TANDEM_VERSION}, which does not know annotation.{NAME}. Start the newer version "
    "again, or restore a backup from before the upgrade (tandem restore)."
)
PLANT = f"""
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from datasets.models import Migrated
MigrationRecorder(connection).record_applied("annotation", {NAME!r})
Migrated.objects.create(version="9.9.9", commit="0123456789abcdef")
"""


@pytest.fixture
def newer(db: None) -> None:
    MigrationRecorder(connection).record_applied("annotation", NAME)
    Migrated.objects.create(version="9.9.9", commit="0123456789abcdef")


@pytest.mark.usefixtures("newer")
class TestRefusals:
    def test_the_site_is_not_ready_and_says_why(self, caplog: pytest.LogCaptureFixture) -> None:
        answer = Client().get("/health/ready")
        assert (answer.status_code, answer.content) == (503, b"not ready")
        assert f"not ready: {TELLS}" in caplog.messages

    @pytest.mark.postgresql
    def test_migrate_is_refused(self) -> None:
        with pytest.raises(CommandError) as refused:
            call_command("migrate", verbosity=0)
        assert str(refused.value) == TELLS

    def test_going_back_to_an_earlier_migration_is_refused_too(self) -> None:
        with pytest.raises(CommandError, match=NAME):
            call_command("migrate", "annotation", "0010", verbosity=0)

    def test_the_check_of_the_database_finds_it(self) -> None:
        assert [error.msg for error in check_version(databases=["default"])] == [TELLS]
        assert check_version(databases=None) == []

    def test_many_unknown_migrations_are_not_all_listed(self) -> None:
        for number in range(9):
            MigrationRecorder(connection).record_applied("judging", f"900{number}_x")
        listed = f"know annotation.{NAME}, judging.9000_x, judging.9001_x, …. Start"
        assert listed in versions.newer_database()


@pytest.mark.django_db
@pytest.mark.postgresql
class TestThisVersion:
    def test_its_own_database_is_ready(self) -> None:
        assert Client().get("/health/ready").status_code == 200
        assert versions.newer_database() == ""

    def test_a_site_that_was_ready_is_not_after_a_newer_version_has_migrated(self) -> None:
        client = Client()
        assert client.get("/health/ready").status_code == 200
        MigrationRecorder(connection).record_applied("judging", NAME)
        assert client.get("/health/ready").status_code == 503

    def test_migrations_of_packages_and_of_removed_apps_are_not_ours(self) -> None:
        for app in ("auth", "knox", "removed"):
            MigrationRecorder(connection).record_applied(app, NAME)
        assert versions.newer_database() == ""

    def test_an_unknown_version_is_called_newer(self) -> None:
        Migrated.objects.all().delete()
        MigrationRecorder(connection).record_applied("audit", NAME)
        assert "was migrated by a newer version of Tandem, and this is" in versions.newer_database()

    def test_each_version_that_migrates_is_recorded_once(self) -> None:
        this = (settings.TANDEM_VERSION, settings.TANDEM_COMMIT or "")
        Migrated.objects.all().delete()
        for _ in range(2):
            versions.record_version()
        assert list(Migrated.objects.values_list("version", "commit")) == [this]
        Migrated.objects.create(version="9.9.9")
        versions.record_version()
        found = Migrated.objects.order_by("pk").values_list("version", flat=True)
        assert list(found) == [this[0], "9.9.9", this[0]]

    def test_a_database_that_is_away_is_not_called_newer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away() -> Any:
            raise OperationalError("away")

        monkeypatch.setattr(versions, "unknown_migrations", away)
        assert versions.refuse_newer_database() is None  # type: ignore[func-returns-value]


def test_the_migrations_of_all_our_apps_are_known() -> None:
    folders = ROOT.glob("*/migrations/[0-9]*.py")
    files = {(path.parents[1].name, path.stem) for path in folders}
    assert versions.known_migrations() == files
    assert {app for app, _ in files} == {"audit", "datasets", "annotation", "judging", "analysis"}


@pytest.fixture(scope="module")
def house(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    env = environment(tmp_path_factory.mktemp("newer"), migrated=True)
    planted = [("shell", "--no-imports", "-c", PLANT)]
    done = forks.run(command_line(planted), cwd=ROOT, env=env, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return env


STARTS = {
    "serve": ["-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"],
    "wsgi": ["-c", "import config.wsgi"],
    "asgi": ["-c", "import config.asgi"],
    "worker": ["-m", "celery", "-A", "config", "worker", "--concurrency", "1"],
    "beat": ["-m", "celery", "-A", "config", "beat"],
    "demo": ["manage.py", "demo", "--no-serve"],
    "migrate": ["manage.py", "migrate"],
    "command": ["manage.py", "progress", "c"],
    "tandem": ["-m", "tandem", "campaign", "set", "c", "--close"],
    "work": ["manage.py", "work", "--idle", "1"],
}


@pytest.mark.processes
@pytest.mark.once
@pytest.mark.parametrize("words", STARTS.values(), ids=list(STARTS))
def test_no_program_starts(house: dict[str, str], words: list[str]) -> None:
    env = os.environ | house | {"BIND": "127.0.0.1:0"}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert TELLS in done.stderr
    assert "Traceback" not in done.stderr
