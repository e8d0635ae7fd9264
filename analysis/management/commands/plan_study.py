"""`plan_study`: what `apply_study` would create, change and leave."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.models import Study
from analysis.study import Stage, StudyFile, read_study, stages_of
from analysis.study.evaluators import changed_in
from analysis.study.file import EVALUATOR
from datasets.console import FAULTS_FOUND, add_team_option
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = "Compare a study file with the database: what would be created, changed and left."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", nargs="?", default=Path())
        add_team_option(parser, "the team that gets what the file names")

    def run(self, **options: Any) -> None:
        file = read_study(options["file"]).for_team(options["team"])
        stages = stages_of(file).values()
        for stage in stages:
            for line in lines_of(stage):
                self.stdout.write(line)
        study = Study.objects.filter(name=file.name).first()
        declared = changed_in(file, study)
        for name in file.evaluators:
            words = declared.get(name)
            how, end = ("change", f": {words}") if words else ("keep  ", "")
            self.stdout.write(f"{how} {EVALUATOR} {name}{end}")
        for line in left_over(file, study):
            self.stdout.write(line)
        if todo := sum(len(stage.actions) for stage in stages) + len(declared):
            what = "1 step is" if todo == 1 else f"{todo} steps are"
            raise CommandError(f"{what} left; run study apply.", returncode=FAULTS_FOUND)
        self.say(f"Nothing to do: study {file.name!r} is as its file says.")


def lines_of(stage: Stage) -> list[str]:
    """Return what would be done about a part, a line for each step, or that it stays."""
    named = f"{stage.key.kind:8} {stage.key.name}"
    if not stage.actions:
        waits = f" ({stage.waits[0]})" if stage.waits else ""
        return [f"keep   {named}{waits}"]
    how = "change" if stage.exists else "create"
    how = "later " if stage.blocked else how
    after = f", after {' and '.join(map(str, stage.blocked))}" if stage.blocked else ""
    return [f"{how} {named}: {action.words}{after}" for action in stage.actions]


def left_over(file: StudyFile, study: Study | None) -> list[str]:
    """Return what the stored study has and the file does not name; it stays."""
    if study is None:
        return []
    named = {(part.key.kind, part.name) for part in file.parts}
    named |= {(EVALUATOR, name) for name in file.evaluators}
    stored = [(part.kind, part.name) for part in study.parts.all()]
    stored += [(EVALUATOR, name) for name in study.evaluators]
    return [
        f"leave  {kind:8} {name}: it is no longer in the file, but stays as it is"
        for kind, name in stored
        if (kind, name) not in named
    ]
