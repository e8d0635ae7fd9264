"""`study_status`: the chain of a study with counts, and the next step in words."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from analysis.study import StudyStatus, read_study, status
from analysis.study.status import counts_line, next_of
from datasets.console import Command as BaseCommand
from datasets.console import add_team_option


class Command(BaseCommand):
    help = "Show how far a study is: each batch, campaign, judge and plan, and what is next."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", nargs="?", default=Path())
        parser.add_argument(
            "--format", choices=("text", "json"), default="text", help="lines, or one JSON object"
        )
        add_team_option(parser, "the team that the study was applied for")

    def run(self, **options: Any) -> None:
        found = status(read_study(options["file"]).for_team(options["team"]))
        if options["format"] == "json":
            self.stdout.write(json.dumps(found.as_json(), ensure_ascii=False, indent=2))
            return
        for line in _lines(found):
            self.stdout.write(line)


def _lines(found: StudyStatus) -> list[str]:
    width = max((len(stage.key.name) for stage in found.stages), default=0)
    lines = [f"Study {found.name!r}"]
    for stage in found.stages:
        about = " · ".join(filter(None, (counts_line(stage.counts), stage.says, next_of(stage))))
        named = f"  {stage.state:8} {stage.key.kind:9} {stage.key.name:{width}}"
        lines.append(f"{named}  {about}".rstrip())
    return [*lines, f"Next: {found.next}"]
