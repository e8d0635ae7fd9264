"""Another account of the machine can read nothing in the data folder, except static files."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasets.private_files import NotPrivateError, close
from tests import cast
from tests.cast import ROOT
from tests.databases import FILE, ON_POSTGRESQL, environment
from tests.patience import PATIENCE
from tests.stranger import (
    NOBODY,
    OPEN_UMASK,
    leave_open,
    open_to_others,
    reachable_folder,
    read_by_stranger,
)

pytestmark = pytest.mark.once
CLOSED = "could be read by other accounts of this machine: closed"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account")


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as found:
        yield found / "data"


def start(*words: object, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a program as people do, under a umask that lets everybody read."""
    env = os.environ | {"DEBUG": "1"} | settings
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=ROOT, env=env, umask=OPEN_UMASK,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.first_case
@pytest.mark.parametrize("program", [["manage.py"], ["-m", "tandem"]], ids=["manage", "tandem"])
def test_a_new_site_is_private_whatever_the_umask(
    django_db_setup: None, folder: Path, tmp_path: Path, program: list[str]
) -> None:
    env = environment(folder, migrated=True)
    leave_open(folder)
    batch = cast.write_lines(tmp_path / "b.jsonl", cast.BATCH)
    done = start(*program, "load_batch", batch, "--name", "b", **env)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(CLOSED) == 1
    assert mode_of(folder) == 0o700
    assert open_to_others(folder) <= {"static"}
    assert (folder / "secret_key").exists()
    assert read_by_stranger(folder.parent) == set()
    again = start(*program, "load_batch", batch, "--name", "c", **env)
    assert CLOSED not in again.stderr


def test_a_folder_that_the_site_creates_is_private_and_its_parents_can_be_entered(
    folder: Path,
) -> None:
    start("manage.py", "diffsettings", TANDEM_DATA_DIR=str(folder / "a" / "b"))
    assert [mode_of(each) for each in (folder, folder / "a", folder / "a/b")] == [
        0o755, 0o755, 0o700,
    ]  # fmt: skip


def test_a_file_written_by_the_program_is_for_its_account_alone(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    rows = [f"i{n},u,v,{rater},yes\n" for n in "12" for rater in "ab"]
    labels.write_text("item,unit,variable,rater,value\n" + "".join(rows))
    out = tmp_path / "report.md"
    done = start("-m", "tandem", "report", labels, "--output", out)
    assert done.returncode == 0, done.stderr
    assert mode_of(out) == 0o600


def test_static_files_are_readable_by_a_proxy(folder: Path) -> None:
    static = folder.parent / "static"
    env = {"TANDEM_DATA_DIR": str(folder), "TANDEM_STATIC_DIR": str(static)}
    done = start(
        "manage.py", "collectstatic", "--noinput", "--ignore", "drf*", "--ignore", "rest*",
        "--ignore", "fonts", **env | {"DEBUG": "0", "TANDEM_PLAIN_HTTP": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    files = {str(path.relative_to(static.parent)) for path in static.rglob("*") if path.is_file()}
    assert any(name.endswith(".gz") for name in files)
    assert "static/staticfiles.json" in files
    assert {mode_of(path) for path in static.rglob("*") if path.is_dir()} == {0o755}
    assert read_by_stranger(folder.parent) == files


def test_the_write_ahead_log_of_a_database_elsewhere_is_closed_too(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    elsewhere = folder.parent / "elsewhere.sqlite3"
    held = sqlite3.connect(elsewhere)
    held.execute("PRAGMA journal_mode=WAL")
    held.execute("CREATE TABLE t (x)")
    held.commit()
    for end in ("", "-wal", "-shm"):
        Path(f"{elsewhere}{end}").chmod(0o644)
    assert f"{CLOSED} 4 files" in close(folder, folder / "static", elsewhere)
    names = [Path(f"{elsewhere}{end}") for end in ("", "-wal", "-shm")]
    assert [mode_of(each) for each in names] == [0o600] * 3
    held.close()


def test_entries_keep_the_owners_rights_and_links_are_not_followed(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.write_text("")
    outside.chmod(0o644)
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "static").mkdir(mode=0o755)
    (folder / "a/program").write_text("")
    (folder / "link").symlink_to(outside)
    leave_open(folder / "a")
    (folder / "a/program").chmod(0o755)
    folder.chmod(0o755)
    (folder / "static").chmod(0o755)
    said = close(folder, folder / "static")
    assert said == f"Data in {folder} {CLOSED} 4 files and folders."
    assert (mode_of(folder / "a/program"), mode_of(folder / "a/b")) == (0o700, 0o700)
    assert (mode_of(outside), mode_of(folder / "static")) == (0o644, 0o755)
    assert close(folder, folder / "static") == ""


def test_one_file_that_was_opened_later_is_named(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "copied").write_text("")
    (folder / "copied").chmod(0o644)
    assert close(folder, folder / "static").endswith(f"closed {folder / 'copied'}.")


def test_a_folder_of_all_accounts_is_refused_and_left_as_it_is(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o1777)
    done = start("manage.py", "diffsettings", TANDEM_DATA_DIR=str(folder))
    assert done.returncode == 1
    assert done.stderr.startswith(f"Settings: {folder} is a folder for all accounts")
    assert f"such as {folder / 'tandem'}" in done.stderr
    assert done.stderr.count("\n") == 1
    assert mode_of(folder) == 0o1777


@as_root
def test_a_folder_of_another_account_is_refused_only_if_others_can_read_it(folder: Path) -> None:
    folder.mkdir()
    os.chown(folder, 0, NOBODY)
    folder.chmod(0o775)
    os.seteuid(NOBODY)
    try:
        with pytest.raises(NotPrivateError, match=f"to account 0, not to {NOBODY}; have its owner"):
            close(folder, folder / "static")
    finally:
        os.seteuid(0)
    folder.chmod(0o770)
    os.seteuid(NOBODY)
    try:
        assert close(folder, folder / "static") == ""
    finally:
        os.seteuid(0)
    assert mode_of(folder) == 0o770


def test_a_folder_that_cannot_be_closed_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", lambda *_, **__: None)
    with pytest.raises(NotPrivateError, match="have its owner close it with chmod go="):
        close(folder, folder / "static")


@pytest.mark.skipif(ON_POSTGRESQL, reason="the database is no file")
def test_the_database_and_its_log_are_created_private(
    django_db_setup: None, folder: Path, tmp_path: Path
) -> None:
    env = environment(folder, migrated=True)
    (folder / FILE).unlink()
    script = (
        "from django.db import connection, transaction\n"
        "with connection.cursor() as c, transaction.atomic(): c.execute('CREATE TABLE t (x)')\n"
        "import os, glob\n"
        "print({n.rpartition('sqlite3')[2]: oct(os.stat(n).st_mode & 0o777)"
        f" for n in glob.glob({str(folder / FILE)!r} + '*')}})"
    )
    done = start("manage.py", "shell", "--no-imports", "-c", script, **env)
    assert done.returncode == 0, done.stderr
    assert eval(done.stdout) == dict.fromkeys(("", "-wal", "-shm", "-turn"), "0o600")
