"""A worker class of gunicorn: one loop for all connections, and pools of threads for requests.

If there are processes for other requests (`exchange`), the processes in which people save accept
all connections and pass on each connection with another request. It comes back once the response is
sent.

It extends gunicorn's own threaded worker, whose parser, responses, restarts and shutdown it keeps.
The original gives a connection to a thread as soon as its first byte arrives, so a few slow clients
would occupy all threads.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any

from gunicorn.workers import gthread

from config.front.connection import READING, Addresses, Connection, Parser, State, source_of
from config.front.exchange import Balance, Exchange, PassedConnection
from config.front.handover import Handover
from config.front.incoming import BadHeadError, Incoming, Limits, NoRoomError
from config.front.thread_pools import ThreadPools, threads_of_pools
from config.sqlite.durability import pause_for_writer
from datasets.elsewhere import MAY_LEAVE, LeftResponse

_ThreadWorker: Any = gthread.ThreadWorker

HEAD_SECONDS = 15.0  # from the first byte of a request to the end of its head
LINGER_SECONDS = 2.0  # for a client to read the end of a response before the connection closes
# A save releases the interpreter at each query. If a thread of another pool is computing, the save
# would wait each time for Python's default switch interval, 5 ms. Where other requests are passed
# on, that interval serves saves best: threads that take turns more often only slow each other.
SWITCH_SECONDS = 0.0005
# In a process for other requests, all threads compute pages, at a low priority. If one has to hand
# the interpreter over, neither computes until the next one has got the processor, too. So they take
# turns rarely.
SWITCH_SECONDS_OF_OTHERS = 0.05
STOP_SECONDS = 5.0  # for a request that is arriving when the worker is told to stop
PIECE = 64 * 1024
REFUSAL = (
    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
    "{more}\r\n"
)
NO_ROOM = REFUSAL.format(status="503 Service Unavailable", more="Retry-After: 10\r\n").encode()
TOO_SLOW = REFUSAL.format(status="408 Request Timeout", more="").encode()


class Worker(_ThreadWorker):
    """A worker: `cfg.threads` answer work on items, and `cfg.other_threads` everything else."""

    limits: Limits
    sockets: list[Any]
    # The main process sets these before it forks. Without an exchange a process answers everything.
    exchange: Exchange | None = None
    is_other = False
    alive: bool
    wsgi: Any

    def init_process(self) -> None:
        # Those that have waited longest come first.
        self.connections: dict[Connection, None] = {}
        self.balance = self.exchange and Balance(self.exchange)
        self.handover: Handover | None = None
        if self.is_other:
            sys.setswitchinterval(SWITCH_SECONDS_OF_OTHERS)
        elif self.exchange is None:
            sys.setswitchinterval(SWITCH_SECONDS)
        super().init_process()

    def get_thread_pool(self) -> ThreadPools:
        from config import env

        others = env.whole_number("WEB_OTHER_THREADS")
        if self.exchange is not None:
            self.handover = Handover(self, self.exchange, others)
        return ThreadPools(threads_of_pools(self.cfg.threads, others))

    def load_wsgi(self) -> None:
        super().load_wsgi()
        from config import env
        from config.front.sizes import body_limits
        from datasets.priority import NICENESS_OF_PAGES, give_way

        self.wsgi = partial(self.answer_or_leave, self.wsgi)
        self.answering = threading.local()
        self.limits = body_limits()
        self.addresses: Addresses[Connection] = Addresses(env.most_connections_of_address())
        if self.is_other:
            # The kernel shares the processor among sessions. If all processes were in one session,
            # computations in this one would delay each query of the processes that store answers.
            os.setsid()
            give_way(NICENESS_OF_PAGES)

    def run(self) -> None:
        if self.is_other:
            # Otherwise clients would wait in vain to be accepted while this process stops.
            for listener in self.sockets:
                listener.close()
            self.sockets = []
        if self.handover is not None:
            self.handover.begin()
        super().run()

    def is_parent_alive(self) -> bool:
        """Return whether the main process runs. Otherwise this process stops as on a signal."""
        runs: bool = super().is_parent_alive()
        self.alive = self.alive and runs
        return runs

    def set_accept_enabled(self, enabled: bool) -> None:
        if not self.is_other:
            super().set_accept_enabled(enabled)

    # Methods for connections and their requests, all called by the loop.

    def accept(self, listener: socket.socket) -> None:
        if self.balance and self.balance.gives_way(len(self.connections), time.monotonic()):
            return
        try:
            real, client = listener.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                return
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self.close_longest_idle(self.connections)
            return
        if self.nr_conns >= self.worker_connections - 1:
            self.close_longest_idle(self.connections)
        self.close_longest_idle(self.addresses.crowding(source_of(client)))
        connection = self.add(real, client, listener.getsockname())
        self.watch(connection)

    def count_connections(self) -> None:
        if self.exchange is not None and self.alive:
            self.exchange.note_connections(self, len(self.connections))

    def add(self, real: socket.socket, client: Any, server: Any) -> Connection:
        connection = Connection(self, real, client, server)
        self.nr_conns += 1
        connection.enter(State.IDLE, self.cfg.keepalive)
        self.count_connections()
        return connection

    def receive_back(self, passed: PassedConnection) -> None:
        """Take a connection back, with the bytes that its client has sent in the meantime."""
        connection = self.add(passed.real, passed.client, passed.server)
        if passed.rest:
            self.take(connection, passed.rest)
        self.watch(connection)

    def answer_passed(self, passed: PassedConnection) -> Connection:
        """Answer a request that another process has passed on."""
        connection = self.add(passed.real, passed.client, passed.server)
        parts = (passed.head, passed.data, passed.rest, passed.body)
        try:
            connection.incoming = Incoming.whole(self.limits, *parts)
        except NoRoomError:
            self.refuse(connection, NO_ROOM)
        else:
            connection.enter(State.ANSWERING)
            self.answer(connection)
        return connection

    def note_waiting(self, connection: Connection) -> None:
        """Put a connection last among those that wait, since it has just begun to."""
        self.connections.pop(connection, None)
        self.connections[connection] = None
        self.addresses.add(connection.source, connection)

    def close_longest_idle(self, among: Iterable[Connection]) -> None:
        """Close the connection that has waited longest without a request under way."""
        oldest = next((each for each in among if each.state in READING), None)
        if oldest is not None:
            self.close(oldest)

    def watch(self, connection: Connection) -> None:
        """Tell the poller what the loop waits for: bytes to read, or room for bytes to write."""
        if connection.state is State.CLOSED:
            return
        reads = selectors.EVENT_READ if connection.state in READING else 0
        events = reads | (selectors.EVENT_WRITE if connection.outgoing.waiting else 0)
        if events == connection.events:
            return
        if not connection.events:
            self.poller.register(connection.real, events, partial(self.on_event, connection))
        elif not events:
            self.poller.unregister(connection.real)
        else:
            self.poller.modify(connection.real, events, partial(self.on_event, connection))
        connection.events = events

    def on_event(self, connection: Connection, _: Any) -> None:
        if connection.outgoing.waiting:
            connection.outgoing.flush()
            if connection.outgoing.is_broken and connection.state is not State.ANSWERING:
                self.close(connection)
        if connection.state in READING:
            self.receive(connection)
        if connection.state is State.SENDING and not connection.outgoing.waiting:
            self.settle(connection)
        self.watch(connection)

    def receive(self, connection: Connection) -> None:
        try:
            data = connection.real.recv(PIECE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close(connection)
        elif connection.state is not State.LINGERING:
            connection.received += len(data)
            self.take(connection, data)

    def take(self, connection: Connection, data: bytes) -> None:
        """Add what arrived to the request, and have it answered once it is whole."""
        incoming = connection.incoming
        try:
            incoming.feed(data)
        except BadHeadError as error:
            return self.refuse(connection, REFUSAL.format(status=error.status, more="").encode())
        except (NoRoomError, OSError):
            # An OSError means here that the disk is full.
            return self.refuse(connection, NO_ROOM)
        while incoming.answers:
            connection.outgoing.sendall(incoming.answers.pop())
        if incoming.is_whole:
            connection.enter(State.ANSWERING)
            if self.handover is None or not self.handover.pass_on(connection):
                self.answer(connection)
        elif connection.state is State.IDLE and incoming.has_begun:
            connection.enter(State.RECEIVING, HEAD_SECONDS)
        if incoming.read and connection.state is State.RECEIVING:
            # The body may take long, as long as it moves.
            connection.until = float("inf")
        return None

    def refuse(self, connection: Connection, response: bytes) -> None:
        with contextlib.suppress(OSError):
            connection.outgoing.sendall(response)
        connection.keeps_open = False
        connection.enter(State.SENDING)
        self.settle(connection)

    def answer(self, connection: Connection) -> None:
        connection.incoming.rewind()
        connection.parser = Parser(self.cfg, connection.incoming, connection.client)
        self.enqueue_req(connection)

    def enqueue_req(self, connection: Connection) -> None:
        done = self.tpool.submit(connection.incoming.path, self.handle, connection)
        done.add_done_callback(
            lambda future: self.method_queue.defer(self.finish_request, connection, future)
        )

    def handle(self, connection: Connection) -> bool:
        pause_for_writer()
        self.answering.connection = connection
        keeps_open: bool = super().handle(connection)
        return keeps_open

    def answer_or_leave(self, application: Any, environ: dict[str, Any], start: Any) -> Any:
        """Call the application. Nothing is sent if its view leaves the request to others."""
        connection: Connection = self.answering.connection
        environ[MAY_LEAVE] = self.handover is not None and self.handover.may_leave(connection)
        response = application(environ, start)
        if isinstance(response, LeftResponse):
            response.close()
            connection.is_leaving = True
            # With this error gunicorn gives up the response without a word.
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        return response

    def finish_request(self, connection: Connection, done: Future[bool]) -> None:
        """Continue after the thread has finished: send the rest, then wait for the next request."""
        if self.handover is not None:
            self.handover.is_through(connection)
        if connection.state is State.CLOSED:
            return
        if connection.is_leaving and self.handover is not None:
            connection.is_leaving = False
            self.handover.leave(connection)
            return
        failed = done.cancelled() or done.exception() is not None
        connection.keeps_open = not failed and done.result() is True
        connection.enter(State.SENDING)
        self.settle(connection)
        self.watch(connection)

    def settle(self, connection: Connection) -> None:
        if connection.outgoing.is_broken:
            return self.close(connection)
        if connection.outgoing.waiting:
            return self.watch(connection)
        arrived = connection.incoming
        arrived.close()
        if not connection.keeps_open or arrived.is_last:
            with contextlib.suppress(OSError):
                connection.real.shutdown(socket.SHUT_WR)
            connection.enter(State.LINGERING, LINGER_SECONDS)
            return self.watch(connection)
        if self.handover is not None and self.handover.bring_back(connection):
            return None
        return self.expect_next(connection)

    def expect_next(self, connection: Connection) -> None:
        rest = connection.incoming.rest
        connection.incoming = Incoming(self.limits)
        connection.enter(State.IDLE, self.cfg.keepalive if self.alive else LINGER_SECONDS)
        if rest:
            self.take(connection, rest)
        self.watch(connection)

    def close(self, connection: Connection) -> None:
        if connection.state is State.CLOSED:
            return
        if connection.events:
            self.poller.unregister(connection.real)
            connection.events = 0
        connection.outgoing.break_off()
        connection.incoming.close()
        connection.state = State.CLOSED
        with contextlib.suppress(OSError):
            connection.real.close()
        self.connections.pop(connection, None)
        self.addresses.remove(connection.source, connection)
        self.nr_conns -= 1
        self.count_connections()

    # Methods that gunicorn's loop calls once a second, and when it stops.

    def murder_keepalived(self, force: bool = False) -> None:
        now = time.monotonic()
        if self.handover is not None:
            self.handover.tick(now)
        for connection in list(self.connections):
            if force and connection.state in READING:
                self.close(connection)
            elif now >= connection.until or (
                self._is_transferring(connection) and connection.is_slow(now)
            ):
                self._end(connection)

    def _is_transferring(self, connection: Connection) -> bool:
        """Return whether a body is being received or a response being sent."""
        if connection.state is State.RECEIVING:
            return connection.incoming.read is not None
        return bool(connection.outgoing.waiting)

    def _end(self, connection: Connection) -> None:
        if connection.state is State.ANSWERING:
            # Its thread ends first, with an error at its next write.
            connection.outgoing.break_off()
            self.watch(connection)
        elif connection.state is State.RECEIVING:
            self.refuse(connection, TOO_SLOW)
        else:
            self.close(connection)

    def murder_pending(self) -> None: ...

    def _cap_keepalive(self, deadline: float) -> None:
        """Give connections a little time when the worker stops, since requests may be under way."""
        if self.handover is not None:
            self.handover.stop()
        later = deadline - LINGER_SECONDS + STOP_SECONDS
        for connection in self.connections:
            if connection.state is State.IDLE:
                connection.until = min(connection.until, deadline)
            elif connection.state is State.RECEIVING:
                connection.until = min(connection.until, later)
