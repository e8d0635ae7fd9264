"""The last examination in a file of the data folder, and how a page has a new one made."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

from datasets.atomic_files import new_file
from datasets.backup.contents import data_folder
from datasets.priority import start_apart
from judging.doctor.base import Line


def _path() -> Path:
    return data_folder() / "doctor.json"


def store(lines: list[Line]) -> None:
    """Store an examination. Raises OSError."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    with new_file(_path()) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(json.dumps({"at": at, "lines": [line.__dict__ for line in lines]}).encode())


def last_examination() -> tuple[datetime | None, list[Line]]:
    """Return the moment of the last whole examination, and its lines; None and none before it."""
    try:
        stored = json.loads(_path().read_text("utf-8"))
        return datetime.fromisoformat(stored["at"]), [Line(**line) for line in stored["lines"]]
    except (OSError, ValueError, TypeError, KeyError):
        return None, []


def examine_in_background() -> None:
    """Start the command, which stores what it finds. Nothing waits for it."""
    process = start_apart("manage.py", "doctor")
    # Nobody else would collect its status.
    threading.Thread(target=process.wait, daemon=True).start()
