"""App configuration of the audit trail."""

from __future__ import annotations

from django.apps import AppConfig


class Audit(AppConfig):
    name = "audit"

    def ready(self) -> None:
        from audit import signals as logins  # noqa: F401 - listens once it is read
