"""`create_price`: records what a model costs."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import IntegrityError, transaction

from datasets.access import there_are_several
from datasets.console import Command as BaseCommand
from datasets.console import add_team_option, team_option
from datasets.models import Team
from judging.list_prices import (
    LONGEST_MODEL,
    ListPrice,
    PriceFileError,
    list_prices,
    read_amount,
    read_prices,
)
from judging.models import Price
from tandem.verbs import verb_of

NEEDED = ("since", "prompt", "completion")


class Command(BaseCommand):
    help = (
        "Store the price of a model from a given day, in US dollars per million tokens. A call "
        "uses the newest price on its day; without one, it uses the provider's list price that "
        "comes with Tandem. Costs that were computed before do not change."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", metavar="MODEL", nargs="?", default="")
        parser.add_argument(
            "--since", type=_day, metavar="DATE", help="the first day, as 2026-11-22"
        )
        parser.add_argument("--prompt", type=_amount, metavar="P")
        parser.add_argument(
            "--cached",
            type=_amount,
            metavar="P",
            help="prompt tokens from the server's cache (default: the price of other prompt "
            "tokens)",
        )
        parser.add_argument("--completion", type=_amount, metavar="P")
        parser.add_argument(
            "--file", type=Path, metavar="F", help="store all prices of a TOML file instead"
        )
        add_team_option(parser, "the team that pays it")
        parser.add_argument(
            "--list", action="store_true", help="show the prices in use, and store nothing"
        )

    def run(self, **options: Any) -> None:
        if options["list"]:
            self.show(options["model"], options["team"])
        elif options["file"]:
            self.load(options["file"], team_option(options))
        else:
            self.create(options)

    def create(self, options: dict[str, Any]) -> None:
        model = options["model"]
        if not model.strip() or len(model) > LONGEST_MODEL:
            raise CommandError(f"A model's name has 1 to {LONGEST_MODEL} characters; correct it.")
        if missing := [f"--{name}" for name in NEEDED if options[name] is None]:
            raise CommandError(f"A price needs {', '.join(missing)}; give it.")
        cached = options["prompt"] if options["cached"] is None else options["cached"]
        price = ListPrice(model, options["since"], options["prompt"], cached, options["completion"])
        if not _store(price, team_option(options)):
            raise CommandError(
                f"{model} has a price from {price.since} already, and prices never change; give a "
                "later day."
            )
        self.say(
            f"Created a price of {model} from {price.since} on: {price.prompt:f} US dollars per "
            f"million prompt tokens, {cached:f} for cached ones, {price.completion:f} for "
            "completion tokens."
        )

    def load(self, path: Path, team: Team) -> None:
        try:
            prices = read_prices(path)
        except PriceFileError as error:
            raise CommandError(f"{error}.") from error
        with transaction.atomic():
            stored = [_store(price, team) for price in prices]
        there = stored.count(False)
        self.say(f"Created {stored.count(True)} prices; {there} existed already.")

    def show(self, model: str, team: str | None) -> None:
        filters = ({"model": model} if model else {}) | ({"team__name": team} if team else {})
        several = there_are_several()
        for price in Price.objects.filter(**filters).select_related("team"):
            whose = f" for team {price.team}" if several else ""
            self.say(_line(price, f"stored with {verb_of('create_price')}{whose}"))
        for listed in list_prices():
            if model in ("", listed.model):
                where = f"list price for {listed.host}, {listed.source}"
                self.say(_line(listed, where))


def _line(price: ListPrice | Price, source: str) -> str:
    amounts = f"{price.prompt:f} prompt, {price.cached:f} cached, {price.completion:f} completion"
    return f"{price.model} from {price.since}: {amounts} ({source})"


def _store(price: ListPrice, team: Team) -> bool:
    """Store a price of a team, and return whether the model had none for that day."""
    names = ("model", "since", "prompt", "cached", "completion")
    try:
        with transaction.atomic():
            Price.objects.create(team=team, **{name: getattr(price, name) for name in names})
    except IntegrityError:
        return False
    return True


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a day; write it as 2026-11-22"
        ) from error


def _amount(text: str) -> Decimal:
    try:
        return read_amount(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
