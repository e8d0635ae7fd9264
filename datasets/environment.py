"""Processes that compute apart from the program that starts them, and their environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

BASE_DIR = Path(__file__).resolve().parents[1]


def environment_of_child(*without: str) -> dict[str, str]:
    """Return this process's environment for one that computes, less these variables.

    The query timeout for pages, in PGOPTIONS, would end a long computation.
    """
    dropped = {"PGOPTIONS", *without}
    return {name: value for name, value in os.environ.items() if name not in dropped}


def start_apart(
    *arguments: str, log: IO[bytes] | int = subprocess.DEVNULL, keep: int | None = None
) -> subprocess.Popen[bytes]:
    """Start Python in a session of its own, which outlives this process.

    It writes to the log, and inherits the file descriptor `keep`.
    """
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=BASE_DIR, env=environment_of_child(),
        pass_fds=() if keep is None else (keep,), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=log, stderr=log,
    )  # fmt: skip
