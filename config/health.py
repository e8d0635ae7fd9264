"""Health endpoints for probes: whether the process runs, and whether it can work.

They precede every other middleware, since a probe uses a host name that is not in ALLOWED_HOSTS,
and has no TLS and no account. They answer only yes or no.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from datasets.db.versions import newer_database
from tandem.verbs import verb_of

logger = logging.getLogger("tandem.health")

LIVE, READY = "/health/live", "/health/ready"


class Health:
    def __init__(self, handle: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.handle = handle
        self.migrated = False

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info == LIVE:
            return _answer(True)
        if request.path_info == READY:
            return _answer(self._ready())
        return self.handle(request)

    def _ready(self) -> bool:
        """Return whether the database answers, and is that of this version."""
        try:
            # Looking for migrations costs a few queries, so a positive result is remembered.
            self.migrated = self.migrated or _migrated()
            newer = newer_database()
        except DatabaseError as error:
            logger.warning("not ready: %s", type(error).__name__)
            return False
        if newer:
            logger.warning("not ready: %s", newer)
        elif not self.migrated:
            logger.warning("not ready: run %s", verb_of("migrate"))
        return self.migrated and not newer


def _migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def _answer(ok: bool) -> HttpResponse:
    response = HttpResponse("ok" if ok else "not ready", content_type="text/plain")
    response.status_code = 200 if ok else 503
    response["Cache-Control"] = "no-store"
    return response
