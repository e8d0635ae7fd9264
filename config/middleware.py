"""Middleware: request ids, headers, body limits, session lifetimes, timeouts, the audit actor.

PostgreSQL may work on one statement of a request for 5 seconds, or 60 for requests known to be
slow: other people's saves wait behind a page that asks for too much. The server ends the
statement, and the person is told to ask for less. Commands and workers have no such limit, and
neither has SQLite.
"""

from __future__ import annotations

import logging
import re
import sys
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import InterfaceError, OperationalError, connection
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.functional import SimpleLazyObject
from structlog.contextvars import bound_contextvars

from audit.recording import Asking, address_class, on_behalf
from datasets.access import client_address, wants_data

Handler = Callable[[HttpRequest], HttpResponseBase]
MEGABYTE = 1024 * 1024
HOUR = 3600
UTF_8 = ("utf-8", "utf8")
PAGE = "<!doctype html><html lang=en><title>Refused</title><p>{}.</p></html>"

# No page of ours needs any of these, so no text that gets into one can ask for it.
HEADERS = {
    "Permissions-Policy": ", ".join(
        f"{feature}=()"
        for feature in (
            "accelerometer",
            "browsing-topics",
            "camera",
            "display-capture",
            "geolocation",
            "gyroscope",
            "hid",
            "magnetometer",
            "microphone",
            "midi",
            "payment",
            "publickey-credentials-get",
            "serial",
            "usb",
            "xr-spatial-tracking",
        )
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Permitted-Cross-Domain-Policies": "none",
}


def headers(handle: Handler) -> Handler:
    """Adds what the browser should know, and keeps every page out of its store.

    Whoever comes to a shared computer next could go back to a stored page after a log-out.
    """

    def handled(request: HttpRequest) -> HttpResponseBase:
        response = handle(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if "no-store" not in response.headers.get("Cache-Control", ""):
            response.headers["Cache-Control"] = "private, no-store"
        return response

    return handled


class BodyGuard:
    """Refuses a body by what is announced of it, before a byte of it is read.

    Django looks only at forms, and only while it reads them: JSON for the API and files would come
    in whole. A view that takes files says so (`datasets.access.takes_files`).
    """

    def __init__(self, handle: Handler) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.handle(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *_: object
    ) -> HttpResponseBase | None:
        if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
            return refused(request, 411, "send the body's length with it (Content-Length)")
        # Django would read by whatever codec it is told, some of which give no text at all.
        if (request.content_params or {}).get("charset", "utf-8").lower() not in UTF_8:
            return refused(request, 415, "send the body in UTF-8")
        limit = _limit(request, view)
        if _length(request) > limit:
            return refused(request, 413, f"this is more than {limit / MEGABYTE:g} MB; send less")
        return None


def _limit(request: HttpRequest, view: Callable[..., Any]) -> int:
    """Forms may be longer than JSON: a letter of another script takes nine in them."""
    files = int(settings.TANDEM_MAX_UPLOAD_MB) * MEGABYTE
    if getattr(view, "takes_files", False):
        return files
    is_json = request.content_type == "application/json"
    plain = settings.LONGEST_JSON if is_json else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return min(files, int(plain))


def _length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() else 0


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    """Something that no browser and no sound script sends; the reason stays in the log."""
    return refused(request, 400, "this request cannot be read; send it again in a plainer form")


def locked(
    request: HttpRequest, response: HttpResponseBase | None = None, credentials: Any = None
) -> HttpResponseBase:
    """After too many wrong passwords: the same whether there is such an account or not."""
    page = render(request, "accounts/locked.html", status=429)
    page["Retry-After"] = str(HOUR)
    return page


def refused(request: HttpRequest, status: int, reason: str) -> HttpResponseBase:
    """A sentence for whoever sent it: as data for a script, as a page for a person."""
    if wants_data(request):
        return JsonResponse({"error": reason, "problems": []}, status=status)
    # No template that looks for the account: the request may be one that cannot be read at all.
    return HttpResponse(PAGE.format(reason[0].upper() + reason[1:]), status=status)


IDLE, LONGEST = 12 * 3600, 7 * 24 * 3600
NOTED = 600  # seen is written down at most so often, since it costs a write
BEGAN, SEEN = "began", "seen"


def sessions_end(handle: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., object]:
    def handled(request: HttpRequest) -> HttpResponseBase:
        if request.session.session_key and "_auth_user_id" in request.session:
            _look(request, int(time.time()))
        return handle(request)

    return handled


def _look(request: HttpRequest, now: int) -> None:
    session = request.session
    began, seen = session.get(BEGAN, now), session.get(SEEN, now)
    if now - seen > IDLE or now - began > LONGEST:
        logout(request)
    elif BEGAN not in session or now - seen > NOTED:
        session[BEGAN], session[SEEN] = began, now


SHORT, LONG = "5s", "60s"
LONG_ONES = (
    "export-file",
    "campaign-draws",
    "campaign-audit-file",
    "audit-file",
    "api-units",
    "api-labels",
    "api-responses",
    "api-draws",
    "api-report",
    "api-reports",
    "report",
    "freeze",
    "frozen",
    "judges-compared",
    "judge-robustness",
    "judge-run-manifest",
    "api-run-manifest",
    "campaign-new",
    "campaign-known",
    "api-campaigns",
    "api-rehearsal",
    "api-known",
    "api-imports",
    "judge-start",
    "api-runs",
    "api-judge-estimate",
    "api-export",
    "campaign-quality",
    "rater-quality",
    "api-quality",
    "adjudication",
    "api-disputes",
    "measures",
    "api-measures",
)
"""Exports, imports, reports, and what draws, plans or looks through a whole campaign; each is a
route or a family of them."""

_wanted: ContextVar[str] = ContextVar("statement_timeout", default="")


class Timeouts:
    """The limit of each request, set when its connection is taken from the pool."""

    def __init__(self, handle: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        token = _wanted.set(SHORT)
        try:
            if connection.connection is not None:
                _apply(connection)
            return self.handle(request)
        finally:
            _wanted.reset(token)

    def process_view(self, request: HttpRequest, *_: object) -> None:
        """A session was read by now, so the connection is there with the short limit."""
        match = request.resolver_match
        if match and takes_long(match.view_name):
            _wanted.set(LONG)
            if connection.connection is not None:
                _apply(connection)


def takes_long(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}-") for each in LONG_ONES)


@receiver(connection_created)
def _taken(sender: Any, connection: Any, **more: Any) -> None:
    _apply(connection)


def _apply(connection: Any) -> None:
    """The connection remembers its limit from one request to the next: it costs nothing mostly."""
    wanted = _wanted.get()
    if connection.vendor != "postgresql" or not wanted:
        return
    raw = connection.connection
    if getattr(raw, "tandem_limit", None) != wanted:
        raw.execute("SELECT set_config('statement_timeout', %s, false)", [wanted])
        raw.tandem_limit = wanted


logger = logging.getLogger("tandem.requests")


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
    """Whether the database ended a statement at its limit (`config.middleware`): it is not away."""
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


def requests_told(handle: Handler) -> Handler:
    """Everything that is written down while a request is answered names it and its account."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        address = address_class(client_address(request))
        with on_behalf(Asking(partial(_who, request), getattr(request, "id", ""), address)):
            return handle(request)

    return handled


def _who(request: HttpRequest) -> int | None:
    user = getattr(request, "user", None)
    return user.pk if user is not None and user.is_authenticated else None
