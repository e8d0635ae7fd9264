"""Results on their way to the database: in groups, and never too many of them unwritten."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from judging.answers.results import Result

GROUP = 32
GROUP_SECONDS = 0.25
LEAST = 8


class Writer:
    """Collects results and hands them on, at most `GROUP` at a time or after `GROUP_SECONDS`.

    A group is begun before it is full where, by the last one, results that come while it is being
    written would fill the next: so calls never wait for the database as long as it can keep up.
    """

    def __init__(
        self,
        write: Callable[[list[Result]], Awaitable[None]],
        written: Callable[[], None],
    ) -> None:
        self._write, self._written = write, written
        self._waiting: deque[Result] = deque()
        self._writing = self._added = 0
        self._enough = GROUP
        self._ready = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = self._hurried = False

    @property
    def owed(self) -> int:
        """How many results are not written yet: a crash now would lose them."""
        return len(self._waiting) + self._writing

    def add(self, result: Result) -> None:
        self._waiting.append(result)
        self._added += 1
        self._hurried = False
        self._look()

    def hurry(self) -> None:
        """What is there is written now, or next: nothing comes that would fill the group."""
        self._hurried = True
        self._look()

    def close(self) -> None:
        """What is there is written, and nothing comes after it."""
        self._closed = True
        self._ready.set()

    async def run(self) -> None:
        while not self._closed or self._waiting:
            await self._ready.wait()
            self._disarm()
            size = min(GROUP, len(self._waiting))
            group = [self._waiting.popleft() for _ in range(size)]
            if group:
                self._writing, before = size, self._added
                await self._write(group)
                self._writing = 0
                self._enough = max(LEAST, GROUP - 2 * (self._added - before))
                self._written()
            self._ready.clear()
            self._look()

    def _look(self) -> None:
        """Whether a group is to be begun: now, in a moment, or not yet."""
        enough = 1 if self._hurried else self._enough
        if self._closed or len(self._waiting) >= enough:
            self._ready.set()
        elif self._waiting and self._timer is None and not self._writing:
            self._timer = asyncio.get_running_loop().call_later(GROUP_SECONDS, self._ready.set)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
