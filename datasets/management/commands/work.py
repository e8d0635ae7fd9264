"""`work`: carries out reports and exports that pages and the API ask for, until stopped."""

from __future__ import annotations

import os
import signal
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from datasets import site_lock
from datasets.console import Command as Base
from datasets.console import refusing
from datasets.work.wake import is_first
from datasets.work.worker import Loop


class Command(Base):
    help = (
        "Carry out reports, exports and other jobs that pages and the API ask for, until stopped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--places",
            type=int,
            default=max(1, settings.TANDEM_JOB_PLACES),
            metavar="N",
            help=(
                "how many long jobs, such as reports, at a time, beside short ones; "
                "TANDEM_JOB_PLACES by default, and with 0 only short ones"
            ),
        )
        parser.add_argument(
            "--idle",
            type=float,
            metavar="SECONDS",
            help="end after this many seconds without a job",
        )
        parser.add_argument(
            "--alone",
            action="store_true",
            help="do nothing if another worker with this option runs on this machine",
        )

    def run(self, **options: Any) -> None:
        # The query timeout for pages would end a long report.
        os.environ.pop("PGOPTIONS", None)
        if options["alone"] and not is_first():
            return
        with refusing(site_lock.SiteInUseError, about="Not started"):
            lock = site_lock.join(settings.DATA_DIR, settings.DATABASES["default"])
        worker = Loop(max(0, options["places"]), options["idle"])
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        reports = f"reports, {worker.places} at a time, and short jobs beside them"
        what = reports if worker.places else "short jobs only"
        self.say(f"Worker {worker.name} carries out {what}.")
        try:
            worker.run()
        finally:
            os.close(lock)
