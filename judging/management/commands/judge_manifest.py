"""`judge_manifest`: prints the manifests of a judge's runs."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import campaign_called, print_lines, write_whole
from datasets.console import Command as BaseCommand
from judging.jury import voting_judges
from judging.management.commands.run_judge import judge_called
from judging.manifest import manifest_of
from judging.models import JudgeRun


class Command(BaseCommand):
    help = (
        "Prints the manifests of a judge's runs over a campaign, as JSON: the setup of each run, "
        "its results, and a hash over both."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True, metavar="C")
        parser.add_argument("--judge", required=True, metavar="J")
        parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")

    def run(self, **options: Any) -> None:
        if voting := voting_judges(options["judge"]):
            raise CommandError(
                f"Jury {options['judge']!r} asks nothing itself, so it has no runs; the manifests "
                f"are of its members: --judge {', --judge '.join(voting)}."
            )
        campaign, judge = campaign_called(options["campaign"]), judge_called(options["judge"])
        found = JudgeRun.objects.filter(campaign=campaign, judge=judge)
        manifests = [manifest_of(run) for run in found.select_related("campaign", "judge")]
        if not manifests:
            raise CommandError(f"Judge {judge} has not run over {campaign}; run it first.")
        text = json.dumps(manifests, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        if options["output"]:
            write_whole(options["output"], [text])
        else:
            print_lines(self.stdout, [text])
