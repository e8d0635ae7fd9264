"""`verify`: checks a release or an export, without a database."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.release.verify import tokens_of, verify
from datasets.console import FAULTS_FOUND
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = (
        "Check a release or an export: its checksums, that its files agree with each other, and "
        "that headline numbers, measures and tables follow from the labels. Needs no database."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER")
        parser.add_argument(
            "--tokenizer",
            metavar="FILE",
            help="the tokenizer.json that a release's options name; releases do not contain it",
        )

    def run(self, **options: Any) -> None:
        found = verify(options["folder"], tokens_of(options["tokenizer"]))
        for line in found.wrong:
            self.stdout.write(line)
        if found.wrong:
            raise CommandError(
                f"The {found.what} differs from what it was.", returncode=FAULTS_FOUND
            )
        self.say(f"Checked the {found.what}: {'; '.join(found.checked)}. Nothing has changed.")
