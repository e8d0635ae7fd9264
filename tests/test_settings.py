"""The environment is read once; an error is one line that says what to set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection
from kombu.transport import filesystem

from config import env
from tests import forks
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("DATABASE_URL", "SECRET_KEY", "DEBUG", "TIME_ZONE", "TANDEM_MAX_UPLOAD_MB")


def start(folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """A command that only reads the settings and looks for the database."""
    kept = {k: v for k, v in os.environ.items() if k not in NAMES}
    environment = {**kept, "TANDEM_DATA_DIR": str(folder), **settings}
    command = [sys.executable, "manage.py", "report", "--campaign", "none"]
    return forks.run(command, cwd=ROOT, env=environment, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "SECRET_KEY is not set; set it to 50 random characters (python -c"),
        ({"DEBUG": "maybe"}, "DEBUG is 'maybe'; set it to 1 or 0"),
        ({"DEBUG": "1", "TIME_ZONE": "Mars/Olympus"}, "TIME_ZONE is 'Mars/Olympus'; set it to"),
        ({"DEBUG": "1", "TANDEM_MAX_UPLOAD_MB": "-1"}, "TANDEM_MAX_UPLOAD_MB is '-1'; set it to"),
        ({"DEBUG": "1", "DATABASE_URL": "nonsense"}, "DATABASE_URL cannot be read; set it to"),
        ({"DEBUG": "1", "DATABASE_URL": "mysql://a/b"}, "DATABASE_URL cannot be read; set it to"),
        (
            {"DEBUG": "1", "DATABASE_URL": "sqlite:////nowhere/at/all.sqlite3"},
            "The database cannot be reached",
        ),
        (
            {"DEBUG": "1", "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"},
            "The database cannot be reached",
        ),
    ],
)
def test_a_wrong_setting_is_reported_in_one_line(
    tmp_path: Path, settings: dict[str, str], says: str
) -> None:
    done = start(tmp_path, **settings)
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_a_data_folder_that_cannot_be_created_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = start(tmp_path / "file" / "folder", DEBUG="1")
    assert done.returncode == 1
    assert "set TANDEM_DATA_DIR to another folder" in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_a_development_start_creates_a_private_key_once_and_asks_for_migrations(
    tmp_path: Path,
) -> None:
    first = start(tmp_path, DEBUG="1")
    assert first.stderr == "The database is not up to date; run tandem migrate.\n"
    path = tmp_path / "secret_key"
    key = path.read_text("utf-8")
    assert len(key) >= 50
    assert path.stat().st_mode & 0o077 == 0
    start(tmp_path, DEBUG="1")
    assert path.read_text("utf-8") == key


@pytest.mark.parametrize("exchange", ["celery", "celery.pidbox"])
def test_two_workers_that_start_at_once_both_enter_their_queues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: str
) -> None:
    def worker() -> Any:
        found: dict[str, Any] = env.broker(tmp_path)
        return Connection(found["url"], transport_options=found["options"]).channel()

    def starts_after_the_other(file: Any, flags: int) -> None:
        monkeypatch.setattr(filesystem, "lock", lambda *_: None)
        two._queue_bind(exchange, "", "", "two")

    one, two = worker(), worker()
    monkeypatch.setattr(filesystem, "lock", starts_after_the_other)
    one._queue_bind(exchange, "", "", "one")
    listed = tmp_path / "broker" / "control" / f"{exchange}.exchange"
    assert json.loads(listed.read_text("utf-8")) == [["", "", "one"], ["", "", "two"]]
    worker()
    assert len(json.loads(listed.read_text("utf-8"))) == 2, "a later start keeps them"
