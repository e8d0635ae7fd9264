"""`consents`: who agreed to a campaign's consent text; revokes a consent for a person."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.assignments.withdrawal import revoke_consent
from annotation.management.base import campaign_called, rater_called
from annotation.models import Campaign, Rater
from annotation.people.consent import consent_lines
from annotation.people.membership import PeopleError
from datasets.console import Command as BaseCommand

REVOKED_ANSWERS = {
    Campaign.Revoked.KEEP: "left out of reports and exports",
    Campaign.Revoked.DELETE: "deleted",
}


class Command(BaseCommand):
    help = (
        "Show who agreed to which version of a campaign's consent text. With --revoke, revoke the "
        "consent of a person who wrote to you, as the person could on their own page."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", metavar="CAMPAIGN", help="the name of the campaign")
        parser.add_argument("--revoke", metavar="RATER", help="the person, by their pseudonym")

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        if options["revoke"]:
            self.revoke(campaign, options["revoke"])
            return
        lines = list(consent_lines(campaign))
        for line in lines:
            end = f", revoked {line['revoked_at'][:16]}" if line["revoked_at"] else ""
            self.say(f"{line['rater']}: version {line['version']}, {line['given_at'][:16]}{end}")
        if not lines:
            text = f"its consent text has version {campaign.consent_version}"
            what = text if campaign.consent_version else "it asks for no consent"
            self.say(f"Nobody has agreed to anything in campaign {campaign.name!r}: {what}.")

    def revoke(self, campaign: Campaign, name: str) -> None:
        rater = rater_called(name, "person", "give the pseudonym of exports", kind=Rater.Kind.HUMAN)
        try:
            number = revoke_consent(campaign, rater)
        except PeopleError as error:
            wrong = f"{name} in campaign {campaign.name!r}: {error}."
            raise CommandError(f"{wrong[:1].upper()}{wrong[1:]}") from error
        become = REVOKED_ANSWERS[Campaign.Revoked(campaign.revoked)]
        self.say(f"Revoked the consent of {name}: {number} answers are {become}.")
