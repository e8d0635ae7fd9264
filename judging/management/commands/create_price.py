"""`create_price`: records what a model costs."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError
from django.db import IntegrityError, transaction

from datasets.console import Command as BaseCommand
from judging.models import Price

LONGEST_MODEL, HIGHEST, PLACES = 200, Decimal(999_999), 6


class Command(BaseCommand):
    help = (
        "Stores the price of a model from a day on, in US dollars per million tokens. Calls use "
        "the newest price of their day. Costs that were computed before do not change."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", metavar="MODEL")
        parser.add_argument(
            "--since", required=True, type=_day, metavar="DATE", help="the first day, as 2026-11-22"
        )
        parser.add_argument("--prompt", required=True, type=_amount, metavar="P")
        parser.add_argument(
            "--cached",
            type=_amount,
            metavar="P",
            help="prompt tokens from the server's cache (default: the price of all others)",
        )
        parser.add_argument("--completion", required=True, type=_amount, metavar="P")

    def run(self, **options: Any) -> None:
        model, since = options["model"], options["since"]
        if not model.strip() or len(model) > LONGEST_MODEL:
            raise CommandError(f"A model's name has 1 to {LONGEST_MODEL} characters; mend it.")
        cached = options["prompt"] if options["cached"] is None else options["cached"]
        try:
            with transaction.atomic():
                Price.objects.create(
                    model=model,
                    since=since,
                    prompt=options["prompt"],
                    cached=cached,
                    completion=options["completion"],
                )
        except IntegrityError as error:
            raise CommandError(
                f"{model} has a price from {since} already, and prices never change; give a later "
                "day."
            ) from error
        self.say(
            f"Created: {model} costs, from {since}, {options['prompt']:f} US dollars for a million "
            f"prompt tokens, {cached:f} for cached ones, {options['completion']:f} for "
            "completion tokens."
        )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no day; write it as 2026-11-22") from error


def _amount(text: str) -> Decimal:
    wanted = f"{text!r} is no price; give US dollars for a million tokens, such as 0.15"
    try:
        amount = Decimal(text)
    except InvalidOperation as error:
        raise argparse.ArgumentTypeError(wanted) from error
    if not amount.is_finite() or not 0 <= amount <= HIGHEST:
        raise argparse.ArgumentTypeError(wanted)
    if amount != round(amount, PLACES):
        raise argparse.ArgumentTypeError(f"{text!r} has more than {PLACES} places; round it")
    return amount
