"""Outcomes: what each reply means for its job, for the server, and for the run.

A job fails only if the server answers others at that time. Where no other answer shows that, a
probe does (`probing`). Until then the job is a suspect. While a server fails or refuses everything,
the engine waits and no job loses an attempt. A refusal that is repeated to a probe is the lane's:
it ends the run and pauses the lane. `rate_limits` says what follows from a 429.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from judging.answers.calls import Call
from judging.answers.results import Result
from judging.backends.base import (
    STARTING,
    Answer,
    BackendError,
    FatalError,
    FinalError,
    RateError,
    TransientError,
)
from judging.engine.limits import PATIENT_STATES, Breaker, Refusals, RetryBudget
from judging.engine.probing import Evidence, as_probe, short_request, shorter
from judging.engine.queue import (
    RECOVERY_SECONDS,
    CallReply,
    Job,
    Queue,
    as_repair,
    format_time_ago,
    give_back,
    reason_for,
)
from judging.engine.rate_limits import RateLimits
from judging.engine.resources import Resources

DEAD_AFTER = 5
MOST_CALLS = 20
QUICK_RETRY, RECENTLY, SPREAD_SECONDS = 2.0, 10.0, 2.0


class Outcomes:
    """The jobs in hand and the state of their server. `changed` is called when a job is done.

    `unfinished` counts the jobs without a result. `trouble` describes an outage or a busy server.
    Its initial value comes from the previous engine. The jobs `put_aside` wait until the server may
    be asked again (`rate_limits`), while others are answered.
    """

    def __init__(self, resources: Resources, changed: Callable[[], None]) -> None:
        self.resources, self.limit, self._changed = resources, resources.limit, changed
        self._clock = resources.clock
        self.breaker = Breaker(resources.patience.probe, self._clock)
        self.retries, self._refusals = RetryBudget(self._clock), Refusals()
        self.queue = Queue(resources.grouped)
        self._suspects: list[tuple[Job, CallReply]] = []
        self._given_up: list[Job] = []
        self._aside: list[Job] = []
        self._answered_at: float | None = None
        self._evidence = Evidence(self._clock)
        self._outages, self._is_down = 0, False
        self.rate_limits = RateLimits(
            resources.patience, resources.limit, resources.clock, resources.busy_for
        )
        self.repairing = self.unfinished = 0
        self._worked = resources.worked
        self.trouble = resources.trouble

    @property
    def at_risk(self) -> int:
        """The number of answers that a crash would lose."""
        return self.resources.writer.at_risk + self.repairing

    @property
    def put_aside(self) -> int:
        """The number of jobs that wait until the server may be asked again."""
        return len(self._aside)

    def rest_seconds(self) -> float:
        """Return for how many seconds the server wants to be asked nothing."""
        return max(0.0, (self.rate_limits.rests_until or 0.0) - self._clock())

    @property
    def only_suspects(self) -> bool:
        """Whether no job is left to ask, and no probe will decide about the suspects."""
        undecided = self.has_suspects and self.breaker.is_open
        return self.unfinished == len(self._suspects) and not undecided

    @property
    def has_suspects(self) -> bool:
        return bool(self._suspects)

    def open_rows(self) -> list[Result]:
        """Return the calls of jobs that were tried but have no result yet."""
        suspects = [job for job, _ in self._suspects]
        rows = (*self.queue.tried(), *suspects, *self._given_up, *self._aside)
        return [job.open_result() for job in rows if job.calls]

    def take_over(self, job: Job) -> None:
        """Take a job in hand: a new one, or one that another server has left.

        One during whose calls servers have ended comes last, since it may be the cause.
        """
        self.unfinished += 1
        if job.repair is not None:
            self.repairing += 1
            self.queue.put_back(job)
        elif job.cut_off > 1:
            self.queue.wait(job, self._clock(), for_others=True)
        else:
            self.queue.fresh.add(job)

    def release(self, keep: int = 0, suspects: bool = False) -> list[Job]:
        """Let go of the jobs that wait, except for `keep` of those that were asked.

        A probe will decide about `suspects`, unless they go as well.
        """
        going, self._given_up = self._given_up, []
        jobs = [*self.queue.release(keep), *going]
        if suspects:
            jobs += [job for job, _ in self._suspects]
            self._suspects = []
        self._let_go(jobs)
        return jobs

    def release_aside(self, most: int) -> list[Job]:
        """Let go of the jobs that were put aside, if they have moved fewer than `most` times."""
        both, self._aside = self._aside, [job for job in self._aside if job.moves >= most]
        return [job for job in both if job.moves < most]

    def give(self, count: int, least: int = 0) -> list[Job]:
        """Let go of up to `count` jobs that were not asked yet (`FreshQueue.give`)."""
        jobs = self.queue.fresh.give(count, least)
        self._let_go(jobs)
        return jobs

    def _let_go(self, jobs: list[Job]) -> None:
        self.unfinished -= len(jobs)
        self.repairing -= sum(job.repair is not None for job in jobs)

    def judge_suspects(self, since: float | None = None) -> None:
        """Decide about the suspects, since the server answers, or no others are left to ask.

        A refused one failed only if a call that began later, at `since`, was answered.
        """
        suspects, self._suspects = self._suspects, []
        for job, reply in suspects:
            if since is not None and job.begun > since and not isinstance(reply, TransientError):
                self._suspects.append((job, reply))
            elif isinstance(reply, RateError):
                self._put_aside(job, reply)
            elif since is not None and self._is_unproven(job, reply):
                # It may have been asked only while the server was down.
                job.tries = min(job.tries, self.resources.patience.attempts - 1)
                self.queue.wait(job, self._clock())
            elif since is not None and self._is_first_of_its_kind(job, reply):
                # It may be the only kind of request that works, so ask others first.
                job.deferred = True
                self.queue.wait(job, self._clock(), for_others=True)
            else:
                self._settle(job, job.failed(reason_for(reply)))

    def _is_first_of_its_kind(self, job: Job, reply: CallReply) -> bool:
        """Return whether a refused job may have met a server that refuses all of the run's."""
        return _is_refusal(reply) and self._worked is None and not job.deferred

    def abandon(self, job: Job) -> None:
        """Keep a call that was cancelled at the end, since it may have been billed."""
        seconds = self._clock() - job.begun
        sent_at = datetime.now(UTC) - timedelta(seconds=seconds)
        call = Call("abandoned", sent_at, seconds, address=self.resources.address)
        call = as_repair(call, self.resources.backend, job)
        if job.owner is not None:
            self._keep_probe(job, call, answered=False)
            return
        job.calls.append(call)
        self._given_up.append(job)

    def next_probe(self) -> Job | None:
        """Return a probe on behalf of a job that failed. None if no such job waits."""
        waiting = [job for job, _ in self._suspects] or self.queue.tried()
        if not waiting:
            return None
        owner = waiting[0]
        request = self._worked or short_request(owner.request)
        return Job(owner.prepared, repair=request, owner=owner)

    def receive(self, job: Job, call: Call, reply: CallReply) -> None:
        """Take in a reply, and update the limit, the breaker, the budget and the job."""
        if job.owner is None:
            job.calls.append(call)
            job.asked += 1
            job.seconds = call.seconds
            self.queue.fresh.back(job)
        wait = self._tell_limit(job, reply)
        if not self.resources.budget.bounds_nothing:
            usage = call.answer.usage if call.answer else None
            self.resources.budget.settle(job.estimate, usage)
        if job.owner is not None:
            self._receive_probe(job, call, reply, wait)
            return
        failed = isinstance(reply, TransientError)
        # The retries of a few requests that always fail must not count as an outage.
        if job.probe or not failed or job.asked == 1:
            was_open = self.breaker.is_open
            if self.breaker.ended(failed, job.probe):
                self._recover()
            elif self.breaker.is_open and not was_open:
                self.breaker.probe_now()
        self._take_in(job, reply, wait)
        self._look_at_suspects()

    def _take_in(self, job: Job, reply: CallReply, wait: float) -> None:
        match reply:
            case Answer() | FinalError():
                if isinstance(reply, Answer) and job.repair is None:
                    self._worked = shorter(self._worked, job.prepared.request)
                self._note_answer(job.begun)
                self._close(job, reply)
            case RateError() if self.rate_limits.is_long(reply):
                self._suspect(job, reply)
            case RateError():
                self._busy(job, reply, wait)
            case TransientError():
                self._retry_later(job, reply)
            case FatalError():
                self._refused(job, reply)
            case _:
                self._give_up(job, reply)

    def _tell_limit(self, job: Job, reply: CallReply) -> float:
        """Update the limit, and return for how many seconds to wait for a busy server."""
        if isinstance(reply, RateError) and not self.rate_limits.is_long(reply):
            return self.rate_limits.refused(job, reply)
        if isinstance(reply, Answer):
            self.limit.answered(job.begun)
        elif isinstance(reply, TransientError) and reply.state == "deadline":
            self.limit.overran(job.begun)
        else:
            self.limit.failed()
        return 0.0

    def _receive_probe(self, probe: Job, call: Call, reply: CallReply, wait: float) -> None:
        """Take in the reply to a probe, which decides about the suspects and the server."""
        refused = isinstance(reply, FatalError) or (
            _is_refusal(reply) and any(_is_refusal(last) for _, last in self._suspects)
        )
        failed = isinstance(reply, TransientError)
        answered = not failed and not refused and not isinstance(reply, RateError)
        self._keep_probe(probe, call, answered)
        self.breaker.ended(failed, probe=True)
        if answered:
            self._recover()
            self._rest_if_flapping()
            self._note_answer(probe.begun)
        elif isinstance(reply, TransientError):
            self.note_outage(reply)
        elif isinstance(reply, RateError):
            self._probe_was_limited(reply, wait)
        elif isinstance(reply, FatalError) and not self._refusals.is_final(reply.state):
            self.breaker.trip()
        elif isinstance(reply, BackendError):
            self.resources.end("fatal", reply.message, isinstance(reply, FatalError))
        self._changed()

    def _keep_probe(self, probe: Job, call: Call, answered: bool) -> None:
        """Store the call of a probe with the job that needed it, or beside it if that is closed."""
        kept, owner = as_probe(call, answered), probe.owner
        if owner is not None and not owner.closed:
            owner.calls.append(kept)
        else:
            self.resources.writer.add(Result(probe.prepared, (kept,)))

    def _rest_if_flapping(self) -> None:
        """Go on at a random time, since right after a probe may always be too late."""
        if self._is_down:
            self._outages, self._is_down = self._outages + 1, False
        if self._outages > 1:
            self.limit.rest(random.choice((0.0, random.uniform(0, SPREAD_SECONDS))))

    def _recover(self) -> None:
        self.trouble = ""
        self.queue.hurry(self._clock())

    def _note_answer(self, begun: float) -> None:
        """Note that the server answers, so earlier failures were caused by the jobs."""
        self._answered_at = self._clock()
        self.rate_limits.answered()
        self._evidence.answered(begun)
        self._refusals.answered()
        if not self.breaker.is_open:
            self.trouble = ""
        if self._suspects:
            self.judge_suspects(begun)

    def _close(self, job: Job, reply: Answer | FinalError) -> None:
        if isinstance(reply, FinalError):
            self._settle(job, job.failed(reply.reason))
            return
        repair = self.resources.repair if job.repair is None else None
        mended = repair(job.prepared, reply) if repair else None
        if mended is None:
            self._settle(job, job.answered(reply))
            return
        job.repair, job.answer, job.tries = mended, reply, 0
        self.repairing += 1
        self.queue.put_back(job)

    def _settle(self, job: Job, result: Result) -> None:
        job.closed = True
        self.repairing -= job.repair is not None
        self.unfinished -= 1
        self.resources.writer.add(result)
        if not self.unfinished:
            self.resources.writer.hurry()
        self._changed()

    def _put_aside(self, job: Job, reply: RateError) -> None:
        """Leave a job for later that has to wait for long, although others are answered."""
        if self.rate_limits.is_over(job.prepared.refused_for):
            self._settle(job, job.failed("error"))
            return
        self.repairing -= job.repair is not None
        self.unfinished -= 1
        self._aside.append(job)
        self.rate_limits.rest_for(reply.wait or 0.0)
        self._changed()

    def _busy(self, job: Job, reply: RateError, wait: float) -> None:
        """Wait for a busy server, with the job's patience if others are answered."""
        busy_for = self._note_busy(reply)
        match self.rate_limits.next_step(job, busy_for, self._others_answered(job)):
            case "retry":
                self._retry_later(job, reply)
            case "wait":
                self.queue.wait(job, self._clock() + wait)
            case "end":
                self._given_up.append(job)
                self.resources.end("fatal", self.trouble, False)

    def _note_busy(self, reply: RateError) -> float:
        """Return for how many seconds the server has refused everything, and report it in time."""
        busy_for = self.rate_limits.busy_for()
        self.trouble = self.rate_limits.describe(busy_for, reply) or self.trouble
        return busy_for

    def _probe_was_limited(self, reply: RateError, wait: float) -> None:
        """Rest if a probe is told to wait for long, or else ask again after its wait."""
        if self.rate_limits.is_long(reply):
            self.rate_limits.rest_after_probe(reply)
            self.resources.end("rest", reply.message, False)
        elif self.rate_limits.is_over(self._note_busy(reply)):
            self.resources.end("fatal", self.trouble or reply.message, False)
        else:
            suspects, self._suspects = self._suspects, []
            for job, last in suspects:
                if isinstance(last, RateError):
                    self._put_aside(job, last)
                else:
                    job.tries = self.resources.patience.attempts - 1
                    self.queue.wait(job, self._clock() + wait)

    def _others_answered(self, job: Job) -> bool:
        """Return whether the server has answered another job since this one was first asked."""
        passed_over = bool(job.prepared.refused_for)
        return passed_over or (self._answered_at or 0.0) > (job.first_sent or 0.0)

    def _retry_later(self, job: Job, reply: TransientError | RateError) -> None:
        """Retry the job unless this was its last attempt. An outage gives its attempts back."""
        job.tries += 1
        if isinstance(reply, TransientError):
            self._evidence.failed(job)
            if self._is_asked_too_often(job, reply):
                return
        if job.tries >= self.resources.patience.attempts:
            self._give_up(job, reply)
            return
        if self.breaker.is_open:
            self._wait_out(job, reply)
            return
        if job.tries == self.resources.patience.attempts - 1 and self._is_unproven(job, reply):
            self._suspect(job, reply)
            return
        wait = self.resources.patience.before_retry(job.tries)
        if self._answered_at is not None and self._clock() - self._answered_at < RECENTLY:
            # The server is well, so there is little to wait for.
            wait = min(wait, max(QUICK_RETRY, 2 * (self.limit.latencies.median or 0.0)))
        self.queue.wait(job, self._clock() + wait, for_others=not self.retries.allow())

    def _refused(self, job: Job, reply: FatalError) -> None:
        """Ask a refused request again if that may help, else suspect it."""
        job.tries += 1
        least = 1 if self._answered_at is None else DEAD_AFTER
        is_final = self._refusals.is_final(reply.state, least)
        if job.tries >= PATIENT_STATES.get(reply.state, 1):
            self._suspect(job, reply)
        else:
            wait = self.resources.patience.before_retry(job.tries)
            self.queue.wait(job, self._clock() + wait)
        if is_final:
            self._doubt_server()

    def _is_unproven(self, job: Job, reply: CallReply) -> bool:
        """Return whether the failures of a job may be due to a server that goes up and down."""
        enough = job.tries >= self.resources.patience.attempts
        proven = self._evidence.proves(job, self.resources.patience.attempts)
        return isinstance(reply, TransientError) and not (enough and proven)

    def _is_asked_too_often(self, job: Job, reply: TransientError) -> bool:
        """End the run if a server that goes up and down does not let this job be decided."""
        if job.asked < MOST_CALLS * self.resources.patience.attempts:
            return False
        self._given_up.append(job)
        why = f"the endpoint goes up and down, and answers too rarely: {reply.message}"
        self.resources.end("fatal", why, False)
        return True

    def _suspect(self, job: Job, reply: CallReply) -> None:
        self._suspects.append((job, reply))
        self._changed()

    def _look_at_suspects(self) -> None:
        """Send a probe if many jobs are suspects, or no call in flight can decide about them."""
        if not self._suspects or self.breaker.is_open:
            return
        rejected = not any(_is_of_server(reply) for _, reply in self._suspects)
        # A rejection arrives sooner than an answer, so wait for the calls in flight.
        enough = max(DEAD_AFTER, self.limit.under_way + 1) if rejected else DEAD_AFTER
        if len(self._suspects) >= enough or not self.limit.under_way:
            self._doubt_server()

    def _doubt_server(self) -> None:
        """Stop asking until a probe has shown whether the server answers."""
        self.breaker.trip()
        self.breaker.probe_now()

    def _wait_out(self, job: Job, reply: TransientError | RateError) -> None:
        self.queue.wait(job, self._clock() + random.uniform(0, RECOVERY_SECONDS))
        self._show_outage(reply)

    def note_outage(self, reply: TransientError) -> None:
        """Wait for the server, and give back the attempts that its outage used up."""
        self._evidence.was_down()
        self._is_down = True
        suspects, self._suspects = self._suspects, []
        for job, last in suspects:
            if isinstance(last, TransientError):
                self.queue.wait(job, self._clock() + random.uniform(0, RECOVERY_SECONDS))
            else:
                self._suspects.append((job, last))
        for job in self.queue.tried():
            give_back(job, self.resources.patience)
        self._show_outage(reply)

    def _show_outage(self, reply: TransientError | RateError) -> None:
        """Say since when the server has been down, and end the run if that is too long."""
        before = self.resources.down_for if self._answered_at is None else 0.0
        opened_at = self.breaker.opened_at
        down_for = before + (0.0 if opened_at is None else self._clock() - opened_at)
        self.trouble = f"endpoint down since {format_time_ago(down_for)}: {reply.message}"
        answered = self.resources.proven or self._answered_at is not None
        # A server that this process starts takes minutes, but is known to exist.
        proven = answered or reply.state == STARTING
        patience = self.resources.patience
        if down_for >= (patience.outage if proven else patience.unproven):
            self.resources.end("fatal", self.trouble, False)

    def _give_up(self, job: Job, reply: CallReply) -> None:
        """Give up a job: it failed if another was answered meanwhile, else it is a suspect."""
        if isinstance(reply, TransientError) and reply.unreachable:
            self._doubt_server()
            job.tries = self.resources.patience.attempts - 1
            self._wait_out(job, reply)
        elif self._is_proven(job, reply):
            self._settle(job, job.failed(reason_for(reply)))
        else:
            self._suspect(job, reply)

    def _is_proven(self, job: Job, reply: CallReply) -> bool:
        """Return whether answers to others show that a job's last failure is its own fault."""
        if self.breaker.is_open:
            return False
        if isinstance(reply, TransientError):
            return not self._is_unproven(job, reply)
        return self._others_answered(job)


def _is_of_server(reply: CallReply) -> bool:
    """Return whether a reply may be about the server or its key instead of one request."""
    return isinstance(reply, TransientError | RateError | FatalError)


def _is_refusal(reply: CallReply) -> bool:
    """Return whether the server, or the backend, does not take the request."""
    is_other = isinstance(reply, Answer | FinalError | TransientError | RateError)
    return not is_other
