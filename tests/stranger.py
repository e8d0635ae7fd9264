"""A stranger: another account of the machine, who looks for what can be read."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534
OPEN_UMASK = 0o022


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="tandem-reachable-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def read_by_stranger(folder: Path) -> set[str]:
    """Return the files under a folder that another account can read."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another account")
    done = subprocess.run(
        ["find", str(folder), "-type", "f", "-exec", "sh", "-c",
         'for each; do cat "$each" >/dev/null 2>&1 && echo "$each"; done', "sh", "{}", "+"],
        cwd="/", user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return {str(Path(line).relative_to(folder)) for line in done.stdout.splitlines()}


def open_to_others(folder: Path) -> set[str]:
    """Return the files and folders whose mode lets the group or others do anything."""
    found = (path for path in (folder, *folder.rglob("*")) if not path.is_symlink())
    return {
        str(path.relative_to(folder)) for path in found if stat.S_IMODE(path.stat().st_mode) & 0o077
    }


def leave_open(folder: Path) -> None:
    """Give everything in a folder the modes that an earlier version left under umask 022."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
