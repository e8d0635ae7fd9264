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
from audit.recording import record
from datasets.console import Command as BaseCommand
from datasets.text import as_sentence


class Command(BaseCommand):
    help = (
        "Create an account. The password is asked for, or read from the first line of standard "
        "input. Where passwords are switched off, none is."
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

    def run(self, **options: Any) -> None:
        if User.objects.filter(username=options["name"]).exists():
            raise CommandError(f"An account {options['name']!r} exists; choose another name.")
        user = User(username=options["name"], role=options["role"])
        try:
            user.full_clean(exclude=["password"])
            _set_password(user)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        try:
            with transaction.atomic():
                user.save()
                record("account.made", of=("account", user.pk), role=user.role)
                if options["email"]:
                    set_email(user, options["email"])
        except PeopleError as error:
            raise CommandError(as_sentence(error)) from error
        self.say(f"Created account {user.username!r} with the role {user.role}.")


def _set_password(user: User) -> None:
    """Ask for the password. Raises ValidationError."""
    if not settings.TANDEM_PASSWORDS:
        user.set_unusable_password()
        return
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    validate_password(password, user)
    user.set_password(password)
