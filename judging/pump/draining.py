"""The end of a pump: for how long the calls that are under way may come to theirs."""

from __future__ import annotations

import asyncio
from typing import Any

from judging.pump.control import End
from judging.pump.dispatching import Dispatcher

GRACE_SECONDS = 10.0


async def drained(
    dispatcher: Dispatcher, how: End, longest: float, pressed: asyncio.Future[End]
) -> bool:
    """Waits for the calls under way; whether each has come to its own end.

    Where only the time is over each ends by its own deadline, of `longest` seconds at most: one
    that was called off would be paid again. Whatever else presses meanwhile cuts that short.
    """
    if how != "time":
        await dispatcher.drain(_grace(how))
        return False
    drain = asyncio.create_task(dispatcher.drain(longest))
    first: set[asyncio.Future[Any]] = {drain, pressed}
    await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
    if drain.done():
        return True
    drain.cancel()
    await asyncio.wait({drain})
    await dispatcher.drain(_grace(pressed.result()))
    return False


def _grace(how: End) -> float:
    return 0.0 if how in ("lost", "crashed") else GRACE_SECONDS
