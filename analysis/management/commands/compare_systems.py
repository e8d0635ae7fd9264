"""`compare_systems`: which of some systems is better, by people's scores of each query."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, get_args

from django.core.management.base import CommandError

from analysis.campaigns.frames import campaign_frame
from analysis.campaigns.people_sample import people_sample
from analysis.trust.cells import TrustError
from analysis.trust.comparisons import check_systems, commit_comparison, look_at_comparison, shown
from analysis.trust.options import COMPARISON_OPTIONS, ComparisonOptions
from analysis.trust.running import look_and_describe
from analysis.trust.words import comparison_sentences
from annotation.management.base import campaign_called, write_or_print
from annotation.models import Campaign, TrustPlan
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from tandem.arguments import OptionError, levels_of, scales_of
from tandem.labels.file.frames import UnknownLevelError, file_frame
from tandem.labels.frame import Frame
from tandem.labels.people_sample import PeopleSample
from tandem.labels.selection import ALL_LABELS, ReportOptions
from tandem.options import add_arguments, values_of
from tandem.sections.named_scores import UnknownScoreError, score_called
from tandem.sections.system_decisions import describe_comparison, draw_of
from tandem.trust.compared import Draw, Drawn, QueryScores, UnboundedScoreError, compared
from tandem.types import JSON
from tandem.verbs import verb_of

SAID: tuple[Drawn, ...] = tuple(each for each in get_args(Drawn) if each != "committed")
"""How labels that exist may have been drawn, as whoever asks says."""


class Command(BaseCommand):
    help = (
        "Which of some systems is better, by people's scores of each query. With --commit, people "
        "are asked about queries in a random order that is fixed before the first label, and "
        "whoever looks may stop. Labels that exist are looked at once, and decide nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("systems", nargs="+", metavar="SYSTEM", help="two systems or more")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--campaign", metavar="C", help="a campaign's name")
        source.add_argument("--labels", type=Path, nargs="+", metavar="PATH", help="labels files")
        parser.add_argument("--commit", action="store_true", help="commit to a plan that decides")
        parser.add_argument(
            "--drawn",
            choices=SAID,
            help="without a plan, how the labelled queries came to be: drawn evenly at random "
            "(even), every query (all), or unknown",
        )
        parser.add_argument(
            "--among",
            type=int,
            metavar="N",
            help="for --drawn even: how many queries they were drawn from; else those with labels",
        )
        for name, example in (("level", "LEVEL"), ("scale", "CODES[:LEVEL]")):
            parser.add_argument(
                f"--{name}",
                action="append",
                default=[],
                metavar=f"VARIABLE={example}",
                help=f"for --labels: as in {verb_of('report')}",
            )
        add_arguments(parser, COMPARISON_OPTIONS)
        parser.add_argument("--format", choices=("text", "json"), default="text")
        parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")

    def run(self, **options: Any) -> None:
        if options["commit"] and not options["campaign"]:
            raise CommandError("--commit needs --campaign: labels that exist have no draw.")
        with refusing(TrustError, UnknownScoreError, UnboundedScoreError, OptionError):
            check_systems(options["systems"])
            chosen = ComparisonOptions(**values_of(COMPARISON_OPTIONS, options))
            found, text = self._found(options, chosen)
        written = json.dumps(found, ensure_ascii=False) if options["format"] == "json" else text
        write_or_print(self.stdout, options["output"], [written + "\n"])

    def _found(self, options: dict[str, Any], chosen: ComparisonOptions) -> tuple[JSON, str]:
        if options["labels"]:
            try:
                levels = levels_of(options["level"])
                scales = scales_of(options["scale"], levels)
                frame, _ = file_frame(options["labels"], levels, ReportOptions(), scales)
            except UnknownLevelError as error:
                raise CommandError(f"{error}.") from error
            return _exploratory(frame, None, options, chosen)
        campaign = campaign_called(options["campaign"])
        if options["commit"]:
            plan = commit_comparison(campaign, options["systems"], chosen)
            return plan.document | {"digest": plan.digest}, "\n".join(comparison_sentences(plan))
        if (last := _plan(campaign, options["systems"])) and not options["drawn"]:
            if last.is_running:
                return look_and_describe(last)
            look = shown(look_at_comparison(last))
            return look, describe_comparison(look)
        sample = people_sample(campaign)
        return _exploratory(campaign_frame(campaign, ALL_LABELS), sample, options, chosen)


def _plan(campaign: Campaign, systems: list[str]) -> TrustPlan | None:
    """Return the newest plan that compares these systems."""
    plans = TrustPlan.objects.filter(campaign=campaign, kind=TrustPlan.Kind.COMPARE)
    newest = plans.order_by("-id")
    return next((p for p in newest if set(systems) == set(p.document["systems"])), None)


def _exploratory(
    frame: Frame, sample: PeopleSample | None, options: dict[str, Any], chosen: ComparisonOptions
) -> tuple[JSON, str]:
    """Compare systems by labels that exist."""
    named = score_called(frame, chosen.score)
    every = QueryScores.of(named.name, named.scores)
    try:
        scores = every.of_systems(options["systems"])
    except ValueError as error:
        raise TrustError(str(error)) from error
    draw = draw_of(scores, sample, 0)
    if options["drawn"]:
        rows, among = scores.in_hashed_order(scores.labelled(), "0"), options["among"]
        if among is not None and among < len(rows):
            raise TrustError(f"{len(rows)} queries are labelled, so not drawn among {among}")
        draw = Draw(options["drawn"], rows, among=among)
    found = {"meaning": named.meaning, **compared(scores, draw, chosen.delta)}
    return found, describe_comparison(found)
