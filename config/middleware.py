"""Middleware: request ids, headers, body limits, sessions, timeouts, audit actor, ledger of looks.

PostgreSQL ends a statement of a request after 5 seconds, or after 60 for slow kinds of requests,
since a slow page makes other people's saves wait. The response then asks the person to request
less. Commands and workers have no such limit, and neither has SQLite.
"""

from __future__ import annotations

import logging
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
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
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.urls import Resolver404, get_resolver
from django.utils import translation
from django.utils.functional import SimpleLazyObject
from django.utils.translation import get_language, get_language_from_request
from structlog.contextvars import bound_contextvars

from annotation.exposure import ledger
from annotation.people.languages import translated
from annotation.presentation import ForgottenItemError
from audit.recording import Actor, address_class, current_actor, on_behalf
from config.context import NotCollectedError
from datasets.access import client_address, wants_data
from datasets.elsewhere import LeftResponse
from datasets.work.guard import answering_request
from tandem.messages import Message
from tandem.protocols.base import ForgottenUnitError

Handler = Callable[[HttpRequest], HttpResponseBase]
MEGABYTE = 1024 * 1024
UTF_8 = ("utf-8", "utf8")
TECHNICAL = b"will display a standard 404 page."
"""What only Django's own page for a missing address says."""
PAGE = "<!doctype html><html lang={}><title>Tandem</title><p>{}.</p></html>"

