"""All that an engine asks of the database: claim assignments, store results, renew the lease.

Its methods run in the thread or process that has the connection, one after another. What they take
and return is plain enough for another process (`apart`).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from datasets.site_lock import has_server
from judging import lanes
from judging.answers.cache import EqualRequests
from judging.answers.results import Result, record
from judging.backends.base import Request
from judging.costs import Budget, Rates, longest_completion, price_book_of
from judging.engine.control import Control, Ending
from judging.engine.early_end import FIRST_RESULTS, describe_no_yield
from judging.engine.journal import store_left
from judging.engine.persistence import (
    ServerHistory,
    claim_requests,
    find_worked_request,
    read_history,
)
from judging.models import JudgeRun
from judging.prompts.request import Prepared, Preparer
from judging.runs import ledger, lifecycle
from judging.runs.grants import Use


@dataclass(frozen=True)
class Beginning:
    """What an engine knows when it begins: the judge's parameters, and what came of earlier work.

    `worked` is a request that the server has answered, and `ceilings` how many calls at once each
    of its addresses handled last. If `granted`, none may be sent before a renewal allows it. Groups
    of results are small if people's answers wait while one is stored (`small_groups`).
    `trouble` describes an outage that has not ended. The budget's numbers are those of the run so
    far, in tokens and US dollars.
    """

    params: Mapping[str, Any]
    by_unit: bool
    concurrency: int
    ceilings: tuple[int | None, ...]
    granted: bool
    small_groups: bool
    history: ServerHistory
    worked: Request | None
    trouble: str
    most_tokens: int | None
    most_cost: Decimal | None
    tokens: int
    cost: Decimal
    rates: Rates | None

    def budget(self, rates: Any) -> Budget:
        """Return the run's budget. `rates` returns today's."""
        most = longest_completion(self.params)
        return Budget(self.most_tokens, self.most_cost, self.tokens, self.cost, rates, most)


@dataclass(frozen=True)
class Work:
    """What follows from a claim, or from results that were stored.

    `ready` are requests to ask, and `known` the results of others. `rows` is the number of claimed
    assignments, and `exhausted` says that there are no more. If `full`, too many wait for the
    answer to an equal request to claim more. An `ending` stops the engine.
    """

    ready: Sequence[Prepared] = ()
    known: Sequence[Result] = ()
    rows: int = 0
    exhausted: bool = False
    full: bool = False
    ending: Ending | None = None


@dataclass(frozen=True)
class Renewal:
    """The lease was renewed: people's orders, and the model's price today."""

    orders: lifecycle.Orders
    rates: Rates | None = None


@dataclass
class RunDatabase:
    """A run's rows, under its lease. Claims and records raise LostLeaseError."""

    run: JudgeRun
    lease: uuid.UUID
    preparer: Preparer
    control: Control
    settled: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        run = self.run
        self.allowed = lifecycle.remaining_assignments(run)
        self.shown_trouble = run.error
        self.book = price_book_of(run)
        self.equals = EqualRequests(run)
        self.look_at_yield = not run.go_on and run.done + run.failed < FIRST_RESULTS

    def begin(self, concurrency: int) -> Beginning:
        run, history = self.run, read_history(self.run)
        run.refresh_from_db(fields=["prompt_tokens", "completion_tokens", "cost"])
        return Beginning(
            params=run.judge.params,
            by_unit=self.preparer.by_unit,
            concurrency=concurrency,
            ceilings=tuple(lane.ceiling for lane in lanes.of_run(run)),
            granted=run.lane is not None,
            small_groups=connection.vendor == "sqlite" and has_server(Path(settings.DATA_DIR)),
            history=history,
            worked=find_worked_request(run, self.preparer) if history.proven else None,
            trouble=self.shown_trouble if history.down_for or history.busy_for else "",
            most_tokens=run.most_tokens,
            most_cost=run.most_cost,
            tokens=run.prompt_tokens + run.completion_tokens,
            cost=run.cost,
            rates=self._rates(),
        )

    def claim(self, most: int) -> Work:
        """Claim up to `most` assignments, within the run's limit."""
        room = most if self.allowed is None else min(most, self.allowed)
        if room == 0:
            return Work(exhausted=True, full=self.equals.is_full)
        claim = claim_requests(self.run, self.lease, self.preparer, self.equals, room)
        if self.allowed is not None:
            self.allowed -= claim.rows
        return Work(
            claim.ready, claim.known, claim.rows, claim.rows < room, full=self.equals.is_full
        )

    def record(self, group: Sequence[Result]) -> Work:
        """Store results, and return the waiting equal requests that they release."""
        self.settled += record(self.run, self.lease, self.preparer.schema, group)
        self.control.progress(self.settled)
        ending = self._yields_nothing() if self.look_at_yield else None
        ready, known = self.equals.release(group)
        return Work(ready, known, full=self.equals.is_full, ending=ending)

    def renew(self, use: Use, trouble: str) -> Renewal | None:
        """Renew the lease, and show on the run the engine's state and whether its server responds.

        Return None if the lease was lost.
        """
        run = self.run
        orders = lifecycle.renew(run, self.lease, use)
        if orders is None:
            return None
        if run.workers > 1:
            # What a worker left that this one has just taken over.
            store_left()
        if trouble != self.shown_trouble:
            JudgeRun.objects.filter(pk=run.pk, lease=self.lease).update(error=trouble)
            if trouble and _cause(trouble) != _cause(self.shown_trouble):
                self.control.trouble(trouble)
            self.shown_trouble = trouble
        return Renewal(orders, self._rates())

    def _rates(self) -> Rates | None:
        return self.book.on(datetime.now(UTC).date())

    def _yields_nothing(self) -> Ending | None:
        """Return an ending if nearly all of the first results are missing for one reason."""
        run = self.run
        run.refresh_from_db(fields=["done", "failures"])
        if run.done + run.failed < FIRST_RESULTS:
            return None
        self.look_at_yield = False
        if not ledger.count_waiting(run.campaign, run.judge):
            return None
        if (found := describe_no_yield(run.done, run.failures)) is None:
            return None
        reason, sentence = found
        return Ending("fruitless", sentence, reason=reason)


def _cause(trouble: str) -> str:
    """Return a trouble without the moment at which it began."""
    return trouble.partition(" UTC: ")[2] or trouble
