"""`robustness`: test a judge under perturbations, and print how its labels changed."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.robustness.document import as_markdown
from analysis.robustness.sheet import Resampling, sheet
from annotation.management.base import campaign_called, write_or_print
from annotation.models import Campaign
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from judging.backends.base import SetupError
from judging.jury import voting_judges
from judging.management.commands.run_judge import judge_called
from judging.models import Judge
from judging.prompts.perturbations import KINDS
from judging.prompts.template import PromptError, read_prompt
from judging.runs import ledger
from judging.runs.planning import LEAST_UNITS, SHARE, UNCONSTRAINED_SHARE
from judging.trial_effects import mass_warning
from judging.trials.perturbed_judges import TrialError
from judging.trials.runs import TrialSelection, estimates, plan_trials
from tandem.labels.selection import ReportOptions
from tandem.options import add_arguments as add_declared
from tandem.options import check_bounds, options_of

RESAMPLING = options_of(ReportOptions)[:2]
"""Seed and resamples; the seed has a meaning of its own here."""


class Command(BaseCommand):
    help = "Ask a judge again under perturbations, and report how often its labels flip."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True, metavar="C")
        parser.add_argument("--judge", required=True, metavar="J")
        parser.add_argument(
            "--kinds",
            default="",
            metavar="K,K",
            help=f"which trials: {', '.join(KINDS)} (default: all possible ones)",
        )
        parser.add_argument(
            "--items",
            type=int,
            metavar="N",
            help="how many of the judge's answered items (default: enough to hold "
            f"{100 * SHARE:g} per cent of its units, {100 * UNCONSTRAINED_SHARE:g} for "
            f"unconstrained, and at least {LEAST_UNITS} units)",
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=0,
            metavar="S",
            help="seed of the sample and of the resamples",
        )
        parser.add_argument(
            "--prompt", type=Path, metavar="F", help="your own rewording, for paraphrase"
        )
        parser.add_argument("--queue", action="store_true", help="let the workers run the trials")
        parser.add_argument(
            "--estimate", action="store_true", help="print what it would cost, and ask nothing"
        )
        parser.add_argument(
            "--sheet-only", action="store_true", help="ask nothing; print the results so far"
        )
        parser.add_argument("--format", choices=("md", "json"), default="md")
        parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")
        add_declared(parser, RESAMPLING[1:])

    def run(self, **options: Any) -> None:
        try:
            check_bounds(RESAMPLING, options)
        except ValueError as error:
            raise CommandError(str(error)) from error
        if options["items"] is not None and options["items"] < 1:
            raise CommandError("--items is not above 0; give a number of items.")
        campaign = campaign_called(options["campaign"])
        if voting := voting_judges(options["judge"]):
            raise CommandError(
                f"Jury {options['judge']!r} asks nothing itself, so it has no trials of its own; "
                f"run the trials of its members: --judge {', --judge '.join(voting)}."
            )
        judge = judge_called(options["judge"])
        if not options["sheet_only"]:
            with refusing(TrialError, PromptError, SetupError, about=f"Judge {judge}"):
                self.try_judge(campaign, judge, options)
        if not options["queue"] and not options["estimate"]:
            found = sheet(campaign, judge, Resampling(options["seed"], options["resamples"]))
            for said in found["masses"]:
                if warning := mass_warning(said):
                    self.say(f"{said['title']}: {warning}.")
            self.give(found, options["format"], options["output"])

    def try_judge(self, campaign: Campaign, judge: Judge, options: dict[str, Any]) -> None:
        prompt = _prompt(options["prompt"]) if options["prompt"] else ""
        kinds, items = _kinds(options["kinds"]), options["items"]
        selection = TrialSelection(kinds, items, options["seed"], prompt)
        if not options["estimate"]:
            self.ask(campaign, plan_trials(campaign, judge, selection), options["queue"])
            return
        for kind in estimates(campaign, judge, selection):
            if kind.problem and kinds:
                raise TrialError(f"{kind.kind}: {kind.problem}")
            for name, found in kind.trials:
                self.say(f"{name}: {found.sentence}")

    def ask(self, campaign: Campaign, trials: list[Judge], queue: bool) -> None:
        """Ask what is not answered yet; each trial runs like a judge of its own."""
        for trial in trials:
            if ledger.count_waiting(campaign, trial):
                call_command(
                    "run_judge",
                    campaign=campaign.name,
                    judge=trial.rater.name,
                    queue=queue,
                    stdout=self.stderr,
                    stderr=self.stderr,
                )

    def give(self, found: Any, form: str, output: Path | None) -> None:
        text = as_markdown(found) if form == "md" else json.dumps(found, indent=2) + "\n"
        write_or_print(self.stdout, output, [text])


def _kinds(given: str) -> tuple[str, ...]:
    kinds = tuple(kind for kind in (each.strip() for each in given.split(",")) if kind)
    for kind in kinds:
        if kind not in KINDS:
            raise CommandError(f"--kinds: {kind!r} is not one of {', '.join(KINDS)}; correct it.")
    return kinds


def _prompt(path: Path) -> str:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--prompt: {path} cannot be read as UTF-8; correct it.") from error
    read_prompt(text)
    return text
