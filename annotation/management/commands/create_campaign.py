"""Makes a campaign's items from a batch."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.campaigns import create_campaign
from annotation.design import DesignError, design_of
from annotation.management.terms import add_terms, terms_of
from annotation.protocols import PROTOCOLS
from datasets.console import Command as BaseCommand
from datasets.models import Batch


class Command(BaseCommand):
    help = "Makes a campaign: a protocol over a batch, with its design."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--protocol", required=True, choices=sorted(PROTOCOLS))
        parser.add_argument("--batch", required=True, help="the name of a loaded batch")
        parser.add_argument("--raters-per-item", type=int, default=1, metavar="N")
        parser.add_argument(
            "--overlap",
            type=float,
            default=1.0,
            metavar="SHARE",
            help="only this random share of the items gets N people, the others one",
        )
        parser.add_argument(
            "--human-share",
            type=float,
            default=1.0,
            metavar="SHARE",
            help="people are asked a random share of the queries, judges all",
        )
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="K=V",
            help="variables, sampling, prerequisite, strata, per_passage, order, seed, "
            "categories, passages, validates, gate, development, audit, items",
        )
        add_terms(parser)

    def run(self, **options: Any) -> None:
        batch = Batch.objects.filter(name=options["batch"]).first()
        if batch is None:
            raise CommandError(f"There is no batch {options['batch']!r}; load it with load_batch.")
        try:
            design = design_of(
                options["raters_per_item"],
                options["overlap"],
                options["human_share"],
                options["option"],
            )
            terms = terms_of(options)
            with self.progress("items") as tick:
                made = create_campaign(
                    options["name"], options["protocol"], batch, design, tick, terms
                )
        except DesignError as error:
            raise CommandError(f"Campaign {options['name']!r}: {error}.") from error
        what = "Nothing to do: it is there already" if made.unchanged else "Made"
        self.say(
            f"{what}: campaign {options['name']!r} with {made.items} items, {made.units} units "
            f"and {made.places} places for people."
        )
