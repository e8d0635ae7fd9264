"""`report`: the agreement report of a campaign, or of a labels file."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.campaigns.evaluators import judges_named
from analysis.campaigns.frames import available_options, campaign_strata
from analysis.campaigns.reports import campaign_report
from annotation.management.base import campaign_called, write_or_print
from datasets.console import Command as BaseCommand
from tandem.arguments import (
    FOR_LABELS,
    OptionError,
    add_arguments,
    levels_of,
    protocol_in,
    read_options,
    scales_of,
)
from tandem.formats import FORMATS
from tandem.labels.file.frames import UnknownLevelError
from tandem.labels.selection import (
    AvailableValues,
    ReportOptions,
    UnknownOptionError,
)
from tandem.labels_report import labels_report


class Command(BaseCommand):
    help = "How well people agree, how well judges agree with them, and the systems' scores."

    def add_arguments(self, parser: ArgumentParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--campaign")
        source.add_argument("--labels", type=Path, nargs="+", metavar="PATH")
        add_arguments(parser)

    def run(self, **options: Any) -> None:
        if options["campaign"]:
            for name in filter(options.__getitem__, FOR_LABELS):
                wrong = f"--{name} goes with --labels; a campaign's protocol has its levels."
                raise CommandError(wrong)
        try:
            choices, levels = read_options(options), levels_of(options["level"])
            scales = scales_of(options["scale"], levels)
            protocol = protocol_in(options["protocol"])
        except OptionError as error:
            raise CommandError(str(error)) from error
        if options["campaign"]:
            campaign = campaign_called(options["campaign"])
            strata = campaign_strata(campaign)
            choices = replace(choices, judges=(*judges_named(campaign, choices.judges),))
            _check(available_options(campaign, strata), choices)
            report = campaign_report(campaign, choices)
        else:
            try:
                paths, wide = options["labels"], options["wide"]
                report = labels_report(paths, levels, choices, scales, wide, protocol)
            except UnknownLevelError as error:
                raise CommandError(f"{error}.") from error
            except UnknownOptionError as error:
                raise CommandError(str(error)) from error
        text = FORMATS[options["format"]].render(report)
        write_or_print(self.stdout, options["output"], [text])


def _check(offered: AvailableValues, choices: ReportOptions) -> None:
    try:
        offered.check(choices)
    except UnknownOptionError as error:
        raise CommandError(str(error)) from error
