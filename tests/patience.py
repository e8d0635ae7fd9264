"""How long tests wait for something, on a machine that may be slow and busy.

Waiting ends as soon as it happens, so patience costs nothing if all is well. A failure that shows
only by time, such as a hanging process, is noticed later.
"""

from __future__ import annotations

from typing import Any

PATIENCE = 300.0  # seconds, for a process to do its work


def wait_long(database: dict[str, Any]) -> None:
    """Let users of a database wait for a connection, or for SQLite's writer, as long as a test."""
    options = database["OPTIONS"]
    if "pool" in options:
        options["pool"]["timeout"] = PATIENCE
    else:
        options["timeout"] = PATIENCE
