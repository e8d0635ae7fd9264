"""Hand connections over between web processes, in the event loop of each.

A process for saves hands over each connection whose request is not a save, and takes it back when
the request is answered. A process for other requests takes only as many as it has free threads, so
that the next thread to become free in any process gets the request that has waited longest.
"""

from __future__ import annotations

import selectors
import time
from collections import deque
from typing import Any

from config.front.connection import Connection, Owner
from config.front.exchange import Exchange, PassedConnection
from config.front.thread_pools import OTHER, pool_of

LATE_SECONDS = 1.0
"""How long a stopping process waits for requests that others have already handed over."""


class Handover:
    """Hands over and takes connections for one process, which takes `places` requests at a time."""

    def __init__(self, worker: Owner, exchange: Exchange, places: int) -> None:
        self.worker, self.exchange = worker, exchange
        lines = (exchange.returns, exchange.requests)
        self._out, self._in = lines if worker.is_other else lines[::-1]
        self._free = places
        self._taken: set[Connection] = set()
        self._parting: deque[Connection] = deque()
        self._listens = self._sends = False
        self._until = float("inf")

    def begin(self) -> None:
        self._listen(True)
        self.exchange.note(self.worker, True)
        self.worker.count_connections()

    # Handover on.

    def pass_on(self, connection: Connection) -> bool:
        """Pass a whole request on by its path; return False if it is to be answered here."""
        path = connection.incoming.path
        return pool_of(path) == OTHER and self.may_leave(connection) and self._send(connection)

    def may_leave(self, connection: Connection) -> bool:
        """Return whether another process could answer a whole request."""
        incoming, worker = connection.incoming, self.worker
        return (
            worker.alive
            and not worker.is_other
            # A request that was not read to its end is refused here, and its connection closed.
            and not incoming.is_last
            and not incoming.was_left
            and not connection.outgoing.waiting
            and self.exchange.has_takers
        )

    def leave(self, connection: Connection) -> None:
        """Pass a request on after its view has left it to others."""
        connection.incoming.was_left = True
        if not (self.worker.alive and self._send(connection)):
            self.worker.answer(connection)

    def bring_back(self, connection: Connection) -> bool:
        """Return a connection whose request is answered; return False if it stays here."""
        return self.worker.is_other and self.worker.alive and self._send(connection)

    def _send(self, connection: Connection) -> bool:
        if not self._parting:
            try:
                self._out.send(self._message(connection))
            except BlockingIOError:
                pass
            except OSError:
                return False
            else:
                self.worker.close(connection)
                return True
        self._parting.append(connection)
        self._wait_to_send(True)
        return True

    def _message(self, connection: Connection) -> PassedConnection:
        real, client, server = connection.real, connection.client, connection.server
        if self.worker.is_other:
            return PassedConnection(real, client, server, rest=connection.incoming.rest)
        head, data, rest, body = connection.incoming.parts()
        return PassedConnection(real, client, server, head, data, rest, body)

    def _wait_to_send(self, on: bool) -> None:
        if on == self._sends:
            return
        self._sends = on
        if on:
            self.worker.poller.register(self._out.inlet, selectors.EVENT_WRITE, self._send_waiting)
        else:
            self.worker.poller.unregister(self._out.inlet)

    def _send_waiting(self, _: Any) -> None:
        """Send the waiting messages in order."""
        waiting, self._parting = self._parting, deque()
        while waiting and not self._parting:
            connection = waiting.popleft()
            if not self._send(connection):
                self._serve_here(connection)
        self._parting += waiting
        self._wait_to_send(bool(self._parting))

    def _serve_here(self, connection: Connection) -> None:
        if self.worker.is_other:
            self.worker.expect_next(connection)
        else:
            self.worker.answer(connection)

    # Taking.

    def _listen(self, on: bool) -> None:
        if on == self._listens:
            return
        self._listens = on
        if on:
            self.worker.poller.register(
                self._in.outlet, selectors.EVENT_READ, self._receive_connections
            )
        else:
            self.worker.poller.unregister(self._in.outlet)

    def _receive_connections(self, _: Any) -> None:
        worker = self.worker
        while self._has_room:
            try:
                passed = self._in.receive()
            except BlockingIOError:
                return
            if not worker.is_other:
                worker.receive_back(passed)
                continue
            if passed.is_abandoned:
                passed.close()
                continue
            connection = worker.answer_passed(passed)
            if connection.parser is not None:
                self._free -= 1
                self._taken.add(connection)
        self._listen(False)

    def is_through(self, connection: Connection) -> None:
        """Note that the thread of a request is free again."""
        if connection in self._taken:
            self._taken.remove(connection)
            self._free += 1
            self._listen(True)

    # Stopping.

    def stop(self) -> None:
        """Stop passing connections on, and take those already passed on by others."""
        self.exchange.note(self.worker, False)
        while self._parting:
            self._serve_here(self._parting.popleft())
        self._wait_to_send(False)
        if not self.worker.is_other or self.exchange.has_takers:
            self._listen(False)
            return
        # Keeps gunicorn's loop going.
        self.worker.nr_conns += 1
        self._until = time.monotonic() + LATE_SECONDS

    def tick(self, now: float) -> None:
        """Check once a second whether there is room again or, at the end, nothing left to take."""
        if self.worker.alive:
            self._listen(self._has_room)
        elif now >= self._until and self._listens:
            self._until = float("inf")
            self.worker.nr_conns -= 1
            self._listen(False)

    @property
    def _has_room(self) -> bool:
        return self._free > 0 and self.worker.nr_conns < self.worker.worker_connections
