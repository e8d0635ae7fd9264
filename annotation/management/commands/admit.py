"""`admit`: admits a person to a campaign whose practice they did not pass."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.gold.scoring import MAX_ADMISSION_REASON, admit
from annotation.management.base import campaign_called, rater_called
from annotation.models import Rater
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = "Admit a person who did not pass a campaign's practice, with a reason."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("rater", metavar="RATER", help="the person's pseudonym, as in exports")
        parser.add_argument("--campaign", required=True)
        parser.add_argument(
            "--reason", required=True, help=f"up to {MAX_ADMISSION_REASON} characters"
        )

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        rater = rater_called(
            options["rater"],
            "person",
            "give a rater's name from the labels",
            kind=Rater.Kind.HUMAN,
        )
        reason = options["reason"].strip()
        if not 0 < len(reason) <= MAX_ADMISSION_REASON:
            raise CommandError(f"Give a reason of up to {MAX_ADMISSION_REASON} characters.")
        new = admit(campaign, rater, reason)
        what = "may take part now" if new else "is admitted already: nothing to do"
        self.say(f"{rater.name} {what} in campaign {campaign.name!r}.")
