"""App configuration: the counters' triggers, and who reads batches and stored protocols."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class Annotation(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import sealed  # noqa: F401 - importing it registers its declarations
        from annotation.counters import after_migrating, before_migrating
        from annotation.people.membership import batch_in_readable_campaign
        from annotation.protocol_files import read_stored
        from annotation.registry import register_reader
        from datasets.access import BATCH_READERS

        register_reader(read_stored)
        BATCH_READERS.append(batch_in_readable_campaign)
        from annotation.people.teams import tell_after_upgrade

        post_migrate.connect(tell_after_upgrade, sender=self)
        pre_migrate.connect(before_migrating, sender=self)
        post_migrate.connect(after_migrating, sender=self)
