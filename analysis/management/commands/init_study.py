"""`init_study`: writes a folder with a study of a paper's kind on made-up data."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.example_studies import EXAMPLES, files
from annotation.management.base import write_folder
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = (
        "Write a folder with a study of a paper's kind, which runs without changes, on made-up "
        "data and with a fake judge."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER")
        parser.add_argument("--preset", required=True, choices=sorted(EXAMPLES), help="the paper")

    def run(self, **options: Any) -> None:
        folder, preset = options["folder"], options["preset"]
        name = re.sub(r"[^\w-]+", "-", folder.resolve().name).strip("-")
        if not name:
            raise CommandError(
                f"{folder}: cannot be used as the study's name; choose another folder."
            )
        texts = files(preset, name)
        write_folder(folder, ((path, [text.encode()]) for path, text in texts.items()))
        self.say(f"Wrote the study {name!r} to {folder}. All of its data is made up.")
        self.say(f"  tandem study plan {folder}")
        self.say(f"  tandem study apply {folder}")
