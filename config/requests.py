"""What happens around every request: its id, its line in the log, and a database that is away."""

from __future__ import annotations

import logging
import re
import sys
import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.utils.functional import SimpleLazyObject
from structlog.contextvars import bound_contextvars

from config.security import refused
from datasets.access import wants_data

logger = logging.getLogger("tandem.requests")

Handler = Callable[[HttpRequest], HttpResponseBase]
OURS = re.compile(r"[0-9A-Za-z_-]{8,64}")
RETRY_AFTER = "5"
CANCELED = "57014"  # query_canceled
TOO_LONG = "this takes longer than a page may; ask for less, or use the command on the server"
AWAY = (OperationalError, InterfaceError)


def request_ids(handle: Handler) -> Handler:
    """Gives each request an id, or takes that of the proxy in front, and logs how it ended."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        # Anybody could send another's; only a proxy of our own is believed.
        given = request.headers.get("X-Request-ID", "") if settings.PROXIES else ""
        request.id = given if OURS.fullmatch(given) else uuid.uuid4().hex  # type: ignore[attr-defined]
        with bound_contextvars(request_id=request.id):  # type: ignore[attr-defined]
            began = time.perf_counter()
            response = handle(request)
            response["X-Request-ID"] = request.id  # type: ignore[attr-defined]
            _log(request, response, time.perf_counter() - began)
        return response

    return handled


def _log(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    """A line a request; the query string stays out of it, since it may hold a person's token.

    The account is told where it was looked up anyway: to look it up here costs two queries, and
    fails where the database is away.
    """
    user = _known_user(request)
    logger.info(
        "request",
        extra={
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "ms": round(1000 * seconds, 1),
            "user": user.pk if user is not None and user.is_authenticated else None,
        },
    )


def _known_user(request: HttpRequest) -> AbstractBaseUser | AnonymousUser | None:
    told = request.__dict__.get("user")
    # Asking a lazy object what it is would look the account up.
    return getattr(request, "_cached_user", None) if type(told) is SimpleLazyObject else told


class DatabaseAway:
    """Answers 503 while the database is away, so that whoever asked comes again by itself."""

    def __init__(self, handle: Handler) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.handle(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        return unavailable(request) if isinstance(error, AWAY) else None


def unavailable(request: HttpRequest) -> HttpResponseBase:
    error = sys.exc_info()[1]
    if took_too_long(error):
        logger.error("a statement took too long")
        response = refused(request, 503, TOO_LONG)
        response["Retry-After"] = RETRY_AFTER
        return response
    logger.error("database away: %s", type(error).__name__ if error else "unknown")
    sentence = "the database is away; come again in a few seconds"
    response = _told(request, 503, "503.html", sentence)
    response["Retry-After"] = RETRY_AFTER
    return response


def took_too_long(error: BaseException | None) -> bool:
    """Whether the database ended a statement at its limit (`config.timeouts`): it is not away."""
    return getattr(error and error.__cause__, "sqlstate", None) == CANCELED


def broken(request: HttpRequest) -> HttpResponseBase:
    """Something broke: the answer says under which id it stands in the log, and nothing else."""
    if isinstance(sys.exc_info()[1], AWAY):
        # It went away outside a view, where no middleware hears of it: while a session was read.
        return unavailable(request)
    sentence = "something broke here; tell this site's admin the header X-Request-ID"
    return _told(request, 500, "500.html", sentence)


def _told(request: HttpRequest, status: int, template: str, sentence: str) -> HttpResponse:
    if wants_data(request):
        return JsonResponse({"error": sentence, "problems": []}, status=status)
    body = render_to_string(template, {"request_id": getattr(request, "id", "")})
    return HttpResponse(body, status=status)
