"""`set_campaign`: changes a campaign's settings; opens, closes and archives it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.campaigns.changes import change
from annotation.campaigns.design import DesignError
from annotation.campaigns.settings import OPTIONS, CampaignSettings
from annotation.management.base import add_removals, campaign_called, read_settings
from annotation.models import Campaign
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from tandem.options import add_arguments as add_declared


class Command(BaseCommand):
    help = (
        "Change a campaign's settings: deadline, language, guideline, gold items and practice; "
        "close, open or archive it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        either = parser.add_mutually_exclusive_group()
        either.add_argument("--close", action="store_true", help="accept no more answers")
        either.add_argument("--open", action="store_true", help="accept answers again")
        either.add_argument(
            "--archive", action="store_true", help="close it, and leave it out of lists"
        )
        either.add_argument("--restore", action="store_true", help="list it again; it stays closed")
        add_declared(parser, OPTIONS)
        add_removals(parser)

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["name"])
        is_open = True if options["open"] else False if options["close"] else None
        with refusing(DesignError, about=f"Campaign {campaign.name!r}"):
            settings = read_settings(options)
            is_archived = True if options["archive"] else False if options["restore"] else None
            if settings.is_empty and is_open is None and is_archived is None:
                raise CommandError("Nothing to change; give an option, see --help.")
            change(campaign, settings, is_open, is_archived=is_archived)
        self.say(f"Campaign {campaign.name!r} {describe_status(campaign, settings)}.")


def describe_status(campaign: Campaign, settings: CampaignSettings) -> str:
    """Describe whether the campaign is open, its deadline and its guideline."""
    state = "open" if campaign.takes_answers else "archived" if campaign.is_archived else "closed"
    words = [f"is {state}"]
    if campaign.deadline:
        past = campaign.is_open and not campaign.takes_answers
        words[0] = "is past its deadline" if past else words[0]
        words.append(f"deadline {campaign.deadline.isoformat()}")
    if settings.guideline is not None:
        last = campaign.guidelines.order_by("-version").first()
        own = last is not None and last.text
        words.append(
            f"guideline version {last.version}" if own and last else "its protocol's guideline"
        )
    return ", ".join(words)
