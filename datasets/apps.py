"""The app of batches: a setting of all database connections, and what of batches is sealed."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.backends.base.base import BaseDatabaseWrapper


class Datasets(AppConfig):
    name = "datasets"

    def ready(self) -> None:
        from datasets import sealed  # noqa: F401 - importing it registers its declarations

        # With DEBUG=1, Django would format and keep every statement, which takes a fifth of the
        # time of a judge's call. Tests that count statements still can.
        wrapper: Any = BaseDatabaseWrapper
        wrapper.queries_logged = property(lambda connection: connection.force_debug_cursor)
