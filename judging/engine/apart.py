"""The loop in a process of its own, so that calls and database do not wait for one interpreter.

The process is forked, so it begins with the preparer and the backend as they are. It asks its
parent by messages over a pair of sockets, and the parent, which alone has the database, answers
them one after another. A message is its length and a pickled tuple. A request travels with the
bytes to send, and a result names its request by the assignment.

If the parent dies, the child ends at once, and its calls with it. If the child is killed, the
parent stores what it was sent before, and the engine ends as `died`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import pickle
import queue
import signal
import socket
import threading
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, cast

from annotation.answers.submission import LostLeaseError
from annotation.models import Assignment
from datasets.work.beside import die_with_parent, processors
from judging.answers.calls import Call
from judging.answers.results import Failure, Result
from judging.backends.base import Answer, Backend, Request, UnassignedReply, written_key
from judging.engine.control import Control, Ending
from judging.engine.database import Beginning, Renewal, RunDatabase, Work
from judging.engine.journal import Journal
from judging.engine.loop import Loop
from judging.engine.persistence import prepare_again
from judging.prompts.request import Prepared, Preparer
from judging.retries import Patience
from judging.runs.grants import Use
from tandem.protocols.base import ItemSpec, UnitSpec

logger = logging.getLogger("tandem.jobs")
LENGTH = 8
MOST_BUFFERED = 1 << 22
STOPS = {signal.SIGTERM, signal.SIGINT}
Parts = tuple[ItemSpec, Mapping[str, UnitSpec], Mapping[str, str]]
"""What a repair needs of a request: its item, and its units with their names."""
SentRequest = tuple[int, int, Request, bytes | None, str, int, float, Parts | None]
SentResult = tuple[int, Sequence[Call], Answer | Failure | None, float | None, Answer | None]


class DeskError(Exception):
    """The parent could not answer a message. It raises the reason itself."""


def can_run_apart(backend: Backend) -> bool:
    """Return whether a second process may ask this backend's server, and would be of use."""
    return bool(getattr(backend, "forkable", False)) and processors() > 1


