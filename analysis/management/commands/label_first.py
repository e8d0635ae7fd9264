"""`label_first`: lists the units that people should label first, or creates a campaign of them."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from analysis.campaigns.cache import computed_report
from analysis.results.label_first import chosen_items_of, list_of, sentences
from annotation.campaign_setup.chosen_items import create_chosen
from annotation.campaigns.design import DesignError
from annotation.management.base import campaign_called
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from tandem.labels.selection import ReportOptions


class Command(BaseCommand):
    help = (
        "List the units that people should label first, because judges differ on them, or create a "
        "campaign over their items in this order of priority. It has the same batch, protocol, "
        "design and settings, and takes over judges' answers."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", metavar="CAMPAIGN", help="the campaign with the judges")
        parser.add_argument(
            "--into", default="", metavar="NAME", help="the name of the campaign to create"
        )
        parser.add_argument(
            "--variable", default="", help="the variable on which judges differ, if there are more"
        )
        parser.add_argument(
            "--units", type=int, metavar="N", help="only the first N units of the list"
        )
        parser.add_argument(
            "--raters-per-item",
            type=int,
            metavar="N",
            help="people per item, by default as many as in that campaign",
        )
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        report = computed_report(campaign, ReportOptions()).report
        with refusing(DesignError):
            listed = list_of(report, options["variable"], options["units"])
            chosen = chosen_items_of(campaign, listed)
            if options["into"]:
                created = create_chosen(chosen, options["into"], options["raters_per_item"])
        if options["into"]:
            sizes = (
                f"{created.items} items, {created.units} units, {created.places} annotator slots"
            )
            if created.unchanged:
                self.say(f"Nothing to do: campaign {options['into']!r} exists already ({sizes}).")
            else:
                self.say(f"Created campaign {options['into']!r}: {sizes}.")
                self.say(f"Carried over {created.carried} answers from {campaign.name!r}.")
        elif options["format"] == "json":
            answer = {"variable": listed.variable, "units": listed.units, "items": chosen.items}
            self.say(json.dumps(answer, ensure_ascii=False, indent=2))
        else:
            for each in listed.units:
                self.say(f"{each['item']}  {each['unit']}: {each['why']}")
            for sentence in sentences(chosen):
                self.say(sentence)
