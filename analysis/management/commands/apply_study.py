"""`apply_study`: brings the database as far as a study file and people's answers allow."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.study import apply, read_study
from datasets.console import FAULTS_FOUND, add_team_option
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = (
        "Create what a study file describes, in order, and stop where people have to work first. "
        "Run it again to continue. Whatever has labels never changes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", nargs="?", default=Path())
        add_team_option(parser, "the team that gets what is created")

    def run(self, **options: Any) -> None:
        file = read_study(options["file"]).for_team(options["team"])
        applied = apply(file, lambda key, words: self.say(f"{key}: {words}"))
        for stage in applied.stages.values():
            if stage.behind:
                self.say(f"{stage.key}: {stage.behind}")
        if applied.waits:
            for line in applied.waits[:-1]:
                self.stdout.write(line)
            raise CommandError(applied.waits[-1], returncode=FAULTS_FOUND)
        what = "Done" if applied.done else "Nothing to do"
        self.say(f"{what}: study {file.name!r} is as its file says.")
