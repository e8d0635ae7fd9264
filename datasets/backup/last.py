"""The moment of the last backup, in a file that can be read while the database is away."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from datasets.atomic_files import new_file
from datasets.backup.contents import data_folder


@dataclass(frozen=True)
class LastBackup:
    """When a backup was taken, its file and bytes; when a restore of one was last tested."""

    at: str = ""
    file: str = ""
    bytes: int = 0
    tested_at: str = ""


def _path() -> Path:
    return data_folder() / "last_backup.json"


def last_backup() -> LastBackup:
    """Return what is remembered; without a moment if there was no backup."""
    try:
        stored = json.loads(_path().read_text("utf-8"))
        found = LastBackup(
            **{name: stored[name] for name in asdict(LastBackup()) if name in stored}
        )
        for moment in filter(None, (found.at, found.tested_at)):
            datetime.fromisoformat(moment)
    except (OSError, ValueError, TypeError):
        return LastBackup()
    return found


def note_backup(at: datetime, file: Path, size: int) -> None:
    """Remember a backup. Raises OSError."""
    _write(replace(last_backup(), at=at.isoformat(timespec="seconds"), file=str(file), bytes=size))


def note_test() -> None:
    """Remember that a restore was tested now. Raises OSError."""
    _write(replace(last_backup(), tested_at=datetime.now(UTC).isoformat(timespec="seconds")))


def _write(last: LastBackup) -> None:
    with new_file(_path()) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(json.dumps(asdict(last)).encode())
