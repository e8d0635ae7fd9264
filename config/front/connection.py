"""A client's connection to a web process, and what it is doing."""

from __future__ import annotations

import socket
import time
from enum import Enum, auto
from functools import partial
from typing import Any, Protocol

from gunicorn.http.parser import RequestParser
from gunicorn.workers import gthread

from config.front.addresses import source_of
from config.front.exchange import PassedConnection
from config.front.incoming import Incoming, Limits
from config.front.outgoing import Outgoing

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
