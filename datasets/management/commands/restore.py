"""`restore`: restores a backup into an empty place, or tests that this works."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from datasets.backup import BackupError, rehearse, restore
from datasets.console import FAULTS_FOUND, exit_on_signals
from datasets.console import Command as BaseCommand
from datasets.priority import give_way


class Command(BaseCommand):
    # The way back to an older version.
    accepts_newer_database = True
    help = (
        "Restore a backup into an empty data folder and an empty database, whole or not at all. "
        "Everybody is logged out. Checksums are compared before anything is written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--test",
            action="store_true",
            help="restore into a scratch place, check all data there, and remove it again; the "
            "site stays as it is",
        )

    def run(self, **options: Any) -> None:
        exit_on_signals()
        try:
            if options["test"]:
                self._test(options["file"])
            else:
                self._restore(options["file"])
        except BackupError as error:
            raise CommandError(f"Nothing was restored: {error}.") from error
        except OSError as error:
            raise CommandError(
                f"Nothing was restored: {error.strerror or error}; make room, or choose a folder "
                "that can be written."
            ) from error

    def _test(self, path: Path) -> None:
        give_way()
        if not rehearse(path, self.say):
            raise CommandError(
                f"{path} can be restored, but its data do not hold.", returncode=FAULTS_FOUND
            )
        self.say(f"{path} can be restored, and its data hold. The scratch place is removed.")

    def _restore(self, path: Path) -> None:
        manifest, to_do = restore(path)
        self.say(
            f"Restored {manifest.rows} rows of {len(manifest.tables)} tables and "
            f"{len(manifest.members) - 1} files, as of {manifest.at}, from Tandem "
            f"{manifest.version}. Everybody is logged out."
        )
        for each in to_do:
            self.say(f"Next: {each}.")
