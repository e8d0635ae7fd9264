"""`measures`: the papers' measures of a campaign."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.evaluation.build import measures_report
from analysis.evaluation.csv_file import leaderboard
from analysis.evaluation.rendering import FORMATS, with_slices
from analysis.evaluation.selection import MEASURES_OPTIONS, read_pairs
from analysis.evaluation.trec import trec_archive
from annotation.management.base import campaign_called, write_file, write_or_print
from annotation.models import Campaign
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from datasets.material import batch_rows
from tandem.labels.selection import ReportOptions
from tandem.options import add_arguments as add_declared
from tandem.options import check_bounds
from tandem.scores import ir_measures
from tandem.scores.answers.refusals import refusal_list
from tandem.scores.options import IR_MEASURES, PRESETS, Options, tokenizer
from tandem.types import JSON


class Command(BaseCommand):
    help = "The papers' measures per system, by people and by each judge, with intervals."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True)
        add_declared(parser, MEASURES_OPTIONS)
        parser.add_argument(
            "--show-slices",
            action="store_true",
            help="print slices in Markdown and LaTeX, too; JSON and CSV always contain them",
        )
        parser.add_argument("--format", choices=list(FORMATS), default="json")
        parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")
        parser.add_argument(
            "--trec",
            type=Path,
            metavar="F",
            help="also write a ZIP archive of runs and qrels for trec_eval and ir_measures",
        )

        parser.add_argument(
            "--leaderboard",
            type=Path,
            metavar="F",
            help="also write the declared measures of each run and topic in the form of TREC's "
            "AutoJudge kit",
        )

    def run(self, **options: Any) -> None:
        try:
            check_bounds(MEASURES_OPTIONS, options)
        except ValueError as error:
            raise CommandError(str(error)) from error
        campaign = campaign_called(options["campaign"])
        chosen = options_of(options["preset"], options["option"])
        choices = ReportOptions(
            seed=options["seed"], resamples=options["resamples"], exposed=options["exposed"]
        )
        passages = passages_of(options["passages"])
        points = campaign_called(options["points"]) if options["points"] else None
        slices = [campaign_called(name) for name in dict.fromkeys(options["slices"])]
        with refusing(ValueError, about="The measures cannot be computed"):
            report = measures_report(
                campaign, chosen, options["preset"], choices, passages, slices, points
            )
        check_sliced(report, [each.name for each in slices])
        if options["trec"]:
            archive = trec_archive(campaign, chosen, choices)
            write_file(options["trec"], lambda file: file.write(archive))
        if options["leaderboard"]:
            board = leaderboard(report, batch_rows(campaign.batch, ("reports",)))
            write_file(options["leaderboard"], lambda file: file.write(board.encode()))
        name = options["format"]
        form = with_slices(name) if options["show_slices"] else FORMATS[name]
        text = form.render(report)
        write_or_print(self.stdout, options["output"], [text])


def passages_of(given: str) -> tuple[str, Campaign] | None:
    """Return a rater and the campaign that holds its ratings of passages."""
    if not given:
        return None
    rater, at, name = given.rpartition("@")
    if not at or not rater:
        raise CommandError(f"--passages {given!r} is not RATER@CAMPAIGN, such as people@ratings.")
    return rater, campaign_called(name)


def check_sliced(report: JSON, names: list[str]) -> None:
    """Refuse slices by a campaign without labels."""
    for name in names:
        if all(each["campaign"] != name for each in report["strata"].values()):
            raise CommandError(
                f"--slices: people have decided no label in {name!r}; label it first, or leave it "
                "out."
            )


def options_of(preset: str, given: list[str]) -> Options:
    """Return a preset's options, changed by those given as K=V."""
    with refusing(ValueError, about="--option"):
        chosen = PRESETS[preset].changed(read_pairs(given))
        tokenizer(chosen.tokenizer)
        refusal_list(chosen.refusals)
        if chosen.alpha_ndcg == IR_MEASURES:
            ir_measures.library()
    return chosen
