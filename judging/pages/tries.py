"""How often one account may try judges: each try asks a server, and keeps a thread of ours busy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.cache import cache

TRIES, WINDOW = 10, 60


class TooOftenError(Exception):
    """The account has had its tries of this minute, or one is under way; `seconds` to wait."""

    def __init__(self, sentence: str, seconds: int) -> None:
        super().__init__(sentence)
        self.seconds = seconds


@contextmanager
def one_try(user: int) -> Iterator[None]:
    """Counts a try of an account, and holds the only one that it may have at once.

    Raises TooOftenError.
    """
    if _tries(user) > TRIES:
        left = WINDOW - int(time.time()) % WINDOW
        raise TooOftenError(f"you tried {TRIES} times in this minute; wait a little", left)
    if not cache.add(mine := f"judge-trying:{user}", 1, timeout=WINDOW):
        # A try keeps a thread of the web server busy for up to 45 seconds.
        raise TooOftenError("a try of yours is still under way; wait for its end", 5)
    try:
        yield
    finally:
        cache.delete(mine)


def _tries(user: int) -> int:
    """How many tries this account had in this minute, this one among them."""
    key = f"judge-tries:{user}:{int(time.time()) // WINDOW}"
    cache.add(key, 0, timeout=2 * WINDOW)
    try:
        return int(cache.incr(key))
    except ValueError:
        # The cache dropped the key in between, to make room.
        return 1
