"""How long tests wait for something, on a machine that may be slow and busy.

Waiting ends as soon as the event happens, so long limits cost nothing unless a test fails. Failures
by timeout, such as a hanging process, are noticed later.
"""

from __future__ import annotations

from typing import Any

PATIENCE = 300.0  # seconds, for a process to do its work


def wait_long(database: dict[str, Any]) -> None:
    """Let database users wait for a connection or for SQLite's writer as long as tests do."""
    options = database["OPTIONS"]
    if "pool" in options:
        options["pool"]["timeout"] = PATIENCE
    else:
        options["timeout"] = PATIENCE
