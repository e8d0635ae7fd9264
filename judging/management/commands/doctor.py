"""`doctor`: examines the installation, and says for each part that it is well, or the mend."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from datasets.console import Command as BaseCommand
from judging.doctor import stored
from judging.doctor.base import EXIT_STATUS, WELL, as_json, is_well
from judging.doctor.registry import examine


class Command(BaseCommand):
    # It names the cause among its findings.
    accepts_newer_database = True
    help = (
        "Examine settings, database, migrations, clock, disk, modes, broker, workers, queue, judge "
        "servers, the last seal and the last backup: each is well, or its line says what mends it. "
        "Ends with status 1 if something must be mended. Changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--format",
            choices=("text", "json"),
            default="text",
            help="lines, or one JSON object (default: text)",
        )

    def run(self, **options: Any) -> None:
        lines = examine()
        # The disk may be full, which a line says.
        with suppress(OSError):
            stored.store(lines)
        if options["format"] == "json":
            self.stdout.write(json.dumps(as_json(lines), ensure_ascii=False))
        else:
            for line in lines:
                if not self.is_quiet or line.status != WELL:
                    self.stdout.write(str(line))
        if not is_well(lines):
            sys.exit(EXIT_STATUS)
