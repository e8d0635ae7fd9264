"""Leave a page that takes long to a web process in which nobody saves.

Most requests are passed on by their path (`config.front.thread_pools`), but only its view knows
that a page of work is long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

if TYPE_CHECKING:
    from rest_framework.request import Request

MAY_LEAVE = "tandem.may_leave"
"""The key of a request's environment that is true if another process could answer the request."""


class LeftToOthersError(Exception):
    """Another process is to answer this request."""


class LeftResponse(HttpResponse):
    """Stands for the response of another process, and is never sent."""


class LeavesToOthers:
    """The middleware that turns the error into the response, which the web server looks for."""

    def __init__(self, handle: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.handle(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return LeftResponse() if isinstance(error, LeftToOthersError) else None


def leave_to_others(request: HttpRequest | Request) -> None:
    """Have another process answer a request, if there is one for that; otherwise do nothing.

    A view calls this before it does or records anything. Raises LeftToOthersError.
    """
    if request.META.get(MAY_LEAVE):
        raise LeftToOthersError
