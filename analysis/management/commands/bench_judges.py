"""`bench_judges`: runs several judges over one campaign, and prints one table."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.bench.document import as_markdown
from analysis.bench.numbers import BenchError, bench
from analysis.campaigns.evaluators import judges_named
from annotation.management.base import campaign_called, write_or_print
from annotation.models import Campaign
from datasets.console import FAULTS_FOUND, refusing
from datasets.console import Command as BaseCommand
from judging.backends.base import SetupError
from judging.estimate import estimate
from judging.judge_backends import build_backend
from judging.management.commands.run_judge import judge_called, us_dollars
from judging.prompts.template import PromptError
from tandem.labels.selection import ReportOptions
from tandem.options import add_arguments as add_declared
from tandem.options import check_bounds, options_of

RESAMPLING = options_of(ReportOptions)[:2]


class Command(BaseCommand):
    help = (
        "Run several judges over one campaign, and print one table: agreement with people, gap "
        "to people, baseline, missing labels, robustness, cost and time; and how "
        "similarly the judges err."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True, metavar="C")
        parser.add_argument(
            "--judge",
            action="append",
            default=[],
            metavar="J",
            help="a judge, or an evaluator for its judges; may be given several times (default: "
            "all judges with labels there, without running any)",
        )
        parser.add_argument(
            "--no-run", action="store_true", help="ask nothing; use the existing labels"
        )
        parser.add_argument(
            "--estimate",
            action="store_true",
            help="print what each run would cost, and ask nothing",
        )
        parser.add_argument(
            "--most-cost",
            type=us_dollars,
            metavar="USD",
            help="stop each judge's run after this many US dollars",
        )
        parser.add_argument("--format", choices=("md", "json"), default="md")
        parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")
        add_declared(parser, RESAMPLING)

    def run(self, **options: Any) -> None:
        try:
            check_bounds(RESAMPLING, options)
        except ValueError as error:
            raise CommandError(str(error)) from error
        campaign = campaign_called(options["campaign"])
        options["judge"] = judges_named(campaign, options["judge"])
        if options["estimate"]:
            self.say_estimates(campaign, options["judge"])
            return
        left = [] if options["no_run"] else self.ask(campaign, options)
        chosen = ReportOptions(seed=options["seed"], resamples=options["resamples"])
        try:
            found = bench(campaign, options["judge"], chosen)
        except BenchError as error:
            raise CommandError("\n".join([*left, str(error)])) from error
        if not found["judges"]:
            raise CommandError(f"No judge has a label in campaign {campaign}; name one to run.")
        self.give(found, options["format"], options["output"])
        if left:
            raise CommandError(" ".join(left), returncode=FAULTS_FOUND)

    def say_estimates(self, campaign: Campaign, names: list[str]) -> None:
        for name in names:
            judge = judge_called(name)
            with refusing(SetupError, PromptError, about=f"Judge {judge}"):
                found = estimate(judge, campaign)
            basis = f" Basis: {found.basis}." if found.basis and found.missing else ""
            self.say(f"{judge}: {found.sentence}{basis}")

    def ask(self, campaign: Campaign, options: dict[str, Any]) -> list[str]:
        """Run each judge, and return why runs were not finished. The others run nevertheless."""
        judges = [judge_called(name) for name in options["judge"]]
        left = []
        for judge in judges:
            try:
                # A judge that asks no server has no price, and costs nothing.
                bound = options["most_cost"] if build_backend(judge).endpoint else None
                call_command(
                    "run_judge",
                    campaign=campaign.name,
                    judge=judge.rater.name,
                    most_cost=bound,
                    stdout=self.stderr,
                    stderr=self.stderr,
                )
            except (CommandError, SetupError) as error:
                left.append(str(error))
        return left

    def give(self, found: Any, form: str, output: Path | None) -> None:
        text = as_markdown(found) if form == "md" else json.dumps(found, indent=2) + "\n"
        write_or_print(self.stdout, output, [text])
