"""`load_batch`: loads files as one batch."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from datasets.console import Command as BaseCommand
from datasets.console import add_team_option, batch_called, refusing, team_option
from datasets.derivation import DerivationError
from datasets.extension import extend_batch
from datasets.lineage import count_lines
from datasets.loading import LoadReport, load_batch
from datasets.readers import READERS

SHOWN = 20


class Command(BaseCommand):
    help = "Load one or more files as a batch, all or nothing. Loading them again changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--name", required=True, help="the batch's name, new in this database")
        parser.add_argument(
            "--format", choices=sorted(READERS), help="recognised from the first line by default"
        )
        add_team_option(parser)
        parser.add_argument(
            "--extends",
            metavar="BATCH",
            help="create a new batch from this one, with the reports, rankings or passages that "
            "the files add to its queries",
        )

    def run(self, **options: Any) -> None:
        if options["extends"]:
            self.extend(**options)
            return
        team = team_option(options)
        with self.progress("queries") as tick:
            report = load_batch(
                options["paths"], options["name"], options["format"], tick, team=team
            )
        self.tell(report)

    def extend(self, **options: Any) -> None:
        source = batch_called(options["extends"])
        with (
            refusing(DerivationError, about=f"Batch {options['name']!r}"),
            self.progress("queries", source.counts.get("queries")) as tick,
        ):
            made = extend_batch(options["paths"], options["name"], source, options["format"], tick)
        if made.unchanged:
            self.say(f"Nothing to do: batch {options['name']!r} exists already.")
        else:
            self.say(f"Created batch {options['name']!r}, which extends {source.name!r}.")
        for line in count_lines(made.tally.as_counts()):
            self.say(f"{line[:1].upper()}{line[1:]}.")

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
