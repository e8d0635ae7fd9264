"""`set_known`: makes items gold or practice, with their gold answers."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.imports.gold import set_known
from annotation.management.base import campaign_called
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = (
        "Import gold answers from labels files, all or nothing: their items leave the study and "
        "are mixed in as gold, or come first as practice."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--campaign", required=True)
        parser.add_argument(
            "--use",
            required=True,
            choices=("gold", "practice"),
            help="gold: mixed in, without feedback; practice: first, with feedback",
        )
        parser.add_argument("--rater", help="import only the labels from this rater")

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        known = set_known(options["paths"], campaign, options["use"], options["rater"])
        gold = (
            f"{known.answers} gold answers to {known.items} {options['use']} items of "
            f"campaign {campaign.name!r}"
        )
        self.say(
            f"Nothing to do: {gold} exist already." if known.unchanged else f"Imported {gold}."
        )
