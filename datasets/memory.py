"""A limit on the memory of the process that works on what people have sent."""

from __future__ import annotations

import resource

MEGABYTE = 1024 * 1024


def limit_memory(megabytes: int) -> None:
    """Limit what this process, and every process that it starts, may allocate.

    More raises MemoryError. A lower limit that the process has already stays.
    """
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    memory = megabytes * MEGABYTE
    if hard != resource.RLIM_INFINITY:
        memory = min(memory, hard)
    # RLIMIT_DATA limits allocated memory, since libraries map far more than they use.
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
