"""Rate limits of the API, by account."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

if TYPE_CHECKING:
    # DRF's views import this module while they are being loaded.
    from rest_framework.views import APIView

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


class PerUser(BaseThrottle):
    """Limits the requests of an account in each window of time.

    Counting is one atomic step of the cache, so simultaneous requests cannot slip through together.
    Processes without a shared cache count separately.
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
    """Limits streamed exports of one campaign. Fetching the result of a job is not counted."""

    scope = "export"

    def allow_request(self, request: Request, view: APIView) -> bool:
        return "job" in request.query_params or super().allow_request(request, view)

    def key(self, request: Request, view: APIView) -> str:
        return f"{super().key(request, view)}:{view.kwargs.get('pk')}"


class PerReport(PerUser):
    """Limits reports, each of which takes seconds of processor time."""

    scope = "report"


class PerImport(PerUser):
    """Limits imports of labels, since one request holds thousands."""

    scope = "import"


def seconds_to_wait(scope: str, who: object, *of: object) -> int | None:
    """Count a request from a page, together with the API's; return None if it is allowed.

    `who` is an account's number, or a network address without an account.
    """
    limit = _limit(scope)
    if limit is None:
        return None
    most, window = limit
    key = ":".join(map(str, (f"limit:{scope}:{who}:{_now() // window}", *of)))
    return None if _count(key, window) <= most else window - _now() % window


def try_again_after(seconds: int, refused: HttpResponse) -> HttpResponse:
    """Return the page of a refusal with the header that says when to try again."""
    refused["Retry-After"] = str(seconds)
    return refused


def _limit(scope: str) -> tuple[int, int] | None:
    """Return the number of requests of a kind that are allowed, and in how many seconds."""
    rates: Mapping[str, Any] = api_settings.DEFAULT_THROTTLE_RATES
    most, _, per = str(rates.get(scope) or "").partition("/")
    return (int(most), SECONDS[per]) if most else None


def _count(key: str, seconds: int) -> int:
    cache.add(key, 0, timeout=2 * seconds)
    try:
        return cache.incr(key)
    except ValueError:
        # The cache evicted the key in the meantime.
        cache.set(key, 1, timeout=2 * seconds)
        return 1


def _now() -> int:
    return int(time.time())
