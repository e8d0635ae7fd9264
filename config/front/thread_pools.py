"""Pools of threads: separate ones for health checks, work on items, log-in, and everything else.

Reports, exports and uploads occupy only the threads of their own pool, however long they take and
however many are requested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

HEALTH, WORK, DOOR, OTHER = "health", "work", "door", "other"

# The path decides the pool of a request; a path that is not listed belongs to `OTHER`. The first
# page after log-in counts as work, since it redirects annotators to their items. So does a dispute,
# but not the list of disputes.
PATHS = {
    HEALTH: re.compile(r"/health/"),
    WORK: re.compile(
        r"/$|/(tasks|static|api/v1/assignments)/|/adjudication/\d+/\d+/"
        r"|/api/v1/campaigns/\d+/((next|intake|consent|background)/$|adjudication/\d+/$)"
    ),
    DOOR: re.compile(r"/(login|logout|join|prolific)/"),
}
THREADS_FOR_HEALTH, THREADS_AT_THE_DOOR = 1, 2


def pool_of(path: str) -> str:
    return next((pool for pool, paths in PATHS.items() if paths.match(path)), OTHER)


def threads_of_pools(work: int, other: int) -> dict[str, int]:
    return {
        HEALTH: THREADS_FOR_HEALTH,
        WORK: work,
        DOOR: THREADS_AT_THE_DOOR,
        OTHER: other,
    }


class ThreadPools:
    """The pools by their names. Requests of one pool are answered in their order."""

    def __init__(self, threads: Mapping[str, int]) -> None:
        self._pools = {
            pool: ThreadPoolExecutor(count, thread_name_prefix=pool)
            for pool, count in threads.items()
        }

    def submit(self, path: str, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return self._pools[pool_of(path)].submit(work, *arguments)

    def shutdown(self, wait: bool = True) -> None:
        for pool in self._pools.values():
            pool.shutdown(wait=wait, cancel_futures=not wait)
