"""`study_evaluators`: the judges of a study that count as one, by model or as declared."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from analysis.campaigns.evaluators import study_evaluators
from analysis.management.commands.paper import study_called
from analysis.models import Study
from analysis.study.evaluators import declare, remove
from datasets.console import Command as BaseCommand
from tandem.labels.evaluators import EvaluatorError


class Command(BaseCommand):
    help = (
        "List the judges of a study that count as one evaluator: those of one model and server, "
        "and those that you declare under a name."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", required=True, metavar="NAME", help="the study's name")
        parser.add_argument("--declare", metavar="NAME", help="the name for the judges given")
        parser.add_argument(
            "--judge",
            action="append",
            default=[],
            metavar="NAME",
            help="a judge of the declared evaluator; may be given several times",
        )
        parser.add_argument("--remove", metavar="NAME", help="an evaluator to declare no longer")

    def run(self, **options: Any) -> None:
        study = study_called(options["study"])
        if bool(options["declare"]) != bool(options["judge"]):
            raise CommandError("An evaluator has a name and judges; give --declare and --judge.")
        try:
            if options["remove"]:
                remove(study, options["remove"])
            if options["declare"]:
                declare(study, {options["declare"]: list(dict.fromkeys(options["judge"]))})
            lines = list(_lines(study))
        except EvaluatorError as error:
            raise CommandError(f"{error}.") from error
        for line in lines:
            self.stdout.write(line)


def _lines(study: Study) -> list[str]:
    found = study_evaluators(study)
    if not found:
        return ["Each judge counts alone."]
    return [
        f"{each.name}: {', '.join(each.judges)} ({'declared' if each.is_declared else 'by model'})"
        for each in found
    ]