def run_apart(
    database: RunDatabase, beginning: Beginning, patience: Patience, control: Control
) -> Ending:
    """Run the loop in a forked process, and answer its messages until it ends.

    Raises what the loop or the database raised.
    """
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    # A signal between the fork and the child's own handler would be lost.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    child = os.fork()
    if child == 0:
        ours.close()
        work = beginning, patience, control, Journal(database.run, database.lease)
        _live(_Child(theirs, database.preparer, *work), parent, blocked)
    theirs.close()
    control.listen(lambda: os.kill(child, signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    try:
        with ours, ours.makefile("rb") as incoming:
            return _Parent(database, beginning, ours, incoming).serve()
    finally:
        control.listen(None)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class _Parent:
    """Answers a child's messages with the run's database."""

    def __init__(
        self,
        database: RunDatabase,
        beginning: Beginning,
        connection: socket.socket,
        incoming: BinaryIO,
    ) -> None:
        self.database, self.connection, self.incoming = database, connection, incoming
        self.repairs = bool(beginning.params.get("repair"))
        self.written = written_key(database.preparer.backend)
        self.asked: dict[int, Prepared] = {}
        self.wrong: Exception | None = None
        self.outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        # The child may be busy with replies while a claim of many requests is on its way.
        threading.Thread(target=self._send_all, daemon=True).start()

    def serve(self) -> Ending:
        try:
            return self._serve()
        finally:
            self.outgoing.put(b"")

    def _serve(self) -> Ending:
        while (message := self._receive()) is not None:
            number, name, *given = message
            if name == "ended":
                ending: Ending = given[0]
                getattr(self.database.preparer.backend, "unassigned", []).extend(given[1])
                return ending
            if name == "raised":
                raise self.wrong or given[0]
            self.outgoing.put(_framed((number, *self._answer(name, given))))
        if self.wrong is not None:
            raise self.wrong
        return Ending("died", "the process that asks the server was killed")

    def _answer(self, name: str, given: Sequence[Any]) -> tuple[str, Any]:
        try:
            match name:
                case "claim":
                    return "value", self._packed(self.database.claim(*given))
                case "record":
                    return "value", self._packed(self.database.record(self._results(given[0])))
                case _:
                    return "value", self.database.renew(*given)
        except LostLeaseError:
            return "lost", None
        except Exception as error:
            self.wrong = self.wrong or error
            return "wrong", None

    def _packed(self, work: Work) -> Work:
        known = [(self._sent(each.prepared), _sent_result(each)) for each in work.known]
        ready = [self._sent(each) for each in work.ready]
        return replace(work, ready=ready, known=known)  # type: ignore[arg-type]

    def _sent(self, prepared: Prepared) -> SentRequest:
        row, request = prepared.assignment, prepared.request
        self.asked[row.pk] = prepared
        body = request.written.get(self.written)
        if body is not None and not self.repairs:
            request = request.without_messages()
        parts = (prepared.spec, prepared.units, prepared.names) if self.repairs else None
        own = prepared.request_hash, prepared.late, prepared.refused_for
        return (row.pk, row.item_id, request, body, *own, parts)

    def _results(self, sent: Iterable[SentResult]) -> list[Result]:
        found = [Result(self._prepared(each[0]), *each[1:]) for each in sent]
        for result in found:
            if result.outcome is not None:
                self.asked.pop(result.prepared.assignment.pk, None)
        return found

    def _prepared(self, row: int) -> Prepared:
        """Return the request of an assignment. A probe's call may come after it was closed."""
        database = self.database
        return self.asked.get(row) or prepare_again(database.run, database.preparer, row)

    def _receive(self) -> Any:
        """Return the child's next message, None if it has ended."""
        # A child that was killed may have sent half of its last message, or left ours unread.
        with suppress(ConnectionResetError):
            head = self.incoming.read(LENGTH)
            packed = self.incoming.read(length := int.from_bytes(head))
            if len(head) == LENGTH and len(packed) == length:
                return pickle.loads(packed)
        return None

    def _send_all(self) -> None:
        # A child that was killed has left what it sent before.
        with suppress(OSError):
            while message := self.outgoing.get():
                self.connection.sendall(message)


class _Child:
    """The loop, with a desk that asks the parent."""

    def __init__(
        self,
        connection: socket.socket,
        preparer: Preparer,
        beginning: Beginning,
        patience: Patience,
        control: Control,
        journal: Journal,
    ) -> None:
        self.connection, self.preparer, self.control = connection, preparer, control
        self.loop = Loop(beginning, preparer.backend, self, patience, control, journal)
        self.noted: list[UnassignedReply] = getattr(preparer.backend, "unassigned", [])
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.numbers = itertools.count()

    async def run(self) -> None:
        incoming, self.outgoing = await asyncio.open_unix_connection(
            sock=self.connection, limit=MOST_BUFFERED
        )
        listening = asyncio.create_task(self._listen(incoming))
        known = len(self.noted)
        try:
            ending = await self.loop.run()
        except Exception as error:
            self._send(("raised", _picklable(error)))
        else:
            self._send(("ended", ending, self.noted[known:]))
        await self.outgoing.drain()
        listening.cancel()

    async def claim(self, most: int) -> Work:
        return self._unpacked(await self._ask("claim", most))

    async def record(self, group: Sequence[Result]) -> Work:
        return self._unpacked(await self._ask("record", [_sent_result(each) for each in group]))

    async def renew(self, use: Use, trouble: str) -> Renewal | None:
        found: Renewal | None = await self._ask("renew", use, trouble)
        return found

    async def _ask(self, name: str, *given: Any) -> Any:
        number = next(self.numbers)
        answer = self.waiting[number] = asyncio.get_running_loop().create_future()
        self._send((name, *given), number)
        return await answer

    def _send(self, message: tuple[Any, ...], number: int = -1) -> None:
        self.outgoing.write(_framed((number, *message)))

    async def _listen(self, incoming: asyncio.StreamReader) -> None:
        while True:
            try:
                length = int.from_bytes(await incoming.readexactly(LENGTH))
                message = pickle.loads(await incoming.readexactly(length))
            except (asyncio.IncompleteReadError, OSError):
                # Nobody would store what these calls bring.
                os._exit(1)
            number, how, value = message
            answer = self.waiting.pop(number)
            if answer.cancelled():
                continue
            if how == "value":
                answer.set_result(value)
            else:
                answer.set_exception(LostLeaseError() if how == "lost" else DeskError(how))

    def _unpacked(self, work: Work) -> Work:
        sent: Any = work
        ready = [self._asked(each) for each in sent.ready]
        known = [Result(self._asked(one), *rest[1:]) for one, rest in sent.known]
        return replace(work, ready=ready, known=known)

    def _asked(self, sent: SentRequest) -> Prepared:
        row, item, request, body, digest, late, refused_for, parts = sent
        spec, units, names = parts or (_NO_ITEM, {}, {})
        if body is not None:
            request.written[written_key(self.preparer.backend)] = body
        return Prepared(
            cast(Assignment, _Row(row, item)), spec, units, names, request, digest,
            self.preparer.schema, self.preparer.parser, late=late, refused_for=refused_for,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Row:
    """What the loop knows of an assignment. A model's instance would take longer to build."""

    pk: int
    item_id: int


_NO_ITEM = ItemSpec("", (), ())


def _live(child: _Child, parent: int, mask: Iterable[int]) -> None:
    """Be the forked process: run the loop and end, without a trace of the parent's exit."""
    status = 1
    try:
        die_with_parent(parent)
        # A terminal interrupts both processes, and the parent decides what follows.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: child.control.stop())
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        asyncio.run(child.run())
        status = 0
    except BaseException:
        logger.exception("the process that asks the server failed")
    finally:
        os._exit(status)


def _framed(message: Any) -> bytes:
    packed = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(packed).to_bytes(LENGTH) + packed


def _sent_result(result: Result) -> SentResult:
    row = result.prepared.assignment.pk
    return row, result.calls, result.outcome, result.seconds, result.first


def _picklable(error: Exception) -> Exception:
    """Return an error that can be sent, with its traceback as a note."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
