"""The version, read from the first release heading of the changelog, and the commit of the code."""

from __future__ import annotations

import os
import re
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent.parent


def _read() -> str:
    found = re.search(
        r"^## (\d+\.\d+\.\d+)", (_FOLDER / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    if found is None:
        raise RuntimeError("CHANGELOG.md names no release")
    return found.group(1)


def commit_in(folder: Path) -> str | None:
    """Return the commit checked out in a folder, or None if it is unknown."""
    git = folder / ".git"
    try:
        if git.is_file():
            # A second working tree: its folder has the head, and the first one's the branches.
            git = folder / git.read_text("utf-8").strip().removeprefix("gitdir: ")
        common = git / "commondir"
        shared = git / common.read_text("utf-8").strip() if common.is_file() else git
        head = (git / "HEAD").read_text("utf-8").strip()
        if not head.startswith("ref: "):
            return head or None
        name = head.removeprefix("ref: ")
        if (shared / name).is_file():
            return (shared / name).read_text("utf-8").strip() or None
        packed = (shared / "packed-refs").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), None)


VERSION = _read()
COMMIT = os.environ.get("TANDEM_COMMIT") or commit_in(_FOLDER)
"""The commit when the process started, or None if it is unknown."""
ORIGIN = {"version": VERSION, "commit": COMMIT}
"""What a report says about the code that computed it."""
