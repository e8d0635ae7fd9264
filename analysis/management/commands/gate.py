"""`gate`: conditions of a release over a campaign, or over files."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from analysis.campaigns.frames import campaign_frame, campaign_strata
from analysis.campaigns.reports import campaign_report
from analysis.trust.claims import claims_of, comparison_of
from annotation.management.base import campaign_called
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from tandem.arguments import OptionError
from tandem.gate.findings import STATUS, GateError, outcome_of
from tandem.gate.request import HELP, Labels, Reading, findings, written
from tandem.gate.request import add_arguments as add_options
from tandem.labels.file.frames import UnknownLevelError
from tandem.labels.selection import ALL_LABELS, UnknownOptionError

USAGE = 2


class Command(BaseCommand):
    help = HELP

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_options(parser)

    def run(self, **options: Any) -> None:
        try:
            with refusing(OptionError, UnknownLevelError, UnknownOptionError):
                found = findings(options, Reading(options, labels_of))
            with refusing(OSError):
                lines = written(found, options, self.is_quiet)
        except GateError as error:
            raise CommandError(str(error), returncode=USAGE) from error
        for line in lines:
            self.stdout.write(line)
        if status := STATUS[outcome_of(found)]:
            sys.exit(status)


def labels_of(name: str) -> Labels:
    """Return the labels of a campaign. Raises CommandError if there is none of this name."""
    campaign = campaign_called(name)
    strata = campaign_strata(campaign)
    return Labels(
        lambda: campaign_report(campaign, ALL_LABELS),
        lambda: campaign_frame(campaign, ALL_LABELS, strata, kind="report"),
        lambda judge: claims_of(campaign, judge),
        lambda new, old: comparison_of(campaign, {new, old}),
    )
