"""`freeze_study`: writes the release of a study, a folder that others can check and read."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.models import Study
from analysis.release.freeze import freeze
from analysis.study import read_study
from annotation.management.base import write_folder
from audit.recording import record
from datasets.console import Command as BaseCommand
from tandem.labels.selection import ReportOptions


class Command(BaseCommand):
    help = (
        "Write a study's release: batches, labels, judges, reports, measures, datasheet and "
        "checksums, as a folder that others can check and read without Tandem."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", nargs="?", default=Path())
        parser.add_argument(
            "--output", type=Path, required=True, metavar="FOLDER", help="a new or empty folder"
        )
        parser.add_argument(
            "--licence",
            default="",
            metavar="L",
            help="an SPDX name such as CC-BY-4.0, or an address (default: that of the study file)",
        )
        parser.add_argument(
            "--resamples",
            type=int,
            metavar="N",
            help="for the intervals of reports (default: 10,000 below 30 queries, otherwise 2,000)",
        )

    def run(self, **options: Any) -> None:
        if options["resamples"] is not None and options["resamples"] < 1:
            raise CommandError("--resamples is not above 0; give a number.")
        file = read_study(options["file"])
        number = 0
        with self.progress("files") as tick:

            def say(path: str) -> None:
                nonlocal number
                number += 1
                tick(number)

            choices = ReportOptions(resamples=options["resamples"])
            write_folder(options["output"], freeze(file, options["licence"], choices, say))
        for part in Study.objects.get(name=file.name).parts.filter(kind="campaign"):
            of = ("campaign", part.campaign_id)
            record("export", part.campaign_id, of, what="release", form="folder")
        self.say(
            f"Wrote the release of study {file.name!r} to {options['output']}; check it with "
            f"tandem verify {options['output']}."
        )
