"""Buffers the part of a response that its client has not taken yet. Threads use it like a socket.

A thread writes as fast as it can; the loop sends the rest when the client takes it. Above `MOST`
bytes the thread waits, which holds up its own pool only.
"""

from __future__ import annotations

import errno
import os
import socket
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from typing import IO

IN_MEMORY = 64 * 1024
MOST = 64 * 1024 * 1024
PIECE = 256 * 1024


class Backlog:
    """A queue of bytes: a few are kept in memory, further ones in a file."""

    def __init__(self, folder: str | None) -> None:
        self.size = 0
        self._folder = folder
        self._pieces: deque[bytes] = deque()
        self._file: IO[bytes] | None = None
        self._read = self._written = 0

    def append(self, data: bytes) -> None:
        self.size += len(data)
        if self._file is None and self.size <= IN_MEMORY:
            self._pieces.append(data)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        self._file.seek(self._written)
        self._written += self._file.write(data)

    def first(self) -> bytes:
        if self._pieces:
            return self._pieces[0]
        assert self._file is not None
        self._file.seek(self._read)
        return self._file.read(PIECE)

    def skip(self, size: int) -> None:
        """Remove this many bytes of the first piece."""
        self.size -= size
        if self._pieces:
            piece = self._pieces.popleft()
            if size < len(piece):
                self._pieces.appendleft(piece[size:])
            return
        self._read += size
        if not self.size:
            self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None
        self._pieces.clear()
        self._read = self._written = self.size = 0


class Outgoing:
    """The writing side of a connection, for the thread that answers and for the loop.

    `wake` asks the loop to call `flush` when the client can take more.
    """

    def __init__(self, sock: socket.socket, wake: Callable[[], None], folder: str | None) -> None:
        self._sock, self._wake = sock, wake
        self._backlog = Backlog(folder)
        self._changed = threading.Condition()
        self._is_broken = False
        self.sent = 0

    @property
    def waiting(self) -> int:
        return self._backlog.size

    def sendall(self, data: bytes) -> None:
        """Send, or keep for the loop. Raises BrokenPipeError if the client is gone."""
        with self._changed:
            if not self._is_broken and not self._backlog.size:
                data = data[self._send(data) :]
            if data and not self._is_broken:
                self._backlog.append(data)
                self._wake()
            while self._backlog.size > MOST and not self._is_broken:
                self._changed.wait()
            if self._is_broken:
                # By its number, gunicorn knows that the client has left, which is no error.
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def send(self, data: bytes) -> int:
        self.sendall(data)
        return len(data)

    def flush(self) -> None:
        """Send as much as the client takes at once."""
        with self._changed:
            while self._backlog.size and not self._is_broken:
                sent = self._send(self._backlog.first())
                if not sent:
                    break
                self._backlog.skip(sent)
            self._changed.notify_all()

    def _send(self, data: bytes) -> int:
        try:
            sent = self._sock.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self._is_broken = True
            return 0
        self.sent += sent
        return sent

    def break_off(self) -> None:
        """Drop the unsent bytes; a thread that is writing gets an error."""
        with self._changed:
            self._is_broken = True
            self._backlog.close()
            self._changed.notify_all()

    @property
    def is_broken(self) -> bool:
        return self._is_broken

    # Other methods of a socket that gunicorn calls; the loop has the real socket.
    def setblocking(self, flag: bool) -> None: ...

    def settimeout(self, seconds: float | None) -> None: ...

    def gettimeout(self) -> float:
        return 0.0

    def shutdown(self, how: int) -> None: ...

    def recv(self, size: int) -> bytes:
        return b""

    def close(self) -> None: ...

    def fileno(self) -> int:
        raise OSError(os.strerror(9))
