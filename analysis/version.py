"""The version, read from the first release heading of the changelog."""

from __future__ import annotations

import re
from pathlib import Path

_CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"


def _read() -> str:
    found = re.search(r"^## (\d+\.\d+\.\d+)", _CHANGELOG.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise RuntimeError("CHANGELOG.md names no release")
    return found.group(1)


VERSION = _read()
