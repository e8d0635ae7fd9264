"""App configuration: installs the counters' triggers after each migration."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class Annotation(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation.counters import after_migrating, before_migrating

        pre_migrate.connect(before_migrating, sender=self)
        post_migrate.connect(after_migrating, sender=self)
