"""`paper`: a paper's own tables, filled from a study."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.evaluation.selection import read_pairs
from analysis.models import Study
from analysis.papers.build import paper_tables
from analysis.papers.index import PAPERS
from analysis.papers.options import OPTION, table_options
from analysis.papers.published import read_published
from analysis.papers.rendering import FORMATS
from annotation.management.base import print_lines, write_whole
from datasets.console import Command as BaseCommand
from datasets.console import refusing, row_called
from tandem.labels.evaluators import EvaluatorError
from tandem.labels.selection import ReportOptions
from tandem.options import add_arguments as add_declared
from tandem.options import options_of

RESAMPLING = options_of(ReportOptions)[:2]


class Command(BaseCommand):
    help = "Fill a paper's own tables from a study, with intervals and the reasons for gaps."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paper", choices=list(PAPERS), help="whose tables are filled")
        parser.add_argument(
            "--study", required=True, metavar="NAME", help="the study, by the name in its file"
        )
        parser.add_argument(
            "--format", choices=list(FORMATS), default="md", help="format of the tables"
        )
        parser.add_argument(
            "--published",
            type=Path,
            metavar="FILE",
            help="a TOML file with figures printed in the paper, to show beside those that match",
        )
        parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")
        add_declared(parser, (OPTION, *RESAMPLING))

    def run(self, **options: Any) -> None:
        if options["resamples"] is not None and options["resamples"] < 1:
            raise CommandError("--resamples is not above 0; give a number.")
        study = study_called(options["study"])
        paper = PAPERS[options["paper"]]
        with refusing(ValueError, about="--option"):
            chosen = table_options(paper, study, read_pairs(options["option"]))
        published = read_published(options["published"]) if options["published"] else None
        choices = ReportOptions(seed=options["seed"], resamples=options["resamples"])
        try:
            report = paper_tables(paper, study, chosen, choices, published)
        except EvaluatorError as error:
            raise CommandError(f"{error}.") from error
        text = FORMATS[options["format"]].render(report)
        if options["output"]:
            write_whole(options["output"], [text])
            self.say(report["not_filled"])
        else:
            print_lines(self.stdout, [text])
            if options["format"] in ("json", "html"):
                self.stderr.write(report["not_filled"])


def study_called(name: str) -> Study:
    return row_called(Study.objects.all(), name, "study", "first apply its file with study apply")
