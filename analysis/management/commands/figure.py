"""`figure`: a figure of a campaign's report or measures, as a file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.campaigns.reports import campaign_report
from analysis.evaluation.build import measures_report
from analysis.evaluation.selection import MeasuresOptions
from annotation.management.base import campaign_called, write_file
from annotation.models import Campaign
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from tandem.figures import FIGURES
from tandem.figures.files import FILES, FigureError, Look, figure_file
from tandem.labels.selection import ReportOptions
from tandem.options import add_arguments as add_declared
from tandem.options import options_of, values_of
from tandem.scores.options import PRESETS
from tandem.types import JSON

LOOK = options_of(Look)


class Command(BaseCommand):
    help = "A figure of a campaign's report or measures, as SVG, PDF, PNG, Vega-Lite or CSV."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True, metavar="C")
        parser.add_argument("--figure", required=True, choices=list(FIGURES))
        parser.add_argument(
            "--of",
            default="",
            metavar="NAME",
            help="the variable, score or measure (default: the first that the figure suits)",
        )
        parser.add_argument(
            "--output",
            type=Path,
            required=True,
            metavar="F",
            help=f"a file; its ending says what it is: {', '.join(FILES)} (json is Vega-Lite)",
        )
        add_declared(parser, LOOK)

    def run(self, **options: Any) -> None:
        path, look = options["output"], Look(**values_of(LOOK, options))
        suffix = path.suffix.removeprefix(".")
        if suffix not in FILES:
            raise CommandError(f"--output {path} ends in none of {', '.join(FILES)}.")
        report = _report(campaign_called(options["campaign"]), options["figure"])
        with refusing(FigureError):
            made = figure_file(report, options["figure"], suffix, options["of"], look)
        write_file(path, lambda file: file.write(made.content))


def _report(campaign: Campaign, figure: str) -> JSON:
    if not FIGURES[figure].of_measures:
        return campaign_report(campaign, ReportOptions())
    preset = MeasuresOptions().preset
    return measures_report(campaign, PRESETS[preset], preset, ReportOptions())
