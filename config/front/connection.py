"""A client's connection to a web process, what it is doing, and how many an address has.

An address at its limit is not refused: many people may share it. Of its connections, the one that
has waited longest without a request under way closes for the new one, and a browser opens another
when it needs one.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from enum import Enum, auto
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from gunicorn.http.parser import RequestParser
from gunicorn.workers import gthread

from config.front.exchange import PassedConnection
from config.front.incoming import Incoming, Limits
from config.front.outgoing import Outgoing

ConnectionT = TypeVar("ConnectionT")
NETWORK_OF_ONE = 64
"""An IPv6 network of this length belongs to one customer, who may use each address in it."""


def source_of(client: Any) -> str:
    """Return the address that a connection counts for; empty for one that has none (a file)."""
    host = client[0] if isinstance(client, tuple) and client else ""
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, NETWORK_OF_ONE), strict=False))
        return str(address.ipv4_mapped)
    return str(address)


class Addresses(Generic[ConnectionT]):
    """The connections by address; those that have waited longest come first. No limit if `most`
    is 0."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._connections: dict[str, dict[ConnectionT, None]] = {}

    def add(self, source: str, connection: ConnectionT) -> None:
        """Count a connection, or note that it starts to wait now."""
        if source and self.most:
            own = self._connections.setdefault(source, {})
            own.pop(connection, None)
            own[connection] = None

    def remove(self, source: str, connection: ConnectionT) -> None:
        own = self._connections.get(source, {})
        own.pop(connection, None)
        if not own:
            self._connections.pop(source, None)

    def crowding(self, source: str) -> tuple[ConnectionT, ...]:
        """Return an address's connections, the longest waiting first, if they are at the limit."""
        own = self._connections.get(source, {})
        return tuple(own) if self.most and len(own) >= self.most else ()


_Connection: Any = gthread.TConn
_Parser: Any = RequestParser

# A client that sends or receives more slowly than this over a period is cut off.
PERIOD_SECONDS, LEAST_BYTES = 30.0, 30 * 512


class State(Enum):
    """What a connection is doing: waiting for a request, receiving it, and so on."""

    IDLE = auto()
    RECEIVING = auto()
    ANSWERING = auto()
    SENDING = auto()
    LINGERING = auto()
    CLOSED = auto()


READING = (State.IDLE, State.RECEIVING, State.LINGERING)


class Parser(_Parser):
    """Gunicorn's parser over a request that has arrived."""

    def __next__(self) -> Any:
        request = super().__next__()
        arrived: Incoming = self.unreader.sock
        # The loop has sent the interim response already.
        request._expected_100_continue = False
        request.must_close = request.must_close or arrived.is_last
        return request


class Connection(_Connection):
    """A client's connection. Only the loop changes it, apart from what `outgoing` locks."""

    def __init__(self, worker: Owner, real: socket.socket, client: Any, server: Any) -> None:
        super().__init__(worker.cfg, real, client, server)
        self.real = real
        self.worker, self.source = worker, source_of(client)
        self.sock = self.outgoing = Outgoing(
            real, partial(worker.method_queue.defer, worker.watch, self), worker.limits.folder
        )
        # No thread is waiting for this connection.
        self.initialized = self.data_ready = True
        self.incoming = Incoming(worker.limits)
        self.state = State.IDLE
        self.keeps_open = True
        self.is_leaving = False
        self.events = 0
        self.until = 0.0
        self.checked, self.moved = time.monotonic(), 0
        self.received = 0

    def enter(self, state: State, seconds: float | None = None) -> None:
        self.state = state
        now = time.monotonic()
        self.until = float("inf") if seconds is None else now + seconds
        self.checked, self.moved = now, self.received + self.outgoing.sent
        self.worker.note_waiting(self)

    def is_slow(self, now: float) -> bool:
        """Return whether fewer bytes than expected were transferred in a whole period."""
        if now - self.checked < PERIOD_SECONDS:
            return False
        moved = self.received + self.outgoing.sent
        is_slow = moved - self.moved < LEAST_BYTES
        self.checked, self.moved = now, moved
        return is_slow


class Owner(Protocol):
    """The web process that has connections, as these and their handover know it."""

    limits: Limits
    cfg: Any
    method_queue: Any
    poller: Any
    alive: bool
    is_other: bool
    nr_conns: int
    worker_connections: int

    def watch(self, connection: Connection) -> None: ...
    def note_waiting(self, connection: Connection) -> None: ...
    def count_connections(self) -> None: ...
    def answer(self, connection: Connection) -> None: ...
    def answer_passed(self, passed: PassedConnection) -> Connection: ...
    def receive_back(self, passed: PassedConnection) -> None: ...
    def expect_next(self, connection: Connection) -> None: ...
    def close(self, connection: Connection) -> None: ...
