"""A backup holds the site's data as of one moment, and an empty place becomes that site again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import User
from datasets.atomic_files import scratch_folder
from datasets.backup import BackupError, back_up, databases, last_backup, restore, restoring
from datasets.backup.archive import MANIFEST
from tests.datasets.backup.conftest import Place
from tests.patience import PATIENCE

both = pytest.mark.postgresql


def _names() -> list[str]:
    return sorted(User.objects.values_list("username", flat=True))


def _live(folder: Path) -> None:
    """Give a site people, a session, an upload, and files that can be computed again."""
    for name in ("ada", "ben"):
        User.objects.create_user(name, password="correct horse battery")
    Session.objects.create(
        session_key="k" * 32, session_data="x", expire_date=timezone.now() + timedelta(days=1)
    )
    for name in ("uploads/KEY/0.jsonl", "uploads/incoming/half", "reports/1.cache", "worker.log"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"text of {name}")
    (folder / "notes.txt").write_text("not Tandem's")


@pytest.fixture
def archive(place: Place, tmp_path: Path) -> Path:
    """A backup of a site with people, whose place is left."""
    with place("old") as folder:
        _live(folder)
        path, _ = back_up(tmp_path / "site.zip")
    return path


@both
def test_a_restored_site_has_the_same_rows_and_files_and_no_sessions(
    archive: Path, place: Place
) -> None:
    with place("new") as folder:
        manifest, to_do = restore(archive)
        assert _names() == ["ada", "ben"]
        assert manifest.tables["annotation_user"] == 2
        assert not Session.objects.exists()
        assert (folder / "uploads/KEY/0.jsonl").read_text() == "text of uploads/KEY/0.jsonl"
        assert not (folder / "reports").exists()
        assert not to_do
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        User.objects.create_user("cleo")  # the next key follows from the restored ones


def test_a_backup_names_its_version_migrations_counts_and_what_it_leaves_out(
    archive: Path, settings: Settings
) -> None:
    with zipfile.ZipFile(archive) as found:
        manifest = json.loads(found.read(MANIFEST))
        names = set(found.namelist())
    assert manifest["version"] == settings.TANDEM_VERSION
    assert manifest["engine"] == connection.vendor
    assert "annotation.0001_initial" in manifest["migrations"]
    assert manifest["tables"]["django_session"] == 0
    assert manifest["left_out"] == ["notes.txt"]
    assert names == {MANIFEST, "data/uploads/KEY/0.jsonl"} | set(manifest["members"])
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600


def test_the_sessions_of_a_site_are_not_in_its_backup(archive: Path, tmp_path: Path) -> None:
    if connection.vendor == "sqlite":
        with zipfile.ZipFile(archive) as found:
            assert b"k" * 32 not in found.read("database.sqlite3")


def test_the_last_backup_is_remembered(place: Place, tmp_path: Path) -> None:
    with place("old"):
        assert last_backup().at == ""
        path, manifest = back_up(tmp_path)
        assert path.parent == tmp_path
        assert (last_backup().at, last_backup().file) == (manifest.at, str(path.resolve()))
        assert last_backup().bytes == path.stat().st_size


@both
def test_a_place_with_tables_is_refused_by_name(archive: Path, place: Place) -> None:
    with place("old"):
        with pytest.raises(BackupError, match="has tables; restore into an empty place"):
            restore(archive)
        assert _names() == []


def test_files_in_the_way_are_named(archive: Path, place: Place) -> None:
    with place("new") as folder:
        (folder / "uploads/OTHER").mkdir(parents=True)
        (folder / "uploads/OTHER/0.jsonl").write_text("somebody's")
        with pytest.raises(BackupError, match="has uploads/OTHER; restore into an empty folder"):
            restore(archive)
        assert databases.is_empty()


def test_a_newer_backup_is_refused_with_the_version_that_restores_it(
    archive: Path, place: Place, settings: Settings
) -> None:
    settings.TANDEM_VERSION = "0.4.9"
    with place("new"), pytest.raises(BackupError, match=r"newer than this code: restore it with"):
        restore(archive)


def test_a_backup_with_an_unknown_migration_is_refused(place: Place, tmp_path: Path) -> None:
    with place("old"):
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO django_migrations (app, name, applied) VALUES "
                "('annotation', '9999_tomorrow', CURRENT_TIMESTAMP)"
            )
        path, _ = back_up(tmp_path / "newer.zip")
    with place("new"):
        with pytest.raises(BackupError, match=r"its migration annotation.9999_tomorrow is unknown"):
            restore(path)
        assert databases.is_empty()


def test_an_older_backup_is_restored_and_says_to_migrate(place: Place, tmp_path: Path) -> None:
    with place("old"):
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE app = 'analysis'")
        path, _ = back_up(tmp_path / "older.zip")
    with place("new"):
        _, to_do = restore(path)
    assert to_do == ["run tandem migrate, since the backup is of an older version"]


def test_another_key_is_said(archive: Path, place: Place, settings: Settings) -> None:
    settings.SECRET_KEY = "another key of fifty characters, as an admin would set it"
    with place("new"):
        _, (to_do,) = restore(archive)
    assert to_do.startswith("set SECRET_KEY to that of the site that was backed up")


def test_the_key_that_a_site_created_returns_with_it(
    place: Place, tmp_path: Path, settings: Settings
) -> None:
    with place("old") as folder:
        (folder / "secret_key").write_text(settings.SECRET_KEY)
        path, _ = back_up(tmp_path / "site.zip")
        kept = settings.SECRET_KEY
    with place("new") as folder:
        settings.SECRET_KEY = "what the restoring command created at its start"
        (folder / "secret_key").write_text(settings.SECRET_KEY)
        _, to_do = restore(path)
        assert (folder / "secret_key").read_text() == kept
    assert not to_do


def test_a_failing_backup_leaves_no_file_and_says_why(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    into = tmp_path / "into"
    into.mkdir()
    with place("old"):
        monkeypatch.setattr("datasets.backup.archive.os.fsync", full)
        with pytest.raises(CommandError, match="No backup was written: No space left on device"):
            call_command("backup", into / "b.zip")
        assert not list(into.iterdir())
        assert last_backup().at == ""


def test_a_disk_without_room_is_said_before_anything_is_written(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    with place("old"):
        monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
        with pytest.raises(BackupError, match=r"has 0 MB free, and a backup needs up to"):
            back_up(tmp_path / "b.zip")


def test_a_folder_that_does_not_exist_is_named(place: Place, tmp_path: Path) -> None:
    with place("old"), pytest.raises(CommandError, match=r"There is no folder .*/nowhere"):
        call_command("backup", tmp_path / "nowhere" / "b.zip")


def test_a_missing_pg_dump_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackupError, match="pg_dump is not installed; install PostgreSQL's"):
        databases.program("pg_dump")


@both
def test_a_restore_whose_last_step_fails_leaves_nothing(
    archive: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise BackupError("pg_restore failed")

    with place("new") as folder:
        with monkeypatch.context() as patch:
            patch.setattr(databases.PreparedDatabase, "put_into_place", fails)
            with pytest.raises(BackupError, match="pg_restore failed"):
                restore(archive)
        assert not [path for path in folder.rglob("*") if path.name in ("KEY", "0.jsonl")]
        restore(archive)
        assert (folder / "uploads/KEY/0.jsonl").exists()


@both
def test_a_killed_restore_leaves_the_place_empty_and_can_be_repeated(
    archive: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with place("new") as folder:
        with monkeypatch.context() as patch:
            patch.setattr(databases.PreparedDatabase, "put_into_place", killed)
            # A killed process leaves its scratch folder.
            patch.setattr(restoring, "scratch_folder", Left)
            patch.setattr(restoring, "_undo", lambda _: None)
            with pytest.raises(KeyboardInterrupt):
                restore(archive)
        assert databases.is_empty()
        assert (folder / "uploads/KEY").exists()
        restore(archive)
        assert _names() == ["ada", "ben"]
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


class Left:
    """A scratch folder that nobody removes or holds, as after a kill."""

    def __init__(self, target: Path) -> None:
        self.path = target.parent / f".{target.name}.{os.urandom(8).hex()}"

    def __enter__(self) -> Path:
        self.path.mkdir()
        return self.path

    def __exit__(self, *_: object) -> None:
        """Leave it."""


def test_files_that_people_uploaded_since_are_never_taken_for_a_killed_restores(
    archive: Path, place: Place
) -> None:
    with place("new") as folder:
        (folder / "uploads/OTHER").mkdir(parents=True)
        (folder / "uploads/OTHER/0.jsonl").write_text("somebody's")
        with scratch_folder(folder / "restore"), pytest.raises(BackupError, match="uploads/OTHER"):
            restore(archive)
        assert (folder / "uploads/OTHER/0.jsonl").exists()


@pytest.mark.once
def test_saves_go_on_while_a_backup_is_taken_and_it_is_of_one_moment(
    place: Place, tmp_path: Path
) -> None:
    """Two tables that are always written together have equally many rows in each backup."""
    with place("old") as folder:
        with closing(sqlite3.connect(folder / "tandem.sqlite3")) as file:
            file.execute("PRAGMA journal_mode=WAL")
            file.execute("CREATE TABLE a (x BLOB)")
            file.execute("CREATE TABLE b (x BLOB)")
            file.execute("INSERT INTO a VALUES (zeroblob(20000000))")
            file.execute("INSERT INTO b VALUES (1)")
            file.commit()
        over, slowest, count = threading.Event(), 0.0, 0

        def save() -> None:
            nonlocal slowest, count
            with closing(sqlite3.connect(folder / "tandem.sqlite3", timeout=PATIENCE)) as file:
                while not over.is_set():
                    start = time.monotonic()
                    with file:
                        file.execute("INSERT INTO a VALUES (1)")
                        file.execute("INSERT INTO b VALUES (1)")
                    slowest, count = max(slowest, time.monotonic() - start), count + 1

        saving = threading.Thread(target=save)
        saving.start()
        try:
            while not count:
                time.sleep(0.001)
            before = count
            _, manifest = back_up(tmp_path / "b.zip")
            during = count - before
        finally:
            over.set()
            saving.join()
        assert manifest.tables["a"] == manifest.tables["b"] > before - 1
        assert during > 5
        connection.close()


@pytest.mark.processes
def test_a_backup_that_is_told_to_end_leaves_nothing(place: Place, tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    with place("old") as folder:
        (folder / "uploads/KEY").mkdir(parents=True)
        with (folder / "uploads/KEY/0.jsonl").open("wb") as large:
            for _ in range(64):
                large.write(os.urandom(1 << 20))
        env = os.environ | {"DEBUG": "1", "TANDEM_DATA_DIR": str(folder)}
        env.pop("DATABASE_URL", None)
        command = [sys.executable, "manage.py", "backup", str(into / "b.zip")]
        with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as process:
            try:
                until = time.monotonic() + PATIENCE
                while not list(into.glob(".*/archive")) and time.monotonic() < until:
                    time.sleep(0.005)
                process.send_signal(signal.SIGTERM)
                status = process.wait(PATIENCE)
            finally:
                process.kill()
    assert status == 128 + signal.SIGTERM
    assert not list(into.iterdir())


@pytest.mark.processes
@pytest.mark.long
@both
def test_a_rehearsal_checks_the_data_and_leaves_the_site_as_it_is(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place("old") as folder:
        monkeypatch.setenv("DEBUG", "1")
        if connection.vendor == "postgresql":
            named = databases.name()
            url = os.environ["DATABASE_URL"].rpartition("/")[0]
            monkeypatch.setenv("DATABASE_URL", f"{url}/{named}")
        before = {path.name for path in folder.iterdir()}
        path, _ = back_up(tmp_path / "b.zip")
        call_command("restore", path, "--test")
        assert last_backup().tested_at
        after = {each.name for each in folder.iterdir()} - {"last_backup.json"}
        assert {name for name in after if "sqlite3" not in name} <= before
