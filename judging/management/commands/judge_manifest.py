"""`judge_manifest`: prints the manifests of a judge's runs."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import campaign_called, write_or_print, write_whole
from datasets.console import Command as BaseCommand
from judging.jury import voting_judges
from judging.management.commands.run_judge import judge_called
from judging.manifest import manifest_of
from judging.models import Judge, JudgeRun


class Command(BaseCommand):
    help = (
        "Print the manifests of a judge's runs over a campaign, as JSON: the setup of each run, "
        "its results, and a hash of both."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", metavar="C")
        parser.add_argument("--judge", required=True, metavar="J")
        parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")
        parser.add_argument(
            "--file", type=Path, metavar="F", help="write the judge file here; needs no campaign"
        )

    def run(self, **options: Any) -> None:
        if options["file"]:
            self._write_file(judge_called(options["judge"]), options["file"])
            return
        if not options["campaign"]:
            raise CommandError("Give the --campaign of the runs, or --file for the judge file.")
        if voting := voting_judges(options["judge"]):
            raise CommandError(
                f"Jury {options['judge']!r} asks nothing itself, so it has no runs; print the "
                f"manifests of its members: --judge {', --judge '.join(voting)}."
            )
        campaign, judge = campaign_called(options["campaign"]), judge_called(options["judge"])
        found = JudgeRun.objects.filter(campaign=campaign, judge=judge)
        manifests = [manifest_of(run) for run in found.select_related("campaign", "judge")]
        if not manifests:
            raise CommandError(f"Judge {judge} has not run over {campaign}; run it first.")
        text = json.dumps(manifests, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        write_or_print(self.stdout, options["output"], [text])

    def _write_file(self, judge: Judge, path: Path) -> None:
        if not judge.file:
            own = judge.prompt_name or "that of the campaign's protocol"
            raise CommandError(f"Judge {judge} has no judge file; its prompt is {own}.")
        write_whole(path, [judge.file])
        self.say(f"Wrote the file of judge {judge} to {path} (SHA-256 {judge.file_sha256}).")
