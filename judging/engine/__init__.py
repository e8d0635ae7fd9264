"""The engine: keeps calls in flight, stores their results in groups, and renews the run's lease.

`loop` keeps calls in flight, and `database` does all that needs the database: it claims
assignments, stores results and renews the lease. For a server that many calls at once can reach,
the loop has a process of its own (`apart`); otherwise an event loop in a thread of its own. All
database work stays in the thread that called `run_engine`, one piece after another, so that it
works with any database and delays no call.

`worker` works on a run from lease to end, and `control` says what stops it. `persistence` claims
assignments and groups results, and `journal` keeps those that are not stored yet. `queue` puts
assignments in order, `dispatch` asks, and `limits` protects the server; `routing` does so at
several addresses. `outcomes` says what follows from each reply, and `rate_limits` what follows from
a 429. `preflight` finds out before a run what the server can do.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from asgiref.sync import async_to_sync, sync_to_async

from judging.answers.results import Result
from judging.engine.apart import can_run_apart, run_apart
from judging.engine.control import Control, Ending
from judging.engine.database import Renewal, RunDatabase, Work
from judging.engine.journal import Journal, store_left
from judging.engine.loop import Loop
from judging.models import JudgeRun
from judging.prompts.request import Preparer
from judging.retries import Patience
from judging.runs.grants import Use

P = ParamSpec("P")
T = TypeVar("T")


def run_engine(
    run: JudgeRun,
    lease: uuid.UUID,
    preparer: Preparer,
    concurrency: int,
    patience: Patience | None = None,
    control: Control | None = None,
) -> Ending:
    """Work on a run until nothing is left, a limit is reached, or `control` stops it.

    The caller acquires the lease before and releases it after. `concurrency` is the maximum of
    calls at once, until the run's own number is changed.
    """
    patience, control = patience or Patience(), control or Control()
    store_left()
    database = RunDatabase(run, lease, preparer, control)
    beginning = database.begin(concurrency)
    if can_run_apart(preparer.backend):
        return run_apart(database, beginning, patience, control)
    desk, journal = _Here(database), Journal(run, lease)
    loop = Loop(beginning, preparer.backend, desk, patience, control, journal)
    return async_to_sync(loop.run)()


async def in_database(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await sync_to_async(call, thread_sensitive=True)(*args, **kwargs)


class _Here:
    """A desk in this process."""

    def __init__(self, database: RunDatabase) -> None:
        self.database = database

    async def claim(self, most: int) -> Work:
        return await in_database(self.database.claim, most)

    async def record(self, group: Sequence[Result]) -> Work:
        return await in_database(self.database.record, group)

    async def renew(self, use: Use, trouble: str) -> Renewal | None:
        return await in_database(self.database.renew, use, trouble)
