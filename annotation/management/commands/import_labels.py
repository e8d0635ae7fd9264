"""`import_labels`: imports labels from other tools."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.imports.files import FORMATS
from annotation.imports.importer import ImportReport, import_labels
from annotation.imports.index import ImportOptions
from annotation.management.base import campaign_called
from datasets.console import Command as BaseCommand
from tandem.options import add_arguments, options_of, values_of

SHOWN = 20


class Command(BaseCommand):
    help = "Import labels from other tools, from people or judges, in one transaction."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--campaign", required=True)
        parser.add_argument("--rater", help="the rater, if the file names none")
        parser.add_argument("--format", choices=FORMATS, help="recognised if left out")
        add_arguments(parser, options_of(ImportOptions))

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        with self.progress("labels") as tick:
            report = import_labels(
                options["paths"],
                campaign,
                options["rater"],
                options["format"],
                tick,
                ImportOptions(**values_of(options_of(ImportOptions), options)),
            )
        self.tell(report)

    def tell(self, report: ImportReport) -> None:
        for rater, count in report.labels.items():
            if count:
                self.say(f"Imported {count} labels from {rater}.")
        if report.missing:
            self.say(f"Imported {report.missing} missing labels with their reasons.")
        if report.unchanged:
            self.say(f"Nothing to do for {report.unchanged} labels: they exist already.")
        for what, count in report.skipped.items():
            self.say(f"Skipped {count} {what}.")
        for warning in report.warnings[:SHOWN]:
            self.say(f"Warning: {warning}")
        if len(report.warnings) > SHOWN:
            self.say(f"… and {len(report.warnings) - SHOWN} more warnings.")
