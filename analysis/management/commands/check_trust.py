"""`check_trust`: how wrong judges are where they are surest, by labels that exist."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.campaigns.evaluators import judges_named
from analysis.campaigns.frames import available_options, campaign_strata
from analysis.trust.check import campaign_check
from annotation.management.base import campaign_called, write_or_print
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from tandem.arguments import (
    FOR_LABELS,
    OptionError,
    add_check_arguments,
    levels_of,
    protocol_in,
    read_check_options,
    read_options,
    scales_of,
)
from tandem.formats.check import CHECK_FORMATS
from tandem.labels.file.frames import UnknownLevelError
from tandem.labels.selection import ReportOptions, UnknownOptionError
from tandem.labels_report import labels_check
from tandem.trust.options import CheckOptions
from tandem.types import JSON


class Command(BaseCommand):
    help = (
        "How wrong judges are where they are surest, by labels that exist: one exploratory look, "
        "with a bound where it is known how the labelled queries were drawn."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--campaign")
        source.add_argument("--labels", type=Path, nargs="+", metavar="PATH")
        add_check_arguments(parser)

    def run(self, **options: Any) -> None:
        with refusing(OptionError, UnknownLevelError, UnknownOptionError):
            choices, wanted = read_options(options), read_check_options(options)
            check = _of_campaign if options["campaign"] else _of_files
            report = check(options, choices, wanted)
        text = CHECK_FORMATS[options["format"]].render(report)
        write_or_print(self.stdout, options["output"], [text])


def _of_files(options: dict[str, Any], choices: ReportOptions, wanted: CheckOptions) -> JSON:
    levels = levels_of(options["level"])
    scales, protocol = scales_of(options["scale"], levels), protocol_in(options["protocol"])
    paths, wide = options["labels"], options["wide"]
    return labels_check(paths, levels, choices, wanted, scales, wide, protocol)


def _of_campaign(options: dict[str, Any], choices: ReportOptions, wanted: CheckOptions) -> JSON:
    for name in filter(options.__getitem__, (*FOR_LABELS, "drawn")):
        raise CommandError(f"--{name} goes with --labels; a campaign knows it.")
    campaign = campaign_called(options["campaign"])
    choices = replace(choices, judges=(*judges_named(campaign, choices.judges),))
    available_options(campaign, campaign_strata(campaign)).check(choices)
    return campaign_check(campaign, choices, wanted)
