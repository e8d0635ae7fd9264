"""Write a folder completely or not at all: under another name beside it, which is moved at the end.

Whoever writes holds a lock on the unfinished folder, which the system releases when the process
ends, however it ends. So the next writer of the same folder knows which unfinished ones are dead.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from django.core.management.base import CommandError

from annotation.management.base import write_file


def write_folder(path: Path, files: Iterable[tuple[str, Iterable[bytes]]]) -> None:
    """Write a new folder of files, each given as path and pieces, completely or not at all.

    What a killed writer of this folder left beside it is removed. Raises CommandError if the folder
    cannot be written, or exists and is not empty.
    """
    target = path.resolve()
    try:
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise CommandError(f"{path}: exists already; choose another folder.")
        _remove_abandoned(target)
        with _unfinished(target) as beside:
            for name, pieces in files:
                place = beside / name
                place.parent.mkdir(parents=True, exist_ok=True)
                write_file(place, _filling(pieces))
            beside.replace(target)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CommandError(f"{path}: cannot be written ({why}); choose another folder.") from error


def _filling(pieces: Iterable[bytes]) -> Callable[[BinaryIO], object]:
    return lambda file: file.writelines(pieces)


def _prefix(target: Path) -> str:
    return f".{target.name[:50]}."


@contextmanager
def _unfinished(target: Path) -> Iterator[Path]:
    """Create a locked folder beside the target, and remove it unless it was moved."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside, lock = _locked(target)
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        os.close(lock)


def _locked(target: Path) -> tuple[Path, int]:
    """Return a new folder beside the target, with the descriptor that holds its lock."""
    while True:
        beside = target.parent / f"{_prefix(target)}{secrets.token_hex(8)}"
        beside.mkdir()
        # Another writer may find it before it is locked, take it for dead and remove it.
        with suppress(FileNotFoundError):
            lock = os.open(beside, os.O_RDONLY | os.O_DIRECTORY)
            # Some network drives lock no folders; nobody can then take it for dead either.
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
            if beside.is_dir():
                return beside, lock
            os.close(lock)


def _remove_abandoned(target: Path) -> None:
    """Remove the unfinished folders of this target whose writers no longer run."""
    named = re.compile(re.escape(_prefix(target)) + "[0-9a-f]{16}")
    for each in target.parent.iterdir() if target.parent.is_dir() else ():
        if named.fullmatch(each.name) and each.is_dir() and not each.is_symlink():
            # Held by its writer, gone meanwhile, or somebody else's: then it stays.
            with suppress(OSError):
                _remove_unheld(each)


def _remove_unheld(folder: Path) -> None:
    """Remove a folder that nobody has locked. Raises OSError for one that is locked."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(lock)
