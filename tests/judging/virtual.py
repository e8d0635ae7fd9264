"""A lane in virtual time: the real dispatcher over servers whose minutes pass in milliseconds."""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from annotation.models import Assignment
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import CampaignSchema
from judging.answers.results import Result
from judging.backends.base import (
    JSON,
    Answer,
    BackendError,
    Facts,
    Findings,
    Message,
    RateError,
    Request,
    TransientError,
)
from judging.backends.replicas import Replicas, members_of
from judging.costs import Budget
from judging.engine.dispatch import Dispatcher
from judging.engine.limits import Limit
from judging.engine.persistence import Writer
from judging.engine.resources import Resources
from judging.engine.routing import Router, dispatcher_for
from judging.engine.total_limit import TotalLimit
from judging.prompts.request import Prepared
from judging.retries import Patience
from tandem.protocols.base import ItemSpec

SCHEMA = CampaignSchema(PROTOCOLS["report-coverage"], PROTOCOLS["report-coverage"].variables)
T = TypeVar("T")
Reply = Answer | BaseException


class _Selector(selectors.SelectSelector):
    """A selector that does not wait, but moves the clock instead."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "nothing will ever happen"
        self.passed += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.virtual = _Selector()
        super().__init__(self.virtual)

    def time(self) -> float:
        return self.virtual.passed


def in_virtual_time(job: Callable[[], Coroutine[Any, Any, T]]) -> T:
    done: list[T] = []

    async def kept() -> None:
        done.append(await job())

    # Removing the runner's signal handler would format everything that the task returned.
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(kept())
    return done[0]


def now() -> float:
    return asyncio.get_running_loop().time()


class Server:
    """Answers each request after `latency` seconds with the result of `reply` at that time.

    Beyond `cap` simultaneous calls it refuses at once. Within `down`, two moments, it is gone: the
    calls under way are cut off, and no connection is established. `began` holds the start times of
    all calls.
    """

    def __init__(
        self,
        latency: float = 0.5,
        reply: Callable[[float], Reply | None] = lambda moment: None,
        cap: int | None = None,
        *,
        name: str = "http://server",
        down: tuple[float, float] = (math.inf, math.inf),
    ) -> None:
        self.latency, self.reply, self.cap, self.down = latency, reply, cap, down
        self.endpoint = name
        self.cut_off = 0
        self.began: list[float] = []
        self.asked: list[Request] = []
        self.under_way = self.most = self.refused = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    def identity(self, request: Request) -> JSON:
        return {}

    async def probe(self) -> Findings:
        self._check()
        return Findings()

    def _check(self) -> None:
        if self.down[0] <= now() < self.down[1]:
            raise TransientError("refused-connection", "nobody listens", unreachable=True)

    async def _wait(self) -> None:
        left = self.down[0] - now()
        if not 0 <= left < self.latency:
            await asyncio.sleep(self.latency)
            return
        await asyncio.sleep(left)
        self.cut_off += 1
        raise TransientError("reset", "the connection was lost")

    async def ask(self, request: Request) -> Answer:
        self._check()
        self.began.append(now())
        self.asked.append(request)
        if self.cap is not None and self.under_way >= self.cap:
            self.refused += 1
            await asyncio.sleep(0.003)
            raise RateError("too many", wait=None)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self._wait()
        finally:
            self.under_way -= 1
        came = self.reply(now())
        if isinstance(came, BaseException):
            raise came
        return came or Answer("{}", usage={"prompt_tokens": 10, "completion_tokens": 5})


@dataclass
class Ride:
    """The outcome of a lane: its results, its duration, and what ended it early, if anything."""

    results: list[Result] = field(default_factory=list)
    ended: list[tuple[str, str, bool]] = field(default_factory=list)
    seconds: float = 0.0
    most_at_risk: int = 0
    most_held: int = 0
    limit: TotalLimit | None = None
    dispatcher: Dispatcher | Router | None = None
    troubles: set[str] = field(default_factory=set)


def rows(count: int, items_of: int = 1) -> list[Prepared]:
    facts = Facts("query", ("text",), (), True)
    return [
        Prepared(
            assignment=Assignment(pk=n, item_id=n // items_of),
            spec=ItemSpec("item", (), ()),
            units={},
            names={},
            request=Request((Message("user", "x" * 40),), {}, facts, sample=n),
            request_hash=str(n),
            schema=SCHEMA,
        )
        for n in range(count)
    ]


def refused_before(made: list[Prepared], seconds: Mapping[int, float]) -> list[Prepared]:
    """The rows, some of which were refused for this long in earlier pumps."""
    return [replace(row, refused_for=seconds.get(n, 0.0)) for n, row in enumerate(made)]


def _raise(error: BaseException) -> None:
    raise error


async def _probed(server: Server | Sequence[Server]) -> Server | Replicas:
    if isinstance(server, Server):
        return server
    replicas = Replicas(server)
    with suppress(BackendError):
        await replicas.probe()
    return replicas


def _limit(backend: Server | Replicas, maximum: int, queues: bool, granted: bool) -> TotalLimit:
    members = members_of(backend)
    parts = [Limit(maximum, queues=queues, clock=now, granted=granted) for _ in members]
    limit = TotalLimit(parts)
    if granted:
        limit.grant([maximum] * len(parts), math.inf, math.inf)
    return limit


async def ride(
    server: Server | Sequence[Server],
    count: int,
    maximum: int,
    *,
    patience: Patience | None = None,
    budget: Budget | None = None,
    write_seconds: float = 0.005,
    items_of: int = 1,
    during: Callable[[Any], Coroutine[Any, Any, None]] | None = None,
    queues: bool = False,
    granted: bool = False,
    refused: Mapping[int, float] | None = None,
    end: Callable[[Any], object] = lambda dispatcher: None,
    **resources: Any,
) -> Ride:
    """Send this many rows through a lane with at most `maximum` calls at once at each server."""
    gone, left = Ride(), refused_before(rows(count, items_of), refused or {})[::-1]
    changed, started = asyncio.Event(), now()

    async def write(group: list[Result]) -> None:
        await asyncio.sleep(write_seconds)
        gone.results += group

    def written() -> None:
        dispatcher.wake()
        changed.set()

    def ended(how: Any, error: str, pauses: bool) -> None:
        gone.ended.append((how, error, pauses))
        end(dispatcher)
        dispatcher.close()
        changed.set()

    backend = await _probed(server)
    gone.limit = limit = _limit(backend, maximum, queues, granted)
    writer = Writer(write, written)
    means = Resources(
        backend, limit.parts[0], writer, budget or Budget(), patience or Patience(), ended,
        clock=now, **resources,
    )  # fmt: skip
    gone.dispatcher = dispatcher = dispatcher_for(means, limit, changed.set, _raise)
    writing = asyncio.create_task(writer.run())
    meanwhile = asyncio.create_task(during(dispatcher)) if during else writing
    while not gone.ended and (left or not dispatcher.outcomes.only_suspects or writer.unwritten):
        changed.clear()
        at_risk = limit.under_way + dispatcher.outcomes.at_risk - limit.size
        gone.most_at_risk = max(gone.most_at_risk, at_risk)
        gone.most_held = max(gone.most_held, dispatcher.outcomes.unfinished)
        gone.troubles.add(dispatcher.outcomes.trouble)
        if left and dispatcher.needs_more:
            dispatcher.add([left.pop() for _ in range(min(32, len(left)))])
            continue
        await changed.wait()
    gone.seconds = now() - started
    await _end(gone, dispatcher, writer)
    await writing
    meanwhile.cancel()
    return gone


async def _end(gone: Ride, dispatcher: Dispatcher | Router, writer: Writer) -> None:
    """End a lane as a pump does."""
    if not gone.ended:
        dispatcher.outcomes.judge_suspects()
    for result in await dispatcher.drain(10):
        writer.add(result)
    dispatcher.close()
    writer.close()


def verdicts(gone: Ride) -> dict[str, int]:
    """How many rows were answered, failed by reason, or stayed open with their calls.

    The call of a probe may be stored beside the result of the row that needed it.
    """
    counts: dict[str, int] = {}
    for result in gone.results:
        verdict = result.outcome
        if verdict is None and all(call.state.startswith("probe-") for call in result.calls):
            continue
        name = "open" if verdict is None else getattr(verdict, "reason", "answered")
        counts[name] = counts.get(name, 0) + 1
    return counts


def hasty(**changed: Any) -> Patience:
    return replace(Patience(), **changed)
