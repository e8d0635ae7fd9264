"""Rate limits of the API, by account."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

if TYPE_CHECKING:
    # DRF's views import this module while they are read themselves.
    from rest_framework.views import APIView

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


class PerUser(BaseThrottle):
    """At most so many requests of an account in each window of time.

    Counting is one atomic step of the cache, so that requests at the same moment cannot slip
    through together. Each process counts for itself where the cache is a process's own.
    """

    scope = "user"

    def allow_request(self, request: Request, view: APIView) -> bool:
        limit = _limit(self.scope)
        if limit is None:
            return True
        most, self.window = limit
        return _count(self.key(request, view), self.window) <= most

    def key(self, request: Request, view: APIView) -> str:
        return f"limit:{self.scope}:{request.user.pk}:{_now() // self.window}"

    def wait(self) -> float:
        return self.window - _now() % self.window


class PerExport(PerUser):
    """The same for whole exports of one campaign."""

    scope = "export"

    def key(self, request: Request, view: APIView) -> str:
        return f"{super().key(request, view)}:{view.kwargs.get('pk')}"


class PerReport(PerUser):
    """The same for reports, which take seconds of a processor each."""

    scope = "report"


class PerImport(PerUser):
    """The same for labels made elsewhere, of which one request holds thousands."""

    scope = "import"


def seconds_to_wait(scope: str, who: object, *of: object) -> int | None:
    """Counts a request that comes by a page, together with the API's; None where it may go on.

    `who` is an account's number, or the address of somebody without one.
    """
    limit = _limit(scope)
    if limit is None:
        return None
    most, window = limit
    key = ":".join(map(str, (f"limit:{scope}:{who}:{_now() // window}", *of)))
    return None if _count(key, window) <= most else window - _now() % window


def _limit(scope: str) -> tuple[int, int] | None:
    """How many requests of a kind, in how many seconds."""
    rates: Mapping[str, Any] = api_settings.DEFAULT_THROTTLE_RATES
    most, _, per = str(rates.get(scope) or "").partition("/")
    return (int(most), SECONDS[per]) if most else None


def _count(key: str, seconds: int) -> int:
    cache.add(key, 0, timeout=2 * seconds)
    try:
        return cache.incr(key)
    except ValueError:
        # The cache dropped the key in between, to make room.
        cache.set(key, 1, timeout=2 * seconds)
        return 1


def _now() -> int:
    return int(time.time())
