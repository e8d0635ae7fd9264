"""The app of batches, and a setting of all database connections."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.backends.base.base import BaseDatabaseWrapper


class Datasets(AppConfig):
    name = "datasets"

    def ready(self) -> None:
        # With DEBUG=1, Django would format and keep every statement, which takes a fifth of the
        # time of a judge's call. Tests that count statements still can.
        wrapper: Any = BaseDatabaseWrapper
        wrapper.queries_logged = property(lambda connection: connection.force_debug_cursor)
