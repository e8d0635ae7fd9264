"""`create_campaign`: creates a campaign over a batch, or shows a dry run of its design."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import fields
from typing import Any

from annotation.campaign_setup.creation import create_campaign
from annotation.campaign_setup.dry_run import sentences, simulate
from annotation.campaign_setup.expected_widths import AssumptionError, Assumptions
from annotation.campaigns.design import Design, DesignError, design_of
from annotation.campaigns.settings import OPTIONS, CampaignSettings
from annotation.management.base import describe_sample, read_settings
from annotation.models import Campaign
from annotation.people.membership import POOL_HELP
from annotation.protocols import PROTOCOLS
from datasets.console import Command as BaseCommand
from datasets.console import add_team_option, batch_called, refusing, team_option
from datasets.models import Batch, Team
from tandem.options import add_arguments as add_declared
from tandem.options import options_of, read_numbers

NAMES = f"{', '.join(PROTOCOLS)}; or a protocol of the team, as NAME or NAME@VERSION"


class Command(BaseCommand):
    help = "Create a campaign: a protocol over a batch, with its design."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--protocol", required=True, metavar="PROTOCOL", help=NAMES)
        parser.add_argument("--batch", required=True, help="the name of a loaded batch")
        parser.add_argument(
            "--raters-per-item",
            type=int,
            default=1,
            metavar="N",
            help="people per item; 0: only judges are asked, and nothing waits for people",
        )
        parser.add_argument(
            "--overlap",
            type=float,
            default=1.0,
            metavar="SHARE",
            help="the share of the items, chosen at random, that get N people; the others get one",
        )
        parser.add_argument(
            "--human-share",
            type=float,
            default=1.0,
            metavar="SHARE",
            help="the share of the queries, chosen at random, that people are asked",
        )
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="K=V",
            help=", ".join(option.name for option in options_of(Design))
            + "; in a list such as chosen=a,b a word with a comma stands in double quotes",
        )
        parser.add_argument(
            "--continues",
            default="",
            metavar="CAMPAIGN",
            help="carry over answers of this campaign to the same texts and questions, and ask "
            "only for the rest",
        )
        parser.add_argument("--pool", choices=Campaign.Pool.values, help=POOL_HELP)
        add_declared(parser, OPTIONS)
        add_team_option(parser)
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="store nothing; show how much each person gets, and the expected width of the "
            "intervals",
        )
        parser.add_argument(
            "--people", type=int, metavar="N", help="the expected number of people, for the dry run"
        )
        parser.add_argument(
            "--assume",
            action="append",
            default=[],
            metavar="K=V",
            help=f"for the dry run: {', '.join(option.name for option in options_of(Assumptions))}",
        )

    def run(self, **options: Any) -> None:
        batch = batch_called(options["batch"])
        with refusing(DesignError, about=f"Campaign {options['name']!r}"):
            design = design_of(
                options["raters_per_item"],
                options["overlap"],
                options["human_share"],
                options["option"],
            )
            settings = read_settings(options)
            team = team_option(options)
            if options["dry_run"]:
                self.simulate(batch, design, settings, team, options)
                return
            with self.progress("items") as tick:
                made = create_campaign(
                    options["name"],
                    options["protocol"],
                    batch,
                    design,
                    tick,
                    settings,
                    continues=options["continues"],
                    team=team,
                    pool=options["pool"],
                )
        sizes = f"{made.items} items, {made.units} units, {made.places} annotator slots"
        if made.unchanged:
            self.say(f"Nothing to do: campaign {options['name']!r} exists already ({sizes}).")
        else:
            self.say(f"Created campaign {options['name']!r}: {sizes}.")
        if sampled := describe_sample(made.campaign):
            self.say(sampled)
        if options["continues"] and not made.unchanged:
            self.say(f"Carried over {made.carried} answers from {options['continues']!r}.")

    def simulate(
        self,
        batch: Batch,
        design: Design,
        settings: CampaignSettings,
        team: Team | None,
        options: dict[str, Any],
    ) -> None:
        given = assumptions_of(options["assume"])
        with self.progress("items") as tick:
            prediction = simulate(
                options["name"],
                options["protocol"],
                batch,
                design,
                settings,
                options["people"],
                given,
                tick,
                team=team,
                continues=options["continues"],
            )
        self.say(f"Campaign {options['name']!r} is valid. Nothing is stored.")
        for sentence in sentences(prediction):
            self.say(sentence)


def assumptions_of(pairs: list[str]) -> Assumptions:
    """Read assumptions written as K=V. Raises AssumptionError."""
    known = [field.name for field in fields(Assumptions)]
    wrong = f"is not K=V with K one of {', '.join(known)} and V a number; correct it"
    numbers = read_numbers(pairs, lambda p: AssumptionError(f"assumption {p!r} {wrong}"), known)
    return Assumptions(**numbers)
