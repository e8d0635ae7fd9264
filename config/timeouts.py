"""How long PostgreSQL may work on one statement of a request: 5 seconds, or 60 for what takes long.

Other people's saves wait behind a page that asks too much. The server ends the statement, and who
asked is told to ask for less. Commands and workers have no such limit, and on SQLite there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from django.db import connection
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase

SHORT, LONG = "5s", "60s"
LONG_ONES = (
    "export-file", "campaign-draws", "campaign-audit-file", "audit-file",
    "api-units", "api-labels", "api-responses", "api-draws", "api-report", "api-reports",
    "report", "freeze", "frozen", "judges-compared", "judge-robustness", "judge-run-manifest",
    "api-run-manifest", "campaign-new", "campaign-known", "api-campaigns", "api-rehearsal",
    "api-known", "api-imports", "judge-start", "api-runs", "api-judge-estimate", "api-export",
    "campaign-quality", "rater-quality", "api-quality", "adjudication", "api-disputes",
    "measures", "api-measures",
)  # fmt: skip
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
