"""Helpers for both servers: a free port, a user that may run them, and waiting."""

from __future__ import annotations

import os
import pwd
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class CannotStartError(RuntimeError):
    """A server is missing or does not start. The message says what to do."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(holds: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise CannotStartError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.03)


def as_unprivileged_user() -> dict[str, Any]:
    """Return how to start a process that refuses to run as root: as nobody, if this is root."""
    if os.getuid() != 0:
        return {}
    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


def give_to_unprivileged_user(path: Path) -> None:
    """Make the server's user the owner of a file or a folder."""
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(path, nobody.pw_uid, nobody.pw_gid)


def make_reachable(path: Path) -> bool:
    """Make a file reachable by an unprivileged user.

    Returns False if a folder above prevents it.
    """
    if os.getuid() != 0:
        return True
    folders = path.resolve().parents
    return all(folder.stat().st_mode & 0o001 for folder in folders)
