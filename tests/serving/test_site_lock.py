"""Two sites on one data folder: the second start is refused, and says who runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from datasets import site_lock
from tests import forks
from tests.cast import ROOT
from tests.judging.processes import kill_9, until
from tests.patience import PATIENCE
from tests.serving.site import Site

pytestmark = [pytest.mark.processes, pytest.mark.once]

HOLD = """
import json, sys
from pathlib import Path
from datasets import site_lock
how, folder, database = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
try:
    if how == "serve":
        site_lock.join_as_server(folder, database, "127.0.0.1:8000")
    elif how == "work":
        site_lock.join(folder, database)
    else:
        site_lock.refuse_second_server(folder, database)
except site_lock.SiteInUseError as error:
    print(f"refused: {error}", flush=True)
else:
    print("entered", flush=True)
    if how != "check":
        sys.stdin.read()
"""


def sqlite(folder: Path, name: str = "tandem.sqlite3") -> dict[str, Any]:
    return {"ENGINE": "config.sqlite", "NAME": str(folder / name)}


@contextmanager
def process(how: str, folder: Path, database: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """A process in the folder; yields what it said, and its id. It is killed at the end."""
    words = [sys.executable, "-c", HOLD, how, str(folder), json.dumps(database)]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        try:
            yield started.stdout.readline().strip(), started.pid
        finally:
            started.kill()


def said(how: str, folder: Path, database: dict[str, Any]) -> str:
    with process(how, folder, database) as (line, _):
        return line


def test_a_second_web_server_on_sqlite_is_refused_and_the_first_is_named(tmp_path: Path) -> None:
    with process("serve", tmp_path, sqlite(tmp_path)) as (first, pid):
        assert first == "entered"
        for how in ("serve", "check"):
            second = said(how, tmp_path, sqlite(tmp_path))
            assert second.startswith(f"refused: {tmp_path} is in use by another web server (at ")
            assert f"(at 127.0.0.1:8000, process {pid} on " in second
            assert second.endswith("stop that one first, or set TANDEM_DATA_DIR to another folder")


def test_workers_of_the_site_enter_beside_its_server_and_each_other(tmp_path: Path) -> None:
    with (
        process("work", tmp_path, sqlite(tmp_path)) as (worker, _),
        process("serve", tmp_path, sqlite(tmp_path)) as (server, _),
    ):
        assert (worker, server) == ("entered", "entered")
        assert said("work", tmp_path, sqlite(tmp_path)) == "entered"


def test_a_worker_with_another_database_is_refused(tmp_path: Path) -> None:
    with process("serve", tmp_path, sqlite(tmp_path)) as (_, pid):
        other = said("work", tmp_path, sqlite(tmp_path, "other.sqlite3"))
        assert other.startswith(f"refused: {tmp_path} is in use by a site with another database")
        assert f"process {pid}" in other


def test_a_server_with_another_database_than_the_workers_is_refused(tmp_path: Path) -> None:
    with process("work", tmp_path, sqlite(tmp_path)):
        other = said("serve", tmp_path, sqlite(tmp_path, "other.sqlite3"))
        assert "another database; set DATABASE_URL to that one" in other
    assert said("serve", tmp_path, sqlite(tmp_path, "other.sqlite3")) == "entered"


def test_what_a_killed_process_leaves_behind_locks_nobody_out(tmp_path: Path) -> None:
    with process("serve", tmp_path, sqlite(tmp_path)) as (_, pid):
        os.kill(pid, signal.SIGKILL)
    assert json.loads((tmp_path / site_lock.FILE).read_text())["server"]["pid"] == pid
    assert said("serve", tmp_path, sqlite(tmp_path, "other.sqlite3")) == "entered"


@pytest.mark.parametrize("left", ["", "{", "[1]", '{"server": null}'])
def test_a_damaged_file_is_no_lock(tmp_path: Path, left: str) -> None:
    (tmp_path / site_lock.FILE).write_text(left)
    assert said("serve", tmp_path, sqlite(tmp_path)) == "entered"


def test_several_servers_on_one_server_database_share_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", "PORT": 1}
    with process("serve", tmp_path, away) as (first, _):
        assert first == "entered"
        assert said("serve", tmp_path, away) == "entered"
        assert "in use by another web server" in said("serve", tmp_path, sqlite(tmp_path))


@pytest.mark.long
def test_the_web_server_keeps_others_out_also_when_it_starts_again_with_new_code(
    django_db_setup: None, static: dict[str, str], tmp_path: Path
) -> None:
    site = Site(tmp_path, {"WEB_WORKERS": "1", **static})
    site.command = ("-c", "config/gunicorn.py", "config.wsgi")
    other = [sys.executable, "-m", "gunicorn", *site.command]
    with (tmp_path / "site.log").open("ab") as log:
        first = subprocess.Popen(
            other, cwd=ROOT, env=site.env, stdout=log, stderr=log, start_new_session=True
        )
    told = f"(at 127.0.0.1:{site.port}, process {first.pid} on "

    def second_is_refused() -> None:
        env = site.env | {"BIND": "127.0.0.1:0"}
        second = forks.run(other, cwd=ROOT, env=env, timeout=PATIENCE)
        line = f"Not started: {tmp_path} is in use by another web server {told}"
        assert (second.returncode, line in second.stderr) == (1, True), second.stderr

    try:
        until(lambda: first.poll() is not None or site.is_ready(), "the site is ready")
        second_is_refused()
        before = len(site.log())
        first.send_signal(signal.SIGHUP)
        until(lambda: len(site.log()) > before, "it starts again")
        until(site.is_ready, "the site is ready again")
        second_is_refused()
        demo = forks.run(
            [sys.executable, "manage.py", "demo"], cwd=ROOT, env=site.env, timeout=PATIENCE
        )
        assert (demo.returncode, told in demo.stderr) == (1, True), demo.stderr
        worker = [sys.executable, "manage.py", "work", "--idle", "0.1"]
        beside = forks.run(worker, cwd=ROOT, env=site.env, timeout=PATIENCE)
        assert beside.returncode == 0, beside.stderr
        strange = site.env | {"DATABASE_URL": f"sqlite:///{tmp_path}/other.sqlite3"}
        refused = forks.run(worker, cwd=ROOT, env=strange, timeout=PATIENCE)
        assert refused.returncode == 1
        assert "in use by a site with another database" in refused.stderr
    finally:
        kill_9(first)
