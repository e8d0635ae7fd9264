"""`disputes`: how many units of a campaign wait for an adjudicator."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.adjudication.dispute_queue import DISPUTES_AMONG, QueuePart, queue_sizes
from annotation.management.base import campaign_called
from annotation.presentation import schema
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = "Count the units of a campaign on which raters disagree, and those that are decided."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True)
        parser.add_argument(
            "--of",
            choices=list(DISPUTES_AMONG),
            default="all",
            help="only where people disagree, or only where a judge disagrees with most of them",
        )
        parser.add_argument("--variable", default="", metavar="NAME", help="only this variable")

    def run(self, **options: Any) -> None:
        campaign, variable = campaign_called(options["campaign"]), options["variable"]
        names = [each.name for each in schema(campaign, "people").variables]
        if variable and variable not in names:
            known = ", ".join(names)
            raise CommandError(f"There is no variable {variable!r} here; there are {known}.")
        found = queue_sizes(campaign, QueuePart(of=options["of"], variable=variable))
        units = "unit" if found["open"] == 1 else "units"
        left, done = found["open"], found["decided"]
        self.say(f"Campaign {campaign.name!r}: {left} {units} to decide, {done} decided.")
