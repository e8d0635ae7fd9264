"""The exchange: how one web process hands a request, with its connection, to another.

Processes in which people save answer no other requests while there are processes for those. The
kernel carries the client's socket from one to the other (SCM_RIGHTS), through two queues that all
web processes inherit from the main one: `requests` leads to the processes that answer everything
but work on items, and `returns` brings the connections back once they have been answered. Any free
process takes the next message, and a message is not lost if the process at either end dies.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SLOTS = 256
SAFE = (b"GET ", b"HEAD ")
LONGEST = 256 * 1024
GIVE_WAY_SECONDS = 0.05  # how long a new connection is left to a process that has fewer
# On other systems, each process answers all requests.
IS_SUPPORTED = sys.platform == "linux"


@dataclass(frozen=True)
class PassedConnection:
    """A client's connection, with what has been read of its request.

    `body` is an open file with the body, at its beginning, unless the body is empty or is in
    `data`, and `rest` is what the client sent after the request.
    """

    real: socket.socket
    client: Any
    server: Any
    head: bytes = b""
    data: bytes = b""
    rest: bytes = b""
    body: int | None = None

    @property
    def is_abandoned(self) -> bool:
        """Whether the client has left, and nothing but its own page would be missing then.

        A person who reloads a slow page would otherwise make it slower for all others.
        """
        if not self.head.startswith(SAFE):
            return False
        try:
            return self.real.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        self.real.close()
        if self.body is not None:
            os.close(self.body)


class Line:
    """One queue of the kernel. Neither end waits: both raise BlockingIOError instead."""

    def __init__(self) -> None:
        self.inlet, self.outlet = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self.inlet, self.outlet):
            end.setblocking(False)

    def send(self, passed: PassedConnection) -> None:
        """Send a copy of the connection; the sender closes its own. Raises OSError."""
        parts = (passed.head, passed.data, passed.rest)
        facts = [passed.client, passed.server, *map(len, parts)]
        known = json.dumps(facts).encode()
        descriptors = [passed.real.fileno(), *([] if passed.body is None else [passed.body])]
        message = [len(known).to_bytes(4, "big"), known, *parts]
        socket.send_fds(self.inlet, message, descriptors)

    def receive(self) -> PassedConnection:
        """Return the next message. Raises BlockingIOError if there is none."""
        message, descriptors, _, _ = socket.recv_fds(
            self.outlet, LONGEST, 2, socket.MSG_CMSG_CLOEXEC
        )
        start = 4 + int.from_bytes(message[:4], "big")
        client, server, *sizes = json.loads(message[4:start])
        parts = []
        for size in sizes:
            parts.append(message[start : start + size])
            start += size
        head, data, rest = parts
        real = socket.socket(fileno=descriptors[0])
        body = descriptors[1] if len(descriptors) > 1 else None
        return PassedConnection(real, _address(client), _address(server), head, data, rest, body)


def _address(address: Any) -> Any:
    """Return a socket's address as a tuple, since JSON turned it into a list."""
    return tuple(address) if isinstance(address, list) else address


class Exchange:
    """Both queues, and what each process is doing: whether it answers other requests at the moment,
    or how many connections of people at work it has.

    The main process creates it, and assigns each new process its purpose.
    """

    def __init__(self, work: int) -> None:
        self.requests, self.returns = Line(), Line()
        self._work = work
        self._present = mmap.mmap(-1, SLOTS)
        # By process: its number of connections plus one while it accepts new ones, 0 otherwise.
        self._connections = memoryview(mmap.mmap(-1, 2 * SLOTS)).cast("H")

    def assign(self, worker: Any, living: Iterable[Any]) -> None:
        """Return what a new process is for: work on items while too few processes do that."""
        worker.exchange = self
        worker.is_other = sum(not each.is_other for each in living) >= self._work

    def note(self, worker: Any, is_there: bool) -> None:
        """Note that a process takes requests from now on, or no longer."""
        if worker.is_other:
            self._present[worker.age % SLOTS] = is_there
        elif not is_there:
            self._connections[worker.age % SLOTS] = 0

    def note_connections(self, worker: Any, count: int) -> None:
        """Note that a process accepts new connections, and how many it has."""
        if not worker.is_other:
            self._connections[worker.age % SLOTS] = count + 1

    def fewest_connections(self) -> int:
        """Return the smallest number of connections of any process that accepts new ones."""
        return min(filter(None, self._connections), default=1) - 1

    @property
    def has_takers(self) -> bool:
        return self._present.find(b"\1") >= 0


class Balance:
    """Decides, for one process, which new connections it leaves to another that has fewer.

    Otherwise the process that wakes first would accept most of them, and the people behind these
    connections would wait for each other.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._since = self._last = float("-inf")

    def gives_way(self, connections: int, now: float) -> bool:
        """Return whether another process is to accept the next connection.

        The poller asks again at once. If the other process is too busy, this one accepts it after
        `GIVE_WAY_SECONDS`.
        """
        if connections <= self._exchange.fewest_connections():
            return False
        if now - self._last > GIVE_WAY_SECONDS:
            self._since = now
        self._last = now
        if now - self._since < GIVE_WAY_SECONDS:
            return True
        self._since = now
        return False
