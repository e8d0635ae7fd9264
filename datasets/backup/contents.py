"""What belongs to a backup of the data folder, declared once, and the archive's names for it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

KEPT = {
    "secret_key": "the key that the site created, without which second factors cannot be read",
    "uploads": "files that people have uploaded and not loaded yet",
    "imports": "labels files whose import has not ended",
}
"""The entries of the data folder that a backup contains, and what they are."""
LEFT_OUT = {
    "broker", "beat", "beat.db", "demonstration.json", "doctor.json", "floors", "jobs",
    "last_backup.json", "reports", "seal.lock", "services", "site.lock", "static", "worker.log",
    "demo-crux",
}  # fmt: skip
"""The entries that can be computed again, or that only this machine needs."""
PASSING = {"uploads": {"incoming"}}
"""Folders within those entries that hold files only while they are received."""
FOLDER = "data/"
"""What the names of these files begin with in an archive."""


def data_folder() -> Path:
    return Path(settings.DATA_DIR)


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each file of a backup with its name in the archive. Links are no data of the site."""
    for entry in sorted(KEPT):
        path = folder / entry
        if _is_file(path):
            yield FOLDER + entry, path
        if path.is_symlink() or not path.is_dir():
            continue
        for parent, folders, names in os.walk(path):
            if Path(parent) == path:
                folders[:] = sorted(set(folders) - PASSING.get(entry, set()))
            for name in sorted(names):
                if _is_file(found := Path(parent, name)):
                    yield FOLDER + found.relative_to(folder).as_posix(), found


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def unknown_entries(folder: Path, database: str) -> list[str]:
    """Return the entries of the data folder that are not Tandem's, which a backup leaves out."""
    known = {*KEPT, *LEFT_OUT, Path(settings.STATIC_ROOT).name}
    names = (entry.name for entry in folder.iterdir())
    own = Path(database).name
    return sorted(
        name
        for name in names
        if name not in known and not name.startswith((".", own)) and not name.startswith("beat")
    )


def in_the_way(folder: Path) -> list[str]:
    """Return the files that a restore would mix with its own.

    A stored key is not one of them: a command creates it in each new folder, and without answers it
    protects nothing.
    """
    found = (name.removeprefix(FOLDER) for name, _ in files(folder))
    return sorted({"/".join(name.split("/")[:2]) for name in found} - {"secret_key"})
