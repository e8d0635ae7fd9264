"""Files of the site are for its own account: no other account of the machine may read them.

A program that writes for the site sets its umask first (`tandem.place.set_umask`). What an earlier
version left open is closed at the next start (`close`). Needs no Django.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tandem.place import UMASK

OTHERS = 0o007
SIDE_FILES = ("", "-wal", "-shm", "-journal", "-turn")
"""What SQLite and our queue of writers keep beside a database, by the end of its name."""


class NotPrivateError(Exception):
    """A folder or file that other accounts can read, and that this process may not close."""


def is_open(mode: int) -> bool:
    """Return whether a mode lets the group or others do anything."""
    return bool(mode & UMASK)


def close(folder: Path, public: Path, database: Path | None = None) -> str:
    """Close the data folder to other accounts, and return a line if it was open, else nothing.

    `public` is a folder that a proxy may read, and stays as it is. `database` is a SQLite file,
    which may be in another folder. A folder that only its group may enter, and that belongs to
    another account, is left as it is. Raises NotPrivateError.
    """
    changed = list(_closed_folder(folder))
    changed += _closed_entries(folder, public)
    if database is not None:
        files = (Path(f"{database}{end}") for end in SIDE_FILES)
        changed += [path for path in files if path.is_file() and _close_one(path)]
    if not changed:
        return ""
    many = f"{len(changed)} files and folders" if len(changed) > 1 else str(changed[0])
    return f"Data in {folder} could be read by other accounts of this machine: closed {many}."


def _closed_folder(folder: Path) -> Iterator[Path]:
    mode = folder.stat().st_mode
    if mode & stat.S_ISVTX and mode & OTHERS:
        raise NotPrivateError(
            f"{folder} is a folder for all accounts of this machine; set TANDEM_DATA_DIR to a "
            f"folder in it, such as {folder / 'tandem'}"
        )
    if _close_one(folder):
        yield folder


def _closed_entries(folder: Path, public: Path) -> Iterator[Path]:
    """Close what is in a folder. What is in a closed folder cannot be reached."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        with suppress(OSError):
            mode = entry.stat(follow_symlinks=False).st_mode
            if path == public or entry.is_symlink() or not is_open(mode):
                continue
            path.chmod(stat.S_IMODE(mode) & ~UMASK)
            yield path
            if stat.S_ISDIR(mode):
                yield from _closed_entries(path, public)


def _close_one(path: Path) -> bool:
    """Close a folder or file. Return whether it was open."""
    if not is_open(path.stat().st_mode):
        return False
    with suppress(OSError):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~UMASK)
    found = path.stat()
    if found.st_mode & OTHERS:
        also = ", or set TANDEM_DATA_DIR to a folder in it" if path.is_dir() else ""
        raise NotPrivateError(
            f"{path} can be read by other accounts of this machine, and belongs to account "
            f"{found.st_uid}, not to {os.geteuid()}; have its owner close it with chmod go= "
            f"{path}{also}"
        )
    return not is_open(found.st_mode)
