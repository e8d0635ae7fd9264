"""`invite`: creates, lists or revokes links by which people join."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.urls import reverse

from annotation.management.base import campaign_called
from annotation.models import Invitation, Membership, User
from annotation.people.invitations import LIFE, invite, revoke
from annotation.people.membership import PeopleError
from datasets.access import TeamError, team_named
from datasets.console import Command as BaseCommand

SHOWN = 50


class Command(BaseCommand):
    help = (
        "Create a link for one person, to be used once within seven days, and print it. "
        "Only its digest is stored."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--role",
            choices=User.Role.values,
            default=User.Role.ANNOTATOR.value,
            help="the role of the new account",
        )
        parser.add_argument("--campaign", metavar="NAME", help="the campaign to take part in")
        parser.add_argument(
            "--campaign-role",
            choices=Membership.Role.values,
            default=Membership.Role.ANNOTATOR.value,
            help="the role in that campaign",
        )
        parser.add_argument("--team", metavar="T", help="the team that the account joins")
        parser.add_argument("--note", default="", metavar="TEXT", help="the person whom it is for")
        parser.add_argument(
            "--site",
            default="",
            metavar="URL",
            help="the site's address, such as https://tandem.example, to print the whole link",
        )
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--list", action="store_true", help="list the newest invitations instead")
        what.add_argument(
            "--revoke", type=int, metavar="N", help="revoke invitation N of the list instead"
        )

    def run(self, **options: Any) -> None:
        if options["list"]:
            for each in Invitation.objects.select_related("campaign")[:SHOWN]:
                self.say(_line(each))
        elif options["revoke"] is not None:
            self._revoke(options["revoke"])
        else:
            self._invite(options)

    def _invite(self, options: dict[str, Any]) -> None:
        campaign = campaign_called(options["campaign"]) if options["campaign"] else None
        try:
            team = team_named(options["team"]) if options["team"] else None
            made = invite(
                options["role"], campaign, options["campaign_role"], options["note"], team=team
            )
        except (PeopleError, TeamError) as error:
            raise CommandError(f"{error}.") from error
        self.say(f"{options['site'].rstrip('/')}{reverse('join')}?key={made.key}")
        self.stderr.write(
            f"Invitation {made.invitation.pk}, for {LIFE.days} days, to be used once."
        )

    def _revoke(self, number: int) -> None:
        found = Invitation.objects.filter(pk=number).first()
        if found is None:
            raise CommandError(f"There is no invitation {number}; see --list.")
        if not revoke(found):
            raise CommandError(f"Invitation {number} is {found.state}; nothing to revoke.")
        self.say(f"Revoked invitation {number}.")


def _line(each: Invitation) -> str:
    to = f", {each.campaign_role} in {each.campaign.name}" if each.campaign else ""
    until = f", until {each.expires_at:%Y-%m-%d %H:%M} UTC" if each.state == "open" else ""
    return f"{each.pk}: {each.state}{until}, {each.role}{to}, for {each.note or 'nobody named'}"
