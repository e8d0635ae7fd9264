"""`load_batch`: loads files as one batch."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from datasets.console import Command as BaseCommand
from datasets.loading import LoadReport, load_batch
from datasets.readers import READERS

SHOWN = 20


class Command(BaseCommand):
    help = "Loads one or more files as a batch, all or nothing. Loading it again changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--name", required=True, help="the batch's name, new in this database")
        parser.add_argument(
            "--format", choices=sorted(READERS), help="recognised from the first line if left out"
        )

    def run(self, **options: Any) -> None:
        with self.progress("queries") as tick:
            report = load_batch(options["paths"], options["name"], options["format"], tick)
        self.tell(report)

    def tell(self, report: LoadReport) -> None:
        counts = ", ".join(
            f"{n} {what.replace('_', ' ')}" for what, n in report.counts.items() if n
        )
        if report.unchanged:
            self.say(f"Nothing to do: batch {report.name!r} is already loaded ({counts}).")
            return
        self.say(f"Loaded batch {report.name!r} ({report.format}): {counts}.")
        for what, count in report.skipped.items():
            self.say(f"Left out: {count} {what}.")
        for warning in report.warnings[:SHOWN]:
            self.say(f"Warning: {warning}")
        if more := len(report.warnings) - SHOWN:
            self.say(f"… and {more} more warnings.") if more > 0 else None
