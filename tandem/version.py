"""The version, and the commit of the code where it is known.

In a checkout the version is that of the first release heading of the changelog, from which the
package takes its own.
"""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tandem.place import IS_INSTALLED, SITE

DISTRIBUTION = "tandem-eval"


def _read() -> str:
    changelog = (SITE / "CHANGELOG.md").read_text("utf-8")
    found = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    if found is None:
        raise RuntimeError("CHANGELOG.md names no release")
    return found.group(1)


def _installed_commit() -> str | None:
    """Return the commit that the package was installed from, if it was a repository."""
    try:
        origin = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    commit = origin.get("vcs_info", {}).get("commit_id")
    return commit if isinstance(commit, str) else None


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


VERSION = distribution(DISTRIBUTION).version if IS_INSTALLED else _read()
COMMIT = os.environ.get("TANDEM_COMMIT") or (
    _installed_commit() if IS_INSTALLED else commit_in(SITE)
)
"""The commit when the process started, or None if it is unknown."""
ORIGIN = {"version": VERSION, "commit": COMMIT}
"""What a report says about the code that computed it."""
