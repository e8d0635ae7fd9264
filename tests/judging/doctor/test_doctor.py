"""The doctor names what is broken and what mends it, also when hardly anything works."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import Rater, User
from audit.models import Event
from audit.recording import record
from audit.seals import seal
from datasets.backup.archive import note_backup, note_test
from datasets.models import Job
from datasets.work import queue
from judging.doctor import machine, registry, stored
from judging.doctor.base import MEND, WARNING, WELL, Check, Line
from judging.doctor.registry import CHECKS, examine
from judging.models import Judge
from scripts.services import Valkey
from scripts.services.processes import free_port
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> Path:
    """A site whose every part is well."""
    tmp_path.chmod(0o700)
    settings.DATA_DIR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"
    settings.PLAIN_HTTP, settings.DEBUG = True, False
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "staticfiles.json").write_text("{}")
    note_backup(timezone.now(), tmp_path / "b.zip", 1)
    note_test()
    queue.note_worker("host:1", 2)
    if connection.vendor == "sqlite":
        Path(str(connection.settings_dict["NAME"])).chmod(0o600)
        for end in ("-wal", "-shm"):
            beside = Path(f"{connection.settings_dict['NAME']}{end}")
            if beside.exists():
                beside.chmod(0o600)
    return tmp_path


def found(name: str, status: str) -> str:
    """Return what a check says and how to mend it. It has one line of this status."""
    lines = [line for line in examine() if (line.name, line.status) == (name, status)]
    assert len(lines) == 1, [str(line) for line in examine()]
    return f"{lines[0].says}. {lines[0].mend}"


def broken() -> list[str]:
    return [line.name for line in examine() if line.status == MEND]


@pytest.mark.postgresql
def test_a_site_that_is_well_has_nothing_to_mend() -> None:
    assert broken() == []
    assert {line.name for line in examine()} == {check.name for check in CHECKS}


@pytest.mark.postgresql
def test_an_unapplied_migration_is_named() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app='analysis' AND name LIKE '0001%%'")
    said = found("migrations", MEND)
    assert said == "not applied: analysis.0001_frozen_reports. Run tandem migrate"


def test_an_unknown_migration_is_named_with_the_way_back() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES "
            "('annotation', '9999_tomorrow', CURRENT_TIMESTAMP)"
        )
    said = found("migrations", MEND)
    assert "does not know annotation.9999_tomorrow" in said
    assert "see Rolling back" in said
    out = io.StringIO()
    # Other commands refuse such a database, and the doctor says why.
    with pytest.raises(SystemExit):
        call_command("doctor", stdout=out)
    assert said in out.getvalue()


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    full = shutil.disk_usage(folder)._replace(free=20 * 2**20)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: full)
    lines = [line for line in examine() if line.name == "disk"]
    assert lines[0].status == MEND
    assert "has 20 MB free" in lines[0].says
    nearly = full._replace(free=1000 * 2**20)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: nearly)
    assert examine()[0].name == "settings"
    assert {line.status for line in examine() if line.name == "disk"} == {WARNING}


def test_a_folder_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(machine.tempfile, "TemporaryFile", refuse)
    lines = [line for line in examine() if line.name == "disk" and line.status == MEND]
    assert "cannot be written (Read-only file system)" in lines[0].says


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o704])
def test_an_open_data_folder_is_named_with_the_command(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    said = found("modes", MEND)
    assert said.endswith(f"Run chmod go-rw {folder}")
    folder.chmod(0o711)  # a web server may pass, to its static files
    assert "modes" not in broken()


def test_an_open_key_is_named(folder: Path) -> None:
    (folder / "secret_key").write_text("k")
    (folder / "secret_key").chmod(0o644)
    assert f"can read {folder / 'secret_key'}" in found("modes", MEND)


@pytest.mark.once
def test_an_open_database_is_named() -> None:
    database = Path(str(connection.settings_dict["NAME"]))
    database.chmod(0o644)
    try:
        assert str(database) in found("modes", MEND)
    finally:
        database.chmod(0o600)


def test_a_broker_that_is_away_is_named_without_its_password(settings: Settings) -> None:
    port = free_port()
    settings.CELERY_BROKER_URL = f"redis://:hush@127.0.0.1:{port}/0"
    said = found("broker", MEND)
    assert f"127.0.0.1:{port}" in said
    assert "hush" not in said
    assert said.endswith("Start it, or correct CELERY_BROKER_URL")


@pytest.mark.processes
@pytest.mark.long
def test_a_broker_that_answers_is_well_and_has_no_worker(
    valkey_server: Valkey, settings: Settings
) -> None:
    settings.CELERY_BROKER_URL = valkey_server.url
    assert found("broker", WELL).endswith("answers. ")
    queue.forget_worker("host:1")
    assert found("workers", MEND).startswith("no worker is running")


def test_a_missing_worker_is_named() -> None:
    queue.forget_worker("host:1")
    assert found("workers", MEND).startswith("no worker is running")


def test_a_queue_that_stands_still_is_named() -> None:
    job = Job.objects.create(kind="report", question="q", digest="d")
    assert "queue" not in broken()
    Job.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(minutes=5))
    assert found("queue", WARNING).startswith("1 jobs wait, the oldest for 5 min")
    Job.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(hours=3))
    assert found("queue", MEND).startswith("1 jobs wait, the oldest for 3 h")


def _judge(url: str, **fields: Any) -> Judge:
    rater = Rater.objects.create(name=f"j-{url}", kind=Rater.Kind.JUDGE)
    return Judge.objects.create(rater=rater, backend="openai", model="m", base_url=url, **fields)


def test_a_judge_server_that_is_down_is_named() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    judge = _judge(url)
    assert found("judges", MEND).startswith(f"{url} cannot be reached (Connection refused)")
    Judge.objects.filter(pk=judge.pk).update(created_at=timezone.now() - timedelta(days=30))
    assert found("judges", WARNING).startswith(f"{url} cannot be reached")


def test_a_missing_key_of_a_judge_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TANDEM_KEY_X", raising=False)
    monkeypatch.setattr("judging.doctor.processes._connect", lambda _: "")
    _judge("http://127.0.0.1:9/v1", api_key_env="TANDEM_KEY_X")
    assert found("judges", MEND) == "TANDEM_KEY_X, the key of a judge, is not set. Set TANDEM_KEY_X"


def test_a_site_that_never_sealed_is_named() -> None:
    record("login.failed", None, None)
    assert Event.objects.exists()
    assert found("seal", MEND).startswith("never sealed; events have waited since")
    seal()
    assert "seal" not in broken()


def test_a_seal_that_is_late_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    record("login.failed", None, None)
    seal()
    record("login.failed", None, None)
    assert "seal" not in broken()
    later = timezone.now() + timedelta(hours=2)
    monkeypatch.setattr("judging.doctor.records.timezone", SimpleNamespace(now=lambda: later))
    assert "events have waited since" in found("seal", MEND)


def test_a_site_without_a_backup_is_named(folder: Path) -> None:
    (folder / "last_backup.json").unlink()
    said = found("backup", MEND)
    assert said.startswith("no backup was ever taken. Run tandem backup FILE")
    (folder / "last_backup.json").write_text("{broken")
    assert "backup" in broken()


@pytest.mark.every_case
@pytest.mark.parametrize(("days", "status"), [(0, WELL), (2, WARNING), (8, MEND)])
def test_an_old_backup_is_named(days: int, status: str, folder: Path) -> None:
    note_backup(timezone.now() - timedelta(days=days), folder / "b.zip", 1)
    assert found("backup", status).startswith("taken ")


def test_a_restore_that_was_never_tested_is_a_warning(folder: Path) -> None:
    (folder / "last_backup.json").unlink()
    note_backup(timezone.now(), folder / "b.zip", 1)
    assert found("backup", WARNING).startswith("restoring is never tested")


@pytest.mark.every_case
@pytest.mark.parametrize(("seconds", "status"), [(0, WELL), (-10, WARNING), (90, MEND)])
def test_a_skewed_clock_is_named(
    seconds: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = timezone.now
    monkeypatch.setattr(machine, "database_time", lambda: there() + timedelta(seconds=seconds))
    said = found("clock", status)
    assert ("clocks by NTP" in said) == bool(seconds)


@pytest.mark.postgresql(only=True)
def test_the_clock_of_postgresql_is_asked() -> None:
    assert abs((machine.database_time() - timezone.now()).total_seconds()) < 5


def test_settings_that_a_server_must_not_have_are_named(settings: Settings, folder: Path) -> None:
    (folder / "static" / "staticfiles.json").unlink()
    assert "there are no static files" in found("settings", MEND)
    settings.DEBUG = True
    assert any("DEBUG is 1" in line.says for line in examine() if line.name == "settings")


def test_a_database_that_is_away_leaves_the_other_checks(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    if connection.vendor == "sqlite":
        monkeypatch.setitem(connection.settings_dict, "NAME", str(folder / "none.sqlite3"))
    else:
        monkeypatch.setitem(connection.settings_dict, "PORT", str(free_port()))
    lines = {line.name: line for line in examine()}
    assert lines["database"].status == MEND
    assert lines["seal"].says == "not known while the database is away"
    assert lines["backup"].status == WELL
    assert set(lines) == {check.name for check in CHECKS}
    assert not (folder / "none.sqlite3").exists()


def test_a_check_that_fails_itself_does_not_end_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails() -> Iterator[Any]:
        raise RuntimeError("a surprise")
        yield

    def refused() -> Iterator[Any]:
        raise OperationalError("disk I/O error")
        yield

    checks = (Check("a", "A", fails), Check("b", "B", refused), CHECKS[-1])
    monkeypatch.setattr(registry, "CHECKS", checks)
    first, second, third = examine()
    assert (first.status, second.status, third.name) == (MEND, WARNING, "backup")
    assert "RuntimeError: a surprise" in first.says


def _run(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("doctor", *arguments, stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


def test_the_command_has_a_line_for_each_part_and_status_0_or_1(folder: Path) -> None:
    status, out = _run()
    assert status == 0
    assert out.count("\n") >= len(CHECKS)
    (folder / "last_backup.json").unlink()
    status, out = _run("--format", "json")
    answer = json.loads(out)
    assert (status, answer["well"]) == (1, False)
    (line,) = [each for each in answer["checks"] if each["status"] == MEND]
    assert set(line) == {"name", "title", "status", "says", "mend"}
    assert line["name"] == "backup"


def test_the_page_never_runs_a_slow_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow() -> NoReturn:
        raise AssertionError("a slow check ran in a request")

    checks = [Check(c.name, c.title, slow, False, True) if c.is_slow else c for c in CHECKS]
    monkeypatch.setattr(registry, "CHECKS", checks)
    client = client_of(User.objects.create(username="root", role="admin"))
    page = client.get(reverse("doctor"))
    assert page.status_code == 200
    assert "Not examined yet: Settings, Broker, Workers, Judge servers" in page.text


def test_the_page_shows_what_the_command_last_found_beside_what_is_found_now(
    folder: Path,
) -> None:
    stored.store([Line("broker", "Broker", MEND, "the broker is away", "Start it")])
    (folder / "last_backup.json").unlink()
    text = client_of(User.objects.create(username="root", role="admin")).get(reverse("doctor")).text
    assert "The broker is away." in text
    assert "No backup was ever taken." in text


def test_the_page_is_for_admins(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bool] = []
    monkeypatch.setattr("judging.views.doctor.examine_in_background", lambda: begun.append(True))
    rita = client_of(User.objects.create(username="rita", role="researcher"))
    assert rita.get(reverse("doctor")).status_code == 403
    assert rita.post(reverse("doctor-examine")).status_code == 403
    assert client.get(reverse("doctor")).status_code == 302
    root = client_of(User.objects.create(username="root", role="admin"))
    assert root.get(reverse("doctor-examine")).status_code == 405
    for _ in range(2):  # the second press starts no second process
        assert root.post(reverse("doctor-examine")).status_code == 302
    assert begun == [True]
    assert reverse("doctor") in root.get(reverse("people")).text


def test_an_admins_first_page_says_what_is_to_mend_without_checking_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> NoReturn:
        raise AssertionError("the page waited for a check")

    cache.clear()
    root = client_of(User.objects.create(username="root", role="admin"))
    with monkeypatch.context() as patch:
        quick = [Check(c.name, c.title, never, False, c.is_slow) for c in CHECKS]
        patch.setattr(registry, "CHECKS", quick)
        first = root.get(reverse("home"), follow=True).text
    assert f'hx-get="{reverse("doctor-state")}"' in first
    stored.store([])
    seal()
    assert "All parts of this installation are well" in root.get(reverse("doctor-state")).text
    (folder / "last_backup.json").unlink()
    assert "are well" in root.get(reverse("home"), follow=True).text, "as of the last minute"
    cache.clear()
    assert "no backup was ever taken" in root.get(reverse("doctor-state")).text
    again = root.get(reverse("home"), follow=True).text
    assert "1 to mend" in again
    assert f'<a href="{reverse("doctor")}">Doctor</a>' in again
    rita = client_of(User.objects.create(username="rita", role="researcher"))
    assert "to mend" not in rita.get(reverse("batches")).text
    assert rita.get(reverse("doctor-state")).status_code == 403
