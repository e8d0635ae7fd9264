"""Routing: one run's requests over the addresses of its judge, each with a dispatcher of its own.

Each address has its own limit, breaker, rate limits and retries; results and the budget are those
of the run. All requests of an item go to one address, since they share a beginning, and a new item
goes to the address with the least in hand. An address without work gets items from one that has
more than it can ask.

An address is out while its breaker is open. Its jobs move to the others, except the calls in
flight, and none of them loses an attempt. Before it is asked again, it is compared with the others;
then it gets a single job until that is answered. If all addresses are out, their jobs wait, and the
run ends as it would with one address.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace

from judging.answers.calls import Call
from judging.answers.results import Result
from judging.backends.base import (
    Answer,
    Backend,
    BackendError,
    FatalError,
    FinalError,
    RateError,
    TransientError,
)
from judging.backends.replicas import Replicas, address_of, members_of
from judging.engine.control import AddressEnd
from judging.engine.dispatch import Dispatcher, new_job
from judging.engine.limits import PATIENT_STATES
from judging.engine.outcomes import DEAD_AFTER
from judging.engine.queue import CallReply, Job, give_back
from judging.engine.resources import FailureKind, Resources
from judging.engine.total_limit import TotalLimit
from judging.prompts.request import Prepared

HOMES = 10_000
"""The number of items whose address is remembered."""
CUT_OFF, LOST = "reset", 2
SHORTEST_WAIT = 0.001


def dispatcher_for(
    resources: Resources,
    limit: TotalLimit,
    changed: Callable[[], None],
    crashed: Callable[[BaseException], None],
) -> Dispatcher | Router:
    """Return what asks a run's requests: a dispatcher, or a router to those of all addresses."""
    if isinstance(resources.backend, Replicas):
        return Router(resources, resources.backend, limit, changed, crashed)
    return Dispatcher(resources, changed, crashed)


class Address(Dispatcher):
    """The dispatcher of one address. It asks nothing before its server was compared.

    `on_trial` lets it ask a single job while it is out. `ended` is why a run with this address
    alone would have ended. `why` is what a person has to correct there; once it is `gone`, it is
    not tried again. It `is_lost` if it was found to be unable to decide about its own suspects.
    """

    def __init__(
        self, router: Router, resources: Resources, crashed: Callable[[BaseException], None]
    ) -> None:
        super().__init__(resources, router.changed, crashed, router)
        self.router, self.name = router, address_of(resources.backend)
        self.is_compared = self.was_out = self.on_trial = self.gone = self.is_lost = False
        self.why = ""
        self.ended: tuple[FailureKind, str, bool] | None = None
        self.rests_until, self.rest_words = 0.0, ""
        self.prober: asyncio.Task[None] | None = None
        self._answered = False
        self._lost = self._failed = self._refused = 0

    @property
    def is_out(self) -> bool:
        return self.gone or not self.is_compared or self.breaker.is_open

    @property
    def is_ready(self) -> bool:
        """Whether it takes new jobs."""
        return not self.is_out and not self.limit.refuses_all and self.limit.granted != 0

    @property
    def load(self) -> float:
        """The jobs in hand for each call that it may have in flight."""
        return self.outcomes.unfinished / self.limit.size

    @property
    def trouble(self) -> str:
        return self.why or self.outcomes.trouble

    @property
    def end(self) -> AddressEnd:
        refused = self.why if self.gone else ""
        return AddressEnd(self.limit.learned, refused, self._answered and not self.is_out)

    def _take(self) -> Job | None:
        self.router.look(self)
        if self.gone or not self.is_compared or (self.breaker.is_open and not self.on_trial):
            return None
        job = super()._take()
        done = job is None and not self.closed and not len(self.queue.fresh)
        if done and self.router.feed(self):
            job = super()._take()
        return job

    async def _attempt(self, job: Job) -> tuple[Call, CallReply]:
        call, reply = await super()._attempt(job)
        self.on_trial = False
        self._note(job, reply)
        return call, reply

    def _note(self, job: Job, reply: CallReply) -> None:
        """Note early what a reply says about the address, since others can take over its jobs."""
        match reply:
            case Answer() | FinalError():
                self._answered, self.rests_until = True, 0.0
                self._lost = self._failed = self._refused = 0
            case RateError() if self.outcomes.rate_limits.is_long(reply):
                self.rests_until = self.resources.clock() + (reply.wait or 0.0)
                self.rest_words = reply.message
            case TransientError():
                job.cut_off += reply.state == CUT_OFF
                self._lost += reply.state == CUT_OFF
                # The retries of a few requests that always fail say nothing about the server.
                self._failed += not job.asked
                # A connection that was idle may end by chance, but hardly two in a row.
                if reply.unreachable or self._lost >= LOST or self._failed >= DEAD_AFTER:
                    self.breaker.trip()
                    self.breaker.probe_now()
            case FatalError() if job.probe:
                self._refused += 1
                if self._refused >= PATIENT_STATES.get(reply.state, 1):
                    self.router.ended(self, "fatal", reply.message, True)


