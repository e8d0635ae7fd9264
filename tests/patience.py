"""How long tests wait for what is to come: on a machine that is slow and does much else besides.

Who waits goes on as soon as it is there, so patience costs nothing where all is well. What a test
takes for a failure by time alone, such as a hanging process, ends here too, only later.
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
