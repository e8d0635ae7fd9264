"""App configuration of the audit trail."""

from __future__ import annotations

from django.apps import AppConfig


class Audit(AppConfig):
    name = "audit"

    def ready(self) -> None:
        from audit import signals  # noqa: F401 - importing it connects its receivers