# No page uses these features, so injected text cannot use them either.
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
    """Add security headers, and forbid the browser to cache pages.

    On a shared computer, the next person could otherwise return to a cached page after a log-out.
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
    """Refuses a body by its headers, before a byte of it is read.

    Django limits only forms, and only while it reads them, so it would accept JSON and files of any
    size. A view that takes files is marked by `datasets.access.takes_files`.
    """

    def __init__(self, handle: Handler) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.handle(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *_: object
    ) -> HttpResponseBase | None:
        if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
            return refusal_response(request, 411, "send the body's length (Content-Length)")
        # Django would decode with any codec that a request names, and some codecs do not return
        # text.
        if (request.content_params or {}).get("charset", "utf-8").lower() not in UTF_8:
            return refusal_response(request, 415, "send the body in UTF-8")
        limit = _limit(request, view)
        if _length(request) > limit:
            return refusal_response(
                request,
                413,
                Message("this is more than %(most)s MB; send less", most=f"{limit / MEGABYTE:g}"),
            )
        return None


def _limit(request: HttpRequest, view: Callable[..., Any]) -> int:
    """Return the limit in bytes. Forms may be longer than JSON, since they encode more letters."""
    files = int(settings.TANDEM_MAX_UPLOAD_MB) * MEGABYTE
    if getattr(view, "takes_files", False):
        return files
    is_json = request.content_type == "application/json"
    plain = int(settings.LONGEST_JSON if is_json else settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    return min(files, plain, getattr(view, "longest_body", plain))


def _length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() else 0


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    """Answer a request that no browser or correct script sends; the log has the reason."""
    return refusal_response(
        request, 400, Message("this request cannot be read; correct it and send it again")
    )


def refusal_response(request: HttpRequest, status: int, reason: str) -> HttpResponseBase:
    """Answer with a reason, as JSON for a script and as a page for a person."""
    reason = translated(reason)
    if wants_data(request):
        return JsonResponse({"error": reason, "problems": []}, status=status)
    # A template would look up the account, which an unreadable request may not allow.
    said = PAGE.format(get_language() or "en", reason[0].upper() + reason[1:])
    return HttpResponse(said, status=status)


MAX_IDLE, MAX_SESSION = 12 * 3600, 7 * 24 * 3600
UPDATE_INTERVAL = 600  # seconds between updates of the last use, each of which is a write
STARTED, LAST_USED = "began", "seen"


def session_limits(handle: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., object]:
    def handled(request: HttpRequest) -> HttpResponseBase:
        if request.session.session_key and "_auth_user_id" in request.session:
            _check_session(request, int(time.time()))
        return handle(request)

    return handled


def _check_session(request: HttpRequest, now: int) -> None:
    session = request.session
    started, last_used = session.get(STARTED, now), session.get(LAST_USED, now)
    if now - last_used > MAX_IDLE or now - started > MAX_SESSION:
        logout(request)
    elif STARTED not in session or now - last_used > UPDATE_INTERVAL:
        session[STARTED], session[LAST_USED] = started, now


SHORT, LONG = "5s", "60s"
SLOW_ROUTES = (
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
    "results",
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
"""Names of routes, or of families of routes, that process a whole campaign."""

_timeout: ContextVar[str] = ContextVar("statement_timeout", default="")


class Timeouts:
    """Sets a request's statement timeout when its connection is taken from the pool."""

    def __init__(self, handle: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        token = _timeout.set(SHORT)
        try:
            if connection.connection is not None:
                _apply(connection)
            return self.handle(request)
        finally:
            _timeout.reset(token)

    def process_view(self, request: HttpRequest, *_: object) -> None:
        """Raise the limit for a slow route. The session was read with the short limit."""
        match = request.resolver_match
        if match and takes_long(match.view_name):
            _timeout.set(LONG)
            if connection.connection is not None:
                _apply(connection)


def takes_long(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}-") for each in SLOW_ROUTES)


@receiver(connection_created)
def _set_timeout(sender: Any, connection: Any, **more: Any) -> None:
    _apply(connection)


def _apply(connection: Any) -> None:
    """Set the connection's limit, unless it still has it from an earlier request."""
    timeout = _timeout.get()
    if connection.vendor != "postgresql" or not timeout:
        return
    raw = connection.connection
    if getattr(raw, "tandem_limit", None) != timeout:
        raw.execute("SELECT set_config('statement_timeout', %s, false)", [timeout])
        raw.tandem_limit = timeout


logger = logging.getLogger("tandem.requests")


REQUEST_ID = re.compile(r"[0-9A-Za-z_-]{8,64}")
RETRY_AFTER = "5"
CANCELED = "57014"  # query_canceled
TOO_LONG = Message("this takes too long for a page; request less, or use the command on the server")
DATABASE_ERRORS = (OperationalError, InterfaceError)


def request_ids(handle: Handler) -> Handler:
    """Give each request an id, or use that of the proxy, and log how the request ended."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        # A client could send another request's id, so only the site's own proxy is trusted.
        sent = request.headers.get("X-Request-ID", "") if settings.PROXIES else ""
        request.id = sent if REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex  # type: ignore[attr-defined]
        with bound_contextvars(request_id=request.id):  # type: ignore[attr-defined]
            started = time.perf_counter()
            response = handle(request)
            response["X-Request-ID"] = request.id  # type: ignore[attr-defined]
            if not isinstance(response, LeftResponse):
                _log(request, response, time.perf_counter() - started)
        return response

    return handled


def _log(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    """Log a line for the request, without its query string, which may contain a token.

    The line names the account only if it was looked up already, since a lookup here costs two
    queries, and fails if the database is away.
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
    user = request.__dict__.get("user")
    # Evaluating the lazy object would look the account up.
    return getattr(request, "_cached_user", None) if type(user) is SimpleLazyObject else user


def missing_pages(handle: Handler) -> Handler:
    """Show the site's own page for a missing address with DEBUG, too, with which the demo runs."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        response = handle(request)
        if settings.DEBUG and TECHNICAL in getattr(response, "content", b""):
            error = Http404() if request.resolver_match else Resolver404()
            answer: Callable[..., HttpResponseBase] = get_resolver().resolve_error_handler(404)
            return answer(request, error)
        return response

    return handled


class DatabaseAway:
    """Answers 503 while the database is away, so that clients try again."""

    def __init__(self, handle: Handler) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.handle(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        return unavailable_response(request) if isinstance(error, DATABASE_ERRORS) else None


class ItemsChanged:
    """Explains that a stored item cannot be shown, since its texts changed in the database."""

    def __init__(self, handle: Handler) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.handle(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        if not isinstance(error, ForgottenItemError | ForgottenUnitError):
            return None
        logger.error("a stored item cannot be shown, see `tandem check`: %s", error)
        sentence = (
            "the texts of an item were changed after its campaign was created, so it cannot be "
            "shown; an admin can restore them: `tandem check` names the item"
        )
        return _answer(request, 500, "changed.html", sentence)


def unavailable_response(request: HttpRequest) -> HttpResponseBase:
    error = sys.exc_info()[1]
    if timeout_response(error):
        logger.error("a statement took too long")
        response = refusal_response(request, 503, TOO_LONG)
        response["Retry-After"] = RETRY_AFTER
        return response
    logger.error("database away: %s", type(error).__name__ if error else "unknown")
    sentence = "the database is not available; try again in a few seconds"
    response = _answer(request, 503, "503.html", sentence)
    response["Retry-After"] = RETRY_AFTER
    return response


def timeout_response(error: BaseException | None) -> bool:
    """Return whether the database ended a statement at its time limit, and so is not down."""
    return getattr(error and error.__cause__, "sqlstate", None) == CANCELED


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Answer after an unexpected error, with only the id under which the log has it."""
    if isinstance(sys.exc_info()[1], DATABASE_ERRORS):
        # The error was raised outside a view, where no middleware handles it.
        return unavailable_response(request)
    sentence = "an unexpected error occurred; tell an admin of this site the header X-Request-ID"
    return _answer(request, 500, "500.html", sentence)


def _answer(request: HttpRequest, status: int, template: str, sentence: str) -> HttpResponse:
    if wants_data(request):
        return JsonResponse({"error": sentence, "problems": []}, status=status)
    # Without a database the account's language is unknown, so the browser's is used.
    language = getattr(request, "LANGUAGE_CODE", None) or get_language_from_request(request)
    headers = {"Content-Language": language}
    with translation.override(language):
        try:
            body: str = render_to_string(template, {"request_id": getattr(request, "id", "")})
        except NotCollectedError:
            # This page cannot be rendered without static files either. The error is in the log
            # already. Raised again here, it would be logged again in each middleware.
            body, headers = PAGE.format("en", sentence[0].upper() + sentence[1:]), {}
    return HttpResponse(body, status=status, headers=headers)


def audit_actor(handle: Handler) -> Handler:
    """Name the request and its account in every event recorded while the request is answered."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        address = address_class(client_address(request))
        with on_behalf(Actor(partial(_account, request), getattr(request, "id", ""), address)):
            return handle(request)

    return handled


def guard_of_long_work(handle: Handler) -> Handler:
    """Report a view that does a computation that belongs to a worker."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        with answering_request():
            return handle(request)

    return handled


HIDING_STATUSES = (401, 403, 404, 405, 429)


def ledger_of_looks(handle: Handler) -> Handler:
    """Record which of others' answers the response shows, before a byte of it is sent."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        with ledger.collect_looks() as looks:
            response = handle(request)
        shows = response.status_code < 500 and response.status_code not in HIDING_STATUSES
        shows = shows and not isinstance(response, LeftResponse)
        if looks and shows and request.method != "HEAD":
            user = current_actor().who()
            ledger.record(user, looks)
            if response.streaming:
                response.streaming_content = _followed(  # type: ignore[attr-defined]
                    response.streaming_content,  # type: ignore[attr-defined]
                    user,
                    looks,
                )
        return response

    return handled


def _followed(
    pieces: Iterable[bytes], user: int | None, looks: list[ledger.Note]
) -> Iterator[bytes]:
    """Yield the pieces, then record again, since they may contain newly arrived answers."""
    yield from pieces
    ledger.record_again(user, looks)


def _account(request: HttpRequest) -> int | None:
    user = getattr(request, "user", None)
    return user.pk if user is not None and user.is_authenticated else None
