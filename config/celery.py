"""The Celery application. A message only says that work is due; the work is in the database.

Workers do not talk to each other (Celery calls this mingle and gossip). They do not need each
other, and after a restart of the broker a worker that waits for the others may wait for ever.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from celery import Celery
from celery.signals import beat_init, worker_init
from kombu.transport import TRANSPORT_ALIASES

from config.startup import end_on_newer_database, join_site

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

TRANSPORT_ALIASES["filesystem"] = "config.file_broker:Transport"


class Application(Celery):
    @cached_property
    def Worker(self) -> Any:  # noqa: N802  the name is Celery's
        from celery.apps.worker import Worker

        class Alone(Worker):
            def __init__(self, *arguments: Any, **options: Any) -> None:
                alone = {"without_mingle": True, "without_gossip": True}
                super().__init__(*arguments, **options | alone)

        return self.subclass_with_self(Alone, name="Worker")


app = Application("tandem")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect
@beat_init.connect
def check_site(**_: Any) -> None:
    """Refuse to start on a newer database, or in the data folder of another site."""
    end_on_newer_database()
    join_site()
