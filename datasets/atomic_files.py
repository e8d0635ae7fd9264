"""Files and folders that are written under a temporary name and moved into place at the end.

A writer locks its unfinished file or folder. The system releases the lock when the process ends,
however it ends. So the next writer of the same target can tell which ones are abandoned, and
removes them.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def new_file(target: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of `target` if the block ends without an error.

    Raises OSError.
    """
    _remove_abandoned(target)
    beside, lock = _locked(target, _create_file)
    try:
        with os.fdopen(lock, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            beside.replace(target)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `target` if the block ends without an error.

    The target must not exist, or be an empty folder. Raises OSError.
    """
    with scratch_folder(target) as beside:
        yield beside
        beside.replace(target)


@contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside `target` that is removed when the block ends. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    beside, lock = _locked(target, _create_folder)
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        os.close(lock)


def abandoned(target: Path) -> bool:
    """Return whether a process was killed while it wrote `target`, and nothing was cleaned yet."""
    return any(_is_unheld(each) for each in _unfinished(target))


def sync_folder(folder: Path) -> None:
    """Wait until new and replaced names in a folder are on the disk. Raises OSError."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _prefix(target: Path) -> str:
    return f".{target.name[:50]}."


def _create_file(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _create_folder(path: Path) -> int:
    path.mkdir()
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def _locked(target: Path, create: Callable[[Path], int]) -> tuple[Path, int]:
    """Return a new path beside the target, with the descriptor that holds its lock."""
    while True:
        beside = target.parent / f"{_prefix(target)}{secrets.token_hex(8)}"
        # Another writer may find it before it is locked, take it for abandoned and remove it.
        try:
            lock = create(beside)
        except FileNotFoundError:
            if target.parent.is_dir():
                continue
            raise
        # Some network drives have no locks. Then no writer can take it for abandoned either.
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        if beside.exists():
            return beside, lock
        os.close(lock)


def _remove_abandoned(target: Path) -> None:
    """Remove unfinished files for this target from writers that no longer run."""
    for each in _unfinished(target):
        _remove_unheld(each)


def _unfinished(target: Path) -> list[Path]:
    named = re.compile(re.escape(_prefix(target)) + "[0-9a-f]{16}")
    # If the folder cannot be read, creating something in it raises the error.
    with suppress(OSError):
        return [
            each
            for each in target.parent.iterdir()
            if named.fullmatch(each.name) and not each.is_symlink()
        ]
    return []


def _is_unheld(path: Path) -> bool:
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(lock)
        return True
    return False


def _remove_unheld(path: Path) -> None:
    """Remove a file or folder, unless its writer has it locked or it belongs to another user."""
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        finally:
            os.close(lock)
