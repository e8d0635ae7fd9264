"""`create_account`: creates an account with one of the three roles."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction

from annotation.models import User
from annotation.people.identities import set_email
from annotation.people.membership import PeopleError
from annotation.people.teams import set_role
from audit.recording import record
from datasets.access import TeamError, there_are_several
from datasets.console import Command as BaseCommand
from datasets.console import add_team_option, refusing, team_option
from datasets.models import Team, TeamMember


class Command(BaseCommand):
    help = (
        "Create an account. The command asks for the password, or reads it from the first line "
        "of standard input, unless passwords are switched off."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--email",
            default="",
            metavar="ADDRESS",
            help="the person's address at the identity provider, for log-in by OpenID Connect",
        )
        parser.add_argument("--role", choices=User.Role.values, default=User.Role.ANNOTATOR.value)
        add_team_option(parser, "the team that it is in")
        parser.add_argument(
            "--team-role",
            choices=TeamMember.Role.values,
            help="its role there: the first researcher of a team is its owner, others are members",
        )

    def run(self, **options: Any) -> None:
        if User.objects.filter(username=options["name"]).exists():
            raise CommandError(f"An account {options['name']!r} exists; choose another name.")
        team = team_option(options) if options["role"] != User.Role.ADMIN else None
        user = User(username=options["name"], role=options["role"])
        try:
            user.full_clean(exclude=["password"])
            _set_password(user)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        with refusing(PeopleError, TeamError), transaction.atomic():
            user.save()
            record("account.made", of=("account", user.pk), role=user.role)
            if team is not None and (options["team_role"] or there_are_several()):
                _join(user, team, options["team_role"])
            if options["email"]:
                set_email(user, options["email"])
        within = f", in team {team.name!r}" if team and there_are_several() else ""
        self.say(f"Created account {user.username!r} with the role {user.role}{within}.")


def _join(user: User, team: Team, role: str | None) -> None:
    owned = team.members.filter(role=TeamMember.Role.OWNER).exists()
    first = user.role == User.Role.RESEARCHER and not owned
    set_role(team, user, role or (TeamMember.Role.OWNER if first else TeamMember.Role.MEMBER))


def _set_password(user: User) -> None:
    """Ask for the password. Raises ValidationError."""
    if not settings.TANDEM_PASSWORDS:
        user.set_unusable_password()
        return
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    validate_password(password, user)
    user.set_password(password)
