"""`backup`: writes the site's data into one archive, while people save."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from datasets.backup import BackupError, back_up
from datasets.console import Command as BaseCommand
from datasets.console import exit_on_signals
from datasets.priority import give_way


class Command(BaseCommand):
    # The way back to an older version.
    accepts_newer_database = True
    help = (
        "Write the database and the files of the data folder into one archive, with checksums, "
        "while people save. Only its owner can read it. It contains no sessions, and SECRET_KEY "
        "only if the site created its key itself."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")

    def run(self, **options: Any) -> None:
        exit_on_signals()
        give_way()
        try:
            path, manifest = back_up(options["file"])
            size = path.stat().st_size
        except BackupError as error:
            raise CommandError(f"No backup was written: {error}.") from error
        except OSError as error:
            raise CommandError(
                f"No backup was written: {error.strerror or error} ({options['file']}); make room, "
                "or choose a folder that can be written."
            ) from error
        self.say(
            f"Backed up {manifest.rows} rows of {len(manifest.tables)} tables and "
            f"{len(manifest.members) - 1} files to {path} ({size / 2**20:.1f} MB)."
        )
        if manifest.left_out:
            names = ", ".join(manifest.left_out[:5])
            self.say(f"Not in the backup, since Tandem did not write it: {names}.")
