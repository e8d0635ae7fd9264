"""On whose behalf something happens: the request that is being answered, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import ip_address
from typing import NamedTuple


class Asking(NamedTuple):
    """`who` looks the account up when it is wanted: it is known only once the request is read."""

    who: Callable[[], int | None] = lambda: None
    request: str = ""
    address: str = "command"


NOBODY = Asking()
_asking: ContextVar[Asking] = ContextVar("asking", default=NOBODY)


def asking() -> Asking:
    """The request of now; without one, a command or a worker."""
    return _asking.get()


@contextmanager
def on_behalf(of: Asking) -> Iterator[None]:
    token = _asking.set(of)
    try:
        yield
    finally:
        _asking.reset(token)


def address_class(address: str) -> str:
    """loopback, private, public or unknown: where somebody sat, and no more."""
    try:
        found = ip_address(address)
    except ValueError:
        return "unknown"
    if found.is_loopback:
        return "loopback"
    return "public" if found.is_global else "private"