class Router:
    """Routes requests to addresses. To the engine it is one dispatcher with its outcomes."""

    def __init__(
        self,
        resources: Resources,
        replicas: Replicas,
        limit: TotalLimit,
        changed: Callable[[], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        self.resources, self.replicas, self.limit = resources, replicas, limit
        self.changed, self._crashed = changed, crashed
        self.outcomes: Router = self
        self.closed = False
        self._homes: OrderedDict[int, Address] = OrderedDict()
        self.addresses = [
            Address(self, self._resources_of(number, backend), crashed)
            for number, backend in enumerate(members_of(replicas))
        ]
        for each in self.addresses:
            each.is_compared = replicas.known is not None and each.name not in replicas.left_out
            if not each.is_compared:
                each.breaker.trip()
                each.breaker.probe_now()
            self.look(each)

    def _resources_of(self, number: int, backend: Backend) -> Resources:
        def end(how: FailureKind, error: str, pauses: bool) -> None:
            self.ended(self.addresses[number], how, error, pauses)

        limit = self.limit.parts[number]
        return replace(
            self.resources, backend=backend, limit=limit, end=end, trouble="", address=number
        )

    # What the engine uses of a dispatcher.

    def add(self, rows: Iterable[Prepared]) -> None:
        for prepared in rows:
            job = new_job(prepared, self.resources.patience)
            self._home(job.item).outcomes.take_over(job)
        self.wake()

    @property
    def longest(self) -> float:
        """How many seconds a call may take at the slowest address, as far as is known now."""
        return max(each.longest for each in self.addresses)

    @property
    def needs_more(self) -> bool:
        ahead = sum(each.ahead for each in self.addresses)
        fresh = sum(len(each.queue.fresh) for each in self.addresses)
        return fresh < ahead and self.unfinished < 2 * self.limit.size + ahead

    def wake(self) -> None:
        for each in self.addresses:
            each.wake()

    def close(self) -> None:
        """Start no more calls. Those in flight may end."""
        self.closed = True
        for each in self.addresses:
            each.close()
            if each.prober is not None:
                each.prober.cancel()

    async def drain(self, seconds: float) -> list[Result]:
        """Wait for the calls in flight, and return the calls of jobs that have no result."""
        await asyncio.gather(*(each.drain(seconds) for each in self.addresses))
        return self.open_rows()

    async def confirm(self) -> None:
        """Send a last probe to each address that can decide about suspects."""
        for each in self.addresses:
            if not each.is_out:
                await each.confirm()

    @property
    def ends(self) -> tuple[AddressEnd, ...]:
        return tuple(each.end for each in self.addresses)

    # What the engine uses of a dispatcher's outcomes, and dispatchers of the whole.

    @property
    def under_way(self) -> int:
        return self.limit.under_way

    @property
    def size(self) -> int:
        return self.limit.size

    @property
    def at_risk(self) -> int:
        repairing = sum(each.outcomes.repairing for each in self.addresses)
        return self.resources.writer.at_risk + repairing

    @property
    def unfinished(self) -> int:
        return sum(each.outcomes.unfinished for each in self.addresses)

    @property
    def only_suspects(self) -> bool:
        return all(each.outcomes.only_suspects for each in self.addresses)

    @property
    def has_suspects(self) -> bool:
        return any(each.outcomes.has_suspects for each in self.addresses)

    @property
    def put_aside(self) -> int:
        return sum(each.outcomes.put_aside for each in self.addresses)

    @property
    def trouble(self) -> str:
        named = ((each.name, each.trouble) for each in self.addresses)
        return "; ".join(f"{name}: {trouble}" for name, trouble in named if trouble)

    def judge_suspects(self) -> None:
        for each in self.addresses:
            each.outcomes.judge_suspects()

    def open_rows(self) -> list[Result]:
        return [row for each in self.addresses for row in each.outcomes.open_rows()]

    def rest_seconds(self) -> float:
        """Return for how many seconds the first of the addresses wants to be asked nothing."""
        resting = [each.rests_until - self.resources.clock() for each in self.addresses]
        known = [seconds for seconds in resting if seconds > 0]
        known += [s for each in self.addresses if (s := each.outcomes.rest_seconds())]
        return min(known, default=0.0)

    # Who asks what.

    @property
    def ready(self) -> list[Address]:
        return [each for each in self.addresses if each.is_ready]

    def _home(self, item: int) -> Address:
        """Return the address of an item's requests: the one that has others, or has least to do."""
        home = self._homes.get(item)
        if home is None or not home.is_ready:
            able = self.ready or [each for each in self.addresses if not each.gone]
            home = self._homes[item] = min(able or self.addresses, key=lambda each: each.load)
            if len(self._homes) > HOMES:
                self._homes.popitem(last=False)
        return home

    def feed(self, idle: Address) -> bool:
        """Give an address without work some of another's, and return whether there was any."""
        if not idle.is_ready or idle.limit.room() <= 0:
            return False
        others = [each for each in self.ready if each is not idle and each.limit.room() <= 0]
        giver = max(others, key=lambda each: len(each.queue.fresh), default=None)
        if giver is None:
            return False
        half = -(-len(giver.queue.fresh) // 2)
        # Who takes a part of an item computes its beginning again, so it has to be worth it.
        jobs = giver.outcomes.give(half, least=giver.limit.size)
        for job in jobs:
            self._homes[job.item] = idle
            idle.outcomes.take_over(job)
        return bool(jobs)

    def look(self, each: Address) -> None:
        """Act on the state of an address: let others take over what it cannot ask."""
        if self.closed:
            return
        if each.is_out and not each.was_out:
            self._goes_out(each)
        elif each.was_out and not each.is_out:
            self._comes_back(each)
        if each.is_out:
            if not each.on_trial:
                lost = each.is_lost or each.ended is not None
                self._move(each, lambda: each.outcomes.release(suspects=lost))
        elif each.limit.granted == 0:
            self._move(each, each.outcomes.release)
        elif each.limit.refuses_all:
            # One job stays to find out when it answers again.
            self._move(each, lambda: each.outcomes.release(keep=1))
        elif each.outcomes.put_aside:
            most = len(self.addresses) - 1
            self._move(each, lambda: each.outcomes.release_aside(most))

    def _move(self, source: Address, release: Callable[[], list[Job]]) -> None:
        """Move jobs from an address to others, if there are any that are ready."""
        if all(each is source for each in self.ready):
            return
        woken: set[Address] = set()
        for job in release():
            give_back(job, self.resources.patience)
            job.rates, job.first_sent, job.deferred = 0, None, False
            job.moves += 1
            home = self._home(job.item)
            home.outcomes.take_over(job)
            woken.add(home)
        for home in woken:
            asyncio.get_running_loop().call_soon(home.wake)

    # Addresses that fall out and come back.

    def _goes_out(self, each: Address) -> None:
        each.was_out, each.is_compared = True, False
        self.limit.out.add(self.addresses.index(each))
        if each.rests_until > self.resources.clock():
            each.ended = "rest", each.rest_words, False
        if not each.gone:
            each.prober = asyncio.get_running_loop().create_task(self._bring_back(each))
            each.prober.add_done_callback(self._probed)
        self._end_if_all_ended()

    def _comes_back(self, each: Address) -> None:
        each.was_out, each.is_lost, each.why, each.ended = False, False, "", None
        self.limit.out.discard(self.addresses.index(each))
        if each.prober is not None:
            each.prober.cancel()
            each.prober = None
        for other in self.addresses:
            if other.is_out:
                self.look(other)

    def _probed(self, prober: asyncio.Task[None]) -> None:
        if not prober.cancelled() and (error := prober.exception()):
            self._crashed(error)

    async def _bring_back(self, each: Address) -> None:
        """Compare an address with the others until it agrees, and then try it with one job."""
        breaker, clock = each.breaker, self.resources.clock
        while each.is_out and not each.gone:
            opens = max(breaker.probes_at, each.rests_until)
            await asyncio.sleep(max(opens - clock(), SHORTEST_WAIT))
            if each.is_compared or await self._compare(each):
                self._try(each)
                await asyncio.sleep(self.resources.patience.probe)
            while breaker.probing:
                await asyncio.sleep(self.resources.patience.probe)

    async def _compare(self, each: Address) -> bool:
        breaker, why, failed = each.breaker, "", True
        breaker.begin()
        try:
            why = await self.replicas.compare(each.resources.backend)
            failed = bool(why)
        except FatalError as error:
            self.ended(each, "fatal", error.message, True)
        except TransientError as error:
            each.outcomes.note_outage(error)
        except BackendError as error:
            why = error.message
        finally:
            breaker.probing = False
            if failed:
                breaker.ended(True, probe=True)
        each.why = each.why if each.gone else why
        if why:
            self.ended(each, "fatal", why, False)
        each.is_compared, each.is_lost = not failed, failed
        if failed:
            self.look(each)
        return not failed

    def _try(self, each: Address) -> None:
        """Let an address that is out ask one job, its own or a lent one."""
        each.on_trial, each.rests_until = True, 0.0
        each.breaker.probe_now()
        each.wake()
        if not each.breaker.probing:
            others = [other for other in self.addresses if other is not each]
            giver = max(others, key=lambda other: len(other.queue.fresh))
            for job in giver.outcomes.give(1):
                each.outcomes.take_over(job)
            each.wake()
        if not each.breaker.probing:
            each.on_trial = False
            self.look(each)

    def ended(self, each: Address, how: FailureKind, error: str, pauses: bool) -> None:
        """Take in that a run with this address alone would end. This one does if all have."""
        if how == "budget":
            self.resources.end(how, error, pauses)
            return
        if self.closed:
            return
        each.ended = how, error, pauses
        if how == "rest":
            each.rests_until = self.resources.clock() + each.outcomes.rest_seconds()
        if pauses:
            each.gone, each.why = True, error
        each.breaker.trip()
        self.look(each)
        self._end_if_all_ended()

    def _end_if_all_ended(self) -> None:
        if self.closed:
            return
        ends = [(each.name, each.ended) for each in self.addresses if each.is_out]
        if len(ends) < len(self.addresses) or not all(ended for _, ended in ends):
            return
        known = [(name, ended) for name, ended in ends if ended is not None]
        resting = [ended for _, ended in known if ended[0] == "rest"]
        if resting:
            self.resources.end(*resting[0])
        else:
            words = "; ".join(f"{name}: {error}" for name, (_, error, _) in known)
            self.resources.end("fatal", words, all(pauses for _, (*_, pauses) in known))
