"""`batch_format`: prints the native format's schema, or an example."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from datasets.console import Command as BaseCommand
from datasets.material import FORMAT_FILES


class Command(BaseCommand):
    help = "Print the native batch format: its JSON Schema, or a small batch to start from."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "what",
            choices=sorted(FORMAT_FILES),
            help="the JSON Schema of one line, or two lines that use every key",
        )

    def run(self, **options: Any) -> None:
        self.stdout.write(FORMAT_FILES[options["what"]].read(), ending="")
